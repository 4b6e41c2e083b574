"""The text of a file in which some documents are replaced by others: all that is not replaced keeps its bytes, and comments stay.

What is JSON stays JSON, and the items of a `v1` List stay in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import count
from json import dumps
from typing import Any

from jobspec.documents.comments import Comment, anchors_and_aliases, placed_comments
from jobspec.documents.decoding import is_json
from jobspec.documents.document import Document
from jobspec.documents.libyaml import YAMLError
from jobspec.documents.markdown import is_page
from jobspec.documents.marked_tree import MarkedTree
from jobspec.documents.reader import read
from jobspec.documents.streams import cut
from jobspec.documents.text_edits import TextEdit, TextPlaces, Uncuttable, edited, origins
from jobspec.documents.writer import write

#: Which document of a file: its index, and the number of the item where it is one of a List.
Place = tuple[int, int | None]


_BEGIN = "---"
_BOM = "\ufeff"
_START = re.compile(r"---[ \t]*(?:#[^\n]*|\r)?\n")


class _Piece:
    """A part of a file that ends before the next `---`."""

    __slots__ = ("first_line", "lines", "places", "text")

    def __init__(self, text: str, first_line: int, lines: Sequence[str], documents: Sequence[Document]) -> None:
        self.text = text
        self.first_line = first_line
        """How many lines stand before it."""
        self.lines = lines
        """Those of the file."""
        last_line = first_line + text.count("\n") + (not text.endswith("\n"))
        self.places = [place_of(each) for each in documents if first_line < each.marks.mark.line <= last_line]

    @property
    def newline(self) -> str:
        """Return the line break of the piece."""
        return "\r\n" if "\r\n" in self.text else "\n"

    def before(self, at: int) -> str:
        """Return the text before a place in its line."""
        return self.text[self.text.rfind("\n", 0, at) + 1 : at]


def place_of(document: Document) -> Place:
    """Return the place of a document in its file."""
    return document.index, int(document.inside[1]) if document.inside else None


def replaced(text: str, documents: Sequence[Document], new: Mapping[Place, Sequence[MarkedTree]]) -> str:
    """Replace the documents at some places of a file's text by the trees *new*.

    If there are no trees, the text is unchanged.
    """
    is_one = is_json(text.removeprefix(_BOM))
    parts = [_rewritten(each, new, is_one=is_one) for each in _pieces(text, documents)]
    ended = [each if each.endswith("\n") or number == len(parts) else f"{each}\n" for number, each in enumerate(parts, 1)]
    return (_BOM if text.startswith(_BOM) else "") + "".join(ended)


def irreplaceable(text: str, documents: Sequence[Document], places: Collection[Place]) -> dict[Place, str]:
    """Return the documents at *places* that cannot be replaced in a file's text, and why.

    All other documents at *places* are replaced.
    """
    found: dict[Place, str] = {}
    if is_page(text):
        found |= {place_of(each): "its fence is indented; move it to the left margin" for each in documents if each.marks.mark.column > 1}
    for piece in _pieces(text, documents):
        items = {number: (index, number) for index, number in piece.places if number is not None and (index, number) in places}
        found |= {items[number]: why for number, why in _tied(piece.text, set(items))} if items else {}
    return found


def _pieces(text: str, documents: Sequence[Document]) -> Iterator[_Piece]:
    lines = text.removeprefix(_BOM).split("\n")
    for piece, first_line in cut(text.removeprefix(_BOM)):
        yield _Piece(piece, first_line, lines, documents)


def _tied(piece: str, wanted: set[int]) -> Iterator[tuple[int, str]]:
    """The items of a List that cannot be replaced, and why."""
    try:
        found = _Items(piece)
        users = list(found.users())
    except (Uncuttable, YAMLError):
        yield from ((each, "its List cannot be split") for each in wanted)
        return
    aliases = {each for each in wanted if each >= len(found.spans) or each in found.aliases}
    yield from ((each, "its List has an alias in its place; write it out") for each in aliases)
    free = wanted - aliases
    while tied := {owner for owner, user in users if owner in free and user not in free}:
        yield from ((each, "an alias elsewhere in its List repeats a part of it; write that out") for each in tied)
        free -= tied


def _rewritten(piece: _Piece, new: Mapping[Place, Sequence[MarkedTree]], *, is_one: bool) -> str:
    """A piece with the new trees in it. *is_one*: its file is one value of JSON."""
    wanted = {number: new[index, number] for index, number in piece.places if (index, number) in new}
    if not wanted:
        return piece.text
    if None not in wanted:
        return _with_items(piece, {number: trees for number, trees in wanted.items() if number is not None})
    if is_json(piece.text.removeprefix(_BEGIN)):
        return _as_json(piece, wanted[None], is_one=is_one)
    start = _START.match(piece.text)
    body = piece.text[start.end() :] if start else piece.text.removeprefix(_BEGIN)
    comments = list(placed_comments(body, piece.first_line + bool(start)))
    texts, below = _with_comments(wanted[None], comments, piece.lines, lambda data: write([data]))
    text = f"{_BEGIN}\n".join(texts) + "".join(f"{each}\n" for each in below)
    begins = start[0] if start else f"{_BEGIN}{piece.newline}" if piece.text.startswith(_BEGIN) else ""
    return begins + text.replace("\n", piece.newline)


def _as_json(piece: _Piece, trees: Sequence[MarkedTree], *, is_one: bool) -> str:
    """Write a piece of JSON.

    Several objects become a `v1` List if the file can hold only JSON.
    """
    start, end = piece.text.index("{"), piece.text.rindex("}") + 1
    style = _JsonStyle(piece.text, start, end)
    data = [each.data() for each in trees]
    if is_one and len(data) > 1:
        data = [{"apiVersion": "v1", "kind": "List", "items": data}]
    text = f"\n{_BEGIN}\n".join(map(style.write, data))
    return piece.text[:start] + text.replace("\n", piece.newline) + piece.text[end:]


# The items of a `v1` List.


class _Items:
    """The items of a List in a piece of text that has been read before. Raises Uncuttable."""

    __slots__ = ("aliases", "in_flow", "spans", "text")

    def __init__(self, piece: str) -> None:
        self.text = piece
        (document,), _ = read(piece, file="")
        places, items = TextPlaces(piece), document.marks.nearest(("items",))
        self.spans = places.spans(items) if places.start(items) <= places.value_start(items) else []
        """Where each begins and ends; none where the list itself stands elsewhere, and has an alias here."""
        self.aliases = [
            number for number, (span, item) in enumerate(zip(self.spans, items.inside, strict=False)) if places.start(item) != span[0]
        ]
        """The numbers of the items that stand elsewhere, and have an alias here."""
        self.in_flow = places.is_flow(items)
        """Whether the list is written in brackets."""

    def users(self) -> Iterator[tuple[int, int | None]]:
        """Yield the item of an anchor and the item of its alias, for each alias outside the item.

        If the alias is in no item, its number is None.
        """
        owners: dict[str, int | None] = {}
        for name, at, is_alias in anchors_and_aliases(self.text):
            number = next((number for number, (start, end) in enumerate(self.spans) if start <= at < end), None)
            if not is_alias:
                owners[name] = number
            elif (owner := owners.get(name)) not in (None, number):
                yield owner, number


# The text of a `v1` List in which some items are replaced by others, in the form in which its items are written.


_DASH_ALONE = re.compile(r"^( *)-[ \t]*(?:#.*)?\r?$", re.MULTILINE)
_ONLY_A_COMMENT = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?=\r?\n|$)")


def _with_items(piece: _Piece, new: Mapping[int, Sequence[MarkedTree]]) -> str:
    """The text of a piece with some items replaced."""
    found = _Items(piece.text)
    edits = [(_in_flow if found.in_flow else _in_block)(piece, *found.spans[number], trees) for number, trees in new.items()]
    return edited(piece.text, [TextEdit(each.start, each.end, each.text.replace("\n", piece.newline)) for each in edits])


def _in_block(piece: _Piece, start: int, end: int, trees: Sequence[MarkedTree]) -> TextEdit:
    """The new text of an item behind a dash, and of the comment behind it."""
    rest = _ONLY_A_COMMENT.match(piece.text, end)
    end = rest.end() if rest else end
    texts, below = _texts(piece, start, end, trees, None)
    texts[-1] += "".join(f"{each}\n" for each in below)
    before = piece.before(start)
    dash = len(before) - len(before.lstrip()) if before.strip() else len(_DASH_ALONE.findall(piece.text[:start])[-1])
    column = len(before)
    gap = " " * (column - dash - 1)
    return TextEdit(start, end, f"\n{' ' * dash}-{gap}".join(_set_in(each, " " * column) for each in texts))


def _in_flow(piece: _Piece, start: int, end: int, trees: Sequence[MarkedTree]) -> TextEdit:
    """The same of an item in brackets."""
    style = _JsonStyle(piece.text, start, end)
    texts, below = _texts(piece, start, end, trees, style)
    if below:
        lines = texts[-1].splitlines()
        texts[-1] = "\n".join([*lines[:-1], *(f"{style.indent}{each}" for each in below), lines[-1]])
    starts_line = not piece.before(start).strip()
    between = f",\n{style.margin}" if starts_line else ", "
    return TextEdit(start, end, between.join(_set_in(each, style.margin) for each in texts))


def _texts(piece: _Piece, start: int, end: int, trees: Sequence[MarkedTree], style: _JsonStyle | None) -> tuple[list[str], list[str]]:
    """The new texts with the comments of an item, and those below all of them."""
    alone = " " * len(piece.before(start)) + piece.text[start:end]
    comments = list(placed_comments(alone, piece.first_line + piece.text.count("\n", 0, start)))
    return _with_comments(trees, comments, piece.lines, style.write if style else lambda data: write([data]))


def _set_in(text: str, margin: str) -> str:
    """A text whose lines but for the first begin further in."""
    first, *others = text.removesuffix("\n").split("\n")
    return "\n".join([first, *(f"{margin}{line}" if line else line for line in others)])


# How a text in braces is written, as JSON is: in one line or in many, how far its values are set in, and the blanks between them.


_INDENT = "  "
_FIRST_KEY = re.compile(r"\{[^\S\n]*\r?\n([ \t]*)[^\s#]")
_COLON = re.compile(r"[\"\w]:([ \t]*)[\"\w{\[-]")
_COMMA = re.compile(r",([ \t]*)[\"\w{\[-]")


class _JsonStyle:
    """The style of one value in a text."""

    __slots__ = ("_ascii", "_separators", "indent", "margin")

    def __init__(self, text: str, start: int, end: int) -> None:
        """*start* and *end*: where the value stands in the text."""
        value = text[start:end]
        line = text[text.rfind("\n", 0, start) + 1 : start]
        self.margin = line[: len(line) - len(line.lstrip())]
        """What stands before each of its lines."""
        self.indent: str | None = None
        """What is added for what it holds; None where all of it is one line."""
        if "\n" in value:
            first = _FIRST_KEY.match(value)
            self.indent = first[1].removeprefix(self.margin) or _INDENT if first else _INDENT
        self._separators = ("," if self.indent is not None else f",{_blanks(_COMMA, value)}", f":{_blanks(_COLON, value)}")
        self._ascii = value.isascii() and "\\u" in value

    def write(self, data: Any) -> str:
        """Data in this style, its lines without the margin."""
        return dumps(data, indent=self.indent, separators=self._separators, ensure_ascii=self._ascii)


def _blanks(separator: re.Pattern[str], value: str) -> str:
    found = separator.search(value)
    return found[1] if found else " "


# The text of migrated manifests with each comment of the text that they come from, at the value that it was written for.
#
# A comment behind a value that is gone stays with its whole line, before the next value that is kept.


def _with_comments(
    trees: Sequence[MarkedTree], comments: Sequence[Comment], source: Sequence[str], write: Callable[[Any], str]
) -> tuple[list[str], list[str]]:
    """Write manifests with the comments of their source text.

    Comments below everything that is kept are returned separately. *source*: the lines of the source text's file. *write*: writes data as
    text.
    """
    texts = [_lines_with_sources(tree, write) for tree in trees]
    lines = [line for each in texts for line in each]
    above: dict[int, list[str]] = {}
    behind: dict[int, str] = {}
    last = max(place for _, place in lines)
    for comment in (each for each in comments if each.line <= last):
        at = _line_for(comment, lines, source)
        if comment.is_alone or behind.get(at) or lines[at][1] != comment.line or lines[at][0].endswith(("|", "|-", "|+", ">")):
            line = source[comment.line - 1].strip()
            is_gone = not comment.is_alone and lines[at][1] != comment.line
            above.setdefault(at, []).append(f"# {line.removeprefix('- ')}" if is_gone else comment.text)
        else:
            behind[at] = comment.text
    numbers = count()

    def written(text: str, number: int) -> str:
        indent = text[: len(text) - len(text.lstrip())]
        alone = "".join(f"{indent}{line}\n" for line in above.get(number, ()))
        return f"{alone}{text}  {behind[number]}\n" if number in behind else f"{alone}{text}\n"

    documents = ["".join(written(text, next(numbers)) for text, _ in each) for each in texts]
    return documents, [each.text for each in comments if each.line > last]


def _line_for(comment: Comment, lines: Sequence[tuple[str, int]], source: Sequence[str]) -> int:
    """Return the number of the new line for a comment.

    It is the line of the comment's own value, or else of the next value that is kept.
    """
    target = min(place for _, place in lines if place >= comment.line)
    key = _key(source[target - 1]) if 0 < target <= len(source) else ""
    at = [number for number, (_, place) in enumerate(lines) if place == target]
    return next((number for number in at if _key(lines[number][0]) == key), at[0])


def _key(line: str) -> str:
    return line.strip().removeprefix("- ").partition(":")[0].strip("\"'")


def _lines_with_sources(tree: MarkedTree, write: Callable[[Any], str]) -> list[tuple[str, int]]:
    """The lines of a manifest, each with the line of the source that it comes from, 0 for none."""
    text = write(tree.data())
    places = dict(reversed(origins(tree, text)))
    return [(line, places[number].line if number in places else 0) for number, line in enumerate(text.removesuffix("\n").split("\n"), 1)]
