"""Which line changed a field, where that is not the line of its new value.

A value that a parameter of an overlay gives was changed where the project sets the parameter. A removed value was removed by the last
overlay without which it would be there; one of an overlay that is applied no more, by the variant that applied it.
"""

from __future__ import annotations

from jobspec.diagnostics import Mark
from jobspec.gitops.diff.fields import Item, fields_of
from jobspec.gitops.matrix import in_layer
from jobspec.gitops.rendering import objects_of
from jobspec.overlays.directives import is_removal
from jobspec.overlays.parameters import pieces
from jobspec.workloads import is_workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.cluster import Cluster
    from jobspec.diagnostics import Path
    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.gitops.diff.changes import FieldChange
    from jobspec.gitops.diff.fields import Fields
    from jobspec.gitops.variants import Variant
    from jobspec.overlays.overlay import Overlay


#: Lists that lose an item only by `$remove`.
_MERGED = ("containers", "initContainers", "env", "volumeMounts", "ports", "imagePullSecrets")


class ChangedLines:
    """Finds the lines that changed the job of a variant."""

    __slots__ = ("_cluster", "_new", "_old", "_without")

    def __init__(self, old: Variant, new: Variant, cluster: Cluster) -> None:
        self._old = {each.name: each for each in old.overlays}
        self._new = new
        self._cluster = cluster
        self._without: dict[str, Fields | None] = {}

    def __call__(self, change: FieldChange) -> FieldChange:
        """The change with the line that made it."""
        if change.after is None:
            return change.placed_at(self._removal(change.path) or self._omission(change.was))
        overlay = next((each for each in self._new.overlays if change.place and each.name == change.place.layer), None)
        place = self._parameter(overlay, change.after.mark) if overlay else None
        return change.placed_at(place) if place else change

    def _parameter(self, overlay: Overlay, mark: Mark) -> Mark | None:
        """Where the project gives the value that changed what an overlay writes at a place; None where the overlay itself changed."""
        before = self._old.get(overlay.name)
        text = next((tree.value for _, tree in _inside(overlay.tree) if str(tree.mark) == str(mark)), None)
        if before is None or not isinstance(text, str):
            return None
        names = [name for name, is_name in pieces(text) if is_name and name in overlay.given]
        return next((overlay.given[name] for name in names if before.values.get(name) != overlay.values.get(name)), None)

    def _removal(self, path: Path) -> Mark | None:
        for overlay in reversed(self._new.overlays):
            fields = self._fields_without(overlay) if _may_remove(overlay, path) else None
            if fields and path in fields.values:
                return _removal_in(overlay, path)
        return None

    def _omission(self, was: Mark | None) -> Mark | None:
        """The variant's entry in the project, where the layer of an old value is the variant's own or one that it applies no more."""
        layers = {each.name for each in self._new.overlays} - {self._new.name}
        if not was or not was.layer or was.layer in layers:
            return None
        said = self._new.entry.get("overlays") if was.layer != self._new.name else None
        return in_layer((said or self._new.entry).place(), self._new.name)

    def _fields_without(self, overlay: Overlay) -> Fields | None:
        """The fields of the job without one of its overlays; None where it cannot be made without."""
        if overlay.name not in self._without:
            rest = [each for each in self._new.overlays if each is not overlay]
            documents, _ = objects_of(self._new.with_overlays(rest), self._cluster)
            job = next(filter(is_workload, documents), None)
            self._without[overlay.name] = fields_of(job, self._cluster.target) if job else None
        return self._without[overlay.name]


def _may_remove(overlay: Overlay, path: Path) -> bool:
    """Whether an overlay says what could remove a value at a path: a removal, or a list around it that is not merged by items."""
    steps = [str(step) for step in path]
    for name, tree in _inside(overlay.spec):
        if _removes(name, tree, steps) or (isinstance(tree.value, list) and name in steps and name not in _MERGED):
            return True
    return False


def _removal_in(overlay: Overlay, path: Path) -> Mark:
    """The place of a removal in an overlay; that of the overlay itself where the line cannot be told."""
    steps = [str(step) for step in path]
    names = [str(step) for step in path if not isinstance(step, Item)]
    inside = list(_inside(overlay.spec))
    removals = [(name, tree) for name, tree in inside if _removes(name, tree, steps)]
    last = [tree for name, tree in removals if name == names[-1]] or [tree for _, tree in removals]
    found = last or [tree for wanted in names[:-3:-1] for name, tree in inside if name == wanted]
    return (found[0].key or found[0].mark) if found else Mark(overlay.tree.mark.file, layer=overlay.name)


def _removes(name: str, tree: MarkedTree, steps: list[str]) -> bool:
    """Whether a value in an overlay removes what is at a path or around it: null, `false` of a flag, or an item with `$remove`."""
    if tree.value is None or tree.value is False:
        return name in steps
    return is_removal(tree) and any(str(each.value) in steps for each in tree.value.values())


def _inside(tree: MarkedTree, name: str = "") -> Iterator[tuple[str, MarkedTree]]:
    """A tree and all inside of it, each with its key; an item of a list has that of the list."""
    yield name, tree
    if isinstance(tree.value, dict):
        for key, child in tree.value.items():
            yield from _inside(child, key)
    for child in tree.value if isinstance(tree.value, list) else ():
        yield from _inside(child, name)
