"""YAML in which each line says behind it where its value comes from: a line of the job or of an overlay, an operator, the API server."""

from __future__ import annotations

from jobspec.documents.reader import read
from jobspec.documents.writer import write
from jobspec.reports.places import layer_of
from jobspec.reports.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.diagnostics import Mark
    from jobspec.documents.document import Marks
    from jobspec.documents.marked_tree import MarkedTree

_COLUMN = 60
"""The column of the places, where lines are not longer."""


def with_origin(tree: MarkedTree) -> str:
    """The YAML of one object, with comments; without these it is the same text as ever."""
    text = write([tree.data()])
    (document,), problems = read(text, file="")
    assert not problems
    places = dict(_places(tree, document.marks))
    lines = text.removesuffix("\n").split("\n")
    column = min(max(map(len, lines)), _COLUMN)
    return "".join(_line(line, places.get(number), column) for number, line in enumerate(lines, 1))


def _line(line: str, mark: Mark | None, column: int) -> str:
    return f"{line:{column}}  # {visible(f'{mark}{layer_of(mark)}')}\n" if mark else f"{line}\n"


def _places(tree: MarkedTree, written: Marks) -> Iterator[tuple[int, Mark]]:
    """The lines in which the values of a tree begin in its own text, or their keys, each with the place that the value comes from."""
    children = written.children
    if isinstance(tree.value, dict) and isinstance(children, dict):
        if written.key:
            yield written.key.line, tree.place()
        for name, child in tree.value.items():
            yield from _places(child, children[name])
    elif isinstance(tree.value, list) and isinstance(children, list):
        if written.key:
            yield written.key.line, tree.place()
        for child, inner in zip(tree.value, children, strict=True):
            yield from _places(child, inner)
    else:
        yield written.mark.line, tree.place()
