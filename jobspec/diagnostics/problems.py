"""What a check finds in plain data: a problem at a path, and the changes that fix it."""

from __future__ import annotations

from jobspec.diagnostics.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from dataclasses import KW_ONLY
    from typing import Any, Literal, TypeAlias

    from jobspec.diagnostics.places import Path

    Action = Literal["set", "rename", "move", "remove", "quote"]


Problems: TypeAlias = "Iterator[Problem]"


class Problem(Record):
    """What is wrong at a path: with its value, or with its key (*at_key*), as of an unknown field."""

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


class Change(Record):
    """A change at a *path* from the top of a document."""

    action: Action
    path: Path
    value: Any = None
    """Of `set` the new value, of `rename` the new key, of `move` the path of the mapping to go into, from the one around the field."""

    def __repr__(self) -> str:
        return f"<{self.action} {self.path} {self.value!r}>"

    def below(self, path: Path) -> Change:
        """The same change in a document around this one, which stands at *path* in it."""
        return self.changed(path=(*path, *self.path))


def set_to(path: Path, value: Any) -> Change:
    """Give a field or an item another value, or add it where it is not there; mappings on the way to it are added, too."""
    return Change("set", path, value)


def rename(path: Path, name: str) -> Change:
    """Give a field another name; it keeps its place."""
    return Change("rename", path, name)


def move(path: Path, into: Path) -> Change:
    """Move a field into another mapping of its object, made where there is none: `spec.a` into `spec.b` is `spec.b.a`."""
    return Change("move", path, into)


def remove(path: Path = ()) -> Change:
    """Remove a field or an item; a mapping or list goes with its last value."""
    return Change("remove", path)


def quote(path: Path) -> Change:
    """Make a scalar text, as it is written: `value: 010` becomes `value: "010"`."""
    return Change("quote", path)
