"""Volumes of the drivers that were once built into Kubernetes: removed, or served by a CSI driver today."""

from typing import Annotated

from pydantic import Field

from jobspec.models.base import POD_DEFAULT, GoPointer, Int32, Model, PodList, Pointer, Unset
from jobspec.models.pod.reference import LocalObjectReference


class AWSElasticBlockStoreVolumeSource(Model):
    """A disk of Amazon EBS."""

    volume_id: str = Field(alias="volumeID", description="ID of the disk")
    partition: Int32 | None = Field(None, description="number of the partition; 0 or left out, the whole disk")
    fs_type: str | None = Field(None, description="file system to mount, `ext4` by default")
    read_only: bool | None = Field(None, description="mount it read-only; false by default")


class AzureDiskVolumeSource(Model):
    """A data disk of Azure."""

    disk_name: str = Field(description="name of the disk")
    disk_uri: str = Field(alias="diskURI", description="URI of the disk")
    kind: Pointer[str] = Field(None, description="`Shared` (default), `Dedicated` or `Managed`")
    caching_mode: Pointer[str] = Field(None, description="cache of the host: `None`, `ReadOnly` or `ReadWrite`")
    fs_type: Annotated[str, GoPointer(), POD_DEFAULT] = Field("ext4", description="file system to mount")
    read_only: Annotated[bool, GoPointer(), POD_DEFAULT] = Field(False, description="mount it read-only")


class AzureFileVolumeSource(Model):
    """A share of Azure Files."""

    secret_name: str = Field(description="Secret with the account's name and key")
    share_name: str = Field(description="name of the share")
    read_only: bool | None = Field(None, description="mount it read-only; false by default")


class CephFSVolumeSource(Model):
    """A folder of CephFS."""

    monitors: PodList[str] = Field(description="addresses of the monitors")
    path: str | None = Field(None, description="folder to mount, `/` by default")
    user: str | None = Field(None, description="user, `admin` by default")
    secret_file: str | None = Field(None, description="keyring on the node, `/etc/ceph/user.secret` by default")
    secret_ref: LocalObjectReference | None = Field(None, description="Secret with the user's key, instead of `secretFile`")
    read_only: bool | None = Field(None, description="mount it read-only; false by default")


class CinderVolumeSource(Model):
    """A volume of OpenStack Cinder."""

    volume_id: str = Field(alias="volumeID", description="ID of the volume")
    fs_type: str | None = Field(None, description="file system to mount, `ext4` by default")
    read_only: bool | None = Field(None, description="mount it read-only; false by default")
    secret_ref: LocalObjectReference | None = Field(None, description="Secret with the parameters to reach OpenStack")


class FlexVolumeSource(Model):
    """A volume of a driver that is a program on the node."""

    driver: str = Field(description="name of the driver")
    options: dict[str, str] | None = Field(None, description="settings for the driver")
    fs_type: str | None = Field(None, description="file system to mount; the driver's own by default")
    read_only: bool | None = Field(None, description="mount it read-only; false by default")
    secret_ref: LocalObjectReference | None = Field(None, description="Secret for the driver")


class FlockerVolumeSource(Model):
    """A volume of Flocker, by one of two names."""

    dataset_name: str | None = Field(None, description="name of the dataset, from its metadata")
    dataset_uuid: str | None = Field(None, alias="datasetUUID", description="UUID of the dataset")


class GCEPersistentDiskVolumeSource(Model):
    """A persistent disk of Google Compute Engine."""

    pd_name: str = Field(description="name of the disk")
    partition: Int32 | None = Field(None, description="number of the partition; 0 or left out, the whole disk")
    fs_type: str | None = Field(None, description="file system to mount, `ext4` by default")
    read_only: bool | None = Field(None, description="mount it read-only; false by default")


class GitRepoVolumeSource(Model):
    """A checkout of a Git repository."""

    repository: str = Field(description="URL of the repository")
    revision: str | None = Field(None, description="commit to check out")
    directory: str | None = Field(None, description="folder for the checkout, `.` for the volume's root; without `..`")


