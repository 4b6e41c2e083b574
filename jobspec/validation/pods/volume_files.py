"""Sources of volumes whose files come from API objects: Secrets, ConfigMaps, the pod itself, and several of them projected into one.

Follows `validateSecretVolumeSource`, `validateConfigMapVolumeSource`, `validateDownwardAPIVolumeSource` and
`validateProjectedVolumeSource`, k8s.io/kubernetes pkg/apis/core/validation, 1.36. Sources behind feature gates that are off, which are
`clusterTrustBundle` and `podCertificate`, are dropped before.
"""

from __future__ import annotations

from jobspec.validation.pods.complaints import missing
from jobspec.validation.pods.downward import field_problems, resource_problems
from jobspec.validation.pods.paths import file_path_problems, mode_problems
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.validation.pods.volume_sources import Rule

_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_SECONDS = (600, 1 << 32)


def _files(data: dict[str, Any], path: Path, file_problems: Rule) -> Iterator[Problem]:
    """The problems of what becomes files of a volume; *file_problems* says those of one item."""
    yield from mode_problems(data.get("defaultMode"), (*path, "defaultMode"))
    for index, item in enumerate(data.get("items") or ()):
        yield from file_problems(item, (*path, "items", index))


def _keys(data: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of the keys of a Secret or ConfigMap."""
    return _files(data, path, _key)


def _key(item: dict[str, Any], path: Path) -> Iterator[Problem]:
    yield from (missing(field, item, path) for field in ("key", "path") if not item.get(field))
    yield from file_path_problems(item.get("path") or "", (*path, "path"))
    yield from mode_problems(item.get("mode"), (*path, "mode"))


def _downward_api(data: dict[str, Any], path: Path) -> Iterator[Problem]:
    return _files(data, path, _fact)


def _fact(item: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of a file with a fact about the pod."""
    if not item.get("path"):
        yield missing("path", item, path)
    yield from file_path_problems(item.get("path") or "", (*path, "path"))
    if "fieldRef" in item:
        yield from field_problems(item["fieldRef"], (*path, "fieldRef"), _FIELDS)
        if "resourceFieldRef" in item:
            message = "a file has one fact, and this has `fieldRef` and `resourceFieldRef`"
            yield Problem("conflicting-values", (*path, "resourceFieldRef"), message, "remove one of the two", at_key=True)
    elif "resourceFieldRef" in item:
        yield from resource_problems(item["resourceFieldRef"], (*path, "resourceFieldRef"), in_volume=True)
    else:
        yield missing("fieldRef", item, path, "write which field of the pod it is, or a `resourceFieldRef`")
    yield from mode_problems(item.get("mode"), (*path, "mode"))


def _projected(data: dict[str, Any], path: Path) -> Iterator[Problem]:
    yield from mode_problems(data.get("defaultMode"), (*path, "defaultMode"))
    taken: dict[str, Path] = {}
    for index, source in enumerate(data.get("sources") or ()):
        at = (*path, "sources", index)
        given = [name for name in _PARTS if name in source]
        for name in given:
            yield from _PARTS[name](source[name], (*at, name))
            yield from _taken(source[name], (*at, name), taken)
        if len(given) > 1:
            message = f"a source of a projected volume is one thing, and this has `{'`, `'.join(given)}`"
            yield Problem("conflicting-values", at, message, "make each an item of its own")


def _taken(source: dict[str, Any], path: Path, taken: dict[str, Path]) -> Iterator[Problem]:
    """The problems of files of a source whose paths are *taken* already."""
    for index, item in enumerate(source.get("items") or ()):
        file, at = item.get("path") or "", (*path, "items", index, "path")
        if file in taken:
            yield Problem("duplicate-item", at, f"two files of the volume are `{file}`", "give one of the two another path")
        elif file:
            taken[file] = at


def _named(data: dict[str, Any], path: Path) -> Iterator[Problem]:
    if not data.get("name"):
        yield missing("name", data, path)
    yield from _keys(data, path)


def _token(data: dict[str, Any], path: Path) -> Iterator[Problem]:
    seconds, file = data.get("expirationSeconds", 3600), data.get("path")
    if not _SECONDS[0] <= seconds <= _SECONDS[1]:
        message = f"a token is valid for 600 seconds, which are 10 minutes, to 2^32 seconds, not {seconds}"
        yield Problem("out-of-range", (*path, "expirationSeconds"), message)
    if not file:
        yield missing("path", data, path)
    else:
        yield from file_path_problems(file, (*path, "path"))


_PARTS: dict[str, Rule] = {"secret": _named, "configMap": _named, "downwardAPI": _downward_api, "serviceAccountToken": _token}
FILES: dict[str, Rule] = {"secret": _keys, "configMap": _keys, "downwardAPI": _downward_api, "projected": _projected}
