"""Put a manifest's keys in the order in which people write them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.shapes import Shape

_FIRST = ("apiVersion", "kind", "metadata", "name", "generateName", "namespace", "labels", "annotations", "type", "spec")
_LAST = ("data", "stringData", "binaryData", "status")


def arrange(data: Any, shape: Shape | None = None) -> Any:
    """The same data, each object's fields in the order of its model, the keys of maps by name.

    What no model describes begins with `apiVersion`, `kind` and `metadata` and is otherwise ordered by name.
    """
    if isinstance(data, list):
        items = shape.items if shape else None
        return [arrange(item, items) for item in data]
    if not isinstance(data, dict):
        return data
    return {key: arrange(data[key], shape.at((key,)) if shape else None) for key in order_of(data, shape)}


def order_of(data: dict[str, Any], shape: Shape | None) -> list[str]:
    """The keys of an object in that order."""
    if shape and shape.fields is not None:
        return [name for name in shape.fields if name in data] + sorted(data.keys() - shape.fields.keys())
    if shape and shape.values:
        return sorted(data)
    first = [name for name in _FIRST if name in data]
    last = [name for name in _LAST if name in data]
    return first + sorted(data.keys() - {*first, *last}) + last
