"""Judge manifests by the releases of one side of an upgrade."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jobspec.apis.kinds import COMPONENTS
from jobspec.diagnostics.diagnostic import Diagnostic, has_error
from jobspec.diagnostics.results import FileResult
from jobspec.documents.reader import read
from jobspec.journey.steps import Checked
from jobspec.migrate.files import File, migrate_project, to_release
from jobspec.migrate.upgrade import JudgedJob, UpgradeState, needed_first
from jobspec.operators.workloads import is_workload
from jobspec.session.found import Found
from jobspec.session.inputs import load_run_context, project_among, settings_of
from jobspec.session.judging import Depth
from jobspec.session.options import Options
from jobspec.session.reading import source_of
from jobspec.session.trees import ProjectFiles
from jobspec.session.verdict import results_of
from jobspec.world.world import Cluster


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
    """Judge the files at some paths, or the variants of a project, by some releases.

    Without *releases*, those of the options' cluster count.
    """
    project = project_among(paths)
    target = [f"{each}={release}" for each, release in releases.items()]
    chosen = options.changed(paths=paths, target=target, releases=releases)
    run_context = load_run_context(chosen)
    given = results_of(chosen, run_context, settings_of(chosen), Depth(documents=True), encrypted=False)
    jobs = {}
    for file in given.applied:
        status = {(row.index, row.kind, row.name): row.status for row in file.checked.result.documents}
        refused = [each for each in file.checked.documents if status.get((each.index, each.kind, each.name)) == "invalid"]
        for job in filter(is_workload, file.checked.documents):
            if status.get((job.index, job.kind, job.name)) == "valid":
                name = "\0".join((file.checked.result.path, str(job.index), job.kind, file.variant or job.name))
                jobs[name] = JudgedJob(name, job, [each for each in file.context if each not in refused], file.cluster.target)
    said = [each for result in given.files for each in result.diagnostics]
    documents = [each for file in given.applied for each in file.checked.documents]
    cluster = next((each.cluster for each in given.applied if project and each.variant), run_context.cluster)
    wrong = run_context.wrong or [each for each in given.files if each.path == project and not (each.valid or jobs)]
    return JudgedManifests(UpgradeState(cluster, said, jobs, documents), given.files, given.read, given.checked, wrong)


def with_changes(results: Sequence[FileResult], found: Sequence[Diagnostic]) -> list[FileResult]:
    """Return the results with what changes in place of what each side says.

    The first result also reports the changes in files without a result.
    """
    paths = {each.path for each in results}
    homes = {each.path: [one for one in found if one.mark.file == each.path] for each in results}
    others = [each for each in found if each.mark.file not in paths]
    return [
        FileResult(each.path, each.documents, [*homes[each.path], *(others if number == 0 else ())]) for number, each in enumerate(results)
    ]


def with_migrations(found: Sequence[Diagnostic], old: JudgedManifests, new: JudgedManifests, project: str | None) -> list[Diagnostic]:
    """Add a migration command to each error whose file the command makes valid.

    The command migrates the file to the new release of the trainer.
    """
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
