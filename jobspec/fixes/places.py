"""Where values begin and end in YAML text."""

from __future__ import annotations

from jobspec.documents.text import is_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.documents.document import Marks

_CLOSING = {"{": "}", "[": "]"}
_BLANK = " \t\r\n"


class Uncuttable(Exception):
    """The value is written in a form that fixes do not edit."""


class TextEdit:
    """A part of a text to be replaced."""

    __slots__ = ("end", "start", "text")

    def __init__(self, start: int, end: int, text: str) -> None:
        self.start = start
        self.end = end
        self.text = text
        """What stands there instead."""


class TextPlaces:
    """A text, and where the values in it begin and end. Its marks are those of the text itself: lines end with LF or CRLF."""

    __slots__ = ("_starts", "is_json", "newline", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.is_json = is_json(text)
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self._starts = [0]
        for line in text.split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def start(self, marks: Marks) -> int:
        """Where an entry begins: at its key, or at the item of a list."""
        mark = marks.key or marks.mark
        return self._starts[mark.line - 1] + mark.column - 1

    def value_start(self, marks: Marks) -> int:
        """Where a value begins, after its tag and anchor."""
        at = self._starts[marks.mark.line - 1] + marks.mark.column - 1
        while self.text[at : at + 1] in ("&", "!"):
            while self.text[at : at + 1].strip():
                at += 1
            at = self.behind_blank(at)
        return at

    def is_flow(self, marks: Marks) -> bool:
        """Whether a mapping or list is written in braces or brackets."""
        return marks.children is not None and self.text[self.value_start(marks)] in _CLOSING

    def end(self, marks: Marks) -> int:
        """Where a value ends."""
        children, start = marks.children, self.value_start(marks)
        if children is None:
            end = self._starts[marks.mark.end_line - 1] + marks.mark.end_column - 1
            return self.before_blank(end, " \r\n") if self.text[start : start + 1] in ("|", ">") else max(end, start)
        inside = [self.end(child) for child in (children.values() if isinstance(children, dict) else children)]
        if not self.is_flow(marks):
            return max(inside)
        return self._closing(_CLOSING[self.text[start]], max(inside, default=start + 1))

    def _closing(self, bracket: str, at: int) -> int:
        """The end of a flow collection: behind the bracket that follows the last value, and perhaps a comma and comments."""
        while self.text[at] != bracket:
            if self.text[at] == "#":
                at = self.text.index("\n", at)
            elif self.text[at] not in ", \t\r\n":
                raise Uncuttable
            at += 1
        return at + 1

    def key(self, marks: Marks) -> tuple[int, int]:
        """Where the key of a value begins and ends. Raises Uncuttable for a key of several lines."""
        assert marks.key
        if marks.key.line != marks.key.end_line:
            raise Uncuttable
        start = self.start(marks)
        return start, start + marks.key.end_column - marks.key.column

    def end_of_key(self, marks: Marks) -> int:
        """The place behind the colon of a key. Raises Uncuttable."""
        at = self.behind_blank(self.key(marks)[1], " ")
        if self.text[at : at + 1] != ":":
            raise Uncuttable
        return at + 1

    def behind_blank(self, at: int, blank: str = _BLANK) -> int:
        """The first place from here on that is not *blank*."""
        while at < len(self.text) and self.text[at] in blank:
            at += 1
        return at

    def before_blank(self, at: int, blank: str = _BLANK) -> int:
        """The place behind the last character before this one that is not *blank*."""
        while at and self.text[at - 1] in blank:
            at -= 1
        return at

    def start_of_line(self, at: int) -> int:
        """The start of the line of a place."""
        return self.text.rfind("\n", 0, at) + 1

    def behind(self, marks: Marks) -> int:
        """The end of the last line of a value in lines, without CR and LF. Raises Uncuttable."""
        end = self.end_of_line(self.end(marks))
        return end - (self.text[end - 1 : end] == "\r")

    def end_of_line(self, at: int) -> int:
        """The end of the line, without its LF, that only a comment may fill from here on. Raises Uncuttable."""
        end = self.text.find("\n", at)
        end = len(self.text) if end < 0 else end
        rest = self.text[at:end].strip()
        if rest and not rest.startswith("#"):
            raise Uncuttable
        return end
