"""How containers mount the pod's volumes, and use them as devices.

Follows `ValidateVolumeMounts` and `ValidateVolumeDevices`, k8s.io/kubernetes pkg/apis/core/validation, 1.36. A mount of a volume that is
itself refused is not reported again.
"""

from __future__ import annotations

from jobspec.validation.pods.complaints import closest, listed, missing, unsupported
from jobspec.validation.pods.paths import backstep_problems, relative_path_problems
from jobspec.validation.pods.volumes import source_of
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIONS = ("Disabled", "Enabled", "IfPossible")
_CLAIMS = ("persistentVolumeClaim", "ephemeral")
_SHOWN = 5  # of the names of volumes in a message


def mount_problems(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of the mounts and devices of all containers."""
    volumes = {volume["name"]: volume for volume in reversed(spec.get("volumes") or ()) if volume.get("name")}
    for field in _CONTAINERS:
        for index, container in enumerate(spec.get(field) or ()):
            at = (*path, field, index)
            yield from _mounts(container, volumes, (*at, "volumeMounts"))
            yield from _devices(container, volumes, (*at, "volumeDevices"))


def _mounts(container: dict[str, Any], volumes: dict[str, Any], path: Path) -> Iterator[Problem]:
    mounts, devices = container.get("volumeMounts") or (), container.get("volumeDevices") or ()
    device_names = {device.get("name") or "" for device in devices}
    device_paths = set({device.get("name") or "": device.get("devicePath") or "" for device in devices}.values())
    taken: dict[str, int] = {}
    for index, mount in enumerate(mounts):
        at, name, place = (*path, index), mount.get("name") or "", mount.get("mountPath") or ""
        yield from _volume(mount, volumes, at)
        if not place:
            yield missing("mountPath", mount, at)
        elif place in taken:
            message = f"the mount {index} is at the path of the mount {taken[place]}, `{place}`"
            yield Problem("duplicate-item", (*at, "mountPath"), message, "mount one of the two elsewhere, or remove it")
        elif place in device_paths:
            message = f"`{place}` is the path of a device of this container, too"
            yield Problem("conflicting-values", (*at, "mountPath"), message, "choose another path for one of the two")
        taken.setdefault(place, index)
        if name and name in device_names:
            message = f"the volume `{name}` is a device of this container, and cannot be mounted as well"
            yield Problem("conflicting-values", (*at, "name"), message, "remove the mount or the device")
        yield from _inside(mount, at)
        yield from _propagation(mount, container, at)
        yield from _recursion(mount, at)


def _volume(use: dict[str, Any], volumes: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problem of a mount or device whose volume the pod does not have."""
    name = use.get("name") or ""
    if not name:
        yield missing("name", use, path, _there(volumes))
    elif name not in volumes:
        message = f"`{'.'.join(str(step) for step in path[-2:-1])}[{path[-1]}]` names the volume `{name}`, which the pod does not have"
        yield Problem("unsupported-choice", (*path, "name"), message, closest(name, volumes) or _there(volumes))


def _there(volumes: dict[str, Any]) -> str:
    names = list(reversed(volumes))
    if not names:
        return "the pod has no volumes; add it to `volumes`"
    more = ", ..." if len(names) > _SHOWN else ""
    return f"there {'is' if len(names) == 1 else 'are'} {listed(names[:_SHOWN])}{more}"


def _inside(mount: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of the path inside of the volume."""
    if mount.get("subPath") and mount.get("subPathExpr"):
        message = "`subPath` and `subPathExpr` are two ways to say the same, and exclude each other"
        yield Problem("conflicting-values", (*path, "subPathExpr"), message, "remove one of the two", at_key=True)
    for field in ("subPath", "subPathExpr"):
        yield from relative_path_problems(mount.get(field) or "", (*path, field))


def _propagation(mount: dict[str, Any], container: dict[str, Any], path: Path) -> Iterator[Problem]:
    propagation, at = mount.get("mountPropagation"), (*path, "mountPropagation")
    if propagation is None:
        return
    if propagation not in _PROPAGATIONS:
        yield unsupported(propagation, _PROPAGATIONS, at)
    elif propagation == "Bidirectional" and not (container.get("securityContext") or {}).get("privileged"):
        message = "only privileged containers can pass their mounts on to the node, by `Bidirectional`"
        yield Problem("conflicting-values", at, message, "write `HostToContainer`, or `privileged: true` in the `securityContext`")


def _recursion(mount: dict[str, Any], path: Path) -> Iterator[Problem]:
    recursion, at = mount.get("recursiveReadOnly"), (*path, "recursiveReadOnly")
    if recursion is None or recursion == "Disabled":
        return
    if recursion not in _RECURSIONS:
        yield unsupported(recursion, _RECURSIONS, at)
        return
    if not mount.get("readOnly"):
        yield Problem("conflicting-values", at, f"`recursiveReadOnly: {recursion}` needs `readOnly: true`", "add it")
    if mount.get("mountPropagation", "None") != "None":
        message = f"`recursiveReadOnly: {recursion}` excludes `mountPropagation: {mount['mountPropagation']}`"
        yield Problem("conflicting-values", at, message, "remove one of the two")


def _devices(container: dict[str, Any], volumes: dict[str, Any], path: Path) -> Iterator[Problem]:
    mounts = {mount.get("name") or "": mount.get("mountPath") or "" for mount in container.get("volumeMounts") or ()}
    names: set[str] = set()
    places: set[str] = set()
    for index, device in enumerate(container.get("volumeDevices") or ()):
        at, name, place = (*path, index), device.get("name") or "", device.get("devicePath") or ""
        yield from _volume(device, volumes, at)
        if name in volumes and source_of(volumes[name]) not in _CLAIMS:
            message = f"a device is a volume of a claim, and `{name}` is of `{source_of(volumes[name])}`"
            yield Problem("conflicting-values", (*at, "name"), message, "mount it by `volumeMounts`, or name a claim's volume")
        if name and name in names:
            yield Problem(
                "duplicate-item", (*at, "name"), f"the volume `{name}` is a device of this container twice", "remove one of the two"
            )
        elif name and name in mounts:
            message = f"the volume `{name}` is mounted in this container, and cannot be a device as well"
            yield Problem("conflicting-values", (*at, "name"), message, "remove the mount or the device")
        yield from _device_path(device, places, set(mounts.values()), at)
        names.add(name)
        places.add(place)


def _device_path(device: dict[str, Any], places: set[str], mounts: set[str], path: Path) -> Iterator[Problem]:
    place, at = device.get("devicePath") or "", (*path, "devicePath")
    if not place:
        yield missing("devicePath", device, path)
    elif place in places:
        yield Problem("duplicate-item", at, f"two devices of this container are at `{place}`", "choose another path for one of the two")
    elif place in mounts:
        message = f"`{place}` is where this container mounts a volume, too"
        yield Problem("conflicting-values", at, message, "choose another path for one of the two")
    yield from backstep_problems(place, at)
