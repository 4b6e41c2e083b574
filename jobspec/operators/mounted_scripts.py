"""Scripts that pods mount from ConfigMaps, in the place of the names of their files.

A container that starts `bash /scripts/train.sh` runs what a ConfigMap holds. Rules about programs see it as `bash -c SCRIPT`.
"""

from __future__ import annotations

import posixpath

from jobspec.diagnostics.record import Record
from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.go.values import mapping
from jobspec.programs.command_lines import OF_TORCHRUN, is_shell
from jobspec.programs.shells import read_script, script_at, script_file_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    #: Gives the data of the ConfigMap of a name, by key. If the ConfigMap is not known, it gives nothing.
    ConfigMaps = Callable[[str], Mapping[str, MarkedTree]]

_SHELL = "sh"
_ENDING = ".sh"
_EXECUTE = 0o111
_USES = frozenset(("configMap", "configMapRef", "configMapKeyRef"))
"""The fields of pods that name a ConfigMap."""
_TEMPLATE = ("spec", "template")


def with_mounted_scripts(objects: Sequence[MarkedTree], config_maps: ConfigMaps) -> list[MarkedTree]:
    """Return the objects of a job with mounted scripts in the command lines of Pods and Jobs.

    Containers that start none stay as they are.
    """
    return [_in_object(each, config_maps) for each in objects]


def may_use_config_maps(*given: Any) -> bool:
    """Return whether a volume or a variable of a ConfigMap is inside of some data."""
    left = list(given)
    while left:
        value = left.pop()
        if isinstance(value, dict):
            if not _USES.isdisjoint(value):
                return True
            left += value.values()
        elif isinstance(value, list):
            left += value
    return False


def is_of_programs(config_map: Mapping[str, Any]) -> bool:
    """Return whether a ConfigMap has a script of a shell, or a variable of torchrun.

    The name of a script's key ends with `.sh`, or the first line says what it is.
    """
    data = mapping(config_map, "data")
    has_script = any(isinstance(each, str) and _is_of_shell(each, must_say_so=not name.endswith(_ENDING)) for name, each in data.items())
    return has_script or any(name.startswith(OF_TORCHRUN) for name in data)


def _in_object(tree: MarkedTree, config_maps: ConfigMaps) -> MarkedTree:
    kind, template = text(tree, "kind"), tree.get(*_TEMPLATE)
    if kind == "Job" and template and volumes_of_config_maps(template):
        return tree.replace_at(_TEMPLATE, lambda _: _in_pod(template, config_maps))
    return _in_pod(tree, config_maps) if kind == "Pod" else tree


def with_containers(pod: MarkedTree, change: Callable[[MarkedTree], MarkedTree | None]) -> MarkedTree:
    """Return a pod with changed containers.

    If *change* returns None, the container stays as it is.
    """
    for field in ("initContainers", "containers"):
        for number, container in enumerate(items(pod.get("spec", field))):
            if (changed := change(container)) is not None:
                pod = pod.replace_at(("spec", field, number), lambda _, changed=changed: changed)  # type: ignore[misc]
    return pod


def _in_pod(pod: MarkedTree, config_maps: ConfigMaps) -> MarkedTree:
    volumes = volumes_of_config_maps(pod)

    def with_script(container: MarkedTree) -> MarkedTree | None:
        line = _line_with_script(container, volumes, config_maps)
        fields = {name: each for name, each in container.value.items() if name != "args"}
        return container.with_value({**fields, "command": fields["command"].with_value(line)}) if line else None

    return with_containers(pod, with_script) if volumes else pod


def _line_with_script(
    container: MarkedTree, volumes: Mapping[str, Sequence[MarkedTree]], config_maps: ConfigMaps
) -> list[MarkedTree] | None:
    """Return the command line of a container with the script in it.

    If the container starts no mounted script, return None.
    """
    words = _started(container)
    at = script_file_at([str(each.value) for each in words])
    mounted = None if at is None else mounted_file(str(words[at].value), container, volumes)
    if at is None or mounted is None or (at == 0 and not mounted.is_executable):
        return None
    script, place = config_maps(mounted.config_map).get(mounted.key), words[at]
    if script is None or not isinstance(script.value, str) or not _is_of_shell(script.value, must_say_so=at == 0):
        return None
    shell = words[:at] or [place.with_value(_SHELL)]
    script = script if script.mark.line else place.with_value(script.value)
    arguments = [shell[0], *words[at + 1 :]] if words[at + 1 :] else []
    return [*shell, place.with_value("-c"), script, *arguments]


