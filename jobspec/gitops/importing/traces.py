"""What an overlay leaves in a job: the values that it sets, and the words of its flags."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.documents.document import Marks
    from jobspec.overlays.overlay import Overlay
    from jobspec.schemas.shapes import Shape

    #: Paths to cut one after the other: those of a flag and its value, or of one value.
    Cuts = Sequence[Path]


def set_keys(overlay: Overlay) -> set[str]:
    """The keys under which an overlay sets a value in pods, whatever it is given: those of parameters that may be unset are left out."""
    parameters = overlay.spec.get("parameters")
    optional = {f"${{{name}}}" for name, each in (parameters.data() if parameters else {}).items() if each.get("optional")}
    pods = overlay.spec.get("pods")
    return {key for entry in (pods.data() if pods else ()) for key, value in _leaves(entry.get("template")) if value not in optional}


def flags_set_by(overlay: Overlay) -> list[tuple[str, Any]]:
    """The flags that an overlay sets in pods, with their values."""
    pods = overlay.spec.get("pods")
    return [each for entry in (pods.data() if pods else ()) for each in (entry.get("flags") or {}).items()]


def _leaves(data: Any) -> Iterator[tuple[str, Any]]:
    """The scalars of mappings in a value, with their keys."""
    for key, value in data.items() if isinstance(data, dict) else ():
        yield from _leaves(value) if isinstance(value, (dict, list)) else [(key, value)]
    for value in data if isinstance(data, list) else ():
        yield from _leaves(value)


def stands(marks: Marks, path: Path) -> bool:
    """Whether there is a value at a path."""
    here: Marks | None = marks
    for step in path:
        here = here.child(step) if here else None
    return here is not None


def layered(marks: Marks, layer: str, shape: Shape | None, path: Path = (), *, keys: Sequence[str] = ()) -> list[Path]:
    """The paths of the values that an overlay set, those of a mapping or list where all of it was set, but for *keys* that find an item."""
    children = marks.children
    if children is None:
        return [path] if marks.mark.layer == layer else []
    steps: list[tuple[str | int, Marks]] = list(children.items() if isinstance(children, dict) else enumerate(children))
    inside = shape.merge if shape and isinstance(children, list) else ()
    found = {step: layered(child, layer, shape and shape.at((step,)), (*path, step), keys=inside) for step, child in steps}
    others = {step: inner for step, inner in found.items() if inner or step not in keys}
    if others and all(inner == [(*path, step)] for step, inner in others.items()):
        return [path]
    return [each for inner in found.values() for each in inner]


def flag_words(job: Any, overlay: Overlay) -> Iterator[Cuts]:
    """The words of each flag that an overlay sets, in every list of arguments: `--flag value` or `--flag=value`.

    Behind them, the list as a whole where it holds no other words.
    """
    flags = {flag for flag, _ in flags_set_by(overlay)}
    for path, words in _arguments(job, ()):
        found = list(_flags_in(words, flags))
        yield from ([(*path, index) for index in indices] for indices in found)
        if words and sum(map(len, found)) == len(words):
            yield [path]


def _flags_in(words: list[Any], flags: Collection[str]) -> Iterator[list[int]]:
    """Of each of the flags in a list of arguments, the indices of its words, the last first."""
    for index, word in enumerate(words):
        if word in flags and index + 1 < len(words):
            yield [index + 1, index]
        elif isinstance(word, str) and word.partition("=")[0] in flags:
            yield [index]


def is_argument(path: Path) -> bool:
    """Whether a path is that of a list of arguments, or leads into one."""
    return not {"command", "args"}.isdisjoint(map(str, path[-2:]))


def _arguments(data: Any, path: Path) -> Iterator[tuple[Path, list[Any]]]:
    """The lists of arguments in a job, with their paths."""
    for key, value in data.items() if isinstance(data, dict) else ():
        if key in ("command", "args") and isinstance(value, list):
            yield (*path, key), value
        else:
            yield from _arguments(value, (*path, key))
    for index, value in enumerate(data) if isinstance(data, list) else ():
        yield from _arguments(value, (*path, index))
