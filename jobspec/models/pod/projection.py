"""Volumes whose files come from API objects."""

from typing import Annotated

from pydantic import Field

from jobspec.models.base import POD_DEFAULT, Int32, Int64, MapType, Model, PodList, Pointer, Since, Unset
from jobspec.models.meta import LabelSelector
from jobspec.models.pod.env import ObjectFieldSelector, ResourceFieldSelector


class KeyToPath(Model):
    """A file for one key."""

    key: str = Field(description="the key")
    path: str = Field(description="path of the file in the volume, relative and without `..`")
    mode: Pointer[Int32] = Field(None, description="permission bits, up to 0777 (octal, 511 in decimal); `defaultMode` by default")


class ConfigMapVolumeSource(Model):
    """A file for each key of a ConfigMap."""

    FACTS = (MapType("atomic"),)

    name: Annotated[str, POD_DEFAULT] = Field("", description="name of the ConfigMap, in the pod's own namespace")
    items: PodList[KeyToPath] | None = Field(None, description="keys to take and their files; all keys under their own names by default")
    default_mode: Pointer[Int32] = Field(None, description="permission bits of the files, 0644 (octal) by default")
    optional: Pointer[bool] = Field(None, description="start the pod even when the ConfigMap or a key is missing")


class SecretVolumeSource(Model):
    """A file, held in memory, for each key of a Secret."""

    secret_name: str | None = Field(None, description="name of the Secret, in the pod's own namespace")
    items: PodList[KeyToPath] | None = Field(None, description="keys to take and their files; all keys under their own names by default")
    default_mode: Pointer[Int32] = Field(None, description="permission bits of the files, 0644 (octal) by default")
    optional: Pointer[bool] = Field(None, description="start the pod even when the Secret or a key is missing")


class DownwardAPIVolumeFile(Model):
    """A file with a fact about the pod; exactly one source."""

    path: str = Field(description="path of the file in the volume, relative and without `..`")
    field_ref: ObjectFieldSelector | None = Field(None, description="a field of the pod: name, namespace, UID, labels or annotations")
    resource_field_ref: ResourceFieldSelector | None = Field(None, description="a limit or request of a container")
    mode: Pointer[Int32] = Field(None, description="permission bits, up to 0777 (octal, 511 in decimal); `defaultMode` by default")


class DownwardAPIVolumeSource(Model):
    """Files with facts about the pod."""

    items: PodList[DownwardAPIVolumeFile] | None = Field(None, description="the files")
    default_mode: Pointer[Int32] = Field(None, description="permission bits of the files, 0644 (octal) by default")


class ConfigMapProjection(Model):
    """A ConfigMap's part of a projected volume."""

    FACTS = (MapType("atomic"),)

    name: Annotated[str, POD_DEFAULT] = Field("", description="name of the ConfigMap, in the pod's own namespace")
    items: PodList[KeyToPath] | None = Field(None, description="keys to take and their files; all keys under their own names by default")
    optional: Pointer[bool] = Field(None, description="start the pod even when the ConfigMap or a key is missing")


class SecretProjection(Model):
    """A Secret's part of a projected volume."""

    FACTS = (MapType("atomic"),)

    name: Annotated[str, POD_DEFAULT] = Field("", description="name of the Secret, in the pod's own namespace")
    items: PodList[KeyToPath] | None = Field(None, description="keys to take and their files; all keys under their own names by default")
    optional: Pointer[bool] = Field(None, description="start the pod even when the Secret or a key is missing")


class DownwardAPIProjection(Model):
    """The part of a projected volume with facts about the pod."""

    items: PodList[DownwardAPIVolumeFile] | None = Field(None, description="the files")


class ServiceAccountTokenProjection(Model):
    """A token of the pod's service account, renewed before it expires."""

    path: str = Field(description="path of the token's file in the volume")
    audience: str | None = Field(None, description="who the token is meant for, the API server by default")
    expiration_seconds: Pointer[Int64] = Field(None, description="seconds that a token is valid, 3600 by default, at least 600")


class ClusterTrustBundleProjection(Model):
    """Certificates of authorities, by the bundle's name or by signer and labels."""

    path: str = Field(description="path of the PEM file in the volume")
    name: Pointer[str] = Field(None, description="one ClusterTrustBundle; excludes `signerName` and `labelSelector`")
    signer_name: Pointer[str] = Field(None, description="all bundles of this signer; excludes `name`")
    label_selector: LabelSelector | None = Field(None, description="narrows the signer's bundles; left out, none of them; empty, all")
    optional: Pointer[bool] = Field(None, description="start the pod even when there is no such bundle")


class PodCertificateProjection(Model):
    """A private key and a certificate for this pod, renewed by the kubelet."""

    signer_name: str = Field(description="the signer that is asked for the certificate")
    key_type: str = Field(description="`RSA3072`, `RSA4096`, `ECDSAP256`, `ECDSAP384`, `ECDSAP521` or `ED25519`")
    credential_bundle_path: str | None = Field(None, description="one PEM file with the key and the certificates, exchanged at once")
    key_path: str | None = Field(None, description="PEM file with the key alone")
    certificate_chain_path: str | None = Field(None, description="PEM file with the certificates alone")
    max_expiration_seconds: Pointer[Int32] = Field(None, description="longest validity in seconds, 86400 by default, from 3600 to 7862400")
    user_annotations: Annotated[dict[str, str] | None, Since("kubernetes", "0.35")] = Field(
        None, description="further wishes to the signer; each key has a domain as prefix, and the signer refuses those it does not know"
    )


class VolumeProjection(Model):
    """One source of a projected volume; exactly one is set."""

    config_map: ConfigMapProjection | None = Field(None, description="keys of a ConfigMap")
    secret: SecretProjection | None = Field(None, description="keys of a Secret")
    downward_api: DownwardAPIProjection | None = Field(None, alias="downwardAPI", description="facts about the pod")
    service_account_token: ServiceAccountTokenProjection | None = Field(None, description="a token of the pod's service account")
    cluster_trust_bundle: Annotated[ClusterTrustBundleProjection | None, Since("kubernetes", "0.29")] = Field(
        None, description="certificates of authorities"
    )
    pod_certificate: Annotated[PodCertificateProjection | None, Since("kubernetes", "0.34")] = Field(
        None, description="a private key and a certificate for the pod, renewed by the kubelet"
    )


class ProjectedVolumeSource(Model):
    """Files of several sources in one volume."""

    sources: Annotated[PodList[VolumeProjection] | None, Unset("null")] = Field(
        None, description="the sources; their paths must not collide"
    )
    default_mode: Pointer[Int32] = Field(None, description="permission bits of the files, 0644 (octal) by default")
