"""Volumes of a pod."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from jobspec.models.base import (
    POD_DEFAULT,
    AtomicList,
    GoPointer,
    InCustomKinds,
    Int32,
    Int64,
    Keyed,
    MapType,
    Model,
    OneOf,
    PodList,
    Pointer,
    Quantity,
    Resource,
    Since,
    Time,
    Type,
    Unset,
    Until,
    constant,
    optional_field,
)
from jobspec.models.meta import EmbeddedMeta, LabelSelector, ObjectMeta
from jobspec.models.pod.container import (
    LocalObjectReference,
    ObjectFieldSelector,
    ResourceClaim,
    ResourceFieldSelector,
    TypedLocalObjectReference,
    TypedObjectReference,
)

OwnerId = Annotated[Pointer[Int64], Since("kubernetes", "0.37")]


class EmptyDirVolumeSource(Model):
    """An empty folder that lives as long as the pod."""

    medium: str | None = optional_field("left out, the node's disk; `Memory` (for `/dev/shm`), `HugePages`, `HugePages-2Mi`")
    size_limit: Annotated[Quantity | None, GoPointer()] = optional_field(
        "most it may hold; beyond it, the pod is evicted; in RAM it counts as memory"
    )
    mode: Annotated[Pointer[Int32], Since("kubernetes", "0.37")] = optional_field("permission bits of the folder (alpha)")


class HostPathVolumeSource(Model):
    """A path of the node itself."""

    path: str = Field(description="path on the node")
    type: Pointer[str] = optional_field("what has to be there: `Directory`, `DirectoryOrCreate`, `File`, ...; unchecked by default")


class NFSVolumeSource(Model):
    """A folder of an NFS server."""

    server: str = Field(description="host name or address of the server")
    path: str = Field(description="absolute path that the server exports")
    read_only: bool | None = optional_field("mount it read-only; false by default")


class CSIVolumeSource(Model):
    """A volume that a CSI driver makes for the pod and removes with it."""

    driver: str = Field(description="name of the CSI driver")
    volume_attributes: dict[str, str] | None = optional_field("settings for the driver")
    fs_type: Pointer[str] = optional_field("file system, such as `ext4`; the driver chooses by default")
    read_only: Pointer[bool] = optional_field("mount it read-only; false by default")
    node_publish_secret_ref: LocalObjectReference | None = optional_field("Secret that the driver needs to mount")


class ImageVolumeSource(Model):
    """The files of a container image or OCI artifact, read-only."""

    reference: str | None = optional_field("image to mount, written as for a container; needed")
    pull_policy: str | None = optional_field("`Always`, `IfNotPresent` or `Never`; by default `Always` for `:latest` or no tag")


class FCVolumeSource(Model):
    """A Fibre Channel disk, by `targetWWNs` and `lun` or by `wwids`."""

    target_wwns: PodList[str] | None = Field(default=None, alias="targetWWNs", description="world wide names of the targets")
    lun: Pointer[Int32] = optional_field("number of the logical unit")
    wwids: PodList[str] | None = optional_field("world wide identifiers of the disk, instead of targets and unit")
    fs_type: str | None = optional_field("file system to mount, `ext4` by default")
    read_only: bool | None = optional_field("mount it read-only; false by default")


class ISCSIVolumeSource(Model):
    """An iSCSI disk."""

    target_portal: str = Field(description="address of the target, with the port where it is not 3260")
    iqn: str = Field(description="qualified name of the target")
    lun: Int32 = Field(description="number of the logical unit")
    portals: PodList[str] | None = optional_field("further addresses of the target, for multipath")
    iscsi_interface: Annotated[str, POD_DEFAULT] = Field(default="default", description="interface of the initiator; `default` is TCP")
    initiator_name: Pointer[str] = optional_field("name of the initiator; makes a new interface for the connection")
    fs_type: str | None = optional_field("file system to mount, `ext4` by default")
    read_only: bool | None = optional_field("mount it read-only; false by default")
    chap_auth_discovery: bool | None = optional_field("authenticate by CHAP in discovery")
    chap_auth_session: bool | None = optional_field("authenticate by CHAP in the session")
    secret_ref: LocalObjectReference | None = optional_field("Secret with the CHAP credentials")


# Volumes of the drivers that were once built into Kubernetes: removed, or served by a CSI driver today.


class AWSElasticBlockStoreVolumeSource(Model):
    """A disk of Amazon EBS."""

    volume_id: str = Field(alias="volumeID", description="ID of the disk")
    partition: Int32 | None = optional_field("number of the partition; 0 or left out, the whole disk")
    fs_type: str | None = optional_field("file system to mount, `ext4` by default")
    read_only: bool | None = optional_field("mount it read-only; false by default")


class AzureDiskVolumeSource(Model):
    """A data disk of Azure."""

    disk_name: str = Field(description="name of the disk")
    disk_uri: str = Field(alias="diskURI", description="URI of the disk")
    kind: Pointer[str] = optional_field("`Shared` (default), `Dedicated` or `Managed`")
    caching_mode: Pointer[str] = optional_field("cache of the host: `None`, `ReadOnly` or `ReadWrite`")
    fs_type: Annotated[str, GoPointer(), POD_DEFAULT] = Field(default="ext4", description="file system to mount")
    read_only: Annotated[bool, GoPointer(), POD_DEFAULT] = Field(default=False, description="mount it read-only")


class AzureFileVolumeSource(Model):
    """A share of Azure Files."""

    secret_name: str = Field(description="Secret with the account's name and key")
    share_name: str = Field(description="name of the share")
    read_only: bool | None = optional_field("mount it read-only; false by default")


class CephFSVolumeSource(Model):
    """A folder of CephFS."""

    monitors: PodList[str] = Field(description="addresses of the monitors")
    path: str | None = optional_field("folder to mount, `/` by default")
    user: str | None = optional_field("user, `admin` by default")
    secret_file: str | None = optional_field("keyring on the node, `/etc/ceph/user.secret` by default")
    secret_ref: LocalObjectReference | None = optional_field("Secret with the user's key, instead of `secretFile`")
    read_only: bool | None = optional_field("mount it read-only; false by default")


class CinderVolumeSource(Model):
    """A volume of OpenStack Cinder."""

    volume_id: str = Field(alias="volumeID", description="ID of the volume")
    fs_type: str | None = optional_field("file system to mount, `ext4` by default")
    read_only: bool | None = optional_field("mount it read-only; false by default")
    secret_ref: LocalObjectReference | None = optional_field("Secret with the parameters to reach OpenStack")


class FlexVolumeSource(Model):
    """A volume of a driver that is a program on the node."""

    driver: str = Field(description="name of the driver")
    options: dict[str, str] | None = optional_field("settings for the driver")
    fs_type: str | None = optional_field("file system to mount; the driver's own by default")
    read_only: bool | None = optional_field("mount it read-only; false by default")
    secret_ref: LocalObjectReference | None = optional_field("Secret for the driver")


class FlockerVolumeSource(Model):
    """A volume of Flocker, by one of two names."""

    dataset_name: str | None = optional_field("name of the dataset, from its metadata")
    dataset_uuid: str | None = Field(default=None, alias="datasetUUID", description="UUID of the dataset")


class GCEPersistentDiskVolumeSource(Model):
    """A persistent disk of Google Compute Engine."""

    pd_name: str = Field(description="name of the disk")
    partition: Int32 | None = optional_field("number of the partition; 0 or left out, the whole disk")
    fs_type: str | None = optional_field("file system to mount, `ext4` by default")
    read_only: bool | None = optional_field("mount it read-only; false by default")


class GitRepoVolumeSource(Model):
    """A checkout of a Git repository."""

    repository: str = Field(description="URL of the repository")
    revision: str | None = optional_field("commit to check out")
    directory: str | None = optional_field("folder for the checkout, `.` for the volume's root; without `..`")


class GlusterfsVolumeSource(Model):
    """A volume of GlusterFS."""

    endpoints: str = Field(description="Endpoints object that lists the servers")
    path: str = Field(description="name of the volume")
    read_only: bool | None = optional_field("mount it read-only; false by default")


class PhotonPersistentDiskVolumeSource(Model):
    """A disk of VMware's Photon Controller."""

    pd_id: str = Field(alias="pdID", description="ID of the disk")
    fs_type: str | None = optional_field("file system to mount, `ext4` by default")


