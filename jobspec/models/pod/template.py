"""The template from which pods are made."""

from typing import Annotated

from pydantic import Field

from jobspec.models.base import Model, Unset
from jobspec.models.meta import EmbeddedMeta
from jobspec.models.pod.spec import PodSpec


class PodTemplateSpec(Model):
    """A pod to make copies of."""

    metadata: EmbeddedMeta | None = Field(None, description="labels and annotations of the pods")
    spec: Annotated[PodSpec | None, Unset("zero")] = Field(None, description="what the pods are and where they run")
