"""The directives of overlays: `$when`, `$append` for lists without keys, and `$remove` for items of lists with keys."""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items

WHEN = "$when"
APPEND = "$append"
REMOVE = "$remove"


def is_removal(item: MarkedTree) -> bool:
    """Whether an item of a list is of the form `{name: DEBUG, $remove: true}`."""
    return isinstance(item.value, dict) and REMOVE in item.value


def only_removes(patch: MarkedTree) -> bool:
    """Whether a patch only removes."""
    if isinstance(patch.value, dict):
        return bool(patch.value) and all(map(only_removes, patch.value.values()))
    return patch.value is None or (bool(items(patch)) and all(map(is_removal, items(patch))))
