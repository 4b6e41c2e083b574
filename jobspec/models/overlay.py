"""The project's own Overlay: a named, typed layer over training jobs."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from jobspec.models.base import Model, Resource
from jobspec.models.meta import ObjectMeta

Roles = Literal["master", "worker"]


class Parameter(Model):
    """A value that a user gives to an overlay with `--set OVERLAY.NAME=VALUE`."""

    type: Literal["string", "integer", "boolean", "quantity"] = Field(description="type of the value")
    description: str | None = Field(None, description="what the value means, with its unit")
    default: Any = Field(None, description="the value by default; without it the user has to set one")
    optional: bool | None = Field(None, description="may stay unset; whatever is set to it is then left out")
    enum: list[str] | None = Field(None, description="the values to choose from")
    minimum: int | None = Field(None, description="the least integer")
    maximum: int | None = Field(None, description="the greatest integer")


class Pods(Model):
    """A change to training pods, whatever the kind of job."""

    roles: list[Roles] | None = Field(None, description="pods of these roles; every training pod where left out")
    flags: dict[str, Any] | None = Field(
        None, description="flags of the training program; `null` removes, `true` is a bare flag, `false` removes one"
    )
    template: dict[str, Any] | None = Field(
        None, description="a partial pod template; lists merge by their merge keys, and `$remove: true` removes an item"
    )


class OverlaySpec(Model):
    """What the overlay changes, with its parameters and conflicts."""

    description: str | None = Field(None, description="one line for people")
    conflicts: list[str] | None = Field(None, description="names of overlays that cannot be applied together with this one")
    override: bool | None = Field(None, description="may set what an earlier overlay set differently")
    parameters: dict[str, Parameter] | None = Field(None, description="values that a user may give")
    pods: list[Pods] | None = Field(None, description="changes to training pods")
    job: dict[str, Any] | None = Field(None, description="partial manifests by kind, such as PyTorchJob")
    resources: list[Any] | None = Field(None, description="companion manifests to add")


class Overlay(Model):
    """A layer that turns a plain job into a variant of it."""

    api_version: Literal["jobspec.dev/v1alpha1"] = Field("jobspec.dev/v1alpha1", description="group and version of the kind")
    kind: Literal["Overlay"] = Field("Overlay", description="the kind")
    metadata: ObjectMeta = Field(description="`name` is the overlay's own")
    spec: OverlaySpec = Field(description="what the overlay does")

    RESOURCE: ClassVar[Resource] = Resource(group="jobspec.dev", version="v1alpha1", kind="Overlay", plural="overlays", component="jobspec")
