"""Data and marks in one tree: a value that is merged keeps the place where it was written."""

from __future__ import annotations

from jobspec.diagnostics.places import Mark, Marks
from jobspec.documents.document import Document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from jobspec.diagnostics.places import Path

    #: The order of the items that overlays add to a list: name of the overlay, number of its entry, number in the entry's list.
    Rank = tuple[str, int, int]


class MarkedTree:
    """A value with the place where it was written, and the values inside with theirs."""

    __slots__ = ("_data", "bound", "key", "mark", "rank", "value")

    def __init__(self, value: Any, mark: Mark, key: Mark | None = None, rank: Rank | None = None, *, bound: int | None = None) -> None:
        self.value = value
        """A dict or list of trees, or a scalar."""
        self.mark = mark
        self.key = key
        self.rank = rank
        """Of an item that an overlay added; None for the base's own."""
        self.bound = bound
        """Of a program's argument: how surely it is the value of the flag before it; None until that is determined."""
        self._data: Any = None

    def with_value(self, value: Any) -> MarkedTree:
        """Return the tree with another value at the same place."""
        return MarkedTree(value, self.mark, self.key, self.rank, bound=self.bound)

    def with_rank(self, rank: Rank) -> MarkedTree:
        """Return the tree with another rank."""
        return MarkedTree(self.value, self.mark, self.key, rank, bound=self.bound)

    def at(self, mark: Mark) -> MarkedTree:
        """Return the tree with the same value at another place."""
        return MarkedTree(self.value, mark, None, self.rank, bound=self.bound)

    def place(self) -> Mark:
        """Return where to point: a scalar's own place, or the key of a mapping or list."""
        return self.key if self.key and isinstance(self.value, (dict, list)) else self.mark

    def get(self, *path: str) -> MarkedTree | None:
        """Return the tree at a path of mapping keys. If there is none, return None."""
        here: MarkedTree | None = self
        for step in path:
            here = here.value.get(step) if here and isinstance(here.value, dict) else None
        return here

    def entries(self, *path: str) -> Iterator[tuple[str, MarkedTree]]:
        """Yield the keys and values of the mapping at a path of mapping keys, if there is one."""
        child = self.get(*path)
        return iter(child.value.items() if child and isinstance(child.value, dict) else ())

    def replace_at(self, path: tuple[str | int, ...], change: Callable[[MarkedTree], MarkedTree]) -> MarkedTree:
        """Return the whole tree with the tree at *path* replaced by the result of *change*.

        The path must exist.
        """
        if not path:
            return change(self)
        if isinstance(self.value, list):
            return self.with_value([each.replace_at(path[1:], change) if at == path[0] else each for at, each in enumerate(self.value)])
        step = str(path[0])
        return self.with_value({**self.value, step: self.value[step].replace_at(path[1:], change)})

    def data(self) -> Any:
        """Return the plain data.

        Mappings and lists are made once, and shared by all users of the tree.
        """
        if not isinstance(self.value, (dict, list)):
            return self.value
        if self._data is None and isinstance(self.value, dict):
            self._data = {key: child.data() for key, child in self.value.items()}
        elif self._data is None:
            self._data = [child.data() for child in self.value]
        return self._data

    def marks(self) -> Marks:
        """Return the marks, as a tree of the same shape as the plain data.

        Few marks inside are asked for.
        """
        if not isinstance(self.value, (dict, list)):
            return Marks(self.mark, self.key)
        return Marks(self.mark, self.key, make=lambda: each_inside(self.value, lambda _, child: child.marks()))


class _UnreadTree(MarkedTree):
    """A tree whose value is made on first use."""

    __slots__ = ()

    _made: Callable[[], Any]

    def __getattr__(self, name: str) -> Any:
        if name != "value":
            raise AttributeError(name)
        self.value = self._made()
        return self.value


