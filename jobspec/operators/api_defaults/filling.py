"""Fill fields that are absent, with values whose place is the API server."""

from __future__ import annotations

from jobspec.operators.marks import set_by
from jobspec.overlays.marked_tree import MarkedTree, items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from jobspec.diagnostics import Mark

    Change = Callable[[MarkedTree], MarkedTree]


def with_missing(tree: MarkedTree, defaults: Mapping[str, Any], server: Mark) -> MarkedTree:
    """A mapping with the *defaults* for fields that it does not have."""
    missing = {name: set_by(server, value) for name, value in defaults.items() if name not in tree.value}
    return tree.with_value({**tree.value, **missing}) if missing else tree


def changed(tree: MarkedTree, field: str, change: Change) -> MarkedTree:
    """A mapping with one field changed, where that is there."""
    child = tree.value.get(field)
    return tree.with_value({**tree.value, field: change(child)}) if child is not None else tree


def each_item(tree: MarkedTree, field: str, change: Change) -> MarkedTree:
    """A mapping with all items of the list in a field changed, where that is there."""
    return changed(tree, field, lambda child: child.with_value([change(each) for each in items(child)]))
