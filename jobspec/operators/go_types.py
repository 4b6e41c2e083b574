"""A value as operators written in Go send it: without what is empty there, and with numbers and quantities in their canonical forms.

A Go program decodes a manifest into types and encodes them again. An empty text, a zero, `false` and an empty list or map are left out,
but for required fields and for pointers (`GoPointer` in the models), which can tell empty from absent.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import PlainTree
from jobspec.go.quantities import canonical_quantity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.schemas.shapes import Shape


def as_go_writes(tree: MarkedTree, shape: Shape | None) -> MarkedTree:
    """A value of a *shape* in its canonical form."""
    data = tree.data()
    written = _written(data, shape)
    return tree if written is data else _with_data(tree, written)


def _with_data(tree: MarkedTree, data: Any) -> MarkedTree:
    """A tree with data that is its own in another form, or a part of it."""
    if isinstance(tree, PlainTree):
        return tree if data is tree.plain else PlainTree(data, tree.mark, tree.key)
    if isinstance(data, dict):
        return tree.with_value({name: _with_data(tree.value[name], each) for name, each in data.items()})
    if isinstance(data, list):
        return tree.with_value([_with_data(inside, each) for inside, each in zip(tree.value, data, strict=True)])
    return tree if data is tree.value else tree.with_value(data)


def _written(value: Any, shape: Shape | None) -> Any:
    """Plain data in its canonical form; the same object where that is its form already."""
    if isinstance(value, dict):
        return _mapping(value, shape)
    if isinstance(value, list):
        item = shape.items if shape else None
        made = [_written(each, item) for each in value]
        return made if any(new is not old for new, old in zip(made, value, strict=True)) else value
    if shape is not None and shape.format == "quantity":
        text = canonical_quantity(str(value))
        return value if text == value else text
    return value


def _mapping(value: dict[str, Any], shape: Shape | None) -> dict[str, Any]:
    if shape is not None and shape.fields is None and shape.values is not None:
        values = shape.values
        changed = {name: new for name, each in value.items() if (new := _written(each, values)) is not each}
        return {**value, **changed} if changed else value
    fields, required = (shape.fields or {}, shape.required) if shape else ({}, ())
    changed, gone = {}, set()
    for name, each in value.items():
        child = fields.get(name)
        if each and child is not None and type(each) is child.plain:
            continue
        written = _written(each, child)
        if not written and name not in required and _is_left_out(written, child):
            gone.add(name)
        elif written is not each:
            changed[name] = written
    return {name: changed.get(name, each) for name, each in value.items() if name not in gone} if changed or gone else value


def _is_left_out(value: Any, shape: Shape | None) -> bool:
    if value is None:
        return True
    if isinstance(value, dict):
        return not value and shape is not None and shape.fields is None
    if isinstance(value, list):
        return not value
    return not (value or (shape is not None and (shape.pointer or shape.format == "quantity")))
