"""The text of a `v1` List in which some items are replaced by others, in the form in which its items are written."""

from __future__ import annotations

import re

from jobspec.documents.comments import placed_comments
from jobspec.documents.writer import write
from jobspec.migration.comments import with_comments
from jobspec.migration.json_style import JsonStyle
from jobspec.migration.list_items import items_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.migration.list_items import WrittenValue

_DASH_ALONE = re.compile(r"^( *)-[ \t]*(?:#.*)?\r?$", re.MULTILINE)
_ONLY_A_COMMENT = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?=\r?\n|$)")


class _Context:
    """A text with a List."""

    __slots__ = ("first_line", "lines", "text")

    def __init__(self, text: str, first_line: int, lines: Sequence[str]) -> None:
        self.text = text
        self.first_line = first_line
        """How many lines of its file stand before it."""
        self.lines = lines
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
