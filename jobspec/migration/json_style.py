"""How a text in braces is written, as JSON is: in one line or in many, how far its values are set in, and the blanks between them."""

from __future__ import annotations

import re
from json import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
