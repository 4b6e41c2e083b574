"""Diagnostics as text for people: place, message, the line itself, and hint."""

from __future__ import annotations

from jobspec.reports.excerpt import FileLines, excerpt
from jobspec.reports.places import layer_of
from jobspec.reports.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jobspec.diagnostics import Diagnostic
    from jobspec.reports.excerpt import ReadText
    from jobspec.results import FileResult

_INDENT = "    "
_LEAST_WIDTH = 20  # columns for an excerpt, however narrow the terminal

_BOLD, _DIM = "1", "2"
_COLOURS = {"error": "1;31", "warning": "1;33", "info": "1;34"}


def diagnostic_lines(files: Iterable[FileResult], read: ReadText, *, colour: bool, width: int) -> list[str]:
    """The lines of all diagnostics, with excerpts that fit into *width* columns."""
    sources = FileLines(read)
    lines: list[str] = []
    for diagnostic in (diagnostic for each in files for diagnostic in each.diagnostics):
        lines += [_heading(diagnostic, colour=colour), *_excerpt(diagnostic, sources, colour=colour, width=width)]
        lines += _details(diagnostic, colour=colour)
    return lines


def lines_of(diagnostic: Diagnostic) -> list[str]:
    """The lines of one diagnostic, without colours and excerpt."""
    return [_heading(diagnostic, colour=False), *_details(diagnostic, colour=False)]


def _heading(diagnostic: Diagnostic, *, colour: bool) -> str:
    """`FILE:LINE:COLUMN: severity: message [rule]`, as compilers write it."""
    mark = diagnostic.mark
    place = paint(visible(f"{mark}:"), _BOLD, colour=colour)
    severity = paint(f"{diagnostic.severity}:", _COLOURS[diagnostic.severity], colour=colour)
    return f"{place} {severity} {visible(diagnostic.message + layer_of(mark))} {paint(f'[{diagnostic.rule}]', _DIM, colour=colour)}"


def _excerpt(diagnostic: Diagnostic, sources: FileLines, *, colour: bool, width: int) -> Iterator[str]:
    mark = diagnostic.mark
    line = sources.line(mark)
    if line:
        number = f"{_INDENT}{mark.line} |"
        shown, carets = excerpt(line, mark, width=max(width - len(number) - 1, _LEAST_WIDTH))
        yield f"{paint(number, _DIM, colour=colour)} {shown}"
        below = f"{'|':>{len(number)}}"
        yield f"{paint(below, _DIM, colour=colour)} {_paint_carets(carets, _COLOURS[diagnostic.severity], colour=colour)}"


def _paint_carets(carets: str, code: str, *, colour: bool) -> str:
    indent = carets[: len(carets) - len(carets.lstrip())]
    return indent + paint(carets.lstrip(), code, colour=colour)


def _details(diagnostic: Diagnostic, *, colour: bool) -> Iterator[str]:
    for name, text in (("field", diagnostic.field), ("hint", diagnostic.hint)):
        if text:
            yield f"{_INDENT}{paint(f'{name}:', _DIM, colour=colour)} {visible(text)}"


def paint(text: str, code: str, *, colour: bool) -> str:
    """The text in a colour of the terminal, by its code; unchanged without *colour* or a code."""
    return f"\x1b[{code}m{text}\x1b[0m" if colour and code and text else text
