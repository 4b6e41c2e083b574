"""Find the unknown fields in a value that the server drops, such as `status`: strict field validation refuses them first.

Follows `pruning.PruneWithOptions`, k8s.io/apiextensions-apiserver pkg/apiserver/schema/pruning, 0.36.
"""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.validation.complaints import unknown_field
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.shapes import Shape


def unknown_fields(value: Any, shape: Shape | None, path: Path) -> Iterator[Problem]:
    """The unknown fields in a value and in all values inside it; types are not checked. A *shape* of None has no known field."""
    if isinstance(value, dict) and not (shape and shape.type == "any" and shape.fields is None and shape.values is None):
        fields = shape.fields if shape and shape.fields is not None else {}
        for name, inner in value.items():
            if name in fields:
                yield from unknown_fields(inner, fields[name], (*path, name))
            elif shape and shape.values:
                yield from unknown_fields(inner, shape.values, (*path, Key(name)))
            elif not (shape and shape.open):
                yield unknown_field(name, shape, path, suggest=True)
    elif isinstance(value, list) and not (shape and shape.open and shape.items is None):
        for index, item in enumerate(value):
            yield from unknown_fields(item, shape.items if shape else None, (*path, index))
