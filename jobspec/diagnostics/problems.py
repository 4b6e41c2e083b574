"""What a check finds in plain data: a problem at a path, and the changes that fix it."""

from __future__ import annotations

from jobspec.diagnostics.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from dataclasses import KW_ONLY
    from typing import Any, Literal, TypeAlias

    from jobspec.diagnostics.places import Path

    Action = Literal["set", "rename", "move", "remove", "quote"]


Problems: TypeAlias = "Iterator[Problem]"


class Problem(Record):
    """A problem at a path: of its value, or of its key (*at_key*), such as an unknown field."""

    rule: str
    path: Path
    message: str
    hint: str = ""
    """What to do about it, for people; code does not use it."""
    _: KW_ONLY
    at_key: bool = False
    meant: str = ""
    """Of an unknown field: the known field that it seems to misspell."""
    belongs: str = ""
    """Of an unknown field: the path, from the same object, of the field that it belongs in, such as `spec.resources`."""
    lacks: str = ""
    """Of a missing field: its name, where the path is that of the object around it."""
    remedy: Change | None = None
    """What fixes it, where the hint is certain."""

    def moved_to(self, path: Path) -> Problem:
        """The same problem at another path."""
        return Problem(self.rule, path, self.message, self.hint, at_key=self.at_key, lacks=self.lacks)


class ReplacedList(Record):
    """The loss of a list that a merge patch replaces, and the JSON patch in its place."""

    api_version: str
    kind: str
    lost: Sequence[str]
    """The keys of the items, and the fields, that are lost."""
    operations: Sequence[Mapping[str, Any]]
    """The JSON patch in place of the whole patch; empty if there is none."""


class Change(Record):
    """A change at a *path* from the top of a document."""

    action: Action
    path: Path
    value: Any = None
    """Of `set` the new value, of `rename` the new key, of `move` the path of the mapping to go into, from the one around the field."""
    is_unsafe: bool = False
    """Whether the change alters what runs."""

    def __repr__(self) -> str:
        return f"<{self.action} {self.path} {self.value!r}>"

    def below(self, path: Path) -> Change:
        """Return the change for a document around this one. *path*: the place of this document."""
        return self.changed(path=(*path, *self.path))


def set_to(path: Path, value: Any) -> Change:
    """Give a field or an item another value. If there is none, add it, with mappings on the way."""
    return Change("set", path, value)


def rename(path: Path, name: str) -> Change:
    """Give a field another name. The field keeps its place."""
    return Change("rename", path, name)


def move(path: Path, into: Path) -> Change:
    """Move a field into another mapping of its object: `spec.a` into `spec.b` is `spec.b.a`.

    If the mapping is absent, it is added.
    """
    return Change("move", path, into)


def remove(path: Path = ()) -> Change:
    """Remove a field or an item. If a mapping or list loses its last value, remove it, too."""
    return Change("remove", path)


def quote(path: Path) -> Change:
    """Make a scalar a string, as it is written: `value: 010` becomes `value: "010"`."""
    return Change("quote", path)
