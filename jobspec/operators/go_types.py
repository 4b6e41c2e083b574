"""A value as operators written in Go send it: without what is empty there, and with numbers and quantities in their canonical forms.

A Go program decodes a manifest into types and encodes them again. An empty text, a zero, `false` and an empty list or map are left out,
but for required fields and for pointers (`GoPointer` in the models), which can tell empty from absent.
"""

from __future__ import annotations

from jobspec.overlays.marked_tree import PlainTree
from jobspec.quantities import canonical_quantity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.overlays.marked_tree import MarkedTree
    from jobspec.shapes import Shape


def as_go_writes(tree: MarkedTree, shape: Shape | None) -> MarkedTree:
    """A value of a *shape* in its canonical form."""
    if isinstance(tree, PlainTree) and _is_written(tree.plain, shape):
        return tree
    if isinstance(tree.value, dict):
        return _mapping(tree, shape)
    if isinstance(tree.value, list):
        item = shape.items if shape else None
        return tree.with_value([as_go_writes(each, item) for each in tree.value])
    return _scalar(tree, shape)


def _is_written(value: Any, shape: Shape | None) -> bool:
    """Whether plain data has its canonical form already."""
    if isinstance(value, list):
        item = shape.items if shape else None
        return all(_is_written(each, item) for each in value)
    if not isinstance(value, dict):
        return shape is None or shape.format != "quantity" or (isinstance(value, str) and canonical_quantity(value) == value)
    if shape is not None and shape.fields is None and shape.values is not None:
        values = shape.values
        return all(_is_written(each, values) for each in value.values())
    fields, required = (shape.fields or {}, shape.required) if shape else ({}, ())
    for name, each in value.items():
        child = fields.get(name)
        if not each and name not in required and _is_left_out(each, child):
            return False
        if (child is None or type(each) is not child.plain) and not _is_written(each, child):
            return False
    return True


def _mapping(tree: MarkedTree, shape: Shape | None) -> MarkedTree:
    if shape is not None and shape.fields is None and shape.values is not None:
        return tree.with_value({name: as_go_writes(each, shape.values) for name, each in tree.value.items()})
    required = shape.required if shape else ()
    made = {}
    for name, each in tree.value.items():
        child = shape.at((name,)) if shape else None
        written = as_go_writes(each, child)
        if name in required or not _is_left_out(written.value, child):
            made[name] = written
    return tree.with_value(made)


def _scalar(tree: MarkedTree, shape: Shape | None) -> MarkedTree:
    if shape is not None and shape.format == "quantity":
        return tree.with_value(canonical_quantity(str(tree.value)))
    return tree


def _is_left_out(value: Any, shape: Shape | None) -> bool:
    if value is None:
        return True
    if isinstance(value, dict):
        return not value and shape is not None and shape.fields is None
    if isinstance(value, list):
        return not value
    return not (value or (shape is not None and (shape.pointer or shape.format == "quantity")))
