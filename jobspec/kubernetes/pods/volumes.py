"""The volumes of a pod, each with exactly one source, and how containers mount them.

Follows `ValidateVolumes` and `validateVolumeSource`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Data, Key, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go.quantities import amount_of
from jobspec.kubernetes import metadata
from jobspec.kubernetes.label_selectors import selector_problems
from jobspec.kubernetes.pods.containers import PULL_POLICIES, field_problems, resource_problems
from jobspec.kubernetes.pods.defaults import containers_of, is_pointer
from jobspec.kubernetes.problems import (
    choice,
    closest,
    describe,
    excluded,
    field_items,
    listed,
    missing,
    name_of,
    named,
    one_of,
    required,
    required_choice,
    required_name,
    within,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Rule = Callable[[Data, Path], Problems]


_MAX_INITIATOR = 64


def volume_problems(spec: Data, path: Path, release: str) -> Problems:
    """Yield the problems of the volumes of a pod.

    If a volume is refused for another reason, its name is still free for another volume.
    """
    taken: dict[str, Any] = {}
    for at, volume in field_items(spec, "volumes", path):
        found = [*_sources(volume, at, release), *_name(volume, taken, at)]
        yield from found
        if not found:
            taken[volume["name"]] = at[-1]


def _name(volume: Data, taken: dict[str, Any], path: Path) -> Problems:
    name = volume.get("name") or ""
    if not name:
        yield missing("name", volume, path)
    elif why := metadata.bad_label_name(name):
        plain = name.lower().replace("_", "-").replace(".", "-").strip("-")
        hint = f"write `{plain}`" if plain != name and not metadata.bad_label_name(plain) else ""
        yield Problem("invalid-name", (*path, "name"), f"`{name}` is not a valid name for a volume: {why}", hint)
    elif name in taken:
        message = f"the volume {path[-1]} has the name of the volume {taken[name]}, `{name}`"
        yield Problem("duplicate-item", (*path, "name"), message, "rename one of the two, or remove it")


def source_of(volume: Data) -> str:
    """Return the source that the server takes; an empty folder without one."""
    return next((source for source in _SOURCES if source in volume), "emptyDir")


def _sources(volume: Data, path: Path, release: str) -> Problems:
    given = [source for source in _SOURCES if source in volume]
    for source in given[:1]:
        yield from _volume_source_problems(source, volume[source], (*path, source), release)
    for source in given[1:]:
        message = f"a volume can have one source only, not `{given[0]}` and `{source}`"
        yield excluded((*path, source), message, "remove one of the two, or make two volumes", at_key=True)
    iscsi = volume.get("iscsi", {})
    if "initiatorName" in iscsi:
        joined = f"{volume.get('name') or ''}:{iscsi.get('targetPortal') or ''}"
        if len(joined.encode()) > _MAX_INITIATOR:
            message = f"with an `initiatorName`, `{joined}` names the interface, and has more than {_MAX_INITIATOR} characters"
            yield Problem("wrong-size", (*path, "name"), message, "give the volume a shorter name")


def _volume_source_problems(source: str, data: Data, path: Path, release: str) -> Problems:
    needed, rules = _SOURCES[source]
    for field in needed:
        yield from required(data, field, path)
    yield from rules(data, path) if rules else ()
    if source == "ephemeral":
        yield from ephemeral_problems(data, path, release)


# Sources of volumes with few rules: some required fields.
#
# Follows the `validate...VolumeSource` functions, k8s.io/kubernetes pkg/apis/core/validation, 1.36.


_HOST_TYPES = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
_MAX_DRIVER = 63


def _secret(data: Data, path: Path) -> Problems:
    """The problem of a reference to a Secret without the Secret's name."""
    if "secretRef" in data:
        yield from required(data["secretRef"], "name", (*path, "secretRef"))


def _empty_dir(data: Data, path: Path) -> Problems:
    limit = data.get("sizeLimit", "0")
    if amount_of(limit) < 0:
        yield Problem("out-of-range", (*path, "sizeLimit"), f"`sizeLimit` must not be negative, got {describe(limit)}")


def _host_path(data: Data, path: Path) -> Problems:
    if data.get("path"):
        yield from backstep_problems(data["path"], (*path, "path"))
        yield from one_of(data.get("type", ""), _HOST_TYPES, (*path, "type"))


