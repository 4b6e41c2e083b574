"""Pod (`v1`): containers that run together on one node."""

from typing import ClassVar, Literal

from pydantic import Field

from jobspec.models.base import Model, Resource
from jobspec.models.meta import ObjectMeta
from jobspec.models.pod.spec import PodSpec
from jobspec.models.pod.status import PodStatus


class Pod(Model):
    """Containers that run together on one node, with shared volumes and one address."""

    RESOURCE: ClassVar[Resource] = Resource(group="", version="v1", kind="Pod", plural="pods", component="kubernetes", status=True)

    api_version: Literal["v1"] = Field("v1", description="version of the API: `v1`")
    kind: Literal["Pod"] = Field("Pod", description="kind of the object: `Pod`")
    metadata: ObjectMeta | None = Field(None, description="name, namespace, and the labels by which Services and others find the pod")
    spec: PodSpec | None = Field(None, description="the pod; once created, hardly anything but the images can change")
    status: PodStatus | None = Field(None, description="status of the pod; written by the kubelet")
