"""A value as operators written in Go send it: without what is empty there, and with numbers and quantities in their canonical forms.

A Go program decodes a manifest into types and encodes them again. An empty text, a zero, `false` and an empty list or map are left out,
but for required fields and for pointers (`GoPointer` in the models), which can tell empty from absent.
"""

from __future__ import annotations

from jobspec.quantities import canonical_quantity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.overlays.marked_tree import MarkedTree
    from jobspec.shapes import Shape


def as_go_writes(tree: MarkedTree, shape: Shape | None) -> MarkedTree:
    """A value of a *shape* in its canonical form."""
    if isinstance(tree.value, dict):
        return _mapping(tree, shape)
    if isinstance(tree.value, list):
        item = shape.items if shape else None
        return tree.with_value([as_go_writes(each, item) for each in tree.value])
    return _scalar(tree, shape)


def _mapping(tree: MarkedTree, shape: Shape | None) -> MarkedTree:
    if shape is not None and shape.fields is None and shape.values is not None:
        return tree.with_value({name: as_go_writes(each, shape.values) for name, each in tree.value.items()})
    required = shape.required if shape else ()
    made = {}
    for name, each in tree.value.items():
        child = shape.at((name,)) if shape else None
        written = as_go_writes(each, child)
        if name in required or not _is_left_out(written, child):
            made[name] = written
    return tree.with_value(made)


def _scalar(tree: MarkedTree, shape: Shape | None) -> MarkedTree:
    if shape is not None and shape.format == "quantity":
        return tree.with_value(canonical_quantity(str(tree.value)))
    return tree


def _is_left_out(tree: MarkedTree, shape: Shape | None) -> bool:
    value: Any = tree.value
    if value is None:
        return True
    if isinstance(value, dict):
        return not value and shape is not None and shape.fields is None
    if isinstance(value, list):
        return not value
    return not (value or (shape is not None and (shape.pointer or shape.format == "quantity")))