def _nfs(data: Data, path: Path) -> Problems:
    folder = data.get("path")
    if folder and not folder.startswith("/"):
        yield Problem("wrong-format", (*path, "path"), f"`path` must be absolute, got {describe(folder)}", f"write `/{folder}`")


def _flex_volume(data: Data, path: Path) -> Problems:
    for option in data.get("options") or ():
        domain = "." + option.partition("/")[0].lower()
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            yield Problem("invalid-name", (*path, "options", Key(option)), f"the option `{option}` is reserved for Kubernetes", at_key=True)


def _csi(data: Data, path: Path) -> Problems:
    driver, secret = data.get("driver"), data.get("nodePublishSecretRef")
    if driver and len(driver) > _MAX_DRIVER:
        message = f"the name of a driver has at most {_MAX_DRIVER} characters, and has {len(driver)}"
        yield Problem("invalid-name", (*path, "driver"), message)
    elif driver:
        yield from named(driver, "a driver", lambda name: metadata.bad_subdomain(name.lower()), (*path, "driver"))
    if secret is not None:
        yield from required_name(secret, "name", "a Secret", metadata.bad_subdomain, (*path, "nodePublishSecretRef"))


def image_volume_problems(spec: Data, path: Path) -> Problems:
    """Yield the problems of image volumes without an image."""
    for at, volume in field_items(spec, "volumes", path):
        if source_of(volume) == "image":
            yield from required(volume["image"], "reference", (*at, "image"), "name the image to mount")


# Sources of volumes with rules for addresses: iSCSI, Fibre Channel, Azure disks and others.
#
# Follows the `validate...VolumeSource` functions and `validateAzureDisk`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.


_QUALIFIED = {
    "iqn": r"iqn\.[0-9]{4}-[0-9]{2}\.([0-9A-Za-z.-]+)(:[^,;*&$|\t\n\f\r ]+)\Z",
    "eui": r"eui[^\n][0-9A-Za-z]{16}\Z",
    "naa": r"naa[^\n][0-9A-Za-z]{32}\Z",
}
_EXAMPLES = "such as `iqn.2001-04.com.example:disk`, `eui.` with 16 digits or `naa.` with 32"
_CACHING = ("None", "ReadOnly", "ReadWrite")
_DISK_KINDS = ("Dedicated", "Managed", "Shared")
_MAX_TENANT = 64


def _partition(data: Data, path: Path) -> Problems:
    yield from within(data.get("partition", 0), 0, 255, (*path, "partition"))


def _iscsi(data: Data, path: Path) -> Problems:
    if data.get("iqn"):
        yield from _qualified_name(data["iqn"], (*path, "iqn"))
    yield from within(data.get("lun", 0), 0, 255, (*path, "lun"))
    if (data.get("chapAuthDiscovery") or data.get("chapAuthSession")) and "secretRef" not in data:
        yield missing("secretRef", data, path, "CHAP needs the Secret with its credentials")
    if "initiatorName" in data:
        yield from _qualified_name(data["initiatorName"], (*path, "initiatorName"))


def _qualified_name(name: str, path: Path) -> Problems:
    """Yield the problem of a name that is not an iSCSI name.

    The server looks for an `iqn` anywhere in the text.
    """
    import re

    form = _QUALIFIED.get(name[:3])
    if not form or not (re.search if name.startswith("iqn") else re.match)(form, name):
        yield Problem("wrong-format", path, f"{name_of(path)}: expected a name of iSCSI, {_EXAMPLES}, got {describe(name)}")


def _fc(data: Data, path: Path) -> Problems:
    targets = data.get("targetWWNs")
    yield from _one_name(data, "targetWWNs", "wwids", "disk", path, "name the disk by `targetWWNs` and `lun`, or by `wwids`")
    if targets and "lun" not in data:
        yield missing("lun", data, path, "`targetWWNs` need the number of the logical unit")
    elif targets:
        yield from within(data["lun"], 0, 255, (*path, "lun"))


def _azure_disk(data: Data, path: Path) -> Problems:
    kind, caching, uri = data.get("kind", "Shared"), data.get("cachingMode", "ReadWrite"), data.get("diskURI") or ""
    yield from one_of(caching, _CACHING, (*path, "cachingMode"))
    yield from one_of(kind, _DISK_KINDS, (*path, "kind"))
    start = "/subscriptions/" if kind == "Managed" else "https://"
    if uri and not uri.startswith(start):
        hint = "" if "kind" in data or not uri.startswith("/subscriptions/") else "add `kind: Managed`; the default is `Shared`"
        message = f"the URI of a disk of kind `{kind}` starts with `{start}`, got {describe(uri)}"
        yield Problem("wrong-format", (*path, "diskURI"), message, hint)


