"""Diagnostics as text for people: place, message, the line itself, and hint."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from jobspec.diagnostics.wording import shortened
from jobspec.reports.places import message_of
from jobspec.reports.printable import visible
from jobspec.reports.terminal import BOLD, COLOURS, DIM, excerpt, paint, source_lines

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
_FIXABLE = " [*]"  # as ruff marks what `--fix` fixes
_SHOWN = 8  # further places of a finding
_FILES = 16  # whose lines are kept: the findings of one file come together


def diagnostic_lines(files: Iterable[FileResult], read: ReadText, *, fixable: bool, colour: bool, links: bool, width: int) -> list[str]:
    """Return the lines of all findings, with excerpts of files in *width* columns.

    *fixable*: mark findings that `--fix` can fix by `[*]`.
    """
    lines_in = lru_cache(maxsize=_FILES)(lambda file: source_lines(read(file)))
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


#: Where the site of `docs/` is published, with `/` at the end. Empty until it is: nothing links to a page that is not there.
SITE = ""


def page_of(rule: str) -> str:
    """Return the URL of a rule's page. If no site is published, return an empty string.

    `jobspec explain` has the page in any case.
    """
    return f"{SITE}rules/{rule}/" if SITE else ""
