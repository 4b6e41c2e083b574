"""The formats of a report, and JSON among them; the module of another format is loaded when it is used."""

from __future__ import annotations

from jobspec.diagnostics.coverage import coverage, coverage_lines, summary
from jobspec.diagnostics.results import FileResult, by_cause_of_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from jobspec.reports.text import ReadText


#: For people, programs, CI servers, code scanning, annotations of a pull request on GitHub, GitLab's widget, and a job's summary.
FORMATS = ("text", "concise", "json", "junit", "sarif", "github", "codequality", "markdown")
#: The formats whose paths begin at the root of the repository.
FROM_ROOT = ("github", "sarif", "codequality")
#: Those of `jobspec diff`: for people, for the comment of a pull request, for programs, a page.
DIFF_FORMATS = ("text", "markdown", "json", "html")


_FOR_PEOPLE = ("text", "concise")


def _unreadable(_: str) -> str:
    return ""


def report(
    files: Sequence[FileResult],
    releases: Mapping[str, str],
    output: str = "text",
    *,
    read: ReadText = _unreadable,
    colour: bool = False,
    links: bool = False,
    width: int = 100,
    fixable: bool = False,
    statistics: bool = False,
    folder: str = "",
) -> str:
    """Write the report of a run in a format: one finding for each cause, with further places.

    *read*, *colour* and *width* are for excerpts of files in `text`. *links*: rules are links to their pages. *fixable*: mark, for
    people, what `--fix` can fix. *statistics*: for people, write the number of findings of each rule in place of the findings. *folder*:
    the working folder in its repository, for formats whose paths begin at the repository's root.
    """
    files = by_cause_of_all(files, for_people=output in _FOR_PEOPLE)
    if output not in _FOR_PEOPLE:
        return _format(output, folder)(files, releases)
    lines: list[str] = []
    if any(each.diagnostics for each in files):
        from jobspec.reports import text

        if statistics:
            lines = text.statistics_lines(files, fixable=fixable, colour=colour)
        elif output == "concise":
            lines = text.concise_lines(files, fixable=fixable, colour=colour, links=links)
        else:
            lines = text.diagnostic_lines(files, read, fixable=fixable, colour=colour, links=links, width=width)
    whole = [coverage(files, releases, fixable=fixable)] if output == "concise" else coverage_lines(files, releases, fixable=fixable)
    *reasons, last = whole
    return "\n".join([*lines, *reasons, f"\x1b[1m{last}\x1b[0m" if colour else last, ""])


def _format(output: str, folder: str) -> Callable[[Sequence[FileResult], Mapping[str, str]], str]:
    if output == "json":
        return json_report
    from jobspec.reports import ci

    if output in FROM_ROOT:
        by_root = {"github": ci.github_report, "sarif": ci.sarif_report, "codequality": ci.codequality_report}[output]
        return lambda files, releases: by_root(files, releases, folder)
    return {"junit": ci.junit_report, "markdown": ci.markdown_report}[output]


# A report as one JSON object.


def json_report(files: Sequence[FileResult], releases: Mapping[str, str]) -> str:
    """Write all files with their documents and diagnostics, the target, and the counts as JSON."""
    reported = [
        {
            "path": each.path,
            "valid": each.valid,
            "documents": [document.as_dict() for document in each.documents],
            "diagnostics": [diagnostic.as_dict() for diagnostic in each.diagnostics],
        }
        for each in files
    ]
    from json import dumps

    return dumps({"files": reported, "target": releases, "summary": summary(files)}, indent=2, ensure_ascii=False) + "\n"
