"""A report as workflow commands of GitHub Actions, which annotate the lines of a pull request."""

from __future__ import annotations

from jobspec.reports.places import from_here, layer_of
from jobspec.reports.visible import visible
from jobspec.results import coverage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jobspec.diagnostics import Diagnostic
    from jobspec.results import FileResult

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def report(files: Sequence[FileResult], releases: Mapping[str, str]) -> str:
    """A command for each diagnostic, and the coverage line."""
    commands = [_command(diagnostic) for each in files for diagnostic in each.diagnostics]
    return "\n".join([*commands, coverage(files, releases), ""])


def _command(diagnostic: Diagnostic) -> str:
    properties = ",".join(f"{name}={_escape_property(value)}" for name, value in _properties(diagnostic))
    message = _escape("\n".join(_sentences(diagnostic)))
    return f"::{_COMMANDS[diagnostic.severity]} {properties}::{message}"


def _properties(diagnostic: Diagnostic) -> Iterator[tuple[str, str]]:
    mark = diagnostic.mark
    yield "file", visible(from_here(mark.file))
    if mark.line:
        yield "line", str(mark.line)
        if mark.line == mark.end_line:  # GitHub takes columns only within one line
            yield "col", str(mark.column)
        yield "endLine", str(mark.end_line)
        if mark.line == mark.end_line:
            yield "endColumn", str(mark.end_column)
    yield "title", diagnostic.rule


def _sentences(diagnostic: Diagnostic) -> Iterator[str]:
    """The text of the annotation. It ends with the place, since the log of a run shows nothing else."""
    mark = diagnostic.mark
    yield visible(diagnostic.message + layer_of(mark))
    if diagnostic.hint:
        yield f"hint: {visible(diagnostic.hint)}"
    yield visible(f"{mark} {diagnostic.field}".strip())


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
