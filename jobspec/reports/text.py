"""Diagnostics as text for people: place, message, the line itself, and hint; safe to print."""

from __future__ import annotations

import os
from collections import Counter
from functools import lru_cache

from jobspec.diagnostics.wording import shortened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from jobspec.diagnostics.diagnostic import Diagnostic
    from jobspec.diagnostics.places import Mark
    from jobspec.diagnostics.results import FileResult

    #: The text of a file by its name; empty if it cannot be read again.
    ReadText = Callable[[str], str]


_INDENT = "    "
_LEAST_WIDTH = 20  # columns for an excerpt, however narrow the terminal
BOLD, DIM = "1", "2"
_FIXABLE = " [*]"  # as ruff marks what `--fix` fixes
_SHOWN = 8  # further places of a finding
_FILES = 16  # whose lines are kept: the findings of one file come together
COLOURS = {"error": "1;31", "warning": "1;33", "info": "1;34"}


def diagnostic_lines(files: Iterable[FileResult], read: ReadText, *, fixable: bool, colour: bool, links: bool, width: int) -> list[str]:
    """Return the lines of all findings, with excerpts of files in *width* columns.

    *fixable*: mark findings that `--fix` can fix by `[*]`.
    """
    lines_in = lru_cache(maxsize=_FILES)(lambda file: _source_lines(read(file)))
    lines: list[str] = []
    for each in (each for file in files for each in file.diagnostics):
        heading = _heading(each, fixable=fixable, colour=colour, links=links)
        lines += [heading, *_excerpt(each, lines_in, colour=colour, width=width), *_details(each, colour=colour)]
    return lines


def concise_lines(files: Iterable[FileResult], *, fixable: bool, colour: bool, links: bool) -> list[str]:
    """Return one line for each finding."""
    found = (each for file in files for each in file.diagnostics)
    return [_heading(each, and_more(each), fixable=fixable, colour=colour, links=links) for each in found]


def statistics_lines(files: Iterable[FileResult], *, fixable: bool, colour: bool) -> list[str]:
    """Return one line for each rule: its count, severity and name, the most frequent first."""
    found = (diagnostic for each in files for diagnostic in each.diagnostics)
    number = Counter((each.severity, each.rule, fixable and each.has_safe_fix) for each in found)
    rows = sorted(number.items(), key=lambda row: (-row[1], row[0]))
    wide = len(str(rows[0][1]))
    return [
        f"{times:{wide}}  {paint(f'{severity:7}', COLOURS[severity], colour=colour)}  {rule}{_FIXABLE if is_fixable else ''}"
        for (severity, rule, is_fixable), times in rows
    ]


def _listed(places: Sequence[Mark], file: str) -> str:
    """Write the lines and columns of further places.

    If the file is another one than the finding's, it is added.
    """
    return shortened([f"{each.line}:{each.column}" if each.file == file else visible(str(each)) for each in places], _SHOWN)


def and_more(diagnostic: Diagnostic) -> str:
    """Return ` (and 3 more places)`. If there is only one place, return an empty string."""
    number = len(diagnostic.further_places)
    return f" (and {number} more place{'' if number == 1 else 's'})" if number else ""


def lines_of(diagnostic: Diagnostic) -> list[str]:
    """Return the lines of one diagnostic, without colours and excerpt."""
    return [_heading(diagnostic, fixable=False, colour=False, links=False), *_details(diagnostic, colour=False)]


def _heading(diagnostic: Diagnostic, more: str = "", *, fixable: bool, colour: bool, links: bool) -> str:
    """Write `FILE:LINE:COLUMN: severity: message [rule]`, as compilers do.

    The rule is a link to its page.
    """
    place, severity, rule = visible(f"{diagnostic.mark}:"), f"{diagnostic.severity}:", f"[{diagnostic.rule}]"
    if links and (page := page_of(diagnostic.rule)):
        rule = f"\x1b]8;;{page}\x1b\\{rule}\x1b]8;;\x1b\\"
    if colour:
        place, rule = paint(place, BOLD, colour=True), paint(rule, DIM, colour=True)
        severity = paint(severity, COLOURS[diagnostic.severity], colour=True)
    fix = _FIXABLE if fixable and diagnostic.has_safe_fix else ""
    return f"{place} {severity} {visible(message_of(diagnostic))}{more} {rule}{fix}"


