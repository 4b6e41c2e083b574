"""Compare a project at a Git ref with its working tree."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from jobspec.apis.kinds import PRICES, PROJECT_FILE
from jobspec.diagnostics.diagnostic import lines_of
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.results import FileResult
from jobspec.journey.steps import Source
from jobspec.operators.kueue.world import World
from jobspec.operators.training_roles import job_among
from jobspec.project.capacity import PriceList
from jobspec.project.comparison import Comparison, ProjectState, compare
from jobspec.project.project import only_document
from jobspec.project.rendering import render_variant
from jobspec.project.tree import EngineTree, tree_of
from jobspec.reports.diff import ComparisonView
from jobspec.session.found import Found
from jobspec.session.git import git
from jobspec.session.inputs import project_among
from jobspec.session.options import Options
from jobspec.session.project import FilesAround, judged, plan, result_of
from jobspec.session.reading import content_of
from jobspec.session.trees import FilesAtRef, ProjectFiles
from jobspec.world.world import Cluster


@dataclass(frozen=True, slots=True)
class DiffSide:
    """One of both states: what it renders to, or what is wrong with it."""

    results: Sequence[FileResult]
    read: Sequence[Found]
    releases: dict[str, str]
    state: ProjectState | None = None
    """None where something is wrong."""


def compared(options: Options) -> ComparisonView:
    """Compare both sides of a command line, and return the changes as reports have them.

    Raises JobspecError with all errors of both sides.
    """
    then, before, after = sides(options)
    if before.state is None or after.state is None:
        wrong = (each for side in (before, after) for result in side.results for each in result.diagnostics if each.severity == "error")
        raise JobspecError(lines_of(wrong))
    changes = compare(before.state, after.state, committed=tree_at(then, before.state, after.state))
    return ComparisonView(changes, ref=options.ref, commit=then.commit, releases=after.releases, prices=None)


def with_compared(options: Options) -> Options:
    """Return the options with the ref and the paths of a repository, or the path of a project.

    A first argument that names no commit and is a path is one of the paths. Without any, the project here is compared, or else the
    working folder.
    """
    ref, paths = options.ref, [*options.paths]
    if os.path.lexists(ref) and not _is_commit(ref):
        ref, paths = "HEAD", [ref, *paths]
    if missing := [each for each in paths if not os.path.lexists(each) and _is_commit(each)]:
        raise JobspecError(f"give one commit, before the paths: {missing[0]}")
    if options.project is not None or options.helm:
        return options.changed(ref=ref, paths=paths)
    project = paths[0] if len(paths) == 1 and project_among(paths) else "" if paths else PROJECT_FILE
    if project and os.path.isfile(project):
        return options.changed(ref=ref, paths=[], project=project)
    return options.changed(ref=ref, paths=paths or [os.curdir])


def _is_commit(ref: str) -> bool:
    try:
        git(os.curdir, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", why="")
    except JobspecError:
        return False
    return True


def sides(options: Options, *, before: str = "") -> tuple[FilesAtRef, DiffSide, DiffSide]:
    """The files at the ref, and both states. Of a side without the project, the state is empty.

    *before*: the path of the project's file at the ref, if it has moved. Raises JobspecError if neither side has it.
    """
    project = options.project
    then = FilesAtRef(options.ref, before or project)
    is_here = os.path.isfile(project)
    if not is_here and then.project.content is None:
        raise JobspecError(f"{project}: no such file; a project elsewhere is named by `--project FILE`")
    old = _side(options, then) if then.project.content is not None else _NO_PROJECT
    new = _side(options, ProjectFiles(project, options.disk)) if is_here else replace(_NO_PROJECT, releases=old.releases)
    return then, old, new


_NO_PROJECT = DiffSide((), (), {}, ProjectState((), (), {}, output="", target={}, engine_files={}))


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


def queues_in(options: Options) -> World:
    """Read the queues in the files and folders that `--queues` names."""
    from jobspec.session.queues import queue_documents, world_for

    return world_for(queue_documents(options), (), Cluster())


def of_queues(comparison: Comparison, before: ProjectState, after: ProjectState, world: World) -> Iterator[str]:
    """Yield what Kueue does with a changed variant otherwise than before.

    Yield also which quota all variants exceed together.
    """
    from jobspec.reports.queue import Asked, beyond, verdict_text
    from jobspec.session.queues import answer_of

    def asked(state: ProjectState, name: str) -> Asked | None:
        documents = state.documents(name)
        job = job_among(documents)
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
    """Return the price list in a file, or what is wrong with it.

    Raises JobspecError if the file holds anything else.
    """
    otherwise = "a price list is one document of the kind Prices of jobspec.dev/v1alpha1"
    found = only_document(Source(path, content_of(Found(path, named=True))), PRICES, otherwise)
    return found if isinstance(found, FileResult) else PriceList(found)
