"""The volumes of a pod: their names, and exactly one source for each.

Follows `ValidateVolumes` and `validateVolumeSource`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.validation.metadata import bad_label_name
from jobspec.validation.pods.complaints import missing
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

#: The sources in the order in which the server looks for them: of several, it takes the first.
_ORDER = (
    *("emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi", "glusterfs", "flocker"),
    *("persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI", "fc", "flexVolume", "configMap", "azureFile"),
    *("vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk", "storageos", "projected", "scaleIO", "csi", "ephemeral"),
    "image",
)
_MAX_INITIATOR = 64


def volume_problems(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of the volumes of a pod; one that is refused for another reason does not take its name from others."""
    taken: dict[str, int] = {}
    for index, volume in enumerate(spec.get("volumes") or ()):
        at = (*path, "volumes", index)
        found = [*_sources(volume, at), *_name(volume, taken, index, at)]
        yield from found
        if not found:
            taken[volume["name"]] = index


def _name(volume: dict[str, Any], taken: dict[str, int], index: int, path: Path) -> Iterator[Problem]:
    name = volume.get("name") or ""
    if not name:
        yield missing("name", volume, path)
    elif why := bad_label_name(name):
        yield Problem("invalid-name", (*path, "name"), f"`{name}` is no name for a volume: {why}", _name_hint(name))
    elif name in taken:
        message = f"the volume {index} has the name of the volume {taken[name]}, `{name}`"
        yield Problem("duplicate-item", (*path, "name"), message, "give one of the two another name, or remove it")


def source_of(volume: dict[str, Any]) -> str:
    """The source that the server takes; an empty folder without one."""
    return next((source for source in _ORDER if source in volume), "emptyDir")


def _sources(volume: dict[str, Any], path: Path) -> Iterator[Problem]:
    given = [source for source in _ORDER if source in volume]
    for source in given[:1]:
        yield from _source(source, volume[source], (*path, source))
    for source in given[1:]:
        message = f"a volume has one source, and this has `{given[0]}` and `{source}`"
        yield Problem("conflicting-values", (*path, source), message, "remove one of the two, or make two volumes", at_key=True)
    iscsi = volume.get("iscsi", {})
    if "initiatorName" in iscsi:
        joined = f"{volume.get('name') or ''}:{iscsi.get('targetPortal') or ''}"
        if len(joined.encode()) > _MAX_INITIATOR:
            message = f"with an `initiatorName`, `{joined}` names the interface, and has more than {_MAX_INITIATOR} characters"
            yield Problem("wrong-size", (*path, "name"), message, "give the volume a shorter name")


def _source(source: str, data: dict[str, Any], path: Path) -> Iterator[Problem]:
    from jobspec.validation.pods.volume_files import FILES
    from jobspec.validation.pods.volume_sources import SOURCES, required_problems

    yield from required_problems(source, data, path)
    rule = SOURCES.get(source) or FILES.get(source)
    if rule is None:
        from jobspec.validation.pods.volume_disks import DISKS

        rule = DISKS.get(source)
    if rule:
        yield from rule(data, path)


def _name_hint(name: str) -> str:
    plain = name.lower().replace("_", "-").replace(".", "-").strip("-")
    return f"write `{plain}`" if plain != name and not bad_label_name(plain) else ""
