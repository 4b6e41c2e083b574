"""Lay one partial value over another: mappings by key, lists by their merge keys, `null` removes.

Merge keys belong to the field and hold on every release. A list without them is replaced whole; `{$append: [...]}`
adds the items that are not there. What overlays add to a list stands behind what the base has, in the order of the
overlays' names, so that the order in which they are laid does not matter.
"""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic, Key, spell
from jobspec.overlays.tree import Tree
from jobspec.validation.wording import closest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.overlays.tree import Rank
    from jobspec.shapes import Shape

APPEND = "$append"

#: Lists whose items an overlay has to find in the base; `$append` adds to them.
MUST_EXIST = frozenset(("containers", "initContainers", "ephemeralContainers"))


class Merge:
    """One overlay being merged: who it is, and what it complains about."""

    def __init__(self, layer: str, entry: int) -> None:
        self.layer = layer
        self.entry = entry
        """Number of the entry of the overlay, so that what it adds keeps its order."""
        self.problems: list[Diagnostic] = []

    def __call__(self, base: Tree | None, patch: Tree, shape: Shape | None, path: Path) -> Tree:
        """*base* with *patch* laid over it; *shape* knows the merge keys."""
        if isinstance(patch.value, dict):
            if APPEND in patch.value:
                return self._append(base, patch, shape, path)
            return self._mapping(base, patch, shape, path)
        if isinstance(patch.value, list):
            return self._list(base, patch, shape, path)
        return patch

    def _mapping(self, base: Tree | None, patch: Tree, shape: Shape | None, path: Path) -> Tree:
        merged = dict(base.value) if base and isinstance(base.value, dict) else {}
        for name, child in patch.value.items():
            if child.value is None:
                merged.pop(name, None)
                continue
            below = shape.at((name,)) if shape else None
            step = Key(name) if shape and shape.fields is None else name
            merged[name] = self(merged.get(name), child, below, (*path, step))
        return base.having(merged) if base and isinstance(base.value, dict) else patch.having(merged)

    def _list(self, base: Tree | None, patch: Tree, shape: Shape | None, path: Path) -> Tree:
        if shape and shape.merge:
            return self._keyed(base, patch, patch.value, shape, path, appending=False)
        old = base.data() if base and isinstance(base.value, list) else []
        if old and old != patch.data() and base and not base.mark.layer:
            self._warn_replaced(patch, path)
        return base if base and old == patch.data() and isinstance(base.value, list) else patch

    def _append(self, base: Tree | None, patch: Tree, shape: Shape | None, path: Path) -> Tree:
        items = patch.value[APPEND]
        if len(patch.value) > 1 or not isinstance(items.value, list):
            self._problem("invalid-overlay", "`$append` takes a list and stands alone in its mapping", patch, path)
            return base or patch.having([])
        if shape and shape.merge:
            return self._keyed(base, patch, items.value, shape, path, appending=True)
        if path and path[-1] in ("args", "command"):
            hint = "use `flags`, which finds a flag wherever it stands, or write the whole list"
            self._problem("invalid-overlay", f"`$append` cannot add to `{path[-1]}`, whose items depend on each other", patch, path, hint)
            return base or patch.having([])
        kept = _items(base)
        for number, item in enumerate(items.value):
            rank = (self.layer, self.entry, number)
            same = [index for index, old in enumerate(kept) if old.data() == item.data()]
            if same:
                kept[same[0]] = _ranked(kept[same[0]], rank)
            else:
                kept.append(item.ranked(rank))
        return (base or patch).having(in_rank(kept))

    def _keyed(self, base: Tree | None, patch: Tree, items: list[Tree], shape: Shape, path: Path, *, appending: bool) -> Tree:
        kept = _items(base)
        names = [identity(item, shape) for item in kept]
        for number, item in enumerate(items):
            name = identity(item, shape)
            rank = (self.layer, self.entry, number)
            if name is None:
                keys = " and ".join(f"`{key}`" for key in shape.merge)
                self._problem("invalid-overlay", f"an item of `{path[-1]}` needs {keys}, which tell the items apart", item, path)
            elif name not in names:
                if path[-1] in MUST_EXIST and not appending:
                    self._missing_container(item, names, path)
                    continue
                names.append(name)
                kept.append(self(None, item, shape.items, (*path, len(kept))).ranked(rank))
            else:
                index = names.index(name)
                old = kept[index] if appending else self(kept[index], item, shape.items, (*path, index))
                kept[index] = _ranked(Tree(old.value, old.mark, old.key, kept[index].rank), rank)
        return (base if base and isinstance(base.value, list) else patch).having(in_rank(kept))

    def _missing_container(self, item: Tree, names: list[tuple[str, ...] | None], path: Path) -> None:
        wanted = item.get("name")
        assert wanted
        there = [name[0] for name in names if name]
        known = ", ".join(f"`{name}`" for name in there) or "none"
        hint = closest(wanted.value, there) or "to add a container, write `{$append: [...]}` in place of the list"
        message = f"the job has no container `{wanted.value}` in `{path[-1]}`; it has {known}"
        self.problems.append(Diagnostic("missing-container", message, wanted.place(), field=spell(path), hint=hint))

    def _warn_replaced(self, patch: Tree, path: Path) -> None:
        message = f"`{path[-1]}` of the base is replaced as a whole"
        hint = "write `{$append: [...]}` to add to it"
        self.problems.append(Diagnostic("list-replaced", message, patch.place(), field=spell(path), severity="warning", hint=hint))

    def _problem(self, rule: str, message: str, tree: Tree, path: Path, hint: str = "") -> None:
        self.problems.append(Diagnostic(rule, message, tree.place(), field=spell(path), hint=hint))


def identity(item: Tree, shape: Shape) -> tuple[str, ...] | None:
    """What tells an item of a keyed list apart, defaults filled in; None where a key is missing."""
    if not isinstance(item.value, dict):
        return None
    found: list[Any] = []
    for key in shape.merge:
        child = item.get(key)
        value = child.value if child else None
        if value is None and shape.items:
            known = shape.items.at((key,))
            value = known.default if known else None
        found.append(value)
    return None if None in found else tuple(map(str, found))


def in_rank(items: list[Tree]) -> list[Tree]:
    """The base's items as they stand, then those of overlays by rank."""
    return [each for each in items if each.rank is None] + sorted(
        (each for each in items if each.rank), key=lambda each: each.rank or ("", 0, 0)
    )


def _ranked(item: Tree, rank: Rank) -> Tree:
    """An item that another overlay added, too, belongs to the first of the two by name."""
    return item if item.rank is None else item.ranked(min(item.rank, rank))


def _items(base: Tree | None) -> list[Tree]:
    return list(base.value) if base and isinstance(base.value, list) else []
