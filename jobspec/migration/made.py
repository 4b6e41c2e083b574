"""Values that a migration writes, and parts of a job that it moves: each points to the place in the source that caused it."""

from __future__ import annotations

from jobspec.diagnostics import Mark
from jobspec.documents.marked_tree import MarkedTree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MIGRATION = Mark("jobspec migrate")
"""The place of what no line of the source says."""


def by_migration(data: Any, cause: MarkedTree | None = None) -> MarkedTree:
    """Plain data, with trees perhaps inside, as a tree; all that is new stands at the place of its *cause*."""
    mark = cause.mark if cause and cause.mark.line else MIGRATION
    return _marked(data, mark)


def _marked(data: Any, mark: Mark) -> MarkedTree:
    if isinstance(data, MarkedTree):
        return data
    if isinstance(data, dict):
        return MarkedTree({key: _marked(value, mark) for key, value in data.items()}, mark)
    if isinstance(data, list):
        return MarkedTree([_marked(value, mark) for value in data], mark)
    return MarkedTree(data, mark)


def present(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}