class PortworxVolumeSource(Model):
    """A volume of Portworx."""

    volume_id: str = Field(alias="volumeID", description="ID of the volume")
    fs_type: str | None = optional_field("file system to mount, `ext4` by default")
    read_only: bool | None = optional_field("mount it read-only; false by default")


class QuobyteVolumeSource(Model):
    """A volume of Quobyte."""

    registry: str = Field(description="registry services as `host:port`, separated by commas")
    volume: str = Field(description="name of the volume")
    user: str | None = optional_field("user to map access to, the service account's by default")
    group: str | None = optional_field("group to map access to, none by default")
    tenant: str | None = optional_field("tenant that owns the volume")
    read_only: bool | None = optional_field("mount it read-only; false by default")


class RBDVolumeSource(Model):
    """A RADOS block device of Ceph."""

    monitors: PodList[str] = Field(description="addresses of the monitors")
    image: str = Field(description="name of the image")
    pool: Annotated[str, POD_DEFAULT] = Field(default="rbd", description="pool of the image")
    user: Annotated[str, POD_DEFAULT] = Field(default="admin", description="user to authenticate as")
    keyring: Annotated[str, POD_DEFAULT] = Field(default="/etc/ceph/keyring", description="keyring of the user on the node")
    secret_ref: LocalObjectReference | None = optional_field("Secret with the user's key, instead of `keyring`")
    fs_type: str | None = optional_field("file system to mount, `ext4` by default")
    read_only: bool | None = optional_field("mount it read-only; false by default")