def _quobyte(data: Data, path: Path) -> Problems:
    registry, tenant = data.get("registry"), data.get("tenant") or ""
    if not registry:
        return
    if len(tenant.encode()) > _MAX_TENANT:
        yield Problem("wrong-size", (*path, "tenant"), f"`tenant`: expected at most {_MAX_TENANT} characters, got {len(tenant)}")
    elif not all(_is_host_and_port(each) for each in registry.split(",")):
        message = f"`registry`: expected `host:port`, or several separated by commas, got {describe(registry)}"
        yield Problem("wrong-format", (*path, "registry"), message)


def _is_host_and_port(text: str) -> bool:
    """Whether Go's `net.SplitHostPort` accepts the text; it asks for no port behind the colon."""
    host, colon, port = text.rpartition(":")
    if not colon or "[" in port or "]" in port:
        return False
    if text.startswith("["):
        return host.find("]") == len(host) - 1 and "[" not in host[1:]
    return not set(":[]") & set(host)


def _storage_os(data: Data, path: Path) -> Problems:
    for field in ("volumeName", "volumeNamespace"):
        if data.get(field) and (why := metadata.bad_label_name(data[field])):
            yield Problem("invalid-name", (*path, field), f"`{data[field]}` is not allowed here: {why}")
    yield from _secret(data, path)


def _flocker(data: Data, path: Path) -> Problems:
    name = data.get("datasetName", "")
    yield from _one_name(data, "datasetName", "datasetUUID", "dataset", path, "name the dataset, or give its `datasetUUID`")
    if "/" in name:
        yield Problem("wrong-format", (*path, "datasetName"), f"the name of a dataset cannot contain `/`, got {describe(name)}")


def _one_name(data: Data, one: str, other: str, what: str, path: Path, hint: str) -> Problems:
    """The problem of two alternative fields of which none or both are set."""
    if not data.get(one) and not data.get(other):
        yield missing(one, data, path, hint)
    if data.get(one) and data.get(other):
        yield excluded((*path, one), f"`{one}` and `{other}` both name the {what}, and are mutually exclusive", "remove one of the two")


# Sources of volumes whose files come from API objects: Secrets, ConfigMaps, the pod itself, and several of them projected into one.
#
# Follows `validateSecretVolumeSource`, `validateConfigMapVolumeSource`, `validateDownwardAPIVolumeSource` and
# `validateProjectionSources`, k8s.io/kubernetes pkg/apis/core/validation, 1.37. `clusterTrustBundle` and `podCertificate`, of features that
# are off before 1.37, are dropped there.


_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_SECONDS = (600, 1 << 32)


def _projected_key_problems(data: Data, path: Path) -> Problems:
    """The problems of the keys of a Secret or ConfigMap that become files of a volume."""
    return _files(data, path, ("key", "path"))


def _downward_api(data: Data, path: Path) -> Problems:
    return _files(data, path, ("path",), _fact)


def _files(data: Data, path: Path, needed: tuple[str, ...], content: Rule | None = None) -> Problems:
    """Yield the problems of the items that become files of a volume.

    *content*: returns the problems of the source of a file's content.
    """
    yield from mode_problems(data.get("defaultMode"), (*path, "defaultMode"))
    for at, item in field_items(data, "items", path):
        for field in needed:
            yield from required(item, field, at)
        yield from file_path_problems(item.get("path", ""), (*at, "path"))
        yield from content(item, at) if content else ()
        yield from mode_problems(item.get("mode"), (*at, "mode"))


def _fact(item: Data, path: Path) -> Problems:
    """The problems of a file with a fact about the pod."""
    if "fieldRef" in item:
        yield from field_problems(item["fieldRef"], (*path, "fieldRef"), _FIELDS)
        if "resourceFieldRef" in item:
            message = "`fieldRef` and `resourceFieldRef` are mutually exclusive"
            yield excluded((*path, "resourceFieldRef"), message, "remove one of the two", at_key=True)
    elif "resourceFieldRef" in item:
        yield from resource_problems(item["resourceFieldRef"], (*path, "resourceFieldRef"), in_volume=True)
    else:
        yield missing("fieldRef", item, path, "write which field of the pod it is, or a `resourceFieldRef`")


