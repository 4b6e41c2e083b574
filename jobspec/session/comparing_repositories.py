"""Compare a repository as it is with its state at a Git ref, the projects in its folders among the rest."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

from jobspec.apis.kinds import MANIFEST_ENDINGS, PROJECT_FILE
from jobspec.diagnostics.diagnostic import lines_of
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.record import Record
from jobspec.diagnostics.wording import shortened
from jobspec.documents.document import CHART
from jobspec.project.capacity import PriceList
from jobspec.project.comparison import Comparison, compare, joined, of_objects
from jobspec.project.object_changes import compare_objects
from jobspec.project.rendering import identity_of
from jobspec.reports.diff import ComparisonView
from jobspec.session.builds import chart_values
from jobspec.session.comparing import queues_in, sides, tree_at
from jobspec.session.git import git
from jobspec.session.inputs import load_run_context
from jobspec.session.options import Options
from jobspec.session.reach import is_hidden
from jobspec.session.repository_changes import RepositoryChange, change_since
from jobspec.session.states import states_of


def compared_objects(options: Options, prices: PriceList | None) -> ComparisonView:
    """Compare the objects of a repository at a Git ref with those of the working tree.

    Raises JobspecError outside of a repository.
    """
    context = load_run_context(options)
    if context.wrong:
        raise JobspecError(lines_of(each for result in context.wrong for each in result.diagnostics))
    change = change_since(options.ref, options.paths, options.disk.root)
    queues = queues_in(options) if options.queues else None
    projects = list(compared_projects(options, change))
    own = [path for each in projects for path in each.own]
    with states_of(change, context.cluster, options.helm, chart_values(options), of_projects=own) as states:
        found = compare_objects(states.before, states.after, states.edits, queues)
    found = joined([found, *(each.comparison for each in projects)])
    if charts := list(unrendered_charts(change, options.helm)):
        hint = " ".join(f"--helm {each}" for each in charts[:3])
        they_are = "it is a chart" if len(charts) == 1 else "they are charts"
        note = f"{shortened(charts)} {'is' if len(charts) == 1 else 'are'} not compared, since {they_are} of Helm: pass `{hint}`"
        found = replace(found, notes=[*found.notes, note])
    return ComparisonView(found, ref=options.ref, commit=change.commit, releases=context.cluster.releases, prices=prices)


# Charts.


_OF_CHART = (*MANIFEST_ENDINGS, ".tpl")


def unrendered_charts(change: RepositoryChange, given: Sequence[str]) -> Iterator[str]:
    """Yield the charts below the compared places of which a file has changed, besides those that are given."""
    known = {os.path.realpath(each) for each in given}
    places = tuple(os.path.join(os.path.realpath(each), "") for each in change.paths)
    charts = {_chart_around(change.top, each) for each in change.edited if each.lower().endswith(_OF_CHART)}
    for folder in sorted(each for each in charts if each):
        if folder not in known and f"{folder}/".startswith(places):
            yield os.path.relpath(folder)


def _chart_around(top: str, name: str) -> str:
    """Return the outermost chart around a file; empty if there is none."""
    folders = [top, *(os.path.join(top, each) for each in reversed(list(_above(name))))]
    return next((each for each in folders if os.path.isfile(os.path.join(each, CHART))), "")


# Projects.


class ComparedProject(Record):
    """A project of a repository, compared."""

    comparison: Comparison
    own: Sequence[str]
    """Its sources, and the folders that it renders to, by their paths from the top. If it has an error, only the sources."""


def compared_projects(options: Options, change: RepositoryChange) -> Iterator[ComparedProject]:
    """Yield the projects below the compared places that a change can reach, each compared. Some are on one side alone."""
    places = tuple(os.path.join(os.path.realpath(each), "") for each in change.paths)
    here, then = _projects(change), _projects_at_ref(change)
    moved = _moved(options, change.top, sorted(then - here), sorted(here - then))
    for name in sorted((here | then) - set(moved.values())):
        path = os.path.join(change.top, name)
        text = _text(change, name, is_here=name in here)
        reached = [os.path.join(change.top, each) for each in _reached_by(name, text, change.edited)]
        if any(f"{each}/".startswith(places) for each in (path, *reached)) and reached:
            yield _compared(options, change.top, name, moved.get(name, ""))


_PATTERN = f":(glob)**/{PROJECT_FILE}"


def _projects(change: RepositoryChange) -> set[str]:
    """Return the project files of the working tree, by their paths from the top."""
    why = f"cannot list the projects of {change.top}"
    listed = git(change.top, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", _PATTERN, why=why)
    return {each for each in _names(listed) if os.path.isfile(os.path.join(change.top, each))}


def _projects_at_ref(change: RepositoryChange) -> set[str]:
    listed = git(change.top, "ls-tree", "-r", "-z", "--name-only", "--full-tree", change.commit, why=f"cannot list {change.ref}")
    return {each for each in _names(listed) if each.rpartition("/")[2] == PROJECT_FILE}


def _names(listed: bytes) -> Iterator[str]:
    return (each for each in map(os.fsdecode, listed.split(b"\0")) if each and not is_hidden(each))


def _text(change: RepositoryChange, name: str, *, is_here: bool) -> str:
    """Return the text of a project's file; if it is gone, that at the ref."""
    if is_here:
        with open(os.path.join(change.top, name), encoding="utf-8", errors="replace") as file:
            return file.read()
    return git(change.top, "cat-file", "blob", f"{change.commit}:{name}", why=f"cannot read {change.ref}:{name}").decode(errors="replace")