def _excerpt(diagnostic: Diagnostic, lines_in: Callable[[str], list[str]], *, colour: bool, width: int) -> list[str]:
    """Return the first line of a diagnostic, and carets below the place.

    If the diagnostic has no line, or the file cannot be read again, return nothing.
    """
    mark = diagnostic.mark
    lines = lines_in(mark.file) if mark.line else []
    line = lines[mark.line - 1] if 0 < mark.line <= len(lines) else ""
    if not line:
        return []
    number = f"{_INDENT}{mark.line} |"
    shown, carets = excerpt(line, mark, width=max(width - len(number) - 1, _LEAST_WIDTH))
    below = f"{'|':>{len(number)}}"
    if colour:
        number, below = paint(number, DIM, colour=True), paint(below, DIM, colour=True)
        indent = carets[: len(carets) - len(carets.lstrip())]
        carets = indent + paint(carets.lstrip(), COLOURS[diagnostic.severity], colour=True)
    return [f"{number} {shown}", f"{below} {carets}"]


def _details(diagnostic: Diagnostic, *, colour: bool) -> list[str]:
    """Return the lines of field, hint and further places."""
    lines = [f"{_INDENT}{paint('field:', DIM, colour=colour)} {visible(diagnostic.field)}"] if diagnostic.field else []
    if diagnostic.hint:
        first, *more = diagnostic.hint.split("\n")
        lines.append(f"{_INDENT}{paint('hint:', DIM, colour=colour)} {visible(first)}")
        lines += [f"{_INDENT}  {visible(line)}" for line in more]
    if diagnostic.related and (places := diagnostic.further_places):
        lines.append(f"{_INDENT}{paint('also:', DIM, colour=colour)} {_listed(places, diagnostic.mark.file)}")
    return lines


def paint(text: str, code: str, *, colour: bool) -> str:
    """Paint a text in a colour of the terminal, by its code.

    Without *colour* or a code, the text is unchanged.
    """
    return f"\x1b[{code}m{text}\x1b[0m" if colour and code and text else text


# Show lines in the columns of a terminal: that of a diagnostic, with carets below the place, and others cut to a width.


_TAB = "    "
_UNSEEN = "\ufffd"
_OTHER_BREAKS = "\x85\u2028\u2029"  # line breaks in YAML 1.1 only: no line is better than a wrong one


def _source_lines(text: str) -> list[str]:
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


# Make text from files and paths safe to print: escape control characters and everything else that cannot be seen.


def in_one_line(text: str) -> str:
    """Join the lines of a hint, whose YAML means the same on one line."""
    return " ".join(line.strip() for line in text.split("\n")) if "\n" in text else text


def visible(text: str) -> str:
    """Write a text as one line, with escapes for line breaks and invisible characters.

    Control characters are escaped, too. Bytes of a path that are not UTF-8, which Python stores as lone surrogates, are printed
    unchanged.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or "\udc80" <= each <= "\udcff" else _escape(each) for each in text)


def clean(text: str) -> str:
    """Write the visible text in strict UTF-8, as XML and SARIF need it.

    Bytes of a path that are not UTF-8 are replaced.
    """
    return visible(text).encode(errors="surrogateescape").decode(errors="replace")


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


#: Where the site of `docs/` is published, with `/` at the end. Empty until it is: nothing links to a page that is not there.
SITE = ""


def page_of(rule: str) -> str:
    """Return the URL of a rule's page. If no site is published, return an empty string.

    `jobspec explain` has the page in any case.
    """
    return f"{SITE}rules/{rule}/" if SITE else ""


# Places in reports: paths for reports that are read elsewhere, such as by a code scanning service, and the names of overlays.


def from_here(path: str) -> str:
    """Return a path relative to the working folder, mostly the repository's root.

    If the file is outside of the folder, the path is unchanged.
    """
    relative = os.path.relpath(path)
    return path if relative.split(os.sep, 1)[0] == os.pardir else relative


def layer_of(mark: Mark, *, others: int = 0) -> str:
    """Return ` (overlay NAME)` or ` (variant NAME)` for a place in a layer.

    If the place names the layer already, return an empty string. *others*: how many further layers there are.
    """
    more = f" and {others} more" if others else ""
    return f" ({mark.layer_kind} {mark.layer}{more})" if mark.layer and mark.file != f"overlay {mark.layer}" else ""


def message_of(diagnostic: Diagnostic) -> str:
    """Return the message, with the overlay, the variants or the builds of the diagnostic."""
    mark = diagnostic.mark
    if not (mark.layer or diagnostic.is_of_some_builds):
        return diagnostic.message
    layers = {each.mark.layer for each in diagnostic.related if str(each.mark) == str(mark)}
    builds = f" ({diagnostic.build_words})" if diagnostic.is_of_some_builds else ""
    return diagnostic.message + layer_of(mark, others=len(layers - {mark.layer})) + builds
