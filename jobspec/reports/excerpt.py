"""Show lines in the columns of a terminal: that of a diagnostic, with carets below the place, and others cut to a width."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from jobspec.diagnostics import Mark

    #: The text of a file by its name; empty if it cannot be read again.
    ReadText = Callable[[str], str]

_TAB = "    "
_UNSEEN = "\ufffd"
_OTHER_BREAKS = "\x85\u2028\u2029"  # line breaks in YAML 1.1 only: no line is better than a wrong one


class FileLines:
    """The lines of files; a file is read when its first line is asked for."""

    def __init__(self, read: ReadText) -> None:
        self._read = read
        self._lines: dict[str, list[str]] = {}

    def line(self, mark: Mark) -> str:
        """The line in which a mark begins; empty if the mark has no line, or the file cannot be read again."""
        if not mark.line:
            return ""
        if mark.file not in self._lines:
            self._lines[mark.file] = _lines(self._read(mark.file))
        lines = self._lines[mark.file]
        return lines[mark.line - 1] if mark.line <= len(lines) else ""


def _lines(text: str) -> list[str]:
    if any(other in text for other in _OTHER_BREAKS):
        return []
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def excerpt(line: str, mark: Mark, *, width: int) -> tuple[str, str]:
    """A line, cut around the mark if it is wider than *width* columns, and the carets below it."""
    start = mark.column - 1
    end = max(mark.end_column - 1 if mark.end_line == mark.line else len(line), start + 1)
    first = max(start - width // 3, 0) if _is_wide(line, end, width) else 0
    shown = "…" if first else ""
    carets = " " * len(shown)
    for number in range(first, len(line)):
        text, columns = _cells(line[number])
        room = width - len(carets)
        if columns > room or (columns == room and number + 1 < len(line)):
            shown += "…"
            break
        shown += text
        carets += ("^" if start <= number < end else " ") * columns
    if start >= len(line):
        carets += "^"
    return shown.rstrip(), carets.rstrip()


def _is_wide(line: str, end: int, width: int) -> bool:
    """Whether a line up to an index fills *width* columns; very long lines are not measured character by character."""
    return end >= 4 * width or sum(_cells(character)[1] for character in line[:end]) >= width


def _cells(character: str) -> tuple[str, int]:
    """The text that is shown for a character, and its width in columns."""
    if " " <= character <= "~":
        return character, 1
    if character == "\t":
        return _TAB, len(_TAB)
    from unicodedata import category, east_asian_width

    kind = category(character)
    if kind in ("Mn", "Me"):
        return character, 0
    if kind.startswith("C") or kind in ("Zl", "Zp"):
        return _UNSEEN, 1
    return character, 2 if east_asian_width(character) in ("W", "F") else 1


def columns(text: str) -> int:
    """The width of a line in columns of a terminal."""
    return len(text) if text.isascii() else sum(_cells(each)[1] for each in text)


def cut(text: str, width: int | None) -> str:
    """A line of at most *width* columns, which ends in `…` where it is cut; whole without a width."""
    if width is None or columns(text) <= width:
        return text
    kept = text[: max(width, 0)]
    while columns(kept) > width - 1 and kept:
        kept = kept[:-1]
    return f"{kept}…" if width > 0 else ""
