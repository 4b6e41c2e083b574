"""Two states of one object: what in the one was what in the other, and whether it is the same."""

from __future__ import annotations

from jobspec.cel_rules import same
from jobspec.diagnostics import Key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.shapes import Shape


def inside(value: Any, old: Any, shape: Shape) -> Iterator[tuple[str | int, Shape, Any, Any]]:
    """What is inside a value: the step, its shape, the value, and what was there before, None where nothing can be told to be that."""
    if isinstance(value, dict):
        stored = old if isinstance(old, dict) and not shape.atomic else {}
        for name, inner in value.items():
            if shape.fields is not None:
                yield name, shape.fields[name], inner, stored.get(name)
            elif shape.values is not None:
                yield Key(name), shape.values, inner, stored.get(name)
    elif isinstance(value, list) and shape.items is not None:
        by_key = {key_of(item, shape): item for item in old} if shape.keys and isinstance(old, list) else {}
        for index, item in enumerate(value):
            yield index, shape.items, item, None if key_is_missing(item, shape) else by_key.get(key_of(item, shape))


def is_same(value: Any, old: Any, shape: Shape) -> bool:
    """Whether two filled values are equal to a server."""
    return same(comparable(value, shape), comparable(old, shape))


def comparable(value: Any, shape: Shape) -> Any:
    """A filled value such that two are equal where CEL says so: without an order in list maps and sets, times as moments."""
    if isinstance(value, dict):
        children = shape.fields
        if children is not None:
            return {name: comparable(inner, children[name]) for name, inner in value.items()}
        values = shape.values
        return {name: comparable(inner, values) for name, inner in value.items()} if values is not None else value
    if isinstance(value, list) and shape.items is not None:
        if any(key_is_missing(item, shape) for item in value):
            return object()  # equal to nothing, itself read again included
        items = [comparable(item, shape.items) for item in value]
        return sorted(items, key=lambda item: key_of(item, shape)) if shape.keys or shape.unique else items
    return moment(value) if shape.format == "date-time" else value


def key_of(item: Any, shape: Shape) -> str:
    """What tells a filled item of a list map apart, or an item of a set: the values of its keys, or all of it."""
    return repr([item.get(key) for key in shape.keys] if shape.keys and isinstance(item, dict) else item)


def key_is_missing(item: Any, shape: Shape) -> bool:
    """Whether nobody can tell what an item of a list map was before."""
    return bool(shape.keys) and (not isinstance(item, dict) or any(item.get(key) is None for key in shape.keys))


def moment(time: Any) -> Any:
    """An RFC 3339 time as a moment, whatever its zone; anything else as it is."""
    from datetime import datetime

    try:
        return datetime.fromisoformat(time).timestamp()
    except (TypeError, ValueError):
        return time
