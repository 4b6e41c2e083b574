"""Data and marks in one tree, so that whatever is merged takes its place along."""

from __future__ import annotations

from jobspec.diagnostics import Mark
from jobspec.documents.document import Marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    #: Where an overlay's item stands among what overlays added to a list: overlay, entry of it, number in the list.
    Rank = tuple[str, int, int]


class Tree:
    """A value, where it was written, and the same of all values inside."""

    __slots__ = ("bound", "key", "mark", "rank", "value")

    def __init__(self, value: Any, mark: Mark, key: Mark | None = None, rank: Rank | None = None, *, bound: int | None = None) -> None:
        self.value = value
        """A dict or list of trees, or a scalar."""
        self.mark = mark
        self.key = key
        self.rank = rank
        """Of an item that an overlay added; None for the base's own."""
        self.bound = bound
        """Of a program's argument: how surely it is the value of the flag before it; None while nobody asked."""

    def having(self, value: Any) -> Tree:
        """The same place with another value."""
        return Tree(value, self.mark, self.key, self.rank, bound=self.bound)

    def ranked(self, rank: Rank) -> Tree:
        """The same value with another rank."""
        return Tree(self.value, self.mark, self.key, rank, bound=self.bound)

    def place(self) -> Mark:
        """Where to point: at a scalar itself, at the key of a mapping or list."""
        return self.key if self.key and isinstance(self.value, (dict, list)) else self.mark

    def get(self, *path: str) -> Tree | None:
        """The tree at a path of mapping keys, None where it ends before."""
        here: Tree | None = self
        for step in path:
            here = here.value.get(step) if here and isinstance(here.value, dict) else None
        return here

    def entries(self, name: str) -> Iterator[tuple[str, Tree]]:
        """The keys and values of the mapping under *name*, none where there is none."""
        child = self.get(name)
        return iter(child.value.items() if child and isinstance(child.value, dict) else ())

    def put(self, path: tuple[str | int, ...], change: Callable[[Tree], Tree]) -> Tree:
        """The whole with the tree at *path*, which has to exist, changed."""
        if not path:
            return change(self)
        step = str(path[0])
        return self.having({**self.value, step: self.value[step].put(path[1:], change)})

    def data(self) -> Any:
        """The plain data."""
        if isinstance(self.value, dict):
            return {key: child.data() for key, child in self.value.items()}
        if isinstance(self.value, list):
            return [child.data() for child in self.value]
        return self.value

    def marks(self) -> Marks:
        """The tree of marks beside the plain data."""
        if isinstance(self.value, dict):
            return Marks(self.mark, self.key, {key: child.marks() for key, child in self.value.items()})
        if isinstance(self.value, list):
            return Marks(self.mark, self.key, [child.marks() for child in self.value])
        return Marks(self.mark, self.key)


def items(tree: Tree | None) -> list[Tree]:
    """The items of a list, none where there is no list."""
    return list(tree.value) if tree and isinstance(tree.value, list) else []


def in_rank(trees: list[Tree]) -> list[Tree]:
    """The base's items as they stand, then those of overlays by rank."""
    return sorted(trees, key=lambda each: (each.rank is not None, each.rank or ("", 0, 0)))


def shared(tree: Tree, rank: Rank) -> Tree:
    """An item that another overlay adds, too, belongs to the first of the two by name; the base's own stays its own."""
    return tree if tree.rank is None else tree.ranked(min(tree.rank, rank))


def grow(data: Any, marks: Marks) -> Tree:
    """The tree of data and the marks beside it."""
    children = marks.children
    if isinstance(data, dict):
        assert isinstance(children, dict)
        return Tree({key: grow(value, children[key]) for key, value in data.items()}, marks.mark, marks.key)
    if isinstance(data, list):
        assert isinstance(children, list)
        return Tree([grow(value, child) for value, child in zip(data, children, strict=True)], marks.mark, marks.key)
    return Tree(data, marks.mark, marks.key)
