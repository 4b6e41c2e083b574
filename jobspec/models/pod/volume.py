"""Volumes of a pod."""

from typing import Annotated

from pydantic import Field

from jobspec.models.base import POD_DEFAULT, Int32, Model, OneOf, PodList, Pointer, Quantity, Since
from jobspec.models.pod import volume_legacy as legacy
from jobspec.models.pod.claim import EphemeralVolumeSource, PersistentVolumeClaimVolumeSource
from jobspec.models.pod.projection import ConfigMapVolumeSource, DownwardAPIVolumeSource, ProjectedVolumeSource, SecretVolumeSource
from jobspec.models.pod.reference import LocalObjectReference


class EmptyDirVolumeSource(Model):
    """An empty folder that lives as long as the pod."""

    medium: str | None = Field(None, description="left out, the node's disk; `Memory` (for `/dev/shm`), `HugePages`, `HugePages-2Mi`")
    size_limit: Quantity | None = Field(None, description="most it may hold; beyond it, the pod is evicted; in RAM it counts as memory")


class HostPathVolumeSource(Model):
    """A path of the node itself."""

    path: str = Field(description="path on the node")
    type: Pointer[str] = Field(
        None, description="what has to be there: `Directory`, `DirectoryOrCreate`, `File`, ...; unchecked by default"
    )


class NFSVolumeSource(Model):
    """A folder of an NFS server."""

    server: str = Field(description="host name or address of the server")
    path: str = Field(description="absolute path that the server exports")
    read_only: bool | None = Field(None, description="mount it read-only; false by default")


class CSIVolumeSource(Model):
    """A volume that a CSI driver makes for the pod and removes with it."""

    driver: str = Field(description="name of the CSI driver")
    volume_attributes: dict[str, str] | None = Field(None, description="settings for the driver")
    fs_type: Pointer[str] = Field(None, description="file system, such as `ext4`; the driver chooses by default")
    read_only: Pointer[bool] = Field(None, description="mount it read-only; false by default")
    node_publish_secret_ref: LocalObjectReference | None = Field(None, description="Secret that the driver needs to mount")


class ImageVolumeSource(Model):
    """The files of a container image or OCI artifact, read-only."""

    reference: str | None = Field(None, description="image to mount, written as for a container; needed")
    pull_policy: str | None = Field(None, description="`Always`, `IfNotPresent` or `Never`; by default `Always` for `:latest` or no tag")


class FCVolumeSource(Model):
    """A Fibre Channel disk, by `targetWWNs` and `lun` or by `wwids`."""

    target_wwns: PodList[str] | None = Field(None, alias="targetWWNs", description="world wide names of the targets")
    lun: Pointer[Int32] = Field(None, description="number of the logical unit")
    wwids: PodList[str] | None = Field(None, description="world wide identifiers of the disk, instead of targets and unit")
    fs_type: str | None = Field(None, description="file system to mount, `ext4` by default")
    read_only: bool | None = Field(None, description="mount it read-only; false by default")


class ISCSIVolumeSource(Model):
    """An iSCSI disk."""

    target_portal: str = Field(description="address of the target, with the port where it is not 3260")
    iqn: str = Field(description="qualified name of the target")
    lun: Int32 = Field(description="number of the logical unit")
    portals: PodList[str] | None = Field(None, description="further addresses of the target, for multipath")
    iscsi_interface: Annotated[str, POD_DEFAULT] = Field("default", description="interface of the initiator; `default` is TCP")
    initiator_name: Pointer[str] = Field(None, description="name of the initiator; makes a new interface for the connection")
    fs_type: str | None = Field(None, description="file system to mount, `ext4` by default")
    read_only: bool | None = Field(None, description="mount it read-only; false by default")
    chap_auth_discovery: bool | None = Field(None, description="authenticate by CHAP in discovery")
    chap_auth_session: bool | None = Field(None, description="authenticate by CHAP in the session")
    secret_ref: LocalObjectReference | None = Field(None, description="Secret with the CHAP credentials")


