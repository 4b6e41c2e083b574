"""`jobspec upgrade`: show what an upgrade of Kubernetes or of an operator changes for jobs and runtimes."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jobspec.cluster import Cluster
from jobspec.commands.applied import applied
from jobspec.commands.files import Found, find_for, reader, source_of
from jobspec.commands.inputs import load_run_context, pinned_cluster, project_among, settings_of
from jobspec.commands.options import PROJECT_OR_FOLDER, Option, Options, add_paths, declare, kind_options, repository_options
from jobspec.commands.output import deliver, spread_if_many
from jobspec.commands.project import read_project
from jobspec.commands.trees import ProjectFiles
from jobspec.diagnostics import Diagnostic, FileResult, JobspecError, Mark, has_error
from jobspec.documents.reader import read
from jobspec.kinds import COMPONENTS, PROJECT_FILE
from jobspec.migrate.files import File, migrate_project, to_release
from jobspec.migrate.upgrade import JudgedJob, UpgradeState, announced, changes, needed_first, release_problems
from jobspec.pipeline import Checked
from jobspec.reports.formats import FORMATS
from jobspec.targets import CHOSEN, RELEASES, complete, is_at_least, is_release, known_releases, nearest_known
from jobspec.workloads import is_workload

_FOR_PEOPLE = ("text", "concise", "markdown", "github")


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    options = [
        Option("--to", metavar="OPERATOR=RELEASE", repeatable=True, what="the releases to upgrade to, separated by commas"),
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
        Option("--output", "-o", choices=FORMATS, what="output format"),
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
    known, later = _known(after)
    old, new = (judge(options, paths, releases) for releases in (_known(before)[0], known))
    wrong = old.wrong or new.wrong
    found = [] if wrong else changes(old.side, new.side, spread_if_many)
    found += announced(new.side.documents, before, after)
    remarks = [*later, *release_problems(before, after)]
    results = wrong or with_changes(new.results, _with_migrations(found, old, new, project))
    results = [*([FileResult(remarks[0].mark.file, [], remarks)] if remarks else []), *results]
    releases = {each: _change_of(each, before, after) for each in after} if options.output in _FOR_PEOPLE else after
    deliver(results, releases, options, sys.stdout, read=reader(new.read))
    return 0 if all(each.valid for each in results) else 1


# The releases before and after.


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
    to, since = _parse_releases("--to", options.to), _parse_releases("--from", options.since)
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


def _known(releases: Mapping[str, str]) -> tuple[dict[str, str], list[Diagnostic]]:
    """The releases that jobspec can judge by, and a warning about each that came after those: it is judged as the newest known one."""
    chosen = {each: release for each, release in releases.items() if each in CHOSEN}
    found = nearest_known(chosen)
    complete(found)
    return found, [_later(each, release, found[each]) for each, release in chosen.items() if found.get(each, release) != release]


def _later(component: str, release: str, known: str) -> Diagnostic:
    message = f"jobspec does not know {component} {release} yet: judged as {known}"
    return Diagnostic("later-release", message, Mark(f"--to {component}={release}"), severity="warning")


def _change_of(component: str, before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """How a component's release changes, for people."""
    old, new = before.get(component, after[component]), after[component]
    return new if old == new else f"{old} → {new}"


# Judge manifests by the releases of one side.


@dataclass(frozen=True, slots=True)
class JudgedManifests:
    """The diagnostics of files or of a project on one side of an upgrade."""

    side: UpgradeState
    results: Sequence[FileResult]
    read: Sequence[Found]
    files: Sequence[Checked]
    wrong: Sequence[FileResult]
    """The results of CRDs and of a project that cannot be judged; with one, nothing is compared."""


