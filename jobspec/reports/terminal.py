"""Show lines on a terminal: in its columns and colours, that of a diagnostic with carets below the place, others cut to a width."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics.places import Mark


BOLD, DIM = "1", "2"
COLOURS = {"error": "1;31", "warning": "1;33", "info": "1;34"}


def paint(text: str, code: str, *, colour: bool) -> str:
    """Paint a text in a colour of the terminal, by its code.

    Without *colour* or a code, the text is unchanged.
    """
    return f"\x1b[{code}m{text}\x1b[0m" if colour and code and text else text


_TAB = "    "
_UNSEEN = "\ufffd"
_OTHER_BREAKS = "\x85\u2028\u2029"  # line breaks in YAML 1.1 only: no line is better than a wrong one


def source_lines(text: str) -> list[str]:
    """The lines of a file."""
    if any(other in text for other in _OTHER_BREAKS):
        return []
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def excerpt(line: str, mark: Mark, *, width: int) -> tuple[str, str]:
    """Return a line and the carets below it.

    If the line is wider than *width* columns, it is cut around the mark.
    """
    start = mark.column - 1
    end = max(mark.end_column - 1 if mark.end_line == mark.line else len(line), start + 1)
    if len(line) < width and end < 4 * width and line.isascii() and line.isprintable():  # a column for each character
        return line.rstrip(), (" " * start + "^" * (min(end, len(line)) - start) if start < len(line) else " " * len(line) + "^")
    first = max(start - width // 3, 0) if _is_wide(line, end, width) else 0
    shown = "…" if first else ""
    carets = " " * len(shown)
    if line.isascii() and line.isprintable():  # a column for each character
        room, rest = width - len(shown), line[first:]
        text = rest if len(rest) <= room else rest[: room - 1]
        under = " " * (start - first) + "^" * (end - max(start, first)) + " " * len(text)
        shown += text if len(text) == len(rest) else f"{text}…"
        carets = f"{carets}{under[: len(text)]}{'^' if start >= len(line) else ''}"
        return shown.rstrip(), carets.rstrip()
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
    """True if a line up to an index fills *width* columns.

    Very long lines are not measured character by character.
    """
    if line.isascii() and line.isprintable():
        return min(end, len(line)) >= width or end >= 4 * width
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


def wrapped(text: str, width: int, indent: str = "", *, first: str | None = None) -> list[str]:
    """Break a text between words. *first*: the start of the first line, instead of *indent*."""
    from textwrap import wrap

    start = indent if first is None else first
    return wrap(text, width, initial_indent=start, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def columns(text: str) -> int:
    """Return the width of a line in columns of a terminal."""
    return len(text) if text.isascii() else sum(_cells(each)[1] for each in text)


def cut(text: str, width: int | None) -> str:
    """Cut a line to *width* columns. A cut line ends in `…`. If *width* is None, do not cut."""
    if width is None or columns(text) <= width:
        return text
    kept = text[: max(width, 0)]
    while columns(kept) > width - 1 and kept:
        kept = kept[:-1]
    return f"{kept}…" if width > 0 else ""