class PlainTree(_UnreadTree):
    """Plain data with one place for all values. The trees inside are made on first use."""

    __slots__ = ("plain",)

    def __init__(self, plain: dict[str, Any] | list[Any], mark: Mark, key: Mark | None = None) -> None:  # its value is made later
        self.plain = plain
        self.mark = mark
        self.key = key
        self.rank = None
        self.bound = None

    def _made(self) -> Any:
        mark = self.mark
        return each_inside(self.plain, lambda _, each: (PlainTree if type(each) in (dict, list) else MarkedTree)(each, mark, mark))

    def data(self) -> Any:
        """Return the plain data. Do not change it: all documents with this data share it."""
        return self.plain


class ParsedTree(_UnreadTree):
    """Plain data and its marks. The trees inside are made on first use."""

    __slots__ = ("_marks", "plain")

    def __init__(self, plain: dict[str, Any] | list[Any], marks: Marks) -> None:  # its value is made later
        self.plain = plain
        self._marks = marks
        self.mark = marks.mark
        self.key = marks.key
        self.rank = None
        self.bound = None

    def _made(self) -> Any:
        children: Any = self._marks.children
        return each_inside(self.plain, lambda step, each: with_marks(each, children[step]))

    def place(self) -> Mark:
        """Return the place of the key. If there is no key, return that of the value."""
        return self.key or self.mark

    def data(self) -> Any:
        """Return the plain data. Do not change it: it is the document's."""
        return self.plain

    def marks(self) -> Marks:
        """Return the marks that the tree is made from."""
        return self._marks


class LateTree(_UnreadTree):
    """A text that is expensive to make. The text is made on first use."""

    __slots__ = ("_made",)

    def __init__(self, make: Callable[[], str], mark: Mark, key: Mark | None) -> None:  # its value is made later
        self._made = make
        self._data = None
        self.mark = mark
        self.key = key
        self.rank = None
        self.bound = None


def each_inside(data: dict[str, Any] | list[Any], make: Callable[[Any, Any], Any]) -> Any:
    """Replace each value of a mapping or list by what *make* returns for its key or index."""
    if isinstance(data, dict):
        return {key: make(key, each) for key, each in data.items()}
    return [make(index, each) for index, each in enumerate(data)]


def field_value(tree: MarkedTree, field: str) -> Any:
    """Return the value of a mapping's field. If there is none, return None."""
    child = tree.get(field)
    return child.value if child else None


def tree_at(tree: MarkedTree | None, path: Path) -> MarkedTree | None:
    """Return the tree at a path of keys and indices. If there is none, return None."""
    here = tree
    for step in path:
        inside = here.value if here else None
        if isinstance(step, int):
            here = inside[step] if isinstance(inside, list) and step < len(inside) else None
        else:
            here = inside.get(step) if isinstance(inside, dict) else None
    return here


def items(tree: MarkedTree | None) -> list[MarkedTree]:
    """Return the items of a list. If there is no list, return no items."""
    return list(tree.value) if tree and isinstance(tree.value, list) else []


def walk(tree: MarkedTree, path: Path = ()) -> Iterator[tuple[Path, MarkedTree]]:
    """Yield a tree and all trees inside, each with its path."""
    yield path, tree
    inside = tree.value.items() if isinstance(tree.value, dict) else enumerate(items(tree))
    for step, child in inside:
        yield from walk(child, (*path, step))


def text(tree: MarkedTree | None, *path: str) -> str:
    """Return the text of the scalar at a path. If there is none, return an empty string."""
    found = tree.get(*path) if tree else None
    return "" if found is None or found.value is None or isinstance(found.value, (dict, list)) else str(found.value)


def of_kind(objects: Sequence[MarkedTree], kind: str) -> list[MarkedTree]:
    """Return the objects of a kind, such as `Job`."""
    return [each for each in objects if text(each, "kind") == kind]


def by_rank(trees: list[MarkedTree]) -> list[MarkedTree]:
    """Sort trees: items of the base in their order, then items of overlays by rank."""
    return sorted(trees, key=lambda each: (each.rank is not None, each.rank or ("", 0, 0)))


