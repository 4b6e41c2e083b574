"""The variables of a container.

Follows `ValidateEnv`, `ValidateEnvFrom` and `validateFileKeyRefVolumes`, k8s.io/kubernetes pkg/apis/core/validation, and
`IsRelaxedEnvVarName` and `IsConfigMapKey`, k8s.io/apimachinery pkg/util/validation, 1.36.
"""

from __future__ import annotations

from jobspec.validation.metadata import bad_label_name, bad_subdomain, masked
from jobspec.validation.pods.complaints import excluded, missing, near, wrong_name
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_WHOLE = ("configMapRef", "secretRef")
_KEY = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._")


def env_problems(container: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of a container's `env` and `envFrom`, apart from the volumes that they name."""
    for index, variable in enumerate(container.get("env", ())):
        at = (*path, "env", index)
        if not variable.get("name"):
            yield missing("name", variable, at)
        elif why := bad_variable(variable["name"]):
            yield wrong_name(variable["name"], "a variable", why, (*at, "name"))
        if "valueFrom" in variable:
            yield from _source(variable, (*at, "valueFrom"))
    for index, each in enumerate(container.get("envFrom", ())):
        yield from _whole(each, (*path, "envFrom", index))


def _source(variable: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of the `valueFrom` of a variable."""
    source = variable["valueFrom"]
    given = [name for name in _SOURCES if name in source]
    for name in given:
        yield from _one(name, source[name], (*path, name))
    if not given:
        yield Problem("missing-field", path, f"`valueFrom` names no source: it takes one of {', '.join(f'`{each}`' for each in _SOURCES)}")
    elif variable.get("value"):
        yield excluded(path, "a variable has either a `value` or `valueFrom`, and here it has both", "remove one of the two")
    elif len(given) > 1:
        yield excluded(path, f"a variable has one source, and here it has {' and '.join(f'`{each}`' for each in given)}", "keep one")


def _one(name: str, source: dict[str, Any], path: Path) -> Iterator[Problem]:
    if name == "fieldRef":
        from jobspec.validation.pods.downward import FIELDS_OF_VARIABLES, field_problems

        yield from field_problems(source, path, FIELDS_OF_VARIABLES)
    elif name == "resourceFieldRef":
        from jobspec.validation.pods.downward import resource_problems

        yield from resource_problems(source, path, in_volume=False)
    elif name == "fileKeyRef":
        yield from _file(source, path)
    else:
        what = "a ConfigMap" if name == "configMapKeyRef" else "a Secret"
        if not source.get("name"):
            yield missing("name", source, path, f"name {what}")
        elif why := bad_subdomain(source["name"]):
            yield wrong_name(source["name"], what, why, (*path, "name"))
        if not source.get("key"):
            yield missing("key", source, path)
        elif why := bad_key(source["key"]):
            yield wrong_name(source["key"], f"a key of {what}", why, (*path, "key"))


def _file(source: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of a variable from a file that a container wrote."""
    yield from (missing(name, source, path) for name in ("key", "volumeName", "path") if not source.get(name))
    key, volume, file = source.get("key"), source.get("volumeName"), source.get("path", "")
    if key and (why := bad_variable(key)):
        yield wrong_name(key, "a variable", why, (*path, "key"))
    if volume and (why := bad_label_name(volume)):
        yield wrong_name(volume, "a volume", why, (*path, "volumeName"))
    if ".." in file.split("/"):
        yield Problem("wrong-format", (*path, "path"), f"`{file}` leaves the volume by `..`", "write a path inside of the volume")


def _whole(source: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of an item of `envFrom`."""
    prefix = source.get("prefix")
    if prefix and (why := bad_variable(prefix)):
        yield wrong_name(prefix, "variables to begin with", why, (*path, "prefix"))
    given = [name for name in _WHOLE if name in source]
    for name in given:
        what, referred = "a ConfigMap" if name == "configMapRef" else "a Secret", source[name].get("name")
        if not referred:
            yield missing("name", source[name], (*path, name), f"name {what}")
        elif why := bad_subdomain(masked(referred)):
            yield wrong_name(referred, what, why, (*path, name, "name"))
    if not given:
        yield Problem("missing-field", path, "the item names no source: it takes `configMapRef` or `secretRef`")
    elif len(given) > 1:
        yield excluded(path, "an item has one source, and here it has `configMapRef` and `secretRef`", "write an item for each")


def file_volume_problems(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The volumes that variables from files name: they have to be there, and to be an `emptyDir`."""
    volumes = {volume.get("name", ""): volume for volume in spec.get("volumes", ())}
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(field, ())):
            for number, variable in enumerate(container.get("env", ())):
                source = variable.get("valueFrom", {}).get("fileKeyRef")
                if source is not None:
                    at = (*path, field, index, "env", number, "valueFrom", "fileKeyRef", "volumeName")
                    yield from _volume(source.get("volumeName", ""), volumes, at)


def _volume(name: str, volumes: dict[str, dict[str, Any]], path: Path) -> Iterator[Problem]:
    if name not in volumes:
        yield Problem("unsupported-choice", path, f"the pod has no volume `{name}`", near(name, volumes))
    elif "emptyDir" not in volumes[name] and volumes[name].keys() - {"name"}:  # without any source, a volume is an `emptyDir`
        yield excluded(path, f"variables are read from a file in an `emptyDir`, and the volume `{name}` is none", "name an `emptyDir`")


def bad_variable(name: str) -> str:
    """Why a text cannot be the name of a variable; empty if it can."""
    return "" if all(" " <= each <= "~" and each != "=" for each in name) else "it has to be of printable ASCII characters other than `=`"


def bad_key(name: str) -> str:
    """Why a text cannot be a key of a ConfigMap or Secret; empty if it can."""
    if len(name) > 253:
        return f"it has {len(name)} characters, more than 253"
    if not _KEY.issuperset(name):
        return "it has to be of letters, digits, `-`, `_` and `.`"
    return "it cannot be `.`, nor begin with `..`" if name == "." or name.startswith("..") else ""
