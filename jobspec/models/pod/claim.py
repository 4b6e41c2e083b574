"""Claims on persistent storage, and volumes that use them."""

from typing import Annotated

from pydantic import Field

from jobspec.models.base import InCustomKinds, Keyed, Model, PodList, Pointer, Quantity, Since, Type, Until
from jobspec.models.meta import EmbeddedMeta, LabelSelector, ObjectMeta
from jobspec.models.pod.reference import TypedLocalObjectReference, TypedObjectReference
from jobspec.models.pod.resources import ResourceClaim


class VolumeResourceRequirements(Model):
    """How much storage a claim wants."""

    requests: dict[str, Quantity] | None = Field(None, description="the wished size as `storage`, such as `100Gi`; it can grow, not shrink")
    limits: dict[str, Quantity] | None = Field(None, description="largest size as `storage`; few drivers look at it")
    claims: Annotated[list[ResourceClaim] | None, Keyed("name"), Until("kubernetes", "0.29")] = Field(
        None, description="ignored: only containers claim devices"
    )


class PersistentVolumeClaimSpec(Model):
    """The storage that a claim asks for."""

    access_modes: PodList[str] | None = Field(None, description="`ReadWriteOnce`, `ReadWriteOncePod`, `ReadOnlyMany` or `ReadWriteMany`")
    storage_class_name: Pointer[str] = Field(
        None, description="StorageClass to provision from; left out, the cluster's default; empty, none"
    )
    volume_attributes_class_name: Annotated[Pointer[str], Since("kubernetes", "0.29")] = Field(
        None, description="VolumeAttributesClass with changeable settings, such as IOPS"
    )
    resources: VolumeResourceRequirements | None = Field(None, description="how much storage; `requests.storage` is needed")
    volume_mode: Pointer[str] = Field(None, description="`Filesystem` (default) or `Block`")
    volume_name: str | None = Field(None, description="the PersistentVolume to bind to; set by the control plane otherwise")
    selector: LabelSelector | None = Field(None, description="existing PersistentVolumes by label; keeps new ones from being provisioned")
    data_source: TypedLocalObjectReference | None = Field(None, description="a VolumeSnapshot or claim to copy; other kinds are dropped")
    data_source_ref: TypedObjectReference | None = Field(None, description="object to fill the volume from, of any kind with a populator")


class PersistentVolumeClaimTemplate(Model):
    """The claim that is made for a pod."""

    metadata: Annotated[ObjectMeta | None, InCustomKinds(Type(EmbeddedMeta))] = Field(
        None, description="labels and annotations of the claim; its name is `<pod>-<volume>`"
    )
    spec: PersistentVolumeClaimSpec = Field(description="the storage that the claim asks for")


class EphemeralVolumeSource(Model):
    """A volume of its own for each pod, deleted with it."""

    volume_claim_template: PersistentVolumeClaimTemplate | None = Field(None, description="the claim to make for the pod; needed")


class PersistentVolumeClaimVolumeSource(Model):
    """The volume of a PersistentVolumeClaim."""

    claim_name: str = Field(description="name of the claim, in the pod's own namespace")
    read_only: bool | None = Field(None, description="mount it read-only in every container; false by default")
