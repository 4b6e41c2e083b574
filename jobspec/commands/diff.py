"""`jobspec diff`: what the change of a project since a Git ref does."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from jobspec.cluster import Cluster
from jobspec.commands.files import Found, content_of, reader
from jobspec.commands.options import Option, Options, cluster_option, declare, kind_options
from jobspec.commands.output import deliver, takes_colour, width_of, write_whole
from jobspec.commands.project import FilesAround, judged, plan, result_of
from jobspec.commands.trees import FilesAtRef, ProjectFiles
from jobspec.diagnostics import FileResult, JobspecError, lines_of
from jobspec.kinds import PRICES
from jobspec.pipeline import Source
from jobspec.project.capacity import PriceList
from jobspec.project.comparison import Comparison, ProjectState, compare
from jobspec.project.project import only_document
from jobspec.project.rendering import render_variant
from jobspec.project.tree import EngineTree, tree_of
from jobspec.reports.diff import ComparisonView, json_report, markdown_report, text_report
from jobspec.reports.formats import DIFF_FORMATS
from jobspec.workloads import is_workload


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    add = parser.add_argument
    add("ref", nargs="?", default="HEAD", metavar="REF", help="the commit to compare with, such as `main`; HEAD by default")
    add("--project", default="jobspec.yaml", metavar="FILE", help="the project file; jobspec.yaml by default")
    add("--prices", metavar="FILE", help="a price list, to show what jobs cost at most")
    add("--exit-code", action="store_true", help="exit with 1 if the rendered output changed")
    options = [
        Option("--queues", metavar="PATH", repeatable=True, what="files of Kueue's queues, to show what a change does there"),
        *kind_options(),
        cluster_option(),
        Option("--output", "-o", choices=DIFF_FORMATS, what="output format"),
        Option("--output-file", metavar="FILE", what="write the report to this file"),
    ]
    declare(parser, options)


@dataclass(frozen=True, slots=True)
class DiffSide:
    """One of both states: what it renders to, or what is wrong with it."""

    results: Sequence[FileResult]
    read: Sequence[Found]
    releases: dict[str, str]
    state: ProjectState | None = None
    """None where something is wrong."""


def run(options: Options) -> int:
    """Compare a project's sources at a Git ref with those of the working tree; 1 where one has an error.

    With `--exit-code`, 1 also where they differ.
    """
    ref = options.ref
    then, before, after = sides(options)
    listed = prices_in(options.prices) if options.prices is not None else None
    if before.state is None or after.state is None or isinstance(listed, FileResult):
        wrong = [each for side in (before, after) if side.state is None for each in side.results]
        wrong += [listed] if isinstance(listed, FileResult) else []
        _deliver_problems(options, wrong, after.releases, [*before.read, *after.read])
        return 1
    comparison = compare(before.state, after.state, committed=tree_at(then, before.state, after.state))
    if options.queues:
        comparison = replace(comparison, notes=[*comparison.notes, *_of_queues(comparison, before.state, after.state, options.queues)])
    _deliver(options, ComparisonView(comparison, ref=ref, commit=then.commit, releases=after.releases, prices=listed))
    return 1 if options.exit_code and comparison.differs else 0


def compared(options: Options) -> ComparisonView:
    """What changes, as reports have it. Raises JobspecError with all errors of both sides."""
    then, before, after = sides(options)
    if before.state is None or after.state is None:
        wrong = (each for side in (before, after) for result in side.results for each in result.diagnostics if each.severity == "error")
        raise JobspecError(lines_of(wrong))
    changes = compare(before.state, after.state, committed=tree_at(then, before.state, after.state))
    return ComparisonView(changes, ref=options.ref, commit=then.commit, releases=after.releases, prices=None)


def sides(options: Options) -> tuple[FilesAtRef, DiffSide, DiffSide]:
    """The files at the ref, and both states."""
    project = options.project
    if not os.path.isfile(project):
        raise JobspecError(f"{project}: no such file; a project elsewhere is named by `--project FILE`")
    then = FilesAtRef(options.ref, project)
    after = _side(options, ProjectFiles(project))
    nothing = DiffSide((), (), {}, ProjectState((), (), {}, output="", target={}, engine_files={}))  # of a ref that had no project
    return then, _side(options, then) if then.project.content is not None else nothing, after


def _side(options: Options, files: FilesAround) -> DiffSide:
    planned = plan(options, files).with_variants()
    releases = planned.releases
    if not planned.valid or not planned.project:
        return DiffSide(planned.results, planned.read, releases)
    rendered = judged(planned.variants, lambda each: render_variant(each, planned.met_by(each)), planned.clusters)
    tree = tree_of(rendered)
    project = planned.project
    made = planned.engines.tree(rendered, tree, earlier={}) if planned.engines else EngineTree()
    result = result_of(files.project.path, planned, rendered, [*tree.diagnostics, *made.diagnostics])
    state = ProjectState(
        planned.variants, rendered, planned.clusters, output=project.output, target=project.asked_releases, engine_files=made.files
    )
    return DiffSide([result], planned.read, releases, state if result.valid else None)


def tree_at(then: FilesAtRef, before: ProjectState, after: ProjectState) -> Collection[str]:
    """The files of the tree that is committed at the ref, where the earlier runs in it matter."""
    has_history = any(each.history for each in after.variants.values())
    return then.below(then.output(before.output)) if before.variants and has_history else ()


def _of_queues(comparison: Comparison, before: ProjectState, after: ProjectState, paths: Sequence[str]) -> Iterator[str]:
    """What Kueue does with a changed variant otherwise than before, and which quota all variants exceed together."""
    from jobspec.commands.queue import answer_of, queue_documents, world_for
    from jobspec.reports.queue import Asked, beyond, verdict_text

    world = world_for(queue_documents(paths), (), Cluster())

    def asked(state: ProjectState, name: str) -> Asked | None:
        documents = state.documents(name)
        job = next(filter(is_workload, documents), None)
        if job is None:
            return None
        cluster = state.cluster(name)
        return Asked(job, answer_of(job, [*documents, *cluster.lookups], cluster.target, world))

    def words(found: Asked | None) -> str:
        return "no job" if not found else verdict_text(found.answer) if found.answer else "bypasses Kueue"

    for each in comparison.variants:
        old, new = words(asked(before, each.name)), words(asked(after, each.name))
        if old != new:
            yield f"queue of {each.name}: {old} → {new}"
    yield from beyond([found for name in after.variants if (found := asked(after, name))], world)


def prices_in(path: str) -> PriceList | FileResult:
    """The price list in a file, or what is wrong with it. Raises JobspecError where the file holds anything else."""
    otherwise = "a price list is one document of the kind Prices of jobspec.dev/v1alpha1"
    found = only_document(Source(path, content_of(Found(path, named=True))), PRICES, otherwise)
    return found if isinstance(found, FileResult) else PriceList(found)


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
