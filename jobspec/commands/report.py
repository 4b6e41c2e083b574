"""`jobspec report`: a page with all variants of a project, or all jobs in files, for whoever reviews them."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence

from jobspec.apis.kinds import PROJECT_FILE
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.results import FileResult
from jobspec.project.capacity import PriceList
from jobspec.project.comparison import compare
from jobspec.reports.diff import ComparisonView
from jobspec.reports.formats import FORMATS
from jobspec.reports.page import PageRow, ReportPage, page_report, page_summary
from jobspec.session.arguments import declare
from jobspec.session.chosen_rules import chosen
from jobspec.session.comparing import prices_in, sides, tree_at
from jobspec.session.comparing_repositories import compared_objects
from jobspec.session.delivery import deliver
from jobspec.session.found import Found
from jobspec.session.inputs import project_among, settings_of
from jobspec.session.judging import Depth
from jobspec.session.options import Option, Options, choice_options, journey_options, kind_options, repository_options
from jobspec.session.page_rows import rows_of_jobs, rows_of_variants
from jobspec.session.project import Plan
from jobspec.session.reading import reader
from jobspec.session.terminal import is_terminal
from jobspec.session.verdict import chosen_results, context_for, results_of
from jobspec.session.writing import write_whole


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    what = "manifests, folders or a project; a commit such as `main` shows what changes against it; without a path, the project here"
    parser.add_argument("paths", nargs="*", metavar="PATH|REF", help=what)
    options = [
        Option("--output", "-o", dest="page", metavar="FILE", what="the page, also as html=FILE; standard output by default"),
        Option("--prices", metavar="FILE", what="a price list, to show what jobs cost at most"),
        *journey_options(),
        *repository_options(),
        *kind_options(),
        *(each for each in choice_options() if each.dest not in ("write_baseline", "contract")),
    ]
    declare(parser, options, paths="[PATH|REF ...]")


def run(options: Options) -> int:
    """Write the page; 1 where an error was found, as `lint` says."""
    options = options.changed(page=_file_of(options.page))
    if options.page is None and is_terminal(sys.stdout):
        raise JobspecError("the page is HTML: write it to a file with `-o page.html`")
    paths, ref = _paths_and_ref(options.paths)
    options = options.changed(paths=paths, write_baseline=None, contract=(), fix=False, diff=False)
    listed = prices_in(options.prices) if options.prices is not None else None
    if isinstance(listed, FileResult):
        deliver([listed], {}, Options(), sys.stderr, read=reader([Found(listed.path, named=True)]))
        return 1
    project = project_among(paths) if paths or os.path.isfile(PROJECT_FILE) else None
    view, obstacle = _change(options, ref, project, listed) if ref is not None else (None, "")
    settings = settings_of(options)
    is_chosen = chosen(settings)
    rows: list[PageRow] = []

    def judge_variants(planned: Plan) -> list[FileResult]:
        """Return the results of the variants of a planned project, which become rows."""
        made = rows_of_variants(planned, is_chosen) if planned.valid else []
        rows.extend(made)
        return [FileResult(planned.files.project.path, (), each.findings) for each in made]

    context, depth = context_for(options, settings), Depth(chosen=is_chosen, judge_variants=judge_variants)
    results = results_of(options, context, settings, depth)
    files, fails = chosen_results(results, options, settings, depth)
    rows = [*rows_of_jobs(results.judged, results.linted, context.cluster), *rows]
    title = _title(project, paths)
    releases = view.releases if view else context.cluster.releases
    noun = "variant" if project else "job"
    page = ReportPage(title, rows, [*context.remarks, *files], noun=noun, releases=releases, prices=listed, view=view, obstacle=obstacle)
    text = page_report(page, reader(results.read))
    if options.page is None:
        sys.stdout.write(text)
    else:
        write_whole(options.page, text)
        sys.stdout.write(f"{options.page}: {page_summary(page)}\n")
    return 1 if fails else 0


def _paths_and_ref(given: Sequence[str]) -> tuple[list[str], str | None]:
    """The arguments that are paths, and the one that is a Git ref. Raises JobspecError for two refs."""
    paths = [each for each in given if each == "-" or os.path.lexists(each)]
    others = [each for each in given if each not in paths]
    if len(others) > 1:
        raise JobspecError("\n".join(f"{each}: no such file or folder" for each in others))
    return paths, others[0] if others else None


def _file_of(page: str | None) -> str | None:
    """The file of a page, which `-o html=FILE` names as `lint` does; None for standard output.

    Raises JobspecError for a format of other commands, which is not the name of a file.
    """
    form, _, file = (page or "").partition("=")
    if form in FORMATS:
        name = f"{os.path.splitext(file)[0] or 'report'}.html"
        raise JobspecError(f"-o {page}: the page is HTML: write `-o {name}`; `jobspec lint -o {page}` writes findings in this format")
    return None if page in (None, "html", "html=") else str(page).removeprefix("html=")


def _title(project: str | None, paths: Sequence[str]) -> str:
    """The title of a page: the repository, if the page is about the project or the folder here, and what it shows otherwise."""
    if project == PROJECT_FILE or not paths:
        return _shown_path(os.curdir)
    return project or ", ".join(map(_shown_path, paths[:3]))


def _shown_path(path: str) -> str:
    """A path, or the name of the folder where it is that of the working folder or one above."""
    return os.path.basename(os.path.abspath(path)) if set(os.path.normpath(path)) <= {".", os.sep} else path


def _change(options: Options, ref: str, project: str | None, prices: PriceList | None) -> tuple[ComparisonView | None, str]:
    """The changes against a ref, or why they are unknown. Raises JobspecError for an invalid ref."""
    if project is None:
        return _change_of_repository(options, ref, prices), ""
    asked = options.changed(project=project, ref=ref)
    try:
        then, before, after = sides(asked)
    except JobspecError as error:
        raise JobspecError(f"{ref}: no such file or folder; {error}") from None
    if before.state is None or after.state is None:
        wrong = [each for side in (before, after) if side.state is None for result in side.results for each in result.diagnostics]
        first = next(each for each in wrong if each.severity == "error")
        return None, f"No comparison with {ref}: {first.mark}: {first.message}"
    comparison = compare(before.state, after.state, committed=tree_at(then, before.state, after.state))
    return ComparisonView(comparison, ref=ref, commit=then.commit, releases=after.releases, prices=prices), ""


def _change_of_repository(options: Options, ref: str, prices: PriceList | None) -> ComparisonView:
    """The changes of a repository as it is. Raises JobspecError for an invalid ref."""
    try:
        return compared_objects(options.changed(ref=ref, paths=options.paths or [os.curdir]), prices)
    except JobspecError as error:
        raise JobspecError(f"{ref}: no such file or folder; {error}") from None
