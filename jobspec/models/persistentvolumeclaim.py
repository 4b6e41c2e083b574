"""PersistentVolumeClaim (`v1`): storage that outlives pods."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from jobspec.models.base import AtomicList, Keyed, MapType, Model, Quantity, Resource, Time
from jobspec.models.meta import ObjectMeta
from jobspec.models.pod.claim import PersistentVolumeClaimSpec


class PersistentVolumeClaimCondition(Model):
    """A state that the claim is in."""

    type: str = Field(description="the state, such as `Resizing`, `FileSystemResizePending` or `ModifyingVolume`")
    status: str = Field(description="`True`, `False` or `Unknown`")
    reason: str | None = Field(None, description="why, as a word")
    message: str | None = Field(None, description="why, as a sentence")
    last_probe_time: Time | None = Field(None, description="when the state was last looked at")
    last_transition_time: Time | None = Field(None, description="when `status` last changed")


class ModifyVolumeStatus(Model):
    """A change of the volume's VolumeAttributesClass that is under way."""

    status: str = Field(description="`Pending` (no such class yet, for example), `InProgress` or `Infeasible` (the driver refused)")
    target_volume_attributes_class_name: str | None = Field(None, description="the class that the volume changes to")


class PersistentVolumeClaimStatus(Model):
    """The status of the claim; written by the control plane."""

    phase: str | None = Field(None, description="`Pending` (not bound yet), `Bound` or `Lost` (its volume is gone)")
    access_modes: AtomicList[str] | None = Field(None, description="access modes of the bound volume")
    capacity: dict[str, Quantity] | None = Field(None, description="size of the bound volume, as `storage`")
    conditions: Annotated[list[PersistentVolumeClaimCondition] | None, Keyed("type")] = Field(None, description="states of the claim")
    allocated_resources: dict[str, Quantity] | None = Field(None, description="size that counts for quota while a resize is under way")
    allocated_resource_statuses: Annotated[dict[str, str] | None, MapType("granular")] = Field(
        None, description="state of a resize by resource, as `NodeResizePending`"
    )
    current_volume_attributes_class_name: str | None = Field(None, description="VolumeAttributesClass that the volume has now")
    modify_volume_status: ModifyVolumeStatus | None = Field(None, description="the change of the class that is under way")


class PersistentVolumeClaim(Model):
    """A claim on a volume, which is found or provisioned for it."""

    RESOURCE: ClassVar[Resource] = Resource(
        group="",
        version="v1",
        kind="PersistentVolumeClaim",
        plural="persistentvolumeclaims",
        component="kubernetes",
        status=True,
    )

    api_version: Literal["v1"] = Field("v1", description="version of the API: `v1`")
    kind: Literal["PersistentVolumeClaim"] = Field("PersistentVolumeClaim", description="kind of the object: `PersistentVolumeClaim`")
    metadata: ObjectMeta | None = Field(None, description="name, namespace, labels; pods refer to the claim by its name")
    spec: PersistentVolumeClaimSpec | None = Field(None, description="the storage; once bound, only size and attributes class can change")
    status: PersistentVolumeClaimStatus | None = Field(None, description="status of the claim; written by the control plane")
