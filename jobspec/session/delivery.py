"""Write reports to standard output and to files."""

from __future__ import annotations

import os

from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.record import Record
from jobspec.diagnostics.results import FileResult
from jobspec.reports.formats import FROM_ROOT, report
from jobspec.session.terminal import takes_colour, takes_links, width_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, TextIO

    from jobspec.reports.text import ReadText
    from jobspec.session.options import Options


class RunReport(Record):
    """What a run reports."""

    files: Sequence[FileResult]
    fails: bool
    releases: Mapping[str, str]


def deliver(files: Sequence[FileResult], releases: Mapping[str, str], options: Options, stream: TextIO, *, read: ReadText) -> None:
    """Write the reports of a run in the wanted formats, into files or to a *stream*.

    Raises JobspecError if two reports are for the stream.
    """
    wanted = [each.partition("=") for each in options.reports] or [(options.output, "", "")]
    if sum(not path for _, _, path in wanted) > 1:
        raise JobspecError("only one report can go to standard output; write the others as `-o FORMAT=FILE`")
    fixable = options.declares("fix") and not options.overlay
    for output, _, path in wanted:
        file = path or options.output_file
        folder = _in_repository() if output in FROM_ROOT else ""
        looks: dict[str, Any] = {}
        if file is None:
            looks = {"colour": takes_colour(stream), "links": takes_links(stream), "width": width_of(stream)}
        text = report(files, releases, output, read=read, fixable=fixable, statistics=options.statistics, folder=folder, **looks)
        if file is not None:
            from jobspec.session.writing import write_whole

            write_whole(file, text)
        else:
            stream.write(text)


def _in_repository() -> str:
    """The path of the working folder in its repository; empty at the root, and outside of any."""
    from jobspec.session.folders import repository_root

    root, here = repository_root(os.curdir), os.path.abspath(os.curdir)
    return os.path.relpath(here, root) if root not in ("", here) else ""
