"""The text of a file in which some documents are replaced by others: all that is not replaced keeps its bytes.

What is JSON stays JSON, and the items of a `v1` List stay in it.
"""

from __future__ import annotations

import re

from jobspec.documents.comments import placed_comments
from jobspec.documents.libyaml import YAMLError
from jobspec.documents.markdown import is_page
from jobspec.documents.reader import is_json
from jobspec.documents.syntax import cut
from jobspec.documents.writer import write
from jobspec.migration.comments import with_comments
from jobspec.migration.json_style import JsonStyle
from jobspec.migration.list_items import items_in
from jobspec.migration.list_text import with_items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from jobspec.documents.document import Document
    from jobspec.documents.marked_tree import MarkedTree

    #: Which document of a file: its index, and the number of the item where it is one of a List.
    Place = tuple[int, int | None]

_BEGIN = "---"
_BOM = "\ufeff"
_START = re.compile(r"---[ \t]*(?:#[^\n]*|\r)?\n")


class _Piece:
    """A part of a file that ends before the next `---`."""

    __slots__ = ("first_line", "places", "text")

    def __init__(self, text: str, first_line: int, documents: Sequence[Document]) -> None:
        self.text = text
        self.first_line = first_line
        """How many lines stand before it."""
        last_line = first_line + text.count("\n") + (not text.endswith("\n"))
        self.places = [place_of(each) for each in documents if first_line < each.marks.mark.line <= last_line]

    @property
    def newline(self) -> str:
        """How its lines end."""
        return "\r\n" if "\r\n" in self.text else "\n"


def place_of(document: Document) -> Place:
    """The place of a document in its file."""
    return document.index, int(document.inside[1]) if document.inside else None


def replaced(text: str, documents: Sequence[Document], new: Mapping[Place, Sequence[MarkedTree]]) -> str:
    """A file's text with the documents at some places replaced by the trees *new*; without any, the text itself."""
    lines = text.removeprefix(_BOM).split("\n")
    is_one = is_json(text.removeprefix(_BOM))
    parts = [_rewritten(each, new, lines, is_one=is_one) for each in _pieces(text, documents)]
    ended = [each if each.endswith("\n") or number == len(parts) else f"{each}\n" for number, each in enumerate(parts, 1)]
    return (_BOM if text.startswith(_BOM) else "") + "".join(ended)


def irreplaceable(text: str, documents: Sequence[Document], places: Collection[Place]) -> dict[Place, str]:
    """Those of the documents at *places* that cannot be replaced in a file's text, and why, if all of the others are."""
    found: dict[Place, str] = {}
    if is_page(text):
        found |= {place_of(each): "its fence is set in; move it to the left margin" for each in documents if each.marks.mark.column > 1}
    for piece in _pieces(text, documents):
        items = {number: (index, number) for index, number in piece.places if number is not None and (index, number) in places}
        found |= {items[number]: why for number, why in _tied(piece.text, set(items))} if items else {}
    return found


def _pieces(text: str, documents: Sequence[Document]) -> Iterator[_Piece]:
    for piece, first_line in cut(text.removeprefix(_BOM)):
        yield _Piece(piece, first_line, documents)


def _tied(piece: str, wanted: set[int]) -> Iterator[tuple[int, str]]:
    """The items of a List that cannot be replaced, and why."""
    try:
        found = items_in(piece)
    except YAMLError as error:
        yield from ((each, f"the text of its List cannot be taken apart: {error}") for each in wanted)
        return
    aliases = {each for each in wanted if each >= len(found.items) or found.items[each].is_alias}
    yield from ((each, "its List has an alias in its place; write it out there") for each in aliases)
    free = wanted - aliases
    while tied := {owner for owner, user in found.users if owner in free and user not in free}:
        yield from ((each, "an alias elsewhere in its List stands for a part of it; write that out there") for each in tied)
        free -= tied


def _rewritten(piece: _Piece, new: Mapping[Place, Sequence[MarkedTree]], lines: Sequence[str], *, is_one: bool) -> str:
    """A piece with the new trees in it. *is_one*: its file is one value of JSON."""
    wanted = {number: new[index, number] for index, number in piece.places if (index, number) in new}
    if not wanted:
        return piece.text
    if None not in wanted:
        items = {number: trees for number, trees in wanted.items() if number is not None}
        return with_items(piece.text, piece.first_line, items, lines, newline=piece.newline)
    if is_json(piece.text.removeprefix(_BEGIN)):
        return _as_json(piece, wanted[None], is_one=is_one)
    start = _START.match(piece.text)
    body = piece.text[start.end() :] if start else piece.text.removeprefix(_BEGIN)
    comments = list(placed_comments(body, piece.first_line + bool(start)))
    texts, below = with_comments(wanted[None], comments, lines, lambda data: write([data]))
    text = f"{_BEGIN}\n".join(texts) + "".join(f"{each}\n" for each in below)
    begins = start[0] if start else f"{_BEGIN}{piece.newline}" if piece.text.startswith(_BEGIN) else ""
    return begins + text.replace("\n", piece.newline)


def _as_json(piece: _Piece, trees: Sequence[MarkedTree], *, is_one: bool) -> str:
    """A piece of JSON; several objects are a `v1` List, where nothing but JSON can be in the file."""
    start, end = piece.text.index("{"), piece.text.rindex("}") + 1
    style = JsonStyle(piece.text, start, end)
    data = [each.data() for each in trees]
    if is_one and len(data) > 1:
        data = [{"apiVersion": "v1", "kind": "List", "items": data}]
    text = f"\n{_BEGIN}\n".join(map(style.write, data))
    return piece.text[:start] + text.replace("\n", piece.newline) + piece.text[end:]
