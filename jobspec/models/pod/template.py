"""The template from which pods are made."""

from pydantic import Field

from jobspec.models.base import Model
from jobspec.models.meta import EmbeddedMeta
from jobspec.models.pod.spec import PodSpec


class PodTemplateSpec(Model):
    """A pod to make copies of."""

    metadata: EmbeddedMeta | None = Field(None, description="labels and annotations of the pods")
    spec: PodSpec | None = Field(None, description="what the pods are and where they run")
