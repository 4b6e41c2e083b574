"""Merge a change into a value as Kubernetes merges patches: lists by the merge key of their type.

This is what operators do with the patches of jobs. Overlays merge in another way (`overlays.merge`), and so does a server-side apply
(`admission.mutating`); all three read the keys of lists from the shapes. Here an item that is new stands before all that the patch does
not name, and those that it names stand in the patch's order.

Follows `StrategicMergePatch`, `mergeSlice` and `normalizeElementOrder`, k8s.io/apimachinery pkg/util/strategicpatch, 0.32 to 0.36.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree
from jobspec.schemas.shapes import Shape


def merged(base: MarkedTree | None, patch: MarkedTree, shape: Shape | None) -> MarkedTree:
    """Merge a patch into a value. The *shape* of both knows the merge keys."""
    if base is not None and isinstance(base.value, dict) and isinstance(patch.value, dict):
        children = {name: merged(base.value.get(name), child, shape and shape.at((name,))) for name, child in patch.value.items()}
        return base.with_value({**base.value, **children})
    if base is not None and base.value and isinstance(base.value, list) and patch.value and shape and shape.merge and shape.items:
        return base.with_value(_keyed(base.value, patch.value, shape))
    return patch


def _keyed(base: list[MarkedTree], patch: list[MarkedTree], shape: Shape) -> list[MarkedTree]:
    """The items of a list with those of a patch merged in, by the merge key of the list."""
    key = shape.merge[0]
    given = [item.with_value(item.value or {}) for item in patch]
    patch = [item if key in item.value else item.with_value({**item.value, key: item.with_value("")}) for item in given]  # as Go writes it

    def name(tree: MarkedTree) -> object:
        return tree.value[key].value if key in tree.value else ""

    places = {name(item): place for place, item in reversed(list(enumerate(base)))}
    named = {name(item) for item in patch}
    changes = [merged(base[places[name(item)]] if name(item) in places else None, item, shape.items) for item in patch]
    kept = [item for item in base if name(item) not in named]
    result: list[MarkedTree] = []
    for change in changes:
        place = places.get(name(change))
        while kept and place is not None and places[name(kept[0])] < place:
            result.append(kept.pop(0))
        result.append(change)
    return result + kept
