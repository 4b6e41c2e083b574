"""Paths into a document, marks of places in files, and trees of marks."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, TypeAlias

    Children = dict[str, "Marks"] | list["Marks"] | None
    #: A mark's file, layer, and span.
    Span = tuple[str, str, int, int, int, int]


#: A step of a path: the field of an object, the key of a map (`Key`), the index of a list.
Path = tuple["str | int", ...]
#: An object of a manifest, or a part of one, as plain data; and what rules yield. Only annotations name them, which nobody evaluates.
Data: TypeAlias = "dict[str, Any]"


class Key(str):
    """A path step that is the key of a map, not the name of a field. It is spelt `[key]`."""

    __slots__ = ()


class Mark:
    """A place in a file. Line 0 is the file as a whole.

    Lines and columns count from 1, and columns count code points.
    """

    __slots__ = ("column", "end_column", "end_line", "file", "layer", "line")

    layer_kind = "overlay"
    """What the layer is."""

    def __init__(self, file: str, line: int = 0, column: int = 0, end_line: int = 0, end_column: int = 0, layer: str = "") -> None:
        self.file = file
        self.line = line
        self.column = column
        self.end_line = end_line or line
        self.end_column = end_column or column
        self.layer = layer
        """Name of the overlay that the file holds, or of the variant that the place belongs to; empty for a base."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


def spell(path: Path) -> str:
    """Write a path as the API server spells it: `spec.template.spec.containers[0].image`.

    The key of a map is in brackets, too: `spec.pytorchReplicaSpecs[Worker]`.
    """
    text = ""
    for step in path:
        if isinstance(step, (int, Key)):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def value_at(data: Any, path: Path) -> Any:
    """The value at *path*, None where there is none."""
    for step in path:
        if isinstance(data, dict):
            data = data.get(step)
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            data = data[step]
        else:
            return None
    return data


def items_at(data: Any, path: Path) -> list[tuple[Path, Any]]:
    """The items of the list at *path* with the path of each, none where there is no list."""
    return [((*path, index), item) for index, item in enumerate(value_at(data, path) or ())]


class Marks:
    """The place of a value and, in a tree of the data's shape, of all values inside."""

    __slots__ = ("_make", "children", "key", "mark")

    children: Children
    """The marks of the values inside, made on first use; None for a scalar."""

    def __init__(
        self, mark: Mark, key: Mark | None = None, children: Children = None, *, make: Callable[[], Children] | None = None
    ) -> None:
        self.mark = mark
        """The value itself."""
        self.key = key
        """The key of the value; None in a list."""
        self._make = make
        if make is None:
            self.children = children

    def __getattr__(self, name: str) -> Any:
        if name != "children":
            raise AttributeError(name)
        assert self._make
        self.children = self._make()
        return self.children

    def __reduce__(self) -> tuple[type[Marks], tuple[Mark, Mark | None, Children]]:
        return Marks, (self.mark, self.key, self.children)  # what makes them may be a function of one process

    @property
    def is_scalar(self) -> bool:
        """Return True if there are no values inside. Marks inside are not made for that."""
        return self._make is None and self.children is None

    def made(self) -> Marks:
        """Return the marks with all marks inside made."""
        for child in self.inside:
            child.made()
        return self

    @property
    def inside(self) -> Sequence[Marks]:
        """Return the marks of the values inside, without their keys or indices."""
        children = self.children or ()
        return list(children.values()) if isinstance(children, dict) else children

    def nearest(self, path: Path) -> Marks:
        """Return the marks of the value at *path*, or of the innermost value around it that exists."""
        here = self
        for step in path:
            child = here.child(step)
            if child is None:
                break
            here = child
        return here

    def child(self, step: str | int) -> Marks | None:
        """Return the marks of the value at a key or an index. If there is none, return None."""
        children = self.children
        if isinstance(children, dict):
            return children.get(str(step))
        return children[step] if isinstance(children, list) and isinstance(step, int) and step < len(children) else None

    def contains(self, mark: Mark) -> bool:
        """True if a mark is the place of this value, or of a value inside."""
        return next(self.paths_to(mark), None) is not None

    def paths_to(self, mark: Mark) -> Iterator[Path]:
        """Yield the paths, from this value inwards, of the values with a mark.

        If aliases repeat a value, there are several paths.
        """
        if str(self.mark) == str(mark):
            yield ()
        children = self.children or ()
        for step, child in children.items() if isinstance(children, dict) else enumerate(children):
            yield from ((step, *path) for path in child.paths_to(mark))

    def paths(self) -> dict[Span, Path]:
        """Return the path of each value, by the place of the value and by the place of its key.

        If an alias repeats a value, its first path counts.
        """
        found: dict[Span, Path] = {}
        self._add_paths((), found)
        return found

    def _add_paths(self, path: Path, found: dict[Span, Path]) -> None:
        children = self.children
        for step, child in children.items() if isinstance(children, dict) else enumerate(children or ()):
            child._add_paths((*path, step), found)
        found.setdefault(span_of(self.mark), path)
        if self.key:
            found.setdefault(span_of(self.key), path)

    def place(self) -> Mark:
        """Return the mark for a diagnostic about the value.

        It is that of a scalar itself, and of the key of a mapping or list.
        """
        return self.mark if self.key is None or self.is_scalar else self.key


def span_of(mark: Mark) -> Span:
    """Return the file, layer and span of a mark. Marks of one place share them."""
    return mark.file, mark.layer, mark.line, mark.column, mark.end_line, mark.end_column


def marks_at(data: Any, mark: Mark) -> Marks:
    """Make marks of the data's shape that all have one place."""
    if isinstance(data, dict):
        return Marks(mark, mark, {key: marks_at(value, mark) for key, value in data.items()})
    if isinstance(data, list):
        return Marks(mark, mark, [marks_at(value, mark) for value in data])
    return Marks(mark, mark)
