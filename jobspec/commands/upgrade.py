"""`jobspec upgrade`: show what an upgrade of Kubernetes or of an operator changes for jobs."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence

from jobspec.apis.kinds import PROJECT_FILE
from jobspec.apis.releases import CHOSEN, RELEASES, complete, is_at_least, is_later, is_release, known_releases, nearest_known, release_of
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import Mark
from jobspec.diagnostics.results import FileResult
from jobspec.migrate.upgrade import announced, changes, release_problems
from jobspec.reports.formats import FORMATS
from jobspec.session.arguments import add_paths, declare
from jobspec.session.delivery import deliver
from jobspec.session.finding import find_for
from jobspec.session.found import Found
from jobspec.session.inputs import pinned_cluster, project_among, settings_of
from jobspec.session.options import PROJECT_OR_FOLDER, Option, Options, kind_options, repository_options
from jobspec.session.processes import spread_if_many
from jobspec.session.project import read_project
from jobspec.session.reading import reader
from jobspec.session.upgrading import judge, with_changes, with_migrations

_FOR_PEOPLE = ("text", "concise", "markdown", "github")


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    options = [
        Option(
            "--to", dest="to_releases", metavar="OPERATOR=RELEASE", repeatable=True, what="the releases to upgrade to, separated by commas"
        ),
        Option(
            "--from",
            dest="since",
            metavar="OPERATOR=RELEASE",
            repeatable=True,
            what="the releases to upgrade from: by default those of the project, or else the ones before --to",
        ),
        Option("--cluster", metavar="FILE", what="upgrade the cluster that `jobspec pin` wrote to this file"),
        *repository_options(),
        *kind_options(),
        Option("--no-admission", dest="admission", what="skip the operators' webhooks, as on a cluster without them"),
        Option("--output", "-o", dest="report_format", choices=FORMATS, what="output format"),
        Option("--output-file", metavar="FILE", what="write the report to this file"),
    ]
    declare(add_paths(parser, by_default=PROJECT_OR_FOLDER), options)


def run(options: Options) -> int:
    """Judge files or a project before and after an upgrade, and report what it changes; 1 where something is refused or will not run."""
    paths = options.paths or [PROJECT_FILE if os.path.isfile(PROJECT_FILE) else os.curdir]
    project = project_among(paths)
    pinned = pinned_cluster(options)
    declared = {**(pinned.found if pinned else {}), **_declared([project] if project else _projects_in_folders(options), options)}
    before, after = _releases(options, declared)
    old, new = (judge(options, paths, _known(releases)) for releases in (before, after))
    wrong = old.wrong or new.wrong
    found = [] if wrong else changes(old.side, new.side, spread_if_many)
    found += announced(new.side.documents, before, after)
    replaced = {each: release for each, release in before.items() if release != after[each]}
    remarks = [*_unknown("--from", replaced), *_unknown("--to", after), *release_problems(before, after)]
    results = wrong or with_changes(new.results, with_migrations(found, old, new, project))
    results = [*([FileResult(remarks[0].mark.file, [], remarks)] if remarks else []), *results]
    releases = {each: _change_of(each, before, after) for each in after} if options.output in _FOR_PEOPLE else after
    deliver(results, releases, options, sys.stdout, read=reader(new.read))
    return 0 if all(each.valid for each in results) else 1


def _projects_in_folders(options: Options) -> list[str]:
    found = find_for(options, settings_of(options))
    return [each.path for each in found if os.path.basename(each.path) == PROJECT_FILE and not (each.in_build and each.in_build.role)]


def _declared(projects: Sequence[str], options: Options) -> dict[str, str]:
    """The releases that projects name; those that are not known are reported when these are planned.

    Raises JobspecError where projects name different ones, and the options none.
    """
    found: dict[str, tuple[str, str]] = {}
    chosen = _parse_releases("--from", options.since)
    for path in projects:
        read = read_project(Found(path, named=True))
        for component, release in () if isinstance(read, FileResult) else read.asked_releases.items():
            known, other = found.setdefault(component, (release, path))
            if known != release and component not in chosen:
                releases = f"{component} {known} in {other}, and {release} in {path}"
                raise JobspecError(f"projects have different releases: {releases}; upgrade one at a time, or name --from")
    return {component: release for component, (release, _) in found.items()}


def _releases(options: Options, declared: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The releases of components before an upgrade and after it. Raises JobspecError for what is no upgrade."""
    to, since = _parse_releases("--to", options.to_releases), _parse_releases("--from", options.since)
    if not to:
        raise JobspecError("--to is missing: name the releases to upgrade to, such as --to trainer=2.3,kubernetes=1.37")
    before = {each: earlier for each, release in to.items() if (earlier := _one_before(each, release))} | dict(declared) | since
    for component, release in to.items():
        if component in before and not is_at_least(release, before[component]):
            raise JobspecError(f"--to {component}={release} is older than {before[component]}, the release to upgrade from")
    return before, {**before, **to}


def _parse_releases(option: str, texts: Sequence[str]) -> dict[str, str]:
    """The releases by component in texts such as `trainer=2.3,kubernetes=1.37`; a known release is the newest known patch of it."""
    found = {}
    for text in (each for several in texts for each in several.split(",")):
        component, equals, release = text.strip().partition("=")
        if not equals or component not in CHOSEN or not is_release(release):
            raise JobspecError(f"{option} {text}: write OPERATOR=RELEASE with one of {', '.join(CHOSEN)}")
        found[component] = (known_releases(component, release) or [release])[-1]
    return found


def _one_before(component: str, release: str) -> str:
    """The known release before another one; empty where there is none."""
    older = [each for each in RELEASES.get(component, ()) if not is_at_least(each, release)]
    return older[-1] if older else ""


def _known(releases: Mapping[str, str]) -> dict[str, str]:
    """Return the releases that jobspec can judge by."""
    found = nearest_known({each: release for each, release in releases.items() if each in CHOSEN})
    complete(found)
    return found


def _unknown(option: str, releases: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Yield a warning about each release that jobspec does not know.

    If the release came after the known ones, it is judged as the newest of them. If it came before, nothing is judged by it.
    """
    known = _known(releases)
    for component, release in releases.items():
        mark = Mark(f"{option} {component}={release}")
        if component in known and is_later(component, release):
            message = f"jobspec does not know {component} {release} yet: judged as {known[component]}"
            yield Diagnostic("later-release", message, mark, severity="warning")
        elif component in CHOSEN and component not in known:
            first = next(iter(RELEASES[component]))
            message = f"jobspec does not know {component} {release}, which is older than {first}: not judged by its rules"
            hint = f"its kinds are judged as those of {component} {release_of(component, known)}"
            yield Diagnostic("earlier-release", message, mark, severity="warning", hint=hint)


def _change_of(component: str, before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """How a component's release changes, for people."""
    old, new = before.get(component, after[component]), after[component]
    return new if old == new else f"{old} → {new}"
