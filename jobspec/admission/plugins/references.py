"""The claims, ConfigMaps and Secrets that a pod needs before its containers start.

Follows `VisitPodSecretNames` and `VisitPodConfigmapNames`, k8s.io/kubernetes pkg/api/v1/pod, 1.36.
"""

from __future__ import annotations

from jobspec.admission.plugins.values import containers, sequence
from jobspec.kinds import CONFIG_MAP, PERSISTENT_VOLUME_CLAIM, SECRET
from jobspec.validation.reading import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.kinds import GroupKind

    Data = dict[str, Any]


class Reference:
    """An object that a pod needs, the keys that it reads of it, and the path of its name."""

    __slots__ = ("is_optional", "is_projected", "keys", "kind", "name", "path")

    def __init__(
        self,
        kind: GroupKind,
        name: str,
        path: Path,
        keys: Sequence[tuple[str, Path]] = (),
        *,
        is_optional: bool = False,
        is_projected: bool = False,
    ) -> None:
        self.kind = kind
        self.name = name
        self.path = path
        self.keys = keys
        """Each with its path."""
        self.is_optional = is_optional
        """Whether the pod starts without it, too."""
        self.is_projected = is_projected
        """Whether it is one of several sources of one volume."""


def references(spec: Data) -> Iterator[Reference]:
    """What a pod refers to."""
    for index, volume in enumerate(sequence(spec, "volumes")):
        yield from _of_volume(volume, ("spec", "volumes", index))
    for path, container in containers(spec, ("initContainers", "containers")):
        yield from _of_container(container, path)


def _of_volume(volume: Data, path: Path) -> Iterator[Reference]:
    claim = mapping(volume, "persistentVolumeClaim").get("claimName")
    if claim:
        yield Reference(PERSISTENT_VOLUME_CLAIM, claim, (*path, "persistentVolumeClaim", "claimName"))
    yield from _of_files(volume, "secret", "secretName", SECRET, path)
    yield from _of_files(volume, "configMap", "name", CONFIG_MAP, path)
    for number, source in enumerate(sequence(mapping(volume, "projected"), "sources")):
        place = (*path, "projected", "sources", number)
        yield from _of_files(source, "secret", "name", SECRET, place, is_projected=True)
        yield from _of_files(source, "configMap", "name", CONFIG_MAP, place, is_projected=True)


def _of_files(holder: Data, field: str, name: str, kind: GroupKind, path: Path, *, is_projected: bool = False) -> Iterator[Reference]:
    """The object whose keys are the files of a volume, or of a part of one."""
    source, place = mapping(holder, field), (*path, field)
    if source.get(name):
        keys = [(each["key"], (*place, "items", index, "key")) for index, each in enumerate(sequence(source, "items")) if each.get("key")]
        is_optional = bool(source.get("optional"))
        yield Reference(kind, source[name], (*place, name), keys, is_optional=is_optional, is_projected=is_projected)


def _of_container(container: Data, path: Path) -> Iterator[Reference]:
    for index, variable in enumerate(sequence(container, "env")):
        for field, kind in (("secretKeyRef", SECRET), ("configMapKeyRef", CONFIG_MAP)):
            source, place = mapping(variable, "valueFrom", field), (*path, "env", index, "valueFrom", field)
            if source.get("name"):
                keys = [(source["key"], (*place, "key"))] if source.get("key") else []
                yield Reference(kind, source["name"], (*place, "name"), keys, is_optional=bool(source.get("optional")))
    for index, several in enumerate(sequence(container, "envFrom")):
        for field, kind in (("secretRef", SECRET), ("configMapRef", CONFIG_MAP)):
            source, place = mapping(several, field), (*path, "envFrom", index, field, "name")
            if source.get("name"):
                yield Reference(kind, source["name"], place, is_optional=bool(source.get("optional")))
