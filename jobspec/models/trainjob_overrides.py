"""Changes of a TrainJob to its runtime before release 2.2: `podSpecOverrides` of 2.0 and `podTemplateOverrides` of 2.1."""

from typing import Annotated

from annotated_types import MinLen
from pydantic import Field

from jobspec.models.base import AtomicList, Model, Since
from jobspec.models.trainjob_patches import PodSpecPatch, PodTemplatePatch


class TargetJob(Model):
    """A replicated job of the runtime."""

    name: Annotated[str, Since("trainer", "2.1", MinLen(1))] = Field(
        description="name of the replicated job: usually `node` for the training; an unknown one is refused"
    )


class Targeted(Model):
    """What says which replicated jobs it is meant for."""

    target_jobs: AtomicList[TargetJob] = Field(description="the replicated jobs to change; in 2.0 a job may be targeted only once")


class PodSpecOverride(PodSpecPatch, Targeted):  # the last base's fields come first
    """Changes to the pods of some replicated jobs, in 2.0."""


class PodTemplateOverride(PodTemplatePatch, Targeted):
    """Changes to the pods of some replicated jobs, in 2.1; those later in the list override earlier ones."""
