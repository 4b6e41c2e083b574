"""Sources of volumes of which the server asks little: some fields, and seldom more.

Follows the `validate...VolumeSource` functions, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.validation.metadata import bad_subdomain
from jobspec.validation.pods.complaints import describe, missing, unsupported
from jobspec.validation.pods.paths import backstep_problems, relative_path_problems
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from jobspec.diagnostics import Path

    Rule = Callable[[dict[str, Any], Path], Iterator[Problem]]

#: The fields without which a source is none; `image` needs its reference in a pod only, not in a template.
_REQUIRED: dict[str, tuple[str, ...]] = {
    "awsElasticBlockStore": ("volumeID",),
    "azureDisk": ("diskName", "diskURI"),
    "azureFile": ("secretName", "shareName"),
    "cephfs": ("monitors",),
    "cinder": ("volumeID",),
    "configMap": ("name",),
    "csi": ("driver",),
    "ephemeral": ("volumeClaimTemplate",),
    "flexVolume": ("driver",),
    "gcePersistentDisk": ("pdName",),
    "gitRepo": ("repository",),
    "glusterfs": ("endpoints", "path"),
    "hostPath": ("path",),
    "iscsi": ("targetPortal", "iqn"),
    "nfs": ("server", "path"),
    "persistentVolumeClaim": ("claimName",),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "quobyte": ("registry", "volume"),
    "rbd": ("monitors", "image"),
    "scaleIO": ("gateway", "system", "volumeName"),
    "secret": ("secretName",),
    "storageos": ("volumeName",),
    "vsphereVolume": ("volumePath",),
}
_HOST_TYPES = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_MAX_DRIVER = 63


def required_problems(source: str, data: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of the fields that a source has to have, and that are absent or empty."""
    for field in _REQUIRED.get(source, ()):
        if field == "volumeClaimTemplate":
            if field not in data:
                yield missing(field, data, path, "write the claim to make as `spec: {...}` in it")
        elif not data.get(field):
            yield missing(field, data, path)


def secret_reference_problems(data: dict[str, Any], field: str, path: Path) -> Iterator[Problem]:
    """The problem of a reference to a Secret without the Secret's name."""
    if field in data and not data[field].get("name"):
        yield missing("name", data[field], (*path, field))


def _empty_dir(data: dict[str, Any], path: Path) -> Iterator[Problem]:
    limit = data.get("sizeLimit")
    if limit is not None and _is_negative(limit):
        yield Problem("out-of-range", (*path, "sizeLimit"), f"`sizeLimit` cannot be negative, as {describe(limit)} is")


def _is_negative(quantity: Any) -> bool:
    if not isinstance(quantity, str):
        return bool(quantity < 0)
    number = quantity.strip().lower().partition("e")[0]
    return number.startswith("-") and not set("123456789").isdisjoint(number)


def _host_path(data: dict[str, Any], path: Path) -> Iterator[Problem]:
    if not data.get("path"):
        return
    yield from backstep_problems(data["path"], (*path, "path"))
    if data.get("type", "") not in _HOST_TYPES:
        yield unsupported(data["type"], _HOST_TYPES, (*path, "type"))


def _git_repo(data: dict[str, Any], path: Path) -> Iterator[Problem]:
    yield from relative_path_problems(data.get("directory") or "", (*path, "directory"))


def _nfs(data: dict[str, Any], path: Path) -> Iterator[Problem]:
    folder = data.get("path")
    if folder and not folder.startswith("/"):
        yield Problem("wrong-format", (*path, "path"), f"`path` is absolute on the server, unlike {describe(folder)}", f"write `/{folder}`")


def _cinder(data: dict[str, Any], path: Path) -> Iterator[Problem]:
    yield from secret_reference_problems(data, "secretRef", path)


def _flex_volume(data: dict[str, Any], path: Path) -> Iterator[Problem]:
    for option in data.get("options") or ():
        domain = "." + option.partition("/")[0].lower()
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            message = f"the option `{option}` is one of Kubernetes' own, which it keeps for itself"
            yield Problem("invalid-name", (*path, "options", Key(option)), message, at_key=True)


def _csi(data: dict[str, Any], path: Path) -> Iterator[Problem]:
    driver, secret = data.get("driver"), data.get("nodePublishSecretRef")
    if driver and len(driver) > _MAX_DRIVER:
        yield Problem(
            "invalid-name", (*path, "driver"), f"the name of a driver has at most {_MAX_DRIVER} characters, and has {len(driver)}"
        )
    elif driver and (why := bad_subdomain(driver.lower())):
        yield Problem("invalid-name", (*path, "driver"), f"`{driver}` is no name for a driver: {why}")
    yield from secret_reference_problems(data, "nodePublishSecretRef", path)
    if secret and secret.get("name") and (why := bad_subdomain(secret["name"])):
        at = (*path, "nodePublishSecretRef", "name")
        yield Problem("invalid-name", at, f"`{secret['name']}` is no name for a Secret: {why}")


def _image(data: dict[str, Any], path: Path) -> Iterator[Problem]:
    if data.get("pullPolicy") and data["pullPolicy"] not in _PULL_POLICIES:
        yield unsupported(data["pullPolicy"], _PULL_POLICIES, (*path, "pullPolicy"))


def _ephemeral(data: dict[str, Any], path: Path) -> Iterator[Problem]:
    from jobspec.validation.pods.ephemeral import ephemeral_problems

    return ephemeral_problems(data, path)


#: The rules of a source besides its required fields.
SOURCES: dict[str, Rule] = {
    "cinder": _cinder,
    "csi": _csi,
    "emptyDir": _empty_dir,
    "ephemeral": _ephemeral,
    "flexVolume": _flex_volume,
    "gitRepo": _git_repo,
    "hostPath": _host_path,
    "image": _image,
    "nfs": _nfs,
}
