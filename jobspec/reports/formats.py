"""The formats in which a report is told; the module of each is loaded when it is asked for."""

from __future__ import annotations

from jobspec.results import coverage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.reports.excerpt import ReadText
    from jobspec.results import FileResult
    from jobspec.targets import Target

#: The formats of a report: for people, for programs, for CI servers, for code scanning, and as annotations of a pull request on GitHub.
FORMATS = ("text", "json", "junit", "sarif", "github")


def _unreadable(_: str) -> str:
    return ""


def report(
    files: Sequence[FileResult],
    target: Target,
    output: str = "text",
    *,
    read: ReadText = _unreadable,
    colour: bool = False,
    width: int = 100,
) -> str:
    """The report of a run in one of the formats.

    Text alone has *colour*, and excerpts of the files that *read* gives, in *width* columns.
    """
    if output != "text":
        from importlib import import_module

        text: str = import_module(f"jobspec.reports.{output}").report(files, target)
        return text
    lines: list[str] = []
    if any(each.diagnostics for each in files):
        from jobspec.reports.text import diagnostics

        lines = diagnostics(files, read, colour=colour, width=width)
    last = coverage(files, target)
    return "\n".join([*lines, f"\x1b[1m{last}\x1b[0m" if colour else last, ""])
