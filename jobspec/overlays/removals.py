"""Check the removals in a patch: `{name: DEBUG, $remove: true}` needs the keys of the list, and takes nothing else."""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic, Key, spell
from jobspec.documents.marked_tree import MarkedTree, items
from jobspec.overlays.directives import APPEND, REMOVE, is_removal
from jobspec.overlays.merge import identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.diagnostics import Path
    from jobspec.schemas.shapes import Shape


def wrong_removals(patch: MarkedTree, shape: Shape | None, path: Path) -> Iterator[Diagnostic]:
    """A problem for each removal in a patch that does not name an item by its keys alone; *shape* knows the keys."""
    return _wrong_removals(patch, shape, path) if _removes(patch) else iter(())


def _removes(patch: MarkedTree) -> bool:
    """Whether there is a removal in a patch; most have none."""
    value = patch.value
    if isinstance(value, dict):
        return REMOVE in value or any(map(_removes, value.values()))
    return isinstance(value, list) and any(map(_removes, value))


def _wrong_removals(patch: MarkedTree, shape: Shape | None, path: Path) -> Iterator[Diagnostic]:
    patch = patch.get(APPEND) or patch
    if isinstance(patch.value, dict):
        for name, child in patch.value.items():
            step = Key(name) if shape and shape.fields is None else name
            yield from _wrong_removals(child, shape.at((name,)) if shape else None, (*path, step))
    for number, item in enumerate(items(patch)):
        if is_removal(item):
            yield from _wrong_removal(item, shape, path)
        else:
            yield from _wrong_removals(item, shape.items if shape else None, (*path, number))


def _wrong_removal(item: MarkedTree, shape: Shape | None, path: Path) -> Iterator[Diagnostic]:
    name, field = path[-1], spell(path)
    if shape is None or not shape.merge:
        message, hint = f"`$remove` finds items by their keys, and those of `{name}` have none", "write the whole list, or `null`"
        yield Diagnostic("invalid-overlay", message, item.place(), field=field, hint=hint)
        return
    keys = " and ".join(f"`{key}`" for key in shape.merge)
    if identity(item, shape) is None:
        yield Diagnostic("invalid-overlay", f"`$remove` in `{name}` needs {keys} beside it", item.place(), field=field)
    for other in [each for each in item.value if each not in (*shape.merge, REMOVE)]:
        message = f"`$remove` removes an item with all of its fields, and only {keys} can stand beside it"
        mark = item.value[other].key or item.value[other].mark
        yield Diagnostic("invalid-overlay", message, mark, field=field, hint=f"leave `{other}` out")
