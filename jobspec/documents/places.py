"""Marks for the nodes that the reader made, and for the places where YAML is wrong."""

from __future__ import annotations

from jobspec.diagnostics import Mark
from jobspec.documents.document import Marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.documents.document import Children, Piece

_OTHER_BREAKS = "\x85\u2028\u2029"  # line breaks in YAML 1.1 only


def mark(piece: Piece, start: Any, end: Any = None) -> Mark:
    """The place in the file of what stands between two of the parser's marks."""
    end = end or start
    if not piece.text.isascii() and any(each in piece.text for each in _OTHER_BREAKS):
        start, end = _recounted(piece.text, start), _recounted(piece.text, end)
    line = piece.first_line + 1
    return Mark(piece.file, start.line + line, start.column + 1, end.line + line, end.column + 1, piece.layer)


def _recounted(text: str, mark: Any) -> Any:
    """A mark of the parser in the lines that everybody else counts."""
    index = getattr(mark, "index", None)
    if index is None:
        return mark
    from jobspec.documents.syntax import Start

    return Start(text.count("\n", 0, index), index - text.rfind("\n", 0, index) - 1)


def marks(piece: Piece, node: Any, key: Any = None) -> Marks:
    """The tree of marks of a node: an event of a scalar, or a `Node`; *key* is the event of its key."""
    key_mark = key and mark(piece, key.start_mark, key.end_mark)
    children = getattr(node, "children", None)
    if children is None:
        return Marks(mark(piece, node.start_mark, node.end_mark), key_mark)
    return Marks(mark(piece, node.event.start_mark), key_mark, lambda: _inside(piece, children))


def _inside(piece: Piece, children: Any) -> Children:
    if isinstance(children, dict):
        return {name: marks(piece, child, key) for name, (key, child) in children.items()}
    return [marks(piece, child) for child in children]