class ScaleIOVolumeSource(Model):
    """A volume of ScaleIO."""

    gateway: str = Field(description="address of the API gateway")
    system: str = Field(description="name of the storage system")
    secret_ref: Annotated[LocalObjectReference, Unset("nothing")] = Field(description="Secret with the user and password")
    ssl_enabled: bool | None = optional_field("speak TLS with the gateway; false by default")
    protection_domain: str | None = optional_field("protection domain of the storage")
    storage_pool: str | None = optional_field("pool of the protection domain")
    storage_mode: Annotated[str, POD_DEFAULT] = Field(default="ThinProvisioned", description="`ThinProvisioned` or `ThickProvisioned`")
    volume_name: str | None = optional_field("name of an existing volume")
    fs_type: Annotated[str, POD_DEFAULT] = Field(default="xfs", description="file system to mount")
    read_only: bool | None = optional_field("mount it read-only; false by default")


class StorageOSVolumeSource(Model):
    """A volume of StorageOS."""

    volume_name: str | None = optional_field("name of the volume in its namespace")
    volume_namespace: str | None = optional_field("namespace inside of StorageOS, the pod's by default")
    fs_type: str | None = optional_field("file system to mount, `ext4` by default")
    read_only: bool | None = optional_field("mount it read-only; false by default")
    secret_ref: LocalObjectReference | None = optional_field("Secret with the credentials of the StorageOS API")


class VsphereVirtualDiskVolumeSource(Model):
    """A virtual disk of vSphere."""

    volume_path: str = Field(description="path of the VMDK file, such as `[datastore] folder/disk.vmdk`")
    fs_type: str | None = optional_field("file system to mount, `ext4` by default")
    storage_policy_name: str | None = optional_field("name of the storage policy")
    storage_policy_id: str | None = Field(default=None, alias="storagePolicyID", description="ID of the storage policy of that name")


# Volumes whose files come from API objects.


class KeyToPath(Model):
    """A file for one key."""

    key: str = Field(description="the key")
    path: str = Field(description="path of the file in the volume, relative and without `..`")
    mode: Pointer[Int32] = optional_field("permission bits, up to 0777 (octal, 511 in decimal); `defaultMode` by default")
    user: OwnerId = optional_field("owner of the file, by UID (alpha); `defaultUser` by default")