def judge(options: Options, paths: Sequence[str], releases: Mapping[str, str]) -> JudgedManifests:
    """The files at some paths, or the variants of a project, as judged by some releases, or else by those of the options' cluster."""
    project = project_among(paths)
    target = [f"{each}={release}" for each, release in releases.items()]
    chosen = Options(**{**vars(options), "paths": paths, "target": target, "releases": releases})
    run_context = load_run_context(chosen)
    given = applied(chosen, run_context, outcome=True)
    jobs = {}
    for file in given.files:
        status = {(row.index, row.kind, row.name): row.status for row in file.checked.result.documents}
        refused = [each for each in file.checked.documents if status.get((each.index, each.kind, each.name)) == "invalid"]
        for job in filter(is_workload, file.checked.documents):
            if status.get((job.index, job.kind, job.name)) == "valid":
                name = "\0".join((file.checked.result.path, str(job.index), job.kind, file.variant or job.name))
                jobs[name] = JudgedJob(name, job, [each for each in file.context if each not in refused], file.cluster.target)
    said = [each for result in given.results for each in result.diagnostics]
    documents = [each for file in given.files for each in file.checked.documents]
    cluster = next((each.cluster for each in given.files if project and each.variant), run_context.cluster)
    wrong = run_context.wrong or [each for each in given.results if each.path == project and not (each.valid or jobs)]
    return JudgedManifests(UpgradeState(cluster, said, jobs, documents), given.results, given.read, given.checked, wrong)


def with_changes(results: Sequence[FileResult], found: Sequence[Diagnostic]) -> list[FileResult]:
    """The results with what changes in place of what each side says; what stands in another file is reported in the first result."""
    paths = {each.path for each in results}
    homes = {each.path: [one for one in found if one.mark.file == each.path] for each in results}
    others = [each for each in found if each.mark.file not in paths]
    return [
        FileResult(each.path, each.documents, [*homes[each.path], *(others if number == 0 else ())]) for number, each in enumerate(results)
    ]


def _with_migrations(found: Sequence[Diagnostic], old: JudgedManifests, new: JudgedManifests, project: str | None) -> list[Diagnostic]:
    """The findings, each error with the command that migrates its file to the new release of the trainer, where that makes it valid."""
    release = new.side.cluster.target["trainer"]
    if release == old.side.cluster.target["trainer"]:
        return list(found)
    paths = {project or each.mark.file for each in found if each.severity == "error"}
    ways = {each: _migration_of_project(each, release) if project else _migration_of_file(each, old, new) for each in paths}

    def with_migration(each: Diagnostic) -> Diagnostic:
        path = project or each.mark.file
        return each.with_hint(ways[path]) if each.severity == "error" and ways[path] else each

    return list(map(with_migration, found))


def _migration_of_file(path: str, old: JudgedManifests, new: JudgedManifests) -> str:
    """How a file is migrated to the new release, and what running jobs of it need; empty where it cannot be migrated."""
    file = next((each for each in old.files if each.result.path == path and each.result.valid), None)
    if not file or not any(COMPONENTS.get((each.api_version, each.kind)) == "trainer" for each in file.documents):
        return ""
    with open(path, encoding="utf-8") as opened:
        text = opened.read()
    cluster = new.side.cluster
    (migrated,) = to_release([File(path, text, file.documents)], old.side.cluster, Cluster(cluster.target))
    if not migrated.is_changed or has_error(migrated.diagnostics):
        return ""
    needed = needed_first(file.documents, read(migrated.text, file=path)[0], old.side.cluster.target, cluster)
    return "; ".join(filter(None, [_rewrites(path, cluster.target["trainer"]), _NEEDED[needed]]))


def _rewrites(path: str, release: str) -> str:
    return f"`jobspec migrate {path} --to trainer={release} --in-place` rewrites it"


_NEEDED = {
    "": "",
    "suspended": "a job that runs takes that change only while it is suspended: let it finish first, or suspend it",
    "recreated": "an existing job refuses that change, suspended or not: let it finish first, or recreate it",
}


def _migration_of_project(path: str, release: str) -> str:
    files = ProjectFiles(path)
    migrated = migrate_project(source_of(files.project, skip_unknown=False), files.read, release=release, gang_scheduler="")
    return _rewrites(path, release) if not migrated.wrong and any(each.is_changed for each in migrated.files) else ""
