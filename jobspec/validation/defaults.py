"""An object as the server holds it once it is decoded: nulls dropped, what the schema does not know too, defaults filled in."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.shapes import Shape


def filled(value: Any, shape: Shape) -> Any:
    """A value of a custom resource with its defaults; what has a wrong type stays as it is."""
    if isinstance(value, dict):
        if shape.fields is not None:
            return _object(value, shape)
        if shape.values is not None:
            values = shape.values
            return {name: filled(inner, values) for name, inner in value.items() if inner is not None}
    elif isinstance(value, list) and shape.items is not None:
        items = shape.items
        return [filled(item, items) for item in value]
    return value


def _object(data: dict[str, Any], shape: Shape) -> dict[str, Any]:
    assert shape.fields is not None
    made = {}
    for name, child in shape.fields.items():
        value = data.get(name)
        if value is None:
            value = child.default
        if value is not None:
            made[name] = value if type(value) is child.plain else filled(value, child)
    return made