class ConfigMapVolumeSource(Model):
    """A file for each key of a ConfigMap."""

    FACTS = (MapType("atomic"),)

    name: Annotated[str, POD_DEFAULT] = Field(default="", description="name of the ConfigMap, in the pod's own namespace")
    items: PodList[KeyToPath] | None = optional_field("keys to take and their files; all keys under their own names by default")
    default_mode: Pointer[Int32] = optional_field("permission bits of the files, 0644 (octal) by default")
    default_user: OwnerId = optional_field("owner of the files, by UID (alpha)")
    optional: Pointer[bool] = optional_field("start the pod even when the ConfigMap or a key is missing")


class SecretVolumeSource(Model):
    """A file, held in memory, for each key of a Secret."""

    secret_name: str | None = optional_field("name of the Secret, in the pod's own namespace")
    items: PodList[KeyToPath] | None = optional_field("keys to take and their files; all keys under their own names by default")
    default_mode: Pointer[Int32] = optional_field("permission bits of the files, 0644 (octal) by default")
    default_user: OwnerId = optional_field("owner of the files, by UID (alpha)")
    optional: Pointer[bool] = optional_field("start the pod even when the Secret or a key is missing")


class DownwardAPIVolumeFile(Model):
    """A file with a fact about the pod; exactly one source."""

    path: str = Field(description="path of the file in the volume, relative and without `..`")
    field_ref: ObjectFieldSelector | None = optional_field("a field of the pod: name, namespace, UID, labels or annotations")
    resource_field_ref: ResourceFieldSelector | None = optional_field("a limit or request of a container")
    mode: Pointer[Int32] = optional_field("permission bits, up to 0777 (octal, 511 in decimal); `defaultMode` by default")
    user: OwnerId = optional_field("owner of the file, by UID (alpha); `defaultUser` by default")


class DownwardAPIVolumeSource(Model):
    """Files with facts about the pod."""

    items: PodList[DownwardAPIVolumeFile] | None = optional_field("the files")
    default_mode: Pointer[Int32] = optional_field("permission bits of the files, 0644 (octal) by default")
    default_user: OwnerId = optional_field("owner of the files, by UID (alpha)")


class ConfigMapProjection(Model):
    """A ConfigMap's part of a projected volume."""

    FACTS = (MapType("atomic"),)

    name: Annotated[str, POD_DEFAULT] = Field(default="", description="name of the ConfigMap, in the pod's own namespace")
    items: PodList[KeyToPath] | None = optional_field("keys to take and their files; all keys under their own names by default")
    optional: Pointer[bool] = optional_field("start the pod even when the ConfigMap or a key is missing")


class SecretProjection(Model):
    """A Secret's part of a projected volume."""

    FACTS = (MapType("atomic"),)

    name: Annotated[str, POD_DEFAULT] = Field(default="", description="name of the Secret, in the pod's own namespace")
    items: PodList[KeyToPath] | None = optional_field("keys to take and their files; all keys under their own names by default")
    optional: Pointer[bool] = optional_field("start the pod even when the Secret or a key is missing")


class DownwardAPIProjection(Model):
    """The part of a projected volume with facts about the pod."""

    items: PodList[DownwardAPIVolumeFile] | None = optional_field("the files")


class ServiceAccountTokenProjection(Model):
    """A token of the pod's service account, renewed before it expires."""

    path: str = Field(description="path of the token's file in the volume")
    audience: str | None = optional_field("who the token is meant for, the API server by default")
    expiration_seconds: Pointer[Int64] = optional_field("seconds that a token is valid, 3600 by default, at least 600")
    user: OwnerId = optional_field("owner of the file, by UID (alpha)")


