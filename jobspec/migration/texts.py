"""The text of a file in which some documents are replaced by others: all that is not replaced keeps its bytes."""

from __future__ import annotations

from jobspec.documents.pieces import cut
from jobspec.migration.comments import comments_in, with_comments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobspec.documents.document import Document
    from jobspec.overlays.marked_tree import MarkedTree

_BEGIN = "---"


def replaced(text: str, documents: Sequence[Document], new: Mapping[int, Sequence[MarkedTree]]) -> str:
    """A file's text with the documents of some indices replaced by the trees *new*; without any, the text itself."""
    lines = text.split("\n")
    parts = []
    for piece, first_line in cut(text):
        last_line = first_line + piece.count("\n") + 1
        inside = [each for each in documents if first_line < each.marks.mark.line <= last_line]
        index = inside[0].index if inside else -1
        parts.append(_rewritten(piece, first_line, new[index], lines) if index in new else piece)
    return "".join(_ended(each, last=each is parts[-1]) for each in parts)


def _rewritten(piece: str, first_line: int, trees: Sequence[MarkedTree], lines: Sequence[str]) -> str:
    start = f"{_BEGIN}\n" if piece.startswith(_BEGIN) else ""
    return start + with_comments(trees, comments_in(piece, first_line), lines)


def _ended(piece: str, *, last: bool) -> str:
    return piece if piece.endswith("\n") or last else f"{piece}\n"
