"""PodTemplate (`v1`): a pod's template as an object of its own, which few programs use."""

from typing import ClassVar, Literal

from pydantic import Field

from jobspec.models.base import Model, Resource
from jobspec.models.meta import ObjectMeta
from jobspec.models.pod.spec import PodSpec


class PodTemplateSpec(Model):
    """A pod to make copies of, with metadata of all sorts, as built-in kinds take it."""

    metadata: ObjectMeta | None = Field(None, description="labels and annotations of the pods; other fields are ignored")
    spec: PodSpec | None = Field(None, description="what the pods are and where they run")


class PodTemplate(Model):
    """A template from which a program of yours makes pods; nothing in Kubernetes does."""

    RESOURCE: ClassVar[Resource] = Resource(
        group="",
        version="v1",
        kind="PodTemplate",
        plural="podtemplates",
        component="kubernetes",
    )

    api_version: Literal["v1"] = Field("v1", description="version of the API: `v1`")
    kind: Literal["PodTemplate"] = Field("PodTemplate", description="kind of the object: `PodTemplate`")
    metadata: ObjectMeta | None = Field(None, description="name, namespace, labels and annotations")
    template: PodTemplateSpec | None = Field(None, description="the pods")
