"""The formats of a report; the module of a format is loaded when it is used."""

from __future__ import annotations

from jobspec.results import coverage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobspec.reports.excerpt import ReadText
    from jobspec.results import FileResult

#: For people, programs, CI servers, code scanning, and annotations of a pull request on GitHub.
FORMATS = ("text", "json", "junit", "sarif", "github")

#: Those of `jobspec migrate`, with one for a pull request's text.
MIGRATION_FORMATS = (*FORMATS, "markdown")

#: Those of `jobspec diff`: for people, for the comment of a pull request, for programs.
DIFF_FORMATS = ("text", "markdown", "json")


def _unreadable(_: str) -> str:
    return ""


def report(
    files: Sequence[FileResult],
    releases: Mapping[str, str],
    output: str = "text",
    *,
    read: ReadText = _unreadable,
    colour: bool = False,
    width: int = 100,
) -> str:
    """The report of a run in one of the formats; *read*, *colour* and *width* are for excerpts of files in `text`."""
    if output != "text":
        from importlib import import_module

        text: str = import_module(f"jobspec.reports.{output}").report(files, releases)
        return text
    lines: list[str] = []
    if any(each.diagnostics for each in files):
        from jobspec.reports.text import diagnostic_lines

        lines = diagnostic_lines(files, read, colour=colour, width=width)
    last = coverage(files, releases)
    return "\n".join([*lines, f"\x1b[1m{last}\x1b[0m" if colour else last, ""])
