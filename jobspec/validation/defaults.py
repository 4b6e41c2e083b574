"""Prune and default a custom resource: drop nulls and unknown fields, fill in defaults.

Follows `defaulting.PruneNonNullableNullsWithoutDefaults`, `defaulting.Default` and `pruning.Prune`,
k8s.io/apiextensions-apiserver pkg/apiserver/schema, 0.36.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.shapes import Shape


def filled(value: Any, shape: Shape) -> Any:
    """A value of a custom resource as the server stores it; values of a wrong type stay unchanged."""
    if isinstance(value, dict):
        if shape.fields is not None:
            return _object(value, shape)
        if shape.values is not None:
            values = shape.values
            made = {name: _or_default(inner, values) for name, inner in value.items()}
            return {name: filled(inner, values) for name, inner in made.items() if inner is not None or values.nullable}
    elif isinstance(value, list) and shape.items is not None:
        items = shape.items
        return [filled(_or_default(item, items), items) for item in value]
    return value


def _or_default(value: Any, shape: Shape) -> Any:
    return shape.default if value is None and not shape.nullable else value


def _object(data: dict[str, Any], shape: Shape) -> dict[str, Any]:
    assert shape.fields is not None
    made: dict[str, Any] = {}
    for name, child in shape.fields.items():
        value = data.get(name)
        if value is None:
            if name in data and child.nullable:
                made[name] = None
                continue
            value = child.default
        if value is not None:
            made[name] = value if type(value) is child.plain else filled(value, child)
    if shape.open:
        made |= {name: value for name, value in data.items() if name not in shape.fields}
    return made