def share_rank(tree: MarkedTree, rank: Rank) -> MarkedTree:
    """Give an item that two overlays add the lower of their ranks.

    If the item is of the base, it stays without a rank.
    """
    return tree if tree.rank is None else tree.with_rank(min(tree.rank, rank))


def marked(document: Document) -> MarkedTree:
    """Return the tree of a document."""
    if document.place and isinstance(document.data, (dict, list)):
        return PlainTree(document.data, document.place, document.place)
    return with_marks(document.data, document.marks)


def with_marks(data: Any, marks: Marks) -> MarkedTree:
    """Return the tree of plain data and its marks."""
    return ParsedTree(data, marks) if isinstance(data, (dict, list)) else MarkedTree(data, marks.mark, marks.key)


def place_of(tree: MarkedTree | None) -> Mark | None:
    """Return the place of a value. If an operator set the value, return None."""
    place = tree.place() if tree else None
    return place if place and place.line else None


def place_in(tree: MarkedTree, path: Path) -> Mark | None:
    """Return the place of the value at a path.

    If the value has no place, return the place of the innermost value around it that has one. If an operator set all of these values,
    return None.
    """
    here, found = tree, place_of(tree)
    for step in path:
        child = child_of(here, step)
        if child is None:
            break
        here, found = child, place_of(child) or found
    return found


def child_of(tree: MarkedTree, step: str | int) -> MarkedTree | None:
    """Return the value at a key or an index. If there is none, return None."""
    inside = tree.value
    known = step in inside if isinstance(inside, dict) else isinstance(inside, list) and isinstance(step, int) and step < len(inside)
    return inside[step] if known else None


def as_document(tree: MarkedTree, source: Document, *, index: int | None = None) -> Document:
    """Return a tree as a document in the place of *source*, or under another *index*."""
    return Document(tree.data(), tree.marks, file=source.file, index=source.index if index is None else index)


def set_by(operator: Mark, data: Any) -> MarkedTree:
    """Make a tree of plain data that an *operator* set. Trees inside the data keep their places."""
    if isinstance(data, MarkedTree):
        return data
    if isinstance(data, dict):
        return MarkedTree({key: set_by(operator, value) for key, value in data.items()}, operator)
    if isinstance(data, list):
        return MarkedTree([set_by(operator, value) for value in data], operator)
    return MarkedTree(data, operator)


def with_data(tree: MarkedTree | None, data: Any, by: Mark) -> MarkedTree:
    """Put other data of the same shape into a tree, keeping places.

    Values that were null or absent in the tree get the place *by*. If a list has fewer items than before, they are found by name or path.
    """
    if tree is None or (tree.value is None and data is not None):
        return set_by(by, data)
    if data is tree.data():
        return tree
    if isinstance(tree, PlainTree) and tree.mark is by:
        return PlainTree(data, by, tree.key)
    if isinstance(data, dict):
        return tree.with_value({name: with_data(tree.value.get(name), each, by) for name, each in data.items()})
    if isinstance(data, list):
        kept = tree.value if len(tree.value) == len(data) else _kept_items(tree.value, data)
        return tree.with_value([with_data(child, each, by) for child, each in zip(kept, data, strict=True)])
    return tree.with_value(data)


def _kept_items(before: list[MarkedTree], data: list[Any]) -> list[MarkedTree]:
    """The items of a list that are still in its *data*: what is dropped from lists has names and paths, such as volumes and mounts."""
    left = iter(before)
    return [next(item for item in left if _name_and_path(item.data()) == _name_and_path(each)) for each in data]


def _name_and_path(item: Any) -> list[Any]:
    return [item.get(name) for name in ("name", "mountPath")] if isinstance(item, dict) else [item]


