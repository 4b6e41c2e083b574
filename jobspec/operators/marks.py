"""Values that an operator sets itself: their place is the operator, not a line of a file."""

from __future__ import annotations

from jobspec.diagnostics import Mark
from jobspec.overlays.marked_tree import MarkedTree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def operator_mark(operator: str, release: str) -> Mark:
    """The place of what an operator of a release sets itself, such as `training-operator 1.9.4`."""
    return Mark(f"{operator} {release}")


def set_by(operator: Mark, data: Any) -> MarkedTree:
    """Plain data as a tree; all of it, but for trees inside, stands at the *operator*'s place."""
    if type(data) is str:
        return MarkedTree(data, operator)
    if isinstance(data, MarkedTree):
        return data
    if isinstance(data, dict):
        return MarkedTree({key: set_by(operator, value) for key, value in data.items()}, operator)
    if isinstance(data, list):
        return MarkedTree([set_by(operator, value) for value in data], operator)
    return MarkedTree(data, operator)
