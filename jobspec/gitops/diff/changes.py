"""The fields in which two states of an object differ."""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree
from jobspec.gitops.diff.fields import Item, spelling_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jobspec.diagnostics import Mark, Path
    from jobspec.gitops.diff.fields import Fields, Order


_MASK = "***"


class FieldChange:
    """One field with its values before and after; None where it is not there."""

    __slots__ = ("after", "before", "field", "path", "place", "was")

    def __init__(self, path: Path, before: MarkedTree | None, after: MarkedTree | None, place: Mark | None) -> None:
        self.path = path
        self.field = spelling_of(path)
        """The path as reports show it."""
        self.before = before
        self.after = after
        self.place = place
        """The line that changed it: where the new value is written, or what removed the old one; None where nobody knows."""
        self.was = before.place() if before else None
        """Where the old value is written."""

    def placed_at(self, place: Mark | None) -> FieldChange:
        """The same, changed by another line."""
        return FieldChange(self.path, self.before, self.after, place)

    def masked(self) -> FieldChange:
        """The same without the values, which nobody may see."""
        return FieldChange(
            self.path, self.before and self.before.with_value(_MASK), self.after and self.after.with_value(_MASK), self.place
        )


def changes(old: Fields, new: Fields) -> list[FieldChange]:
    """The changes from *old* to *new*, by their fields; a list with the same items in another order is one of them."""
    gone = {path: tree for path, tree in old.values.items() if path not in new.values}
    come = {path: tree for path, tree in new.values.items() if path not in old.values}
    gone, come = _without_emptied(gone, come), _without_emptied(come, gone)
    found = [
        FieldChange(path, old.values[path], tree, tree.place())
        for path, tree in new.values.items()
        if path in old.values and not _is_same(old.values[path], tree)
    ]
    found += _replaced(gone, come)
    found += [FieldChange(path, tree, None, None) for path, tree in gone.items()]
    found += [FieldChange(path, None, tree, tree.place()) for path, tree in come.items()]
    found += _reordered(old, new, [each.path for each in found])
    return sorted(found, key=lambda each: (each.field, str(each.path)))


def _is_same(one: MarkedTree, other: MarkedTree) -> bool:
    """Whether two values are equal and of one type: `1` is neither `true` nor `"1"`."""
    if isinstance(one.value, (dict, list)):
        return bool(one.data() == other.data())
    return type(one.value) is type(other.value) and bool(one.value == other.value)


def _without_emptied(values: dict[Path, MarkedTree], others: Iterable[Path]) -> dict[Path, MarkedTree]:
    """The values without empty ones below which the other side has fields: those say it all."""
    around = {path[:length] for path in others for length in range(len(path))}
    return {path: tree for path, tree in values.items() if path not in around}


def _replaced(gone: dict[Path, MarkedTree], come: dict[Path, MarkedTree]) -> Iterator[FieldChange]:
    """The only item without a name that a list lost, and the only one that it got, as one change; both are taken out."""
    for path in [each for each in come if isinstance(each[-1], Item)]:
        there = [each for each in gone if each[:-1] == path[:-1] and isinstance(each[-1], Item)]
        here = [each for each in come if each[:-1] == path[:-1] and isinstance(each[-1], Item)]
        if len(there) == len(here) == 1:
            after = come.pop(path)
            yield FieldChange(path, gone.pop(there[0]), after, after.place())


def _reordered(old: Fields, new: Fields, changed: list[Path]) -> Iterator[FieldChange]:
    """The lists of which nothing but the order changed."""
    around = {path[:-1] for path in changed} | {path[:-2] for path in changed if isinstance(path[-1], Item)}
    for path, order in new.orders.items():
        before = old.orders.get(path)
        if before and path not in around and before.items != order.items and before.names == order.names:
            yield FieldChange(path, _as_list(before), _as_list(order), order.mark)


def _as_list(order: Order) -> MarkedTree:
    return MarkedTree([MarkedTree(item, order.mark) for item in order.items], order.mark)
