"""Captured objects: what a Python program posted, as a manifest that people keep in Git, with the line that posted it."""

from __future__ import annotations

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Mark, spell
from jobspec.diagnostics.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from jobspec.diagnostics.places import Data, Path


class CapturedObject(Record):
    """An object that a program posted."""

    data: Data
    """The manifest: numbers that JSON has as `4.0` are whole, and fields that the server sets are absent."""
    place: Mark
    """The line of the program that posted it."""
    fractions: Sequence[tuple[Path, float]]
    """The numbers that were posted as fractions, with their paths."""
    refused: Sequence[Diagnostic] = ()
    """Why the server refused it."""

    def remarks(self, index: int) -> Iterator[Diagnostic]:
        """Yield what the client library did to the object that its user would not expect."""
        if self.fractions:
            path, number = self.fractions[0]
            others = f" and {len(self.fractions) - 1} more" if self.fractions[1:] else ""
            message = f"the client posted `{spell(path)}: {number}`{others}; written as {int(number)}"
            yield Diagnostic("captured-change", message, self.place, field=spell(path), document=index, severity="info")


#: The fields of metadata that a server sets.
_SET_BY_SERVER = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")


def captured(posted: Data, place: Mark, *, namespace: str = "", refused: Sequence[Diagnostic] = ()) -> CapturedObject:
    """Make a captured object of a posted one.

    *namespace*: the one that it was posted to, if the object is to name it.
    """
    fractions: list[tuple[Path, float]] = []
    data = _whole(posted, (), fractions)
    metadata = {name: each for name, each in (data.get("metadata") or {}).items() if name not in _SET_BY_SERVER}
    if namespace:
        named = {name: metadata[name] for name in ("name", "generateName") if name in metadata}
        metadata = {**named, "namespace": namespace, **metadata}
    kept = {name: each for name, each in data.items() if name != "status"}
    ordered = {name: kept[name] for name in ("apiVersion", "kind") if name in kept}
    return CapturedObject({**ordered, **kept, "metadata": metadata}, place, fractions, refused)


def _whole(value: Any, path: Path, fractions: list[tuple[Path, float]]) -> Any:
    """A value whose numbers without a fraction are integers; the paths of these are added to *fractions*."""
    if isinstance(value, float) and value.is_integer():
        fractions.append((path, value))
        return int(value)
    if isinstance(value, dict):
        return {name: _whole(each, (*path, name), fractions) for name, each in value.items() if each is not None}
    return [_whole(each, (*path, index), fractions) for index, each in enumerate(value)] if isinstance(value, list) else value
