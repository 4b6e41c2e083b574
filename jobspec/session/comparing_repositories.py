"""Compare a repository as it is with its state at a Git ref, the projects in its folders among the rest."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator, Sequence

from jobspec.apis.kinds import PROJECT_FILE
from jobspec.diagnostics.diagnostic import lines_of
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.record import Record
from jobspec.project.capacity import PriceList
from jobspec.project.comparison import Comparison, compare, joined, of_objects
from jobspec.project.object_changes import compare_objects
from jobspec.reports.diff import ComparisonView
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
    change = change_since(options.ref, options.paths)
    queues = queues_in(options.queues) if options.queues else None
    projects = list(compared_projects(options, change))
    own = [path for each in projects for path in each.own]
    with states_of(change, context.cluster, options.helm, options.values, of_projects=own) as states:
        found = compare_objects(states.before, states.after, states.edits, queues)
    found = joined([found, *(each.comparison for each in projects)])
    return ComparisonView(found, ref=options.ref, commit=change.commit, releases=context.cluster.releases, prices=prices)


# Projects.


class ComparedProject(Record):
    """A project of a repository, compared."""

    comparison: Comparison
    own: Sequence[str]
    """Its sources, and the folders that it renders to, by their paths from the top of the repository; none if it has an error."""


def compared_projects(options: Options, change: RepositoryChange) -> Iterator[ComparedProject]:
    """Yield the projects below the compared places that a change can reach, each compared."""
    places = tuple(os.path.join(os.path.realpath(each), "") for each in change.paths)
    for name in _projects(change):
        path = os.path.join(change.top, name)
        reached = [os.path.join(change.top, each) for each in _reached_by(name, path, change.edited)]
        if any(f"{each}/".startswith(places) for each in (path, *reached)) and reached:
            yield _compared(options, change.top, name)


def _projects(change: RepositoryChange) -> list[str]:
    """Return the project files of the working tree, by their paths from the top."""
    pattern = f":(glob)**/{PROJECT_FILE}"
    why = f"cannot list the projects of {change.top}"
    listed = git(change.top, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", pattern, why=why)
    names = sorted({os.fsdecode(each) for each in listed.split(b"\0") if each})
    return [each for each in names if not is_hidden(each) and os.path.isfile(os.path.join(change.top, each))]


_BETWEEN = re.compile(r"[\s\"'=,\[\]{}]+")


def _reached_by(name: str, path: str, edited: Sequence[str]) -> list[str]:
    """Return the edited files that a project seems to name, or that are in a folder that it names; its own file counts."""
    with open(path, encoding="utf-8", errors="replace") as file:
        words = {each.rpartition("/")[0] if each.endswith("$") else each for each in _BETWEEN.split(file.read())}  # `base/${model}.yaml`
    folder = posixpath.dirname(name)
    named = {name, *(posixpath.normpath(posixpath.join(folder, each)) for each in words if each and each != ".")}
    return [each for each in edited if each in named or any(above in named for above in _above(each))]


def _above(name: str) -> Iterator[str]:
    while name := posixpath.dirname(name):
        yield name


def _compared(options: Options, top: str, name: str) -> ComparedProject:
    path = os.path.relpath(os.path.join(top, name))
    then, before, after = sides(options.changed(project=path))
    if before.state is None or after.state is None:
        failed = next(each for each in (before, after) if each.state is None)
        first = next(each for result in failed.results for each in result.diagnostics if each.severity == "error")
        note = f"{path} is not compared, since it has an error: {first.mark}: {first.message}"
        return ComparedProject(Comparison([], 0, [note], differs=True, noun="object"), ())
    found = compare(before.state, after.state, committed=tree_at(then, before.state, after.state))
    folder = posixpath.dirname(name)
    trees = {posixpath.normpath(posixpath.join(folder, each.output)) for each in (before.state, after.state) if each.output}
    sources = {each.path.removeprefix(f"{then.ref}:") for each in before.read}
    sources |= {os.path.relpath(os.path.realpath(each.path), top) for each in after.read}
    return ComparedProject(of_objects(found, path, after.state), sorted(trees | sources))