class ClusterTrustBundleProjection(Model):
    """Certificates of authorities, by the bundle's name or by signer and labels."""

    path: str = Field(description="path of the PEM file in the volume")
    name: Pointer[str] = optional_field("one ClusterTrustBundle; excludes `signerName` and `labelSelector`")
    signer_name: Pointer[str] = optional_field("all bundles of this signer; excludes `name`")
    label_selector: LabelSelector | None = optional_field("narrows the signer's bundles; left out, none of them; empty, all")
    optional: Pointer[bool] = optional_field("start the pod even when there is no such bundle")
    user: OwnerId = optional_field("owner of the file, by UID (alpha)")


class PodCertificateProjection(Model):
    """A private key and a certificate for this pod, renewed by the kubelet."""

    signer_name: Annotated[str, Unset("nothing")] = Field(description="the signer that is asked for the certificate")
    key_type: Annotated[str, Unset("nothing")] = Field(
        description="`RSA3072`, `RSA4096`, `ECDSAP256`, `ECDSAP384`, `ECDSAP521` or `ED25519`"
    )
    credential_bundle_path: str | None = optional_field("one PEM file with the key and the certificates, exchanged at once")
    key_path: str | None = optional_field("PEM file with the key alone")
    certificate_chain_path: str | None = optional_field("PEM file with the certificates alone")
    max_expiration_seconds: Pointer[Int32] = optional_field("longest validity in seconds, 86400 by default, from 3600 to 7862400")
    user_annotations: Annotated[dict[str, str] | None, Since("kubernetes", "0.35")] = optional_field(
        "further requests to the signer; each key has a domain as prefix, and the signer refuses those it does not know"
    )
    user: OwnerId = optional_field("owner of the file, by UID (alpha)")


class VolumeProjection(Model):
    """One source of a projected volume; exactly one is set."""

    config_map: ConfigMapProjection | None = optional_field("keys of a ConfigMap")
    secret: SecretProjection | None = optional_field("keys of a Secret")
    downward_api: DownwardAPIProjection | None = Field(default=None, alias="downwardAPI", description="facts about the pod")
    service_account_token: ServiceAccountTokenProjection | None = optional_field("a token of the pod's service account")
    cluster_trust_bundle: Annotated[ClusterTrustBundleProjection | None, Since("kubernetes", "0.29")] = optional_field(
        "certificates of authorities"
    )
    pod_certificate: Annotated[PodCertificateProjection | None, Since("kubernetes", "0.34")] = optional_field(
        "a private key and a certificate for the pod, renewed by the kubelet"
    )


class ProjectedVolumeSource(Model):
    """Files of several sources in one volume."""

    sources: Annotated[PodList[VolumeProjection] | None, Unset("null")] = optional_field("the sources; their paths must not collide")
    default_mode: Pointer[Int32] = optional_field("permission bits of the files, 0644 (octal) by default")
    default_user: OwnerId = optional_field("owner of the files, by UID (alpha)")


# Claims on persistent storage, and volumes that use them.


class VolumeResourceRequirements(Model):
    """How much storage a claim wants."""

    requests: dict[str, Quantity] | None = optional_field("the requested size as `storage`, such as `100Gi`; it can grow, not shrink")
    limits: dict[str, Quantity] | None = optional_field("largest size as `storage`; few drivers look at it")
    claims: Annotated[list[ResourceClaim] | None, Keyed("name"), Until("kubernetes", "0.29")] = optional_field(
        "ignored: only containers claim devices"
    )


class PersistentVolumeClaimSpec(Model):
    """The storage that a claim asks for."""

    access_modes: PodList[str] | None = optional_field("`ReadWriteOnce`, `ReadWriteOncePod`, `ReadOnlyMany` or `ReadWriteMany`")
    storage_class_name: Pointer[str] = optional_field("StorageClass to provision from; left out, the cluster's default; empty, none")
    volume_attributes_class_name: Annotated[Pointer[str], Since("kubernetes", "0.29")] = optional_field(
        "VolumeAttributesClass with changeable settings, such as IOPS"
    )
    resources: VolumeResourceRequirements | None = optional_field("how much storage; `requests.storage` is needed")
    volume_mode: Pointer[str] = optional_field("`Filesystem` (default) or `Block`")
    volume_name: str | None = optional_field("the PersistentVolume to bind to; set by the control plane otherwise")
    selector: LabelSelector | None = optional_field("existing PersistentVolumes by label; keeps new ones from being provisioned")
    data_source: TypedLocalObjectReference | None = optional_field("a VolumeSnapshot or claim to copy; other kinds are dropped")
    data_source_ref: TypedObjectReference | None = optional_field("object to fill the volume from, of any kind with a populator")