def _is_of_shell(script: str, *, must_say_so: bool) -> bool:
    """Return whether a shell runs a script, by the script's first line.

    *must_say_so*: nothing else says which program runs it.
    """
    first = script.partition("\n")[0]
    return any(map(is_shell, first[2:].split())) if first.startswith("#!") else not must_say_so


def _started(container: MarkedTree) -> list[MarkedTree]:
    """Return the words of the command that a container starts.

    If a shell has one command in its script, return the words of that. If the script sets a variable or takes the value of one, return
    none: the command meets what the shell gives it.
    """
    if not items(container.get("command")):
        return []
    words = [each for field in ("command", "args") for each in items(container.get(field))]
    texts = [str(each.value) for each in words]
    at = script_at(texts)
    if at is None:
        return words
    script = read_script(texts[at])
    is_plain = len(script.commands) == 1 and not script.assigned and not script.used
    return [words[at].with_value(each) for each in script.commands[0].words] if is_plain else []


class MountedFile(Record):
    """A file in a container that is the value of a key of a ConfigMap."""

    config_map: str
    key: str
    is_executable: bool
    """True if someone may execute it."""


def volumes_of_config_maps(pod: MarkedTree) -> Mapping[str, Sequence[MarkedTree]]:
    """Return the volumes of a pod with files of ConfigMaps, by name.

    Each has the trees that name its ConfigMaps.
    """
    volumes = items(pod.get("spec", "volumes"))
    return {text(each, "name"): found for each in volumes if (found := list(_sources(each)))}


def _sources(volume: MarkedTree) -> Iterator[MarkedTree]:
    """Yield what names the ConfigMaps of a volume, with the mode of its files."""
    if config_map := volume.get("configMap"):
        yield config_map
    mode = volume.get("projected", "defaultMode")
    for each in items(volume.get("projected", "sources")):
        if config_map := each.get("configMap"):
            yield config_map.with_value({**config_map.value, "defaultMode": mode}) if mode else config_map


def mounted_file(name: str, container: MarkedTree, volumes: Mapping[str, Sequence[MarkedTree]]) -> MountedFile | None:
    """Return the file that a name means in a container.

    A volume without `items` has a file for each key of its ConfigMap. If the volumes with ConfigMaps do not give the file, return None.
    """
    path = posixpath.normpath(posixpath.join(text(container, "workingDir"), name))
    mounts = ((posixpath.normpath(text(each, "mountPath")), each) for each in items(container.get("volumeMounts")))
    around = [(place, each) for place, each in mounts if path == place or path.startswith(f"{place.rstrip('/')}/")]
    if "$" in path or not around:
        return None
    place, mount = max(around, key=lambda each: len(each[0]))
    if text(mount, "subPathExpr"):
        return None
    wanted = posixpath.normpath(posixpath.join(text(mount, "subPath"), posixpath.relpath(path, place)))
    sources = volumes.get(text(mount, "name"), ())
    for source in sources:
        mode = text(source, "defaultMode")
        for each in items(source.get("items")):
            if posixpath.normpath(text(each, "path")) == wanted:
                return MountedFile(text(source, "name"), text(each, "key"), _may_execute(text(each, "mode") or mode))
        if not source.get("items") and len(sources) == 1:
            return MountedFile(text(source, "name"), wanted, _may_execute(mode))
    return None


def _may_execute(mode: str) -> bool:
    """Return whether a file with a mode may be executable.

    An empty mode is the server's default. One that is no number is filled in later.
    """
    return bool(mode) and (not mode.isdecimal() or bool(int(mode) & _EXECUTE))