def _projected(data: Data, path: Path) -> Problems:
    yield from mode_problems(data.get("defaultMode"), (*path, "defaultMode"))
    taken: set[str] = set()
    for at, source in field_items(data, "sources", path):
        given = [name for name in _PARTS if name in source]
        for name in given:
            yield from _PARTS[name](source[name], (*at, name))
            for place, file in _files_of(name, source[name], (*at, name)):
                if file in taken:
                    hint = "give one of the two another path"
                    yield Problem("duplicate-item", place, f"duplicate file `{file}` in the volume", hint)
                taken.add(file)
        if len(given) > 1:
            message = f"a source of a projected volume can be one of these only: `{'`, `'.join(given)}`"
            yield excluded(at, message, "make each a separate item")


def _files_of(name: str, source: Data, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files that a source of a projected volume names, with the place of the path.

    Files of tokens are left out.
    """
    if name in ("clusterTrustBundle", "podCertificate"):
        yield from (((*path, field), source[field]) for field in ("path", *_CERTIFICATE_FILES) if source.get(field))
    yield from (((*at, "path"), item["path"]) for at, item in field_items(source, "items", path) if item.get("path"))


def _bundle(data: Data, path: Path) -> Problems:
    """Yield the problems of certificates of a ClusterTrustBundle, or of a signer by labels."""
    name, signer = data.get("name"), data.get("signerName")
    if name is None and signer is None:
        yield missing("name", data, path, "name a ClusterTrustBundle, or its `signerName`")
    elif name is not None and signer is not None:
        yield excluded(path, "`name` and `signerName` are mutually exclusive", "remove one of the two")
    elif name is not None:
        yield from required_name(data, "name", "a ClusterTrustBundle", lambda text: metadata.bad_subdomain(text.rpartition(":")[2]), path)
        if "labelSelector" in data:
            message = "`name` names one ClusterTrustBundle, and excludes a `labelSelector`"
            yield excluded((*path, "labelSelector"), message, "remove one of the two")
    else:
        yield from required_name(data, "signerName", "a signer", _bad_signer, path)
        yield from selector_problems(data.get("labelSelector"), (*path, "labelSelector"))
    yield from _path_of_file(data, path)


def _path_of_file(data: Data, path: Path) -> Problems:
    yield from required(data, "path", path)
    yield from file_path_problems(data.get("path", ""), (*path, "path"))


_CERTIFICATE_FILES = ("credentialBundlePath", "keyPath", "certificateChainPath")
_KEY_TYPES = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
_DAY = 24 * 60 * 60


def _certificate(data: Data, path: Path) -> Problems:
    """The problems of a certificate for the pod."""
    signer, seconds = data.get("signerName") or "", data.get("maxExpirationSeconds", _DAY)
    yield from required_name(data, "signerName", "a signer", _bad_signer, path)
    yield from required_choice(data, "keyType", _KEY_TYPES, path, f"it is one of {listed(_KEY_TYPES)}")
    host = signer.partition("/")[0]
    most = _DAY if host == "kubernetes.io" or host.endswith(".kubernetes.io") else 91 * _DAY
    yield from within(seconds, 3600, most, (*path, "maxExpirationSeconds"))
    for key in data.get("userAnnotations") or ():
        if why := metadata.bad_qualified_name(key.lower()) or ("" if "/" in key else "it has no domain before it, as in `example.com/key`"):
            yield Problem("invalid-name", (*path, "userAnnotations"), f'"{key}" is not a key of an annotation for a signer: {why}')
    if not any(data.get(field) for field in _CERTIFICATE_FILES):
        yield missing(_CERTIFICATE_FILES[0], data, path, f"or {listed(_CERTIFICATE_FILES[1:])}")
    for field in _CERTIFICATE_FILES:
        yield from file_path_problems(data.get(field) or "", (*path, field))


def _bad_signer(name: str) -> str:
    """Why a text is not the name of a signer; empty if it is one."""
    domain, slash, rest = name.partition("/")
    if not slash or "/" in rest:
        return "it is a domain and a path, such as `example.com/signer`"
    if "." not in domain or len(domain) > 253 or any(map(metadata.bad_label_name, domain.split("."))):
        return f"`{domain}` is not a domain of several parts"
    return next((f"`{each}` in it is not a DNS label: {why}" for each in rest.split(".") if (why := metadata.bad_subdomain(each))), "")


def _with_name(data: Data, path: Path) -> Problems:
    yield from required(data, "name", path)
    yield from _projected_key_problems(data, path)


def _token(data: Data, path: Path) -> Problems:
    seconds = data.get("expirationSeconds", 3600)
    if not _SECONDS[0] <= seconds <= _SECONDS[1]:
        message = f"`expirationSeconds`: expected 600 (10 minutes) to 2^32, got {seconds}"
        yield Problem("out-of-range", (*path, "expirationSeconds"), message)
    yield from _path_of_file(data, path)


_PARTS: dict[str, Rule] = {
    "secret": _with_name,
    "configMap": _with_name,
    "downwardAPI": _downward_api,
    "serviceAccountToken": _token,
    "clusterTrustBundle": _bundle,
    "podCertificate": _certificate,
}


# Paths inside of volumes, and the modes of their files.
#
# Follows `ValidateLocalNonReservedPath`, `validateLocalDescendingPath` and `validatePathNoBacksteps`, k8s.io/kubernetes
# pkg/apis/core/validation, 1.36.


_MAX_MODE = 0o777


def leads_up(text: str) -> bool:
    """True if a part of the path is `..`."""
    return ".." in text.split("/")


def backstep_problems(text: str, path: Path) -> Problems:
    """Yield the problem of a path with `..` in it."""
    if leads_up(text):
        yield Problem("wrong-format", path, f"{name_of(path)} cannot contain `..`, got {describe(text)}", "write the resolved path")


def relative_path_problems(text: str, path: Path) -> Problems:
    """Yield the problems of a path that has to stay inside of its volume."""
    if text.startswith("/"):
        hint = f"write `{text.lstrip('/')}`" if text.strip("/") else ""
        yield Problem("wrong-format", path, f"{name_of(path)} is a path inside of the volume, and cannot start with `/`", hint)
    yield from backstep_problems(text, path)


def file_path_problems(text: str, path: Path) -> Problems:
    """Yield the problems of the path of a file that the kubelet writes.

    The kubelet keeps names that begin with `..` for itself.
    """
    yield from relative_path_problems(text, path)
    if text.startswith("..") and not text.startswith("../") and not leads_up(text):
        yield Problem("wrong-format", path, f"{name_of(path)} cannot start with `..`, which is reserved for the kubelet")


def mode_problems(mode: int | None, path: Path) -> Problems:
    """Yield the problem of permission bits outside of 0 to 0777."""
    if mode is not None and not 0 <= mode <= _MAX_MODE:
        digits = str(mode)
        hint = f"write `0{digits}`" if len(digits) == 3 and set(digits) <= set("01234567") else ""  # they were meant as octal
        yield Problem("out-of-range", path, f"{name_of(path)}: expected 0 to 0777, which is 511 in decimal, got {mode}", hint)


# How containers mount the pod's volumes, and use them as devices.
#
# Follows `ValidateVolumeMounts` and `ValidateVolumeDevices`, k8s.io/kubernetes pkg/apis/core/validation, 1.36. A mount of a volume that is
# itself refused is not reported again.


_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIONS = ("Disabled", "Enabled", "IfPossible")
_CLAIMS = ("persistentVolumeClaim", "ephemeral")
_SHOWN = 5  # of the names of volumes in a message


def mount_problems(spec: Data, path: Path) -> Problems:
    """Yield the problems of the mounts and devices of all containers."""
    volumes = {volume["name"]: volume for volume in reversed(spec.get("volumes") or ()) if volume.get("name")}
    for at, container in containers_of(spec, path):
        yield from _mounts(container, volumes, at)
        yield from _devices(container, volumes, at)


def _mounts(container: Data, volumes: Data, path: Path) -> Problems:
    devices = {device.get("name") or "": device.get("devicePath") or "" for device in container.get("volumeDevices") or ()}
    taken: dict[str, Any] = {}
    for at, mount in field_items(container, "volumeMounts", path):
        name, place = mount.get("name") or "", mount.get("mountPath") or ""
        yield from _volume(mount, volumes, at)
        if not place:
            yield missing("mountPath", mount, at)
        elif place in taken:
            message = f"the mount {at[-1]} is at the path of the mount {taken[place]}, `{place}`"
            yield Problem("duplicate-item", (*at, "mountPath"), message, "mount one of the two elsewhere, or remove it")
        elif place in devices.values():
            message = f"`{place}` is the path of a device of this container, too"
            yield excluded((*at, "mountPath"), message, "choose another path for one of the two")
        taken.setdefault(place, at[-1])
        if name and name in devices:
            message = f"the volume `{name}` is a device of this container, and cannot be mounted as well"
            yield excluded((*at, "name"), message, "remove the mount or the device")
        if mount.get("subPath") and mount.get("subPathExpr"):
            yield excluded((*at, "subPathExpr"), "`subPath` and `subPathExpr` are mutually exclusive", "remove one of the two", at_key=True)
        for field in ("subPath", "subPathExpr"):
            yield from relative_path_problems(mount.get(field, ""), (*at, field))
        yield from choice(mount, "mountPropagation", _PROPAGATIONS, at)
        if mount.get("mountPropagation") == "Bidirectional" and not container.get("securityContext", {}).get("privileged"):
            message = "`mountPropagation: Bidirectional` needs a privileged container"
            yield excluded((*at, "mountPropagation"), message, "write `HostToContainer`, or `privileged: true` in the `securityContext`")
        yield from _recursion(mount, at)


def _volume(use: Data, volumes: Data, path: Path) -> Problems:
    """The problem of a mount or device whose volume the pod does not have."""
    name = use.get("name") or ""
    if not name:
        yield missing("name", use, path, _there(volumes))
    elif name not in volumes:
        message = f"`{'.'.join(str(step) for step in path[-2:-1])}[{path[-1]}]` names the volume `{name}`, which the pod does not have"
        yield Problem("unsupported-choice", (*path, "name"), message, closest(name, volumes) or _there(volumes))


def _there(volumes: Data) -> str:
    names = list(reversed(volumes))
    if not names:
        return "the pod has no volumes; add it to `volumes`"
    more = ", ..." if len(names) > _SHOWN else ""
    return f"there {'is' if len(names) == 1 else 'are'} {listed(names[:_SHOWN])}{more}"


def _recursion(mount: Data, path: Path) -> Problems:
    recursion, at = mount.get("recursiveReadOnly", "Disabled"), (*path, "recursiveReadOnly")
    yield from one_of(recursion, _RECURSIONS, at)
    if recursion not in _RECURSIONS[1:]:
        return
    if not mount.get("readOnly"):
        yield excluded(at, f"`recursiveReadOnly: {recursion}` needs `readOnly: true`", "add it")
    if mount.get("mountPropagation", "None") != "None":
        message = f"`recursiveReadOnly: {recursion}` excludes `mountPropagation: {mount['mountPropagation']}`"
        yield excluded(at, message, "remove one of the two")


def _devices(container: Data, volumes: Data, path: Path) -> Problems:
    mounts = {mount.get("name") or "": mount.get("mountPath") or "" for mount in container.get("volumeMounts") or ()}
    names: set[str] = set()
    places: set[str] = set()
    for at, device in field_items(container, "volumeDevices", path):
        name, place = device.get("name") or "", device.get("devicePath") or ""
        yield from _volume(device, volumes, at)
        if name in volumes and source_of(volumes[name]) not in _CLAIMS:
            message = f"a device is a volume of a claim, and `{name}` is of `{source_of(volumes[name])}`"
            yield excluded((*at, "name"), message, "mount it by `volumeMounts`, or name a claim's volume")
        if name and name in names:
            message = f"the volume `{name}` is a device of this container twice"
            yield Problem("duplicate-item", (*at, "name"), message, "remove one of the two")
        elif name and name in mounts:
            message = f"the volume `{name}` is mounted in this container, and cannot be a device as well"
            yield excluded((*at, "name"), message, "remove the mount or the device")
        yield from _device_path(device, places, set(mounts.values()), at)
        names.add(name)
        places.add(place)


def _device_path(device: Data, places: set[str], mounts: set[str], path: Path) -> Problems:
    place, at = device.get("devicePath") or "", (*path, "devicePath")
    if not place:
        yield missing("devicePath", device, path)
    elif place in places:
        yield Problem("duplicate-item", at, f"two devices of this container are at `{place}`", "choose another path for one of the two")
    elif place in mounts:
        yield excluded(at, f"`{place}` is where this container mounts a volume, too", "choose another path for one of the two")
    yield from backstep_problems(place, at)


# The claims that are made for a pod's own, ephemeral volumes.
#
# Follows `ValidatePersistentVolumeClaimTemplate`, k8s.io/kubernetes pkg/apis/core/validation, 1.36. Unlike in a claim, nothing is dropped
# from the sources of the volume.


_ALLOWED = ("annotations", "labels")


def ephemeral_problems(data: Data, path: Path, release: str) -> Problems:
    """Yield the problems of the template of a claim."""
    if "volumeClaimTemplate" not in data:
        yield missing("volumeClaimTemplate", data, path, "write the claim to make as `spec: {...}` in it")
        return
    template, path = data["volumeClaimTemplate"], (*path, "volumeClaimTemplate")
    own = template.get("metadata") or {}
    yield from metadata.label_problems(own.get("labels"), (*path, "metadata"))
    yield from metadata.annotation_problems(own.get("annotations"), (*path, "metadata"))
    for field, value in own.items():
        is_set = isinstance(value, list) or is_pointer(field, "metadata") or value not in ("", 0)
        if field not in _ALLOWED and is_set:
            hint = "the claim is named after the pod and the volume" if field == "name" else ""
            yield Problem("unknown-field", (*path, "metadata", field), f"`{field}` of a claim cannot be set here", hint, at_key=True)
    yield from claim_template_problems(template, path, release)


def claim_template_problems(template: Data, path: Path, release: str) -> Problems:
    """Yield the problems of the spec of a claim's template. It keeps all sources of its volume."""
    yield from (problem.moved_to((*path, *problem.path)) for problem in _claim_template_problems(template, release))


def _claim_template_problems(template: Data, release: str) -> Problems:
    from jobspec.kubernetes.persistentvolumeclaims import claim_spec_problems, given_source_problems

    yield from claim_spec_problems(template, release)
    spec = template.get("spec") or {}
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    yield from given_source_problems(source, reference)
    namespace = (reference or {}).get("namespace")
    if namespace:
        yield from named(namespace, "a namespace", metadata.bad_label_name, ("spec", "dataSourceRef", "namespace"))
    if namespace and source is not None:
        message = "`dataSource` excludes a `dataSourceRef` with a namespace"
        yield excluded(("spec", "dataSource"), message, "remove one of the two", at_key=True)


#: The sources in the order in which the server looks for them: of several, it takes the first. Of each, the required fields and the rules
#: besides; for `ephemeral` and `image`, see `ephemeral_problems` and `image_volume_problems`.
_SOURCES: dict[str, tuple[tuple[str, ...], Rule | None]] = {
    "emptyDir": ((), _empty_dir),
    "hostPath": (("path",), _host_path),
    "gitRepo": (("repository",), lambda data, path: relative_path_problems(data.get("directory", ""), (*path, "directory"))),
    "gcePersistentDisk": (("pdName",), _partition),
    "awsElasticBlockStore": (("volumeID",), _partition),
    "secret": (("secretName",), _projected_key_problems),
    "nfs": (("server", "path"), _nfs),
    "iscsi": (("targetPortal", "iqn"), _iscsi),
    "glusterfs": (("endpoints", "path"), None),
    "flocker": ((), _flocker),
    "persistentVolumeClaim": (("claimName",), None),
    "rbd": (("monitors", "image"), None),
    "cinder": (("volumeID",), _secret),
    "cephfs": (("monitors",), None),
    "quobyte": (("registry", "volume"), _quobyte),
    "downwardAPI": ((), _downward_api),
    "fc": ((), _fc),
    "flexVolume": (("driver",), _flex_volume),
    "configMap": (("name",), _projected_key_problems),
    "azureFile": (("secretName", "shareName"), None),
    "vsphereVolume": (("volumePath",), None),
    "photonPersistentDisk": (("pdID",), None),
    "portworxVolume": (("volumeID",), None),
    "azureDisk": (("diskName", "diskURI"), _azure_disk),
    "storageos": (("volumeName",), _storage_os),
    "projected": ((), _projected),
    "scaleIO": (("gateway", "system", "volumeName"), None),
    "csi": (("driver",), _csi),
    "ephemeral": ((), None),
    "image": ((), lambda data, path: choice(data, "pullPolicy", PULL_POLICIES, path, or_empty=True)),
}