class PersistentVolumeClaimTemplate(Model):
    """The claim that is made for a pod."""

    metadata: Annotated[ObjectMeta | None, InCustomKinds(Type(EmbeddedMeta))] = optional_field(
        "labels and annotations of the claim; its name is `<pod>-<volume>`"
    )
    spec: PersistentVolumeClaimSpec = Field(description="the storage that the claim asks for")


class EphemeralVolumeSource(Model):
    """A volume of its own for each pod, deleted with it."""

    volume_claim_template: PersistentVolumeClaimTemplate | None = optional_field("the claim to make for the pod; needed")


class PersistentVolumeClaimVolumeSource(Model):
    """The volume of a PersistentVolumeClaim."""

    claim_name: str = Field(description="name of the claim, in the pod's own namespace")
    read_only: bool | None = optional_field("mount it read-only in every container; false by default")


class Volume(Model):
    """A volume that containers can mount; exactly one source, an empty folder by default."""

    FACTS = (OneOf(),)

    name: str = Field(description="name, unique in the pod, that mounts refer to")
    empty_dir: EmptyDirVolumeSource | None = optional_field("an empty folder for the pod's life")
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = optional_field("the volume of an existing claim")
    ephemeral: EphemeralVolumeSource | None = optional_field("a volume provisioned for this pod, deleted with it")
    config_map: ConfigMapVolumeSource | None = optional_field("files from a ConfigMap")
    secret: SecretVolumeSource | None = optional_field("files from a Secret")
    projected: ProjectedVolumeSource | None = optional_field("files from several objects in one folder")
    downward_api: DownwardAPIVolumeSource | None = Field(default=None, alias="downwardAPI", description="files with facts about the pod")
    host_path: HostPathVolumeSource | None = optional_field("a path of the node; best avoided, and often forbidden")
    nfs: NFSVolumeSource | None = optional_field("a folder of an NFS server")
    csi: CSIVolumeSource | None = optional_field("an ephemeral volume of a CSI driver")
    image: Annotated[ImageVolumeSource | None, Since("kubernetes", "0.31")] = optional_field("files of a container image or OCI artifact")
    fc: FCVolumeSource | None = optional_field("a Fibre Channel disk")
    iscsi: ISCSIVolumeSource | None = optional_field("an iSCSI disk")
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = optional_field("deprecated: an EBS disk; use CSI")
    azure_disk: AzureDiskVolumeSource | None = optional_field("deprecated: an Azure disk; use `disk.csi.azure.com`")
    azure_file: AzureFileVolumeSource | None = optional_field("deprecated: an Azure share; use `file.csi.azure.com`")
    cephfs: CephFSVolumeSource | None = optional_field("removed in Kubernetes 1.31: a CephFS folder")
    cinder: CinderVolumeSource | None = optional_field("deprecated: a Cinder volume; use `cinder.csi.openstack.org`")
    flex_volume: FlexVolumeSource | None = optional_field("deprecated: a volume of an executable driver; use CSI")
    flocker: FlockerVolumeSource | None = optional_field("removed in Kubernetes 1.25: a Flocker volume")
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = optional_field("deprecated: a Google disk; use CSI")
    git_repo: GitRepoVolumeSource | None = optional_field("off since Kubernetes 1.33: a Git checkout; use `git clone`")
    glusterfs: GlusterfsVolumeSource | None = optional_field("removed in Kubernetes 1.26: a GlusterFS volume")
    photon_persistent_disk: PhotonPersistentDiskVolumeSource | None = optional_field("removed: a disk of Photon Controller")
    portworx_volume: PortworxVolumeSource | None = optional_field("deprecated: a Portworx volume; use `pxd.portworx.com`")
    quobyte: QuobyteVolumeSource | None = optional_field("removed in Kubernetes 1.25: a Quobyte volume")
    rbd: RBDVolumeSource | None = optional_field("removed in Kubernetes 1.31: a RADOS block device of Ceph")
    scale_io: ScaleIOVolumeSource | None = Field(default=None, alias="scaleIO", description="removed in Kubernetes 1.22: a ScaleIO volume")
    storageos: StorageOSVolumeSource | None = optional_field("removed in Kubernetes 1.25: a StorageOS volume")
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = optional_field("deprecated: a vSphere disk; use CSI")


