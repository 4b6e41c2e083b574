"""The fields of an object by their paths, where items of a list stand under what identifies them, not under a number.

A container, a volume and a variable stand under their name, a flag of the training program under the flag, an item of any other list
under its content.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from jobspec.apis.releases import Target
from jobspec.diagnostics.places import Key, Mark, Path, spell
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, with_marks
from jobspec.overlays.flags import read_flags
from jobspec.overlays.merge import identity
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape

_WORDS = ("args", "command")
_NAMING = ("name", "groupName", "host")
"""The fields that name an item of a list without merge keys: most often `name`, of Ray's groups and of an Ingress others."""


class ItemStep(str):
    """A path step for an item without a name. It is not shown."""

    __slots__ = ()


@dataclass(frozen=True)
class Order:
    """The items of a list in their order, and the list's place."""

    items: list[str]
    """The items as reports show them."""
    names: list[str]
    """What identifies the items."""
    mark: Mark


@dataclass(frozen=True)
class Fields:
    """The innermost values of an object with their places, and the order of its lists."""

    values: dict[Path, MarkedTree] = field(default_factory=dict)
    orders: dict[Path, Order] = field(default_factory=dict)


def fields_of(document: Document, target: Target) -> Fields:
    """Return the fields of an object. Items of lists have the keys by which overlays merge them."""
    found = Fields()
    shape = shapes.load(document.api_version, document.kind, target)
    _walk(with_marks(document.data, document.marks), shape, (), found)
    return found


def spelling_of(path: Path) -> str:
    """Write a path with names instead of numbers: `containers[pytorch].args[--lr]`."""
    return spell(tuple(step for step in path if not isinstance(step, ItemStep)))


def _walk(tree: MarkedTree, shape: Shape | None, path: Path, found: Fields) -> None:
    value = tree.value
    if isinstance(value, dict) and value:
        for name, child in value.items():
            _walk(child, shape.at((name,)) if shape else None, (*path, _step(name, shape)), found)
    elif isinstance(value, list) and value:
        _walk_list(tree, shape, path, found)
    else:
        found.values[path] = tree


def _step(name: str, shape: Shape | None) -> str:
    is_field = shape.fields is not None if shape else name.isidentifier()
    return name if is_field else Key(name)


def _walk_list(tree: MarkedTree, shape: Shape | None, path: Path, found: Fields) -> None:
    items: list[MarkedTree] = tree.value
    if path[-1] in _WORDS and not any(isinstance(item.value, (dict, list)) for item in items):
        named = [(Key(flag), value) if flag else (ItemStep(value.value), value) for flag, value in read_flags(items)]
        _add_items(tree, named, path, found)
        return
    names = [identity(item, shape) for item in items] if shape and shape.merge else [None]
    if shape and None not in names and len(set(names)) == len(names):
        texts = [",".join(name or ()) for name in names]
        found.orders[path] = Order(texts, texts, tree.place())
        for text, item in zip(texts, items, strict=True):
            _walk_item(item, shape, (*path, Key(text)), found)
        return
    named_by = next((each for each in _NAMING if _names_of(items, each)), "") if not (shape and shape.merge) else ""
    if named_by:
        called = _names_of(items, named_by)
        found.orders[path] = Order(called, called, tree.place())
        for text, item in zip(called, items, strict=True):
            _walk(_without(item, named_by), shape.items if shape else None, (*path, Key(text)), found)
        return
    _add_items(tree, [(ItemStep(_content(item)), item) for item in items], path, found)


def _without(item: MarkedTree, named_by: str) -> MarkedTree:
    """Return an item without its name, which is in its path. An item that has only a name is a value itself."""
    rest = {name: child for name, child in item.value.items() if name != named_by}
    return item.with_value(rest) if rest else item.with_value({})


