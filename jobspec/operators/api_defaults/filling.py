"""Fill fields that are absent, with values whose place is the API server."""

from __future__ import annotations

from jobspec.operators.objects import set_by

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from jobspec.diagnostics import Mark
    from jobspec.documents.marked_tree import MarkedTree


def with_missing(tree: MarkedTree, defaults: Mapping[str, Any], server: Mark) -> MarkedTree:
    """A mapping with the *defaults* for fields that it does not have."""
    missing = {name: set_by(server, value) for name, value in defaults.items() if name not in tree.value}
    return tree.with_value({**tree.value, **missing}) if missing else tree


def as_stored(tree: MarkedTree, data: Any, server: Mark) -> MarkedTree:
    """The tree of what the server makes of a value, its *data*: what was there before stands where it stood."""
    if isinstance(data, dict):
        own = {name: as_stored(child, data[name], server) for name, child in tree.value.items() if name in data}
        new = {name: set_by(server, each) for name, each in data.items() if name not in tree.value}
        return tree.with_value({**own, **new})
    if isinstance(data, list):
        return tree.with_value([as_stored(child, each, server) for child, each in zip(tree.value, data, strict=True)])
    return tree


def where_given(tree: MarkedTree, field: str, change: Callable[[MarkedTree], MarkedTree]) -> MarkedTree:
    """A mapping with one field changed, where that is there."""
    child = tree.value.get(field)
    return tree.with_value({**tree.value, field: change(child)}) if child is not None else tree