class Volume(Model):
    """A volume that containers can mount; exactly one source, an empty folder by default."""

    FACTS = (OneOf(),)

    name: str = Field(description="name, unique in the pod, that mounts refer to")
    empty_dir: EmptyDirVolumeSource | None = Field(None, description="an empty folder for the pod's life")
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = Field(None, description="the volume of an existing claim")
    ephemeral: EphemeralVolumeSource | None = Field(None, description="a volume provisioned for this pod, deleted with it")
    config_map: ConfigMapVolumeSource | None = Field(None, description="files from a ConfigMap")
    secret: SecretVolumeSource | None = Field(None, description="files from a Secret")
    projected: ProjectedVolumeSource | None = Field(None, description="files from several objects in one folder")
    downward_api: DownwardAPIVolumeSource | None = Field(None, alias="downwardAPI", description="files with facts about the pod")
    host_path: HostPathVolumeSource | None = Field(None, description="a path of the node; best avoided, and often forbidden")
    nfs: NFSVolumeSource | None = Field(None, description="a folder of an NFS server")
    csi: CSIVolumeSource | None = Field(None, description="an ephemeral volume of a CSI driver")
    image: Annotated[ImageVolumeSource | None, Since("kubernetes", "0.31")] = Field(
        None, description="files of a container image or OCI artifact"
    )
    fc: FCVolumeSource | None = Field(None, description="a Fibre Channel disk")
    iscsi: ISCSIVolumeSource | None = Field(None, description="an iSCSI disk")
    aws_elastic_block_store: legacy.AWSElasticBlockStoreVolumeSource | None = Field(None, description="deprecated: an EBS disk; use CSI")
    azure_disk: legacy.AzureDiskVolumeSource | None = Field(None, description="deprecated: an Azure disk; use `disk.csi.azure.com`")
    azure_file: legacy.AzureFileVolumeSource | None = Field(None, description="deprecated: an Azure share; use `file.csi.azure.com`")
    cephfs: legacy.CephFSVolumeSource | None = Field(None, description="removed in Kubernetes 1.31: a CephFS folder")
    cinder: legacy.CinderVolumeSource | None = Field(None, description="deprecated: a Cinder volume; use `cinder.csi.openstack.org`")
    flex_volume: legacy.FlexVolumeSource | None = Field(None, description="deprecated: a volume of an executable driver; use CSI")
    flocker: legacy.FlockerVolumeSource | None = Field(None, description="removed in Kubernetes 1.25: a Flocker volume")
    gce_persistent_disk: legacy.GCEPersistentDiskVolumeSource | None = Field(None, description="deprecated: a Google disk; use CSI")
    git_repo: legacy.GitRepoVolumeSource | None = Field(None, description="off since Kubernetes 1.33: a Git checkout; use `git clone`")
    glusterfs: legacy.GlusterfsVolumeSource | None = Field(None, description="removed in Kubernetes 1.26: a GlusterFS volume")
    photon_persistent_disk: legacy.PhotonPersistentDiskVolumeSource | None = Field(None, description="removed: a disk of Photon Controller")
    portworx_volume: legacy.PortworxVolumeSource | None = Field(None, description="deprecated: a Portworx volume; use `pxd.portworx.com`")
    quobyte: legacy.QuobyteVolumeSource | None = Field(None, description="removed in Kubernetes 1.25: a Quobyte volume")
    rbd: legacy.RBDVolumeSource | None = Field(None, description="removed in Kubernetes 1.31: a RADOS block device of Ceph")
    scale_io: legacy.ScaleIOVolumeSource | None = Field(None, alias="scaleIO", description="removed in Kubernetes 1.22: a ScaleIO volume")
    storageos: legacy.StorageOSVolumeSource | None = Field(None, description="removed in Kubernetes 1.25: a StorageOS volume")
    vsphere_volume: legacy.VsphereVirtualDiskVolumeSource | None = Field(None, description="deprecated: a vSphere disk; use CSI")