# PersistentVolumeClaim (`v1`): storage that outlives pods.


class PersistentVolumeClaimCondition(Model):
    """A state that the claim is in."""

    type: str = Field(description="the state, such as `Resizing`, `FileSystemResizePending` or `ModifyingVolume`")
    status: str = Field(description="`True`, `False` or `Unknown`")
    reason: str | None = optional_field("why, as a word")
    message: str | None = optional_field("why, as a sentence")
    last_probe_time: Time | None = optional_field("when the state was last looked at")
    last_transition_time: Time | None = optional_field("when `status` last changed")


class ModifyVolumeStatus(Model):
    """A change of the volume's VolumeAttributesClass that is under way."""

    status: str = Field(description="`Pending` (no such class yet, for example), `InProgress` or `Infeasible` (the driver refused)")
    target_volume_attributes_class_name: str | None = optional_field("the class that the volume changes to")


class VolumeHealthCondition(Model):
    """What is wrong with a volume."""

    status: str = Field(description="`Inaccessible`, `DataLoss` or `Degraded`")
    reason: str = Field(description="why, as a word")
    message: str | None = optional_field("why, as a sentence")


class VolumeHealthStatus(Model):
    """The health of a volume, as its CSI driver reports it."""

    health_conditions: Annotated[list[VolumeHealthCondition] | None, Keyed("status", "reason")] = optional_field("what is wrong with it")
    last_transition_time: Time | None = optional_field("since when these conditions hold")


class PersistentVolumeClaimStatus(Model):
    """The status of the claim; written by the control plane."""

    phase: str | None = optional_field("`Pending` (not bound yet), `Bound` or `Lost` (its volume is gone)")
    access_modes: AtomicList[str] | None = optional_field("access modes of the bound volume")
    capacity: dict[str, Quantity] | None = optional_field("size of the bound volume, as `storage`")
    conditions: Annotated[list[PersistentVolumeClaimCondition] | None, Keyed("type")] = optional_field("states of the claim")
    allocated_resources: dict[str, Quantity] | None = optional_field("size that counts for quota while a resize is under way")
    allocated_resource_statuses: Annotated[dict[str, str] | None, MapType("granular")] = optional_field(
        "state of a resize by resource, as `NodeResizePending`"
    )
    current_volume_attributes_class_name: str | None = optional_field("VolumeAttributesClass that the volume has now")
    modify_volume_status: ModifyVolumeStatus | None = optional_field("the change of the class that is under way")
    health_status: Annotated[VolumeHealthStatus | None, Since("kubernetes", "0.37")] = optional_field("health of the bound volume")


class PersistentVolumeClaim(Model):
    """A claim on a volume, which is found or provisioned for it."""

    RESOURCE: ClassVar[Resource] = Resource(
        group="", version="v1", kind="PersistentVolumeClaim", plural="persistentvolumeclaims", component="kubernetes", status=True
    )

    api_version: Literal["v1"] = constant("version of the API", "v1")
    kind: Literal["PersistentVolumeClaim"] = constant("kind of the object", "PersistentVolumeClaim")
    metadata: ObjectMeta | None = optional_field("name, namespace, labels; pods refer to the claim by its name")
    spec: PersistentVolumeClaimSpec | None = optional_field("the storage; once bound, only size and attributes class can change")
    status: PersistentVolumeClaimStatus | None = optional_field("status of the claim; written by the control plane")
