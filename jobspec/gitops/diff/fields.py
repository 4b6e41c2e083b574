"""The fields of an object by their paths, where items of a list stand under what tells them apart, not under a number.

A container, a volume and a variable stand under their name, a flag of the training program under the flag, an item of any other list
under its content.
"""

from __future__ import annotations

from jobspec.diagnostics import Key, spell
from jobspec.documents.marked_tree import MarkedTree, with_marks
from jobspec.overlays.flags import read_flags
from jobspec.overlays.merge import identity
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.diagnostics import Mark, Path
    from jobspec.documents.document import Document
    from jobspec.schemas.shapes import Shape
    from jobspec.targets import Target

_WORDS = ("args", "command")


class Item(str):
    """A path step for an item that has no name; it is not spelt."""

    __slots__ = ()


class Order:
    """The items of a list in their order, and its place."""

    __slots__ = ("items", "mark", "names")

    def __init__(self, items: list[str], names: list[str], mark: Mark) -> None:
        self.items = items
        """The items as reports show them."""
        self.names = sorted(names)
        """What tells the items apart, in no order."""
        self.mark = mark


class Fields:
    """The innermost values of an object with their places, and the order of its lists."""

    __slots__ = ("orders", "values")

    def __init__(self) -> None:
        self.values: dict[Path, MarkedTree] = {}
        self.orders: dict[Path, Order] = {}


def fields_of(document: Document, target: Target) -> Fields:
    """The fields of an object; the keys of its lists are those by which overlays merge them."""
    found = Fields()
    shape = shapes.load(document.api_version, document.kind, target)
    _walk(with_marks(document.data, document.marks), shape, (), found)
    return found


def spelling_of(path: Path) -> str:
    """A path as messages spell it, but with names for numbers: `containers[pytorch].args[--lr]`."""
    return spell(tuple(step for step in path if not isinstance(step, Item)))


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
        named = [(Key(flag), value) if flag else (Item(value.value), value) for flag, value in read_flags(items)]
        _add_items(tree, named, path, found)
        return
    names = [identity(item, shape) for item in items] if shape and shape.merge else [None]
    if shape and None not in names and len(set(names)) == len(names):
        texts = [",".join(name or ()) for name in names]
        found.orders[path] = Order(texts, texts, tree.place())
        for text, item in zip(texts, items, strict=True):
            _walk_item(item, shape, (*path, Key(text)), found)
        return
    _add_items(tree, [(Item(_content(item)), item) for item in items], path, found)


def _add_items(tree: MarkedTree, named: Sequence[tuple[str, MarkedTree]], path: Path, found: Fields) -> None:
    """Add the items of a list whole; one that stands there several times is counted."""
    seen: dict[str, int] = {}
    for name, item in named:
        seen[name] = seen.get(name, 0) + 1
        again = (Item(seen[name]),) if seen[name] > 1 else ()
        found.values[(*path, name, *again)] = item
    texts = [item.value if isinstance(item.value, str) else _content(item) for item in tree.value]
    found.orders[path] = Order(texts, [name for name, _ in named], tree.place())


def _walk_item(item: MarkedTree, shape: Shape, path: Path, found: Fields) -> None:
    """Add an item of a keyed list without its keys, which its path says; one of nothing else is a value itself."""
    rest = {name: child for name, child in item.value.items() if name not in shape.merge}
    if rest:
        _walk(item.with_value(rest), shape.items, path, found)
    else:
        found.values[path] = item


def _content(item: MarkedTree) -> str:
    from json import dumps

    return dumps(item.data(), sort_keys=True)
