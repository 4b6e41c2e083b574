"""Make the marks of a document from the nodes of the YAML parser."""

from __future__ import annotations

from jobspec.diagnostics.places import Mark, Marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from jobspec.diagnostics.places import Children, Path

    #: How kustomize reads a text. What a file or a patch is, its first document says.
    Form = Literal["manifest", "file of a kustomization", "kustomization", "patch", "merge patch", "JSON patch"]


class Piece:
    """A part of a file that is parsed on its own, and the number of lines before it."""

    __slots__ = ("file", "first_line", "form", "has_other_breaks", "layer", "text")

    def __init__(self, text: str, first_line: int, file: str, layer: str, form: Form = "manifest") -> None:
        self.text = text
        self.first_line = first_line
        self.file = file
        self.layer = layer
        self.form = form
        self.has_other_breaks = not text.isascii() and any(each in text for each in "\x85\u2028\u2029")
        """Whether it has line breaks of YAML 1.1 alone (NEL, LS, PS), which editors do not count."""


def mark_of(piece: Piece, start: Any, end: Any = None) -> Mark:
    """Return the place in the file of the text between two marks of the parser."""
    first, end = piece.first_line + 1, end or start
    if piece.has_other_breaks:
        (line, column), (end_line, end_column) = _recounted(piece.text, start), _recounted(piece.text, end)
        return Mark(piece.file, line + first, column + 1, end_line + first, end_column + 1, piece.layer)
    return Mark(piece.file, start.line + first, start.column + 1, end.line + first, end.column + 1, piece.layer)


def _recounted(text: str, mark: Any) -> tuple[int, int]:
    """The line and column, from 0, of a mark of the parser, in the lines that everybody counts."""
    if getattr(mark, "index", None) is None:
        return mark.line, mark.column
    return text.count("\n", 0, mark.index), mark.index - text.rfind("\n", 0, mark.index) - 1


def marks_of(piece: Piece, node: Any, key: Any = None) -> Marks:
    """Return the tree of marks of a node, or of the event of a scalar.

    *key*: the event of the node's key.
    """
    key_mark = key and mark_of(piece, key.start_mark, key.end_mark)
    children = getattr(node, "children", None)
    if children is None:
        return Marks(mark_of(piece, node.start_mark, node.end_mark), key_mark)
    return Marks(mark_of(piece, node.event.start_mark), key_mark, make=lambda: _marks_of_children(piece, children))


def nearest_marks(piece: Piece, node: Any, path: Path) -> Marks:
    """Return the marks of the node at *path*, or of the innermost node around it that exists."""
    key = None
    for step in path:
        children = getattr(node, "children", None)
        if isinstance(children, dict) and str(step) in children:
            key, node = children[str(step)]
        elif isinstance(children, list) and isinstance(step, int) and step < len(children):
            key, node = None, children[step]
        else:
            break
    return marks_of(piece, node, key)


def _marks_of_children(piece: Piece, children: Any) -> Children:
    if isinstance(children, dict):
        return {name: marks_of(piece, child, key) for name, (key, child) in children.items()}
    return [marks_of(piece, child) for child in children]