class GlusterfsVolumeSource(Model):
    """A volume of GlusterFS."""

    endpoints: str = Field(description="Endpoints object that lists the servers")
    path: str = Field(description="name of the volume")
    read_only: bool | None = Field(None, description="mount it read-only; false by default")


class PhotonPersistentDiskVolumeSource(Model):
    """A disk of VMware's Photon Controller."""

    pd_id: str = Field(alias="pdID", description="ID of the disk")
    fs_type: str | None = Field(None, description="file system to mount, `ext4` by default")


class PortworxVolumeSource(Model):
    """A volume of Portworx."""

    volume_id: str = Field(alias="volumeID", description="ID of the volume")
    fs_type: str | None = Field(None, description="file system to mount, `ext4` by default")
    read_only: bool | None = Field(None, description="mount it read-only; false by default")


class QuobyteVolumeSource(Model):
    """A volume of Quobyte."""

    registry: str = Field(description="registry services as `host:port`, separated by commas")
    volume: str = Field(description="name of the volume")
    user: str | None = Field(None, description="user to map access to, the service account's by default")
    group: str | None = Field(None, description="group to map access to, none by default")
    tenant: str | None = Field(None, description="tenant that owns the volume")
    read_only: bool | None = Field(None, description="mount it read-only; false by default")


class RBDVolumeSource(Model):
    """A RADOS block device of Ceph."""

    monitors: PodList[str] = Field(description="addresses of the monitors")
    image: str = Field(description="name of the image")
    pool: Annotated[str, POD_DEFAULT] = Field("rbd", description="pool of the image")
    user: Annotated[str, POD_DEFAULT] = Field("admin", description="user to authenticate as")
    keyring: Annotated[str, POD_DEFAULT] = Field("/etc/ceph/keyring", description="keyring of the user on the node")
    secret_ref: LocalObjectReference | None = Field(None, description="Secret with the user's key, instead of `keyring`")
    fs_type: str | None = Field(None, description="file system to mount, `ext4` by default")
    read_only: bool | None = Field(None, description="mount it read-only; false by default")


class ScaleIOVolumeSource(Model):
    """A volume of ScaleIO."""

    gateway: str = Field(description="address of the API gateway")
    system: str = Field(description="name of the storage system")
    secret_ref: Annotated[LocalObjectReference, Unset("nothing")] = Field(description="Secret with the user and password")
    ssl_enabled: bool | None = Field(None, description="speak TLS with the gateway; false by default")
    protection_domain: str | None = Field(None, description="protection domain of the storage")
    storage_pool: str | None = Field(None, description="pool of the protection domain")
    storage_mode: Annotated[str, POD_DEFAULT] = Field("ThinProvisioned", description="`ThinProvisioned` or `ThickProvisioned`")
    volume_name: str | None = Field(None, description="name of an existing volume")
    fs_type: Annotated[str, POD_DEFAULT] = Field("xfs", description="file system to mount")
    read_only: bool | None = Field(None, description="mount it read-only; false by default")


class StorageOSVolumeSource(Model):
    """A volume of StorageOS."""

    volume_name: str | None = Field(None, description="name of the volume in its namespace")
    volume_namespace: str | None = Field(None, description="namespace inside of StorageOS, the pod's by default")
    fs_type: str | None = Field(None, description="file system to mount, `ext4` by default")
    read_only: bool | None = Field(None, description="mount it read-only; false by default")
    secret_ref: LocalObjectReference | None = Field(None, description="Secret with the credentials of the StorageOS API")


class VsphereVirtualDiskVolumeSource(Model):
    """A virtual disk of vSphere."""

    volume_path: str = Field(description="path of the VMDK file, such as `[datastore] folder/disk.vmdk`")
    fs_type: str | None = Field(None, description="file system to mount, `ext4` by default")
    storage_policy_name: str | None = Field(None, description="name of the storage policy")
    storage_policy_id: str | None = Field(None, alias="storagePolicyID", description="ID of the storage policy of that name")
