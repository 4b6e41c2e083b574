"""`jobspec diff`: what the change of a project or a repository since a Git ref does."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import replace

from jobspec.diagnostics.results import FileResult
from jobspec.project.comparison import compare
from jobspec.reports.diff import ComparisonView, json_report, markdown_report, text_report
from jobspec.reports.formats import DIFF_FORMATS
from jobspec.session.arguments import declare
from jobspec.session.comparing import of_queues, prices_in, queues_in, sides, tree_at, with_compared
from jobspec.session.comparing_repositories import compared_objects
from jobspec.session.delivery import deliver
from jobspec.session.found import Found
from jobspec.session.options import Option, Options, cluster_option, kind_options, target_option, values_of_charts, with_output_file
from jobspec.session.reading import reader
from jobspec.session.terminal import takes_colour, width_of
from jobspec.session.writing import write_whole


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    add = parser.add_argument
    add("ref", nargs="?", default="HEAD", metavar="REF", help="the commit to compare with, such as `main`; HEAD by default")
    what = "files and folders to compare, such as kustomizations; by default the project here, or else the working folder"
    add("paths", nargs="*", default=[], metavar="PATH", help=what)
    add("--project", default=None, metavar="FILE", help="the project file; jobspec.yaml by default")
    add("--prices", metavar="FILE", help="a price list, to show what jobs cost at most")
    add("--exit-code", action="store_true", help="exit with 1 if the rendered output changed")
    options = [
        Option("--queues", metavar="PATH", repeatable=True, what="files of Kueue's queues, to show what a change does there"),
        Option("--helm", metavar="CHART", repeatable=True, what="a Helm chart to render on both sides"),
        Option("--values", metavar="FILE", repeatable=True, what="a values file for the charts of --helm"),
        *values_of_charts(),
        target_option("releases that a repository without a project is judged by; a project names its own"),
        *kind_options(),
        cluster_option(),
        Option(
            "--output",
            "-o",
            dest="report_format",
            choices=DIFF_FORMATS,
            into_files=True,
            what="output format; FORMAT=FILE writes it to a file",
        ),
        Option("--output-file", metavar="FILE", what="write the report to this file"),
    ]
    declare(parser, options)


def run(options: Options) -> int:
    """Compare the sources at a Git ref with those of the working tree; 1 where a project has an error.

    With `--exit-code`, 1 also where they differ.
    """
    options = with_compared(with_output_file(options, options.report_format))
    return _of_repository(options) if options.paths or options.helm else _of_project(options)


def _of_repository(options: Options) -> int:
    """Compare the objects of a repository as it is."""
    listed = prices_in(options.prices) if options.prices is not None else None
    if isinstance(listed, FileResult):
        _deliver_problems(options, [listed], {}, [])
        return 1
    view = compared_objects(options, listed)
    _deliver(options, view)
    return 1 if options.exit_code and view.comparison.differs else 0


def _of_project(options: Options) -> int:
    """Compare the variants of a project."""
    ref = options.ref
    then, before, after = sides(options)
    listed = prices_in(options.prices) if options.prices is not None else None
    if before.state is None or after.state is None or isinstance(listed, FileResult):
        wrong = [each for side in (before, after) if side.state is None for each in side.results]
        wrong += [listed] if isinstance(listed, FileResult) else []
        _deliver_problems(options, wrong, after.releases, [*before.read, *after.read])
        return 1
    queues = queues_in(options) if options.queues else None
    comparison = compare(before.state, after.state, committed=tree_at(then, before.state, after.state), queues=queues)
    if queues:
        comparison = replace(comparison, notes=[*comparison.notes, *of_queues(comparison, before.state, after.state, queues)])
    _deliver(options, ComparisonView(comparison, ref=ref, commit=then.commit, releases=after.releases, prices=listed))
    return 1 if options.exit_code and comparison.differs else 0


def _deliver(options: Options, view: ComparisonView) -> None:
    if options.output == "text" and options.output_file is None:
        sys.stdout.write(text_report(view, colour=takes_colour(sys.stdout), width=width_of(sys.stdout)))
        return
    if options.output == "html":
        from jobspec.reports.page import change_report

        text = change_report(view)
    else:
        text = {"text": text_report, "markdown": markdown_report, "json": json_report}[options.output](view)
    if options.output_file is not None:
        write_whole(options.output_file, text)
    else:
        sys.stdout.write(text)


def _deliver_problems(options: Options, wrong: Sequence[FileResult], releases: dict[str, str], read: Sequence[Found]) -> None:
    """Report what is wrong with the sources, of the ref too: as text on standard error, in JSON on standard output."""
    if options.output == "json":
        deliver(wrong, releases, options, sys.stdout, read=reader(read))
    else:
        deliver(wrong, releases, Options(), sys.stderr, read=reader(read))
