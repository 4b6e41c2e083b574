"""Remedies of mistakes: changes of a document's data, which `fixes` makes in the text of its file."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Literal

    #: As `diagnostics.Path`, which imports this module.
    Path = tuple[str | int, ...]

    Action = Literal["set", "rename", "move", "remove", "quote"]


class Unfit(Exception):
    """The document has no such place, or something stands there already."""


class Change:
    """A change at a *path* from the top of a document."""

    __slots__ = ("action", "path", "value")

    def __init__(self, action: Action, path: Path, value: Any = None) -> None:
        self.action = action
        self.path = path
        self.value = value
        """Of `set` the new value, of `rename` the new key, of `move` the path of the mapping to go into, from the one around the field."""

    def __repr__(self) -> str:
        return f"<{self.action} {self.path} {self.value!r}>"

    def below(self, path: Path) -> Change:
        """The same change in a document around this one, which stands at *path* in it."""
        return Change(self.action, (*path, *self.path), self.value)


def set_to(path: Path, value: Any) -> Change:
    """Give a field or an item another value, or add it where it is not there; mappings on the way to it are added, too."""
    return Change("set", path, value)


def rename(path: Path, name: str) -> Change:
    """Give a field another name; it keeps its place."""
    return Change("rename", path, name)


def move(path: Path, into: Path) -> Change:
    """Move a field into a mapping beside it, which becomes one around it where it is not there: `spec.a` into `spec.b` is `spec.b.a`."""
    return Change("move", path, into)


def remove(path: Path) -> Change:
    """Remove a field or an item; a mapping or list goes with its last value."""
    return Change("remove", path)


def quote(path: Path) -> Change:
    """Make a scalar text, as it is written: `value: 010` becomes `value: "010"`."""
    return Change("quote", path)


def applied(data: Any, change: Change) -> Any:
    """The data with a change other than `quote`. Raises Unfit."""
    if change.action == "set":
        return _set(data, change.path, change.value)
    if change.action == "rename":
        return _changed(data, change.path[:-1], lambda around: _renamed(around, change.path[-1], change.value))
    if change.action == "move":
        return _changed(data, change.path[:-1], lambda around: _moved(around, str(change.path[-1]), change.value))
    return _without(data, widened(data, change.path))


def all_applied(data: Any, changes: Sequence[Change]) -> Any:
    """The data with changes whose paths are all those of the data as it is: deeper and later places change first. Raises Unfit."""
    turns = ("set", "rename", "move", "remove")
    deepest_first = sorted(changes, key=lambda each: [str(step).zfill(6) for step in each.path], reverse=True)
    for turn in turns:
        for change in changes if turn == "set" else deepest_first:
            if change.action == turn:
                data = applied(data, change)
    return data


def widened(data: Any, path: Path) -> Path:
    """The path of what goes with the value at *path*: the mappings and lists around it of which it is the last value. Raises Unfit."""
    value_at(data, path)
    while len(path) > 1 and len(value_at(data, path[:-1])) == 1:
        path = path[:-1]
    return path


def value_at(data: Any, path: Path) -> Any:
    """The value at a path. Raises Unfit where there is none."""
    for step in path:
        if not has(data, step):
            raise Unfit
        data = data[step]
    return data


def has(around: Any, step: str | int) -> bool:
    """Whether a mapping has a key, or a list an index."""
    if isinstance(around, dict):
        return step in around
    return isinstance(around, list) and isinstance(step, int) and 0 <= step < len(around)


def _set(data: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        items = [] if data is None else data
        if not isinstance(items, list) or not 0 <= step <= len(items):
            raise Unfit
        return [*items[:step], _set(items[step] if step < len(items) else None, rest, value), *items[step + 1 :]]
    if data is not None and not isinstance(data, dict):
        raise Unfit
    return {**(data or {}), str(step): _set((data or {}).get(step), rest, value)}


def _changed(data: Any, path: Path, changed: Callable[[Any], Any]) -> Any:
    if not path:
        return changed(data)
    if not has(data, path[0]):
        raise Unfit
    inner = _changed(data[path[0]], path[1:], changed)
    if isinstance(data, list):
        return [inner if index == path[0] else each for index, each in enumerate(data)]
    return {key: inner if key == path[0] else each for key, each in data.items()}


def _renamed(around: Any, old: str | int, new: str) -> Any:
    if not isinstance(around, dict) or old not in around or new in around:
        raise Unfit
    return {new if key == old else key: value for key, value in around.items()}


def _moved(around: Any, name: str, into: Path) -> Any:
    if not isinstance(around, dict) or name not in around:
        raise Unfit
    if into[0] not in around:
        wrapped = _set(None, (*into[1:], name), around[name])
        return {into[0] if key == name else key: wrapped if key == name else value for key, value in around.items()}
    inner = around
    for step in into:
        if not isinstance(inner, dict):
            raise Unfit
        inner = inner.get(step, {})
    if not isinstance(inner, dict) or name in inner:
        raise Unfit
    return _without(_set(around, (*into, name), around[name]), (name,))


def _without(data: Any, path: Path) -> Any:
    step = path[-1]

    def change(around: Any) -> Any:
        if isinstance(around, list):
            return [each for index, each in enumerate(around) if index != step]
        return {key: value for key, value in around.items() if key != step}

    return _changed(data, path[:-1], change)