def _moved(options: Options, top: str, gone: Sequence[str], new: Sequence[str]) -> dict[str, str]:
    """Return the old path of each project that has moved, by its new one: both have a variant of one base, or render one object."""
    if not gone or not new:
        return {}
    old, now = ({each: _variants_of(options, top, each) for each in side} for side in (gone, new))
    moved: dict[str, str] = {}
    for path, has in now.items():
        found = max((each for each in gone if each not in moved.values()), key=lambda each: len(has & old[each]), default="")
        moved |= {path: found} if found and has & old[found] else {}
    return moved


def _variants_of(options: Options, top: str, name: str) -> Set[object]:
    """Return what identifies the variants of a project that is on one side alone: their names and bases, and their objects."""
    _, before, after = sides(options.changed(project=os.path.relpath(os.path.join(top, name))))
    states = [side.state for side in (before, after) if side.state]
    named = {(each.name, identity_of(one)) for state in states for each in state.variants.values() for one in each.base.documents}
    return named.union(*(state.owners() for state in states))


_BETWEEN = re.compile(r"[\s\"'=,\[\]{}]+")


def _reached_by(name: str, text: str, edited: Sequence[str]) -> list[str]:
    """Return the edited files that a project seems to name, or that are in a folder that it names; its own file counts."""
    words = {each.rpartition("/")[0] if each.endswith("$") else each for each in _BETWEEN.split(text)}  # `base/${model}.yaml`
    folder = posixpath.dirname(name)
    named = {name, *(posixpath.normpath(posixpath.join(folder, each)) for each in words if each and each != ".")}
    return [each for each in edited if each in named or any(above in named for above in _above(each))]


def _above(name: str) -> Iterator[str]:
    while name := posixpath.dirname(name):
        yield name


def _compared(options: Options, top: str, name: str, moved_from: str) -> ComparedProject:
    path = os.path.relpath(os.path.join(top, name))
    old = os.path.relpath(os.path.join(top, moved_from)) if moved_from else ""
    then, before, after = sides(options.changed(project=path), before=old)
    sources = {each.path.removeprefix(f"{then.ref}:") for each in before.read}
    sources |= {os.path.relpath(os.path.realpath(each.path), top) for each in after.read}
    if before.state is None or after.state is None:
        failed = next(each for each in (before, after) if each.state is None)
        first = next(each for result in failed.results for each in result.diagnostics if each.severity == "error")
        note = f"{path} is not compared, since it has an error: {first.mark}: {first.message}"
        return ComparedProject(Comparison([], 0, [note], differs=True, noun="object"), sorted(sources))
    found = compare(before.state, after.state, committed=tree_at(then, before.state, after.state))
    if old:
        found = replace(found, notes=[*found.notes, f"the project moves here from {old}: an engine that syncs its tree needs the new path"])
    homes = [(moved_from or name, before.state), (name, after.state)]
    trees = {posixpath.normpath(posixpath.join(posixpath.dirname(home), each.output)) for home, each in homes if each.output}
    return ComparedProject(of_objects(found, path, after.state if after.state.variants else before.state), sorted(trees | sources))
