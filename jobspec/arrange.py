"""Put a manifest's keys in the order in which people write them."""

from __future__ import annotations

from functools import lru_cache

from jobspec.documents.writer import Part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from jobspec.documents.document import Parts
    from jobspec.schemas.shapes import Shape


_FIRST = ("apiVersion", "kind", "metadata", "name", "generateName", "namespace", "labels", "annotations", "type", "spec")
_LAST = ("data", "stringData", "binaryData", "status")


def arrange(data: Any, shape: Shape | None, parts: Parts | None = None) -> Any:
    """The same data, each object's fields in the order of its model, the keys of maps by name.

    What no model describes begins with `apiVersion`, `kind` and `metadata` and is otherwise ordered by name. Of the *parts* that other
    documents have, too, each is arranged once, and a `Part` of what is to be written.
    """
    if isinstance(data, list):
        items = shape.items if shape else None
        return [_inside(item, items, parts) if isinstance(item, (dict, list)) else item for item in data]
    if not isinstance(data, dict):
        return data
    arranged = {}
    for key, below in _order(tuple(data), shape):
        value = data[key]
        arranged[key] = _inside(value, below, parts) if isinstance(value, (dict, list)) else value
    return arranged


def _inside(data: Any, shape: Shape | None, parts: Parts | None) -> Any:
    """The same of a mapping or list inside."""
    made = parts.get(id(data)) if parts else None
    if made is None:
        return arrange(data, shape, parts)
    if shape not in made:
        made[shape] = Part(arrange(data, shape))
    return made[shape]


@lru_cache(maxsize=1000)  # most objects of a kind have the same few sets of fields
def _order(keys: tuple[str, ...], shape: Shape | None) -> list[tuple[str, Shape | None]]:
    """The keys of an object in that order, each with the shape of its value."""
    return [(key, shape.at((key,)) if shape else None) for key in order_of(keys, shape)]


def order_of(keys: Collection[str], shape: Shape | None) -> list[str]:
    """The keys of an object in that order."""
    if shape and shape.fields is not None:
        return [name for name in shape.fields if name in keys] + sorted(set(keys) - shape.fields.keys())
    if shape and shape.values:
        return sorted(keys)
    first = [name for name in _FIRST if name in keys]
    last = [name for name in _LAST if name in keys]
    return first + sorted(set(keys) - {*first, *last}) + last
