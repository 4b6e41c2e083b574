"""Lists and comments in migrated text: the items of a `v1` List that are replaced, and comments at the values they were written for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from json import dumps
from typing import Any

from jobspec.diagnostics import Marks
from jobspec.documents.comments import Comment, placed_comments
from jobspec.documents.libyaml import AliasEvent, CParser, MappingStartEvent, SequenceStartEvent, events
from jobspec.documents.reader import read
from jobspec.documents.writer import write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.documents.marked_tree import MarkedTree


class WrittenValue:
    """A value as it is written, from its first character, or that of its anchor, to its last one; and the values inside."""

    __slots__ = ("anchor", "children", "end", "in_flow", "is_alias", "start", "text")

    def __init__(self, event: Any, children: Sequence[WrittenValue], end: int) -> None:
        self.start: int = event.start_mark.index
        self.end = end
        self.children = children
        """The items of a list; of a mapping its keys and values by turns."""
        self.anchor: str | None = event.anchor
        self.is_alias = isinstance(event, AliasEvent)
        self.in_flow = bool(getattr(event, "flow_style", False))
        """Whether it is written in brackets or braces, as in JSON."""
        self.text: str = getattr(event, "value", "")
        """The text of a scalar."""


class Items:
    """The items of a List in a text."""

    __slots__ = ("in_flow", "items", "users")

    def __init__(self, root: WrittenValue) -> None:
        values = dict(zip((each.text for each in root.children[::2]), root.children[1::2], strict=True))
        found = values.get("items", root)
        self.items = [] if found is root else list(found.children)
        """Empty where the list itself stands elsewhere, and has an alias here."""
        self.in_flow = found.in_flow
        """Whether the list is written in brackets."""
        self.users = list(_users(root, self.items))
        """For each alias of an anchor in an item: the number of that item, and of the one with the alias; None outside of all."""


def items_in(piece: str) -> Items:
    """The items of the List in a piece of text that has been read before."""
    parser = CParser(piece)
    event = parser.get_event()
    while not isinstance(event, MappingStartEvent):
        event = parser.get_event()
    return Items(_written(parser, event, piece))


def _written(parser: Any, event: Any, piece: str) -> WrittenValue:
    if not isinstance(event, MappingStartEvent | SequenceStartEvent):
        end = event.end_mark.index
        is_block = getattr(event, "style", None) in ("|", ">")
        return WrittenValue(event, (), len(piece[:end].rstrip(" \r\n")) if is_block else end)
    children = []
    while not isinstance(inner := parser.get_event(), events.MappingEndEvent | events.SequenceEndEvent):
        children.append(_written(parser, inner, piece))
    last = inner.end_mark.index if event.flow_style or not children else children[-1].end
    return WrittenValue(event, children, last)


def _users(root: WrittenValue, items: Sequence[WrittenValue]) -> Iterator[tuple[int, int | None]]:
    number_of = {id(inner): number for number, each in enumerate(items) for inner in _all(each)}
    owners: dict[str | None, int | None] = {}
    for each in _all(root):
        number = number_of.get(id(each))
        if not each.is_alias:
            owners |= {each.anchor: number} if each.anchor else {}
        elif (owner := owners.get(each.anchor)) not in (None, number):
            assert owner is not None
            yield owner, number


def _all(written: WrittenValue) -> Iterator[WrittenValue]:
    yield written
    for each in written.children:
        yield from _all(each)


# The text of a `v1` List in which some items are replaced by others, in the form in which its items are written.


_DASH_ALONE = re.compile(r"^( *)-[ \t]*(?:#.*)?\r?$", re.MULTILINE)
_ONLY_A_COMMENT = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?=\r?\n|$)")


@dataclass(frozen=True, slots=True)
class _Context:
    """A text with a List."""

    text: str
    first_line: int
    """How many lines of its file stand before it."""
    lines: Sequence[str]
    """Those of the file."""

    def before(self, at: int) -> str:
        """What stands before a place in its line."""
        return self.text[self.text.rfind("\n", 0, at) + 1 : at]


def with_items(text: str, first_line: int, new: Mapping[int, Sequence[MarkedTree]], lines: Sequence[str], *, newline: str) -> str:
    """A piece of a file with some items replaced. *lines*: those of the file, of which *first_line* stand before the piece."""
    context = _Context(text, first_line, lines)
    found = items_in(text)
    for number in sorted(new, reverse=True):
        item = found.items[number]
        end, made = (_in_flow if found.in_flow else _in_block)(context, item, new[number])
        text = text[: item.start] + made.replace("\n", newline) + text[end:]
    return text


def _in_block(context: _Context, item: WrittenValue, trees: Sequence[MarkedTree]) -> tuple[int, str]:
    """Where an item behind a dash ends, with the comment behind it, and its new text."""
    rest = _ONLY_A_COMMENT.match(context.text, item.end)
    end = rest.end() if rest else item.end
    texts, below = _texts(context, item.start, end, trees, None)
    texts[-1] += "".join(f"{each}\n" for each in below)
    before = context.before(item.start)
    dash = len(before) - len(before.lstrip()) if before.strip() else len(_DASH_ALONE.findall(context.text[: item.start])[-1])
    column = len(before)
    gap = " " * (column - dash - 1)
    return end, f"\n{' ' * dash}-{gap}".join(_set_in(each, " " * column) for each in texts)


def _in_flow(context: _Context, item: WrittenValue, trees: Sequence[MarkedTree]) -> tuple[int, str]:
    """The same of an item in brackets."""
    style = JsonStyle(context.text, item.start, item.end)
    texts, below = _texts(context, item.start, item.end, trees, style)
    if below:
        lines = texts[-1].splitlines()
        texts[-1] = "\n".join([*lines[:-1], *(f"{style.indent}{each}" for each in below), lines[-1]])
    starts_line = not context.before(item.start).strip()
    between = f",\n{style.margin}" if starts_line else ", "
    return item.end, between.join(_set_in(each, style.margin) for each in texts)


def _texts(context: _Context, start: int, end: int, trees: Sequence[MarkedTree], style: JsonStyle | None) -> tuple[list[str], list[str]]:
    """The new texts with the comments of an item, and those below all of them."""
    alone = " " * len(context.before(start)) + context.text[start:end]
    comments = list(placed_comments(alone, context.first_line + context.text.count("\n", 0, start)))
    return with_comments(trees, comments, context.lines, style.write if style else lambda data: write([data]))


def _set_in(text: str, margin: str) -> str:
    """A text whose lines but for the first begin further in."""
    first, *others = text.removesuffix("\n").split("\n")
    return "\n".join([first, *(f"{margin}{line}" if line else line for line in others)])


# How a text in braces is written, as JSON is: in one line or in many, how far its values are set in, and the blanks between them.


_INDENT = "  "
_FIRST_KEY = re.compile(r"\{[^\S\n]*\r?\n([ \t]*)[^\s#]")
_COLON = re.compile(r"[\"\w]:([ \t]*)[\"\w{\[-]")
_COMMA = re.compile(r",([ \t]*)[\"\w{\[-]")


class JsonStyle:
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


def with_comments(
    trees: Sequence[MarkedTree], comments: Sequence[Comment], source: Sequence[str], write: Callable[[Any], str]
) -> tuple[list[str], list[str]]:
    """The texts of manifests, with the comments of the text that they come from; and those comments that stand below all that is kept.

    *source*: the lines of that text's file. *write*: makes the text of data.
    """
    texts = [_lines(tree, write) for tree in trees]
    lines = [line for each in texts for line in each]
    above: dict[int, list[str]] = {}
    behind: dict[int, str] = {}
    last = max(place for _, place in lines)
    for comment in comments:
        if comment.line > last:
            continue
        at = _line_for(comment, lines, source)
        if comment.is_alone or behind.get(at) or lines[at][1] != comment.line or lines[at][0].endswith(("|", "|-", "|+", ">")):
            line = source[comment.line - 1].strip()
            is_gone = not comment.is_alone and lines[at][1] != comment.line
            above.setdefault(at, []).append(f"# {line.removeprefix('- ')}" if is_gone else comment.text)
        else:
            behind[at] = comment.text
    written = []
    number = 0
    for each in texts:
        document = ""
        for text, _ in each:
            indent = text[: len(text) - len(text.lstrip())]
            document += "".join(f"{indent}{line}\n" for line in above.get(number, ()))
            document += f"{text}  {behind[number]}\n" if number in behind else f"{text}\n"
            number += 1
        written.append(document)
    return written, [each.text for each in comments if each.line > last]


def _line_for(comment: Comment, lines: Sequence[tuple[str, int]], source: Sequence[str]) -> int:
    """The number of the new line for a comment: of its own value, else of the next value that is kept."""
    target = min(place for _, place in lines if place >= comment.line)
    key = _key(source[target - 1]) if 0 < target <= len(source) else ""
    at = [number for number, (_, place) in enumerate(lines) if place == target]
    return next((number for number in at if _key(lines[number][0]) == key), at[0])


def _key(line: str) -> str:
    return line.strip().removeprefix("- ").partition(":")[0].strip("\"'")


def _lines(tree: MarkedTree, write: Callable[[Any], str]) -> list[tuple[str, int]]:
    """The lines of a manifest, each with the line of the source that it comes from, 0 for none."""
    text = write(tree.data())
    (document,), problems = read(text, file="")
    assert not problems
    places = dict(reversed(list(_places(tree, document.marks))))
    return [(line, places.get(number, 0)) for number, line in enumerate(text.removesuffix("\n").split("\n"), 1)]


def _places(tree: MarkedTree, written: Marks) -> Iterator[tuple[int, int]]:
    children = written.children
    if written.key or not isinstance(tree.value, (dict, list)):
        yield (written.key or written.mark).line, tree.place().line
    if isinstance(tree.value, dict) and isinstance(children, dict):
        for name, child in tree.value.items():
            yield from _places(child, children[name])
    elif isinstance(tree.value, list) and isinstance(children, list):
        for child, inner in zip(tree.value, children, strict=True):
            yield from _places(child, inner)
