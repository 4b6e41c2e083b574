"""Changes to parts of a tree: each gives a new tree, and leaves the marks of all other values as they are."""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, field_value, items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

#: The fields by which the trainer tells the items of a list apart: two items are one where any of these is equal, or absent from both.
IDENTITIES: Mapping[str, tuple[str, ...]] = {
    "env": ("name",),
    "ports": ("containerPort", "name"),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}


def with_fields(tree: MarkedTree, fields: Mapping[str, MarkedTree | None]) -> MarkedTree:
    """A mapping with some fields set; one that is None stays as it was."""
    return tree.with_value({**tree.value, **{name: child for name, child in fields.items() if child is not None}})


def changed(tree: MarkedTree, path: tuple[str, ...], change: Callable[[MarkedTree], MarkedTree]) -> MarkedTree:
    """A mapping with the mapping at *path* changed, which is made where it is absent."""
    if not path:
        return change(tree)
    child = tree.value.get(path[0]) or MarkedTree({}, tree.mark)
    return tree.with_value({**tree.value, path[0]: changed(child, path[1:], change)})


def each_item(tree: MarkedTree, name: str, change: Callable[[MarkedTree], MarkedTree]) -> MarkedTree:
    """A mapping with each item of the list *name* changed."""
    old = tree.value.get(name)
    return tree if old is None else tree.with_value({**tree.value, name: old.with_value([change(item) for item in items(old)])})


def with_items(tree: MarkedTree, name: str, new: Iterable[MarkedTree]) -> MarkedTree:
    """A mapping with items in its list *name*: each replaces the first that it is one with, or is added at the end."""
    found = list(new)
    if not found:
        return tree
    old = tree.value.get(name)
    kept = items(old)
    known = [_identity(each, name) for each in kept]
    for item in found:
        own = _identity(item, name)
        at = next((index for index, each in enumerate(known) if not each.isdisjoint(own)), len(kept))
        kept[at : at + 1] = [item]
        known[at : at + 1] = [own]
    return tree.with_value({**tree.value, name: (old or found[0]).with_value(kept)})


def _identity(item: MarkedTree, name: str) -> set[tuple[str, Any]]:
    """By what an item of a list is told from others: those that share one of these are one."""
    return {(field, field_value(item, field)) for field in IDENTITIES[name]}


def number(tree: MarkedTree | None, *path: str, default: int) -> int:
    """The number at a path."""
    child = tree.get(*path) if tree else None
    return child.value if child and isinstance(child.value, int) else default


def is_true(tree: MarkedTree | None, *path: str) -> bool:
    """Whether the value at a path is true."""
    child = tree.get(*path) if tree else None
    return child is not None and child.value is True