def _names_of(items: Sequence[MarkedTree], named_by: str) -> list[str]:
    """Return the name of each item of a list without merge keys; none if one has no name or shares it."""
    values = [item.value.get(named_by) if isinstance(item.value, dict) else None for item in items]
    found = [each.value for each in values if each is not None and isinstance(each.value, str)]
    return found if len(found) == len(items) == len(set(found)) else []


def _add_items(tree: MarkedTree, named: Sequence[tuple[str, MarkedTree]], path: Path, found: Fields) -> None:
    """Add the items of a list whole; one that stands there several times is counted."""
    seen: dict[str, int] = {}
    for name, item in named:
        seen[name] = seen.get(name, 0) + 1
        again = (ItemStep(seen[name]),) if seen[name] > 1 else ()
        found.values[(*path, name, *again)] = item
    texts = [item.value if isinstance(item.value, str) else _content(item) for item in tree.value]
    found.orders[path] = Order(texts, [name for name, _ in named], tree.place())


def _walk_item(item: MarkedTree, shape: Shape, path: Path, found: Fields) -> None:
    """Add an item of a keyed list without its keys, which are in its path.

    An item that has only keys is a value itself.
    """
    rest = {name: child for name, child in item.value.items() if name not in shape.merge}
    if rest:
        _walk(item.with_value(rest), shape.items, path, found)
    else:
        found.values[path] = item


def _content(item: MarkedTree) -> str:
    from json import dumps

    return dumps(item.data(), sort_keys=True)


# The fields in which two states of an object differ.


_MASK = "***"


@dataclass(frozen=True)
class FieldChange:
    """One field with its values before and after. If there is no value, it is None."""

    path: Path
    before: MarkedTree | None
    after: MarkedTree | None
    place: Mark | None
    """The line that changed it: where the new value is written, or what removed the old one; None where nobody knows."""

    @property
    def field(self) -> str:
        """Return the path as reports show it."""
        return spelling_of(self.path)

    @property
    def was(self) -> Mark | None:
        """Return the place where the old value is written."""
        return self.before.place() if self.before else None

    def masked(self) -> FieldChange:
        """Return the change with masked values, as for Secrets."""
        before, after = (value and value.with_value(_MASK) for value in (self.before, self.after))
        return FieldChange(self.path, before, after, self.place)


def changes(old: Fields, new: Fields) -> list[FieldChange]:
    """Return the changes from *old* to *new*, sorted by field.

    A list with the same items in another order is one change.
    """
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
    """Leave out an empty mapping or list if the other side has fields for it.

    These fields show the change.
    """
    around = {path[:length] for path in others for length in range(len(path))}
    return {path: tree for path, tree in values.items() if path not in around}


def _replaced(gone: dict[Path, MarkedTree], come: dict[Path, MarkedTree]) -> Iterator[FieldChange]:
    """Yield the replacement of the only nameless item of a list by another one as one change.

    Both items are taken out of *gone* and *come*.
    """
    for path in [each for each in come if isinstance(each[-1], ItemStep)]:
        there = [each for each in gone if each[:-1] == path[:-1] and isinstance(each[-1], ItemStep)]
        here = [each for each in come if each[:-1] == path[:-1] and isinstance(each[-1], ItemStep)]
        if len(there) == len(here) == 1:
            after = come.pop(path)
            yield FieldChange(path, gone.pop(there[0]), after, after.place())


def _reordered(old: Fields, new: Fields, changed: list[Path]) -> Iterator[FieldChange]:
    """The lists of which nothing but the order changed."""
    around = {path[:-1] for path in changed} | {path[:-2] for path in changed if isinstance(path[-1], ItemStep)}
    for path, order in new.orders.items():
        before = old.orders.get(path)
        if before and path not in around and before.items != order.items and sorted(before.names) == sorted(order.names):
            yield FieldChange(path, _as_list(before), _as_list(order), order.mark)


def _as_list(order: Order) -> MarkedTree:
    return MarkedTree([MarkedTree(item, order.mark) for item in order.items], order.mark)