def changed_tree(tree: MarkedTree, before: Any, after: Any, by: Mark) -> MarkedTree:
    """Apply the changes between two states of a tree's data. New values get the place *by*.

    The state *before* may hold more than the tree, such as defaults.
    """
    if isinstance(tree.value, dict) and isinstance(before, dict) and isinstance(after, dict):
        gone = {name for name in tree.value if name in before and name not in after}
        made = {name: each for name, each in tree.value.items() if name not in gone}
        for name, each in after.items():
            if name not in before or before[name] != each:
                made[name] = changed_tree(made[name], before.get(name), each, by) if name in made else set_by(by, each)
        return tree.with_value(made)
    if isinstance(tree.value, list) and isinstance(before, list) and isinstance(after, list):
        written, items_made = tree.value, list[MarkedTree]()
        places = {_identity_in_list(each): at for at, each in reversed(list(enumerate(before)))}
        for each in after:
            at = places.get(_identity_in_list(each), -1)
            if 0 <= at < len(written):
                items_made.append(changed_tree(written[at], before[at], each, by))
            elif at < 0 or before[at] != each:
                items_made.append(set_by(by, each))
        return tree.with_value(items_made)
    return tree if before == after and type(before) is type(after) else set_by(by, after)


def _identity_in_list(item: Any) -> str:
    """Return the identity of an item of a list: its name, or else all of it."""
    return str(item["name"]) if isinstance(item, dict) and "name" in item else repr(item)


# Changes to parts of a tree: each gives a new tree, and leaves the marks of all other values as they are.


def with_fields(tree: MarkedTree, fields: Mapping[str, MarkedTree | None]) -> MarkedTree:
    """Set some fields of a mapping. If a field is given as None, it is not changed."""
    return tree.with_value({**tree.value, **{name: child for name, child in fields.items() if child is not None}})


def with_missing(tree: MarkedTree, defaults: Mapping[str, Any], mark: Mark, *, fill_empty: bool = False) -> MarkedTree:
    """Fill absent fields of a mapping from *defaults*. *fill_empty*: fill empty strings, too."""
    empty = [name for name in defaults if name not in tree.value or (fill_empty and tree.value[name].value == "")]
    return tree.with_value({**tree.value, **{name: set_by(mark, defaults[name]) for name in empty}}) if empty else tree


def with_appended(tree: MarkedTree, name: str, new: Sequence[MarkedTree], mark: Mark | None = None) -> MarkedTree:
    """Append items to the list *name* of a mapping.

    If the list is absent, it is added at *mark*, or else at the place of the mapping.
    """
    old = tree.get(name)
    empty = MarkedTree([], mark) if mark else tree
    return tree.with_value({**tree.value, name: (old or empty).with_value([*items(old), *new])})


def with_mappings(tree: MarkedTree, *paths: tuple[str, ...]) -> MarkedTree:
    """Add empty mappings at the paths where a mapping is absent."""
    for path in paths:
        tree = changed(tree, path, lambda each: each)
    return tree


def changed(tree: MarkedTree, path: tuple[str, ...], change: Callable[[MarkedTree], MarkedTree]) -> MarkedTree:
    """Apply *change* to the mapping at *path*. Absent mappings are added."""
    if not path:
        return change(tree)
    child = tree.value.get(path[0]) or MarkedTree({}, tree.mark)
    return tree.with_value({**tree.value, path[0]: changed(child, path[1:], change)})


def where_given(tree: MarkedTree, field: str, change: Callable[[MarkedTree], MarkedTree]) -> MarkedTree:
    """A mapping with one field changed, where that is there."""
    child = tree.value.get(field)
    return tree.with_value({**tree.value, field: change(child)}) if child is not None else tree


def each_item(tree: MarkedTree, name: str, change: Callable[[MarkedTree], MarkedTree]) -> MarkedTree:
    """Apply *change* to every item of the list *name*."""
    old = tree.value.get(name)
    return tree if old is None else tree.with_value({**tree.value, name: old.with_value([change(item) for item in items(old)])})


def number(tree: MarkedTree | None, *path: str, default: int) -> int:
    """Return the integer at a path. If there is none, return *default*."""
    child = tree.get(*path) if tree else None
    return child.value if child and isinstance(child.value, int) else default


def is_true(tree: MarkedTree | None, *path: str) -> bool:
    """True if the value at a path is true."""
    child = tree.get(*path) if tree else None
    return child is not None and child.value is True
