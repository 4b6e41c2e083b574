"""`jobspec migrate`: jobs of another kind or release whose pods are the same, and a report of what is not."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import TextIO

from jobspec.apis.kinds import PYTORCHJOB
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.results import FileResult
from jobspec.documents.document import result_of
from jobspec.migrate.files import migrate_project, to_release, to_trainjobs, to_v2
from jobspec.migrate.jobs import LOST
from jobspec.reports.formats import FORMATS
from jobspec.session.arguments import add_paths, declare
from jobspec.session.delivery import deliver
from jobspec.session.finding import find_for
from jobspec.session.inputs import load_run_context, project_among, settings_of
from jobspec.session.migrating import (
    MPI_JOB,
    TRAINER,
    check_found,
    left_patches,
    migration_file,
    source_cluster,
    spelled,
    target_release,
    texts_before,
    why_nothing_migrates,
    write_migrated,
)
from jobspec.session.options import Option, Options, cluster_option, target_option
from jobspec.session.project import plan, read_project
from jobspec.session.reading import reader, source_of
from jobspec.session.trees import ProjectFiles
from jobspec.world.world import Cluster


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    add = add_paths(parser).add_argument
    what = (
        "TrainJob, for PyTorchJobs, MPIJobs, and JobSets and indexed Jobs that start torchrun; MPIJob, for MPIJobs of training-operator, "
        "which become those of mpi-operator; or trainer=RELEASE, for TrainJobs and runtimes of another release"
    )
    add("--to", metavar="KIND|RELEASE", required=True, help=what)
    add("--in-place", action="store_true", help="replace the files, all of them or none")
    add("--to-dir", metavar="DIR", help="write the files that change into a folder, under the same names")
    add("--diff", action="store_true", help="print what would change, and write nothing")
    add("--strict", action="store_true", help="write nothing and exit with 1 where anything is lost")
    add("--skip-unknown", action="store_true", help="skip documents that are not manifests or of an unknown kind")
    add("--gang-scheduler", metavar="NAME", help="the `--gang-scheduler-name` that training-operator was started with")
    options = [
        target_option("the releases to migrate from and, with --to TrainJob, to"),
        cluster_option(),
        Option("--output", "-o", dest="report_format", choices=FORMATS, what="output format"),
        Option("--output-file", metavar="FILE", what="write the report to this file"),
    ]
    declare(parser, options)


def run(options: Options) -> int:
    """Migrate the jobs in files; 1 where one cannot be migrated, or with `--strict` where anything is lost."""
    if sum((options.diff, options.to_dir is not None, options.in_place)) > 1:
        raise JobspecError("--diff, --to-dir and --in-place are mutually exclusive")
    options = options.changed(to=spelled(options.to))
    release, gang_scheduler = target_release(options.to), options.gang_scheduler or ""
    project = project_among(options.paths)
    if project:
        return _of_project(project, options, release, gang_scheduler)
    run_context = load_run_context(options)
    found = find_for(options, settings_of(options))
    before = source_cluster(options, found, run_context.cluster) if release else run_context.cluster
    checked = check_found(found, options, before)
    results = [each.result for each in checked]
    if not all(each.valid for each in results):
        deliver(results, before.releases, options, sys.stderr, read=reader(found))
        return 1
    files = [migration_file(one, each) for one, each in zip(found, checked, strict=True)]
    why_not = why_nothing_migrates(files, options.to)
    if why_not:
        raise JobspecError(why_not)
    if release:
        after = before.with_releases({TRAINER: release})
        migrated = to_release(files, before, after)
    else:
        after = before
        is_v2 = options.to == MPI_JOB
        migrated = to_v2(files, before) if is_v2 else to_trainjobs(files, before, gang_scheduler=gang_scheduler)
    gone = set() if release else {one.name for each in files for one in each.documents if one.group_kind == PYTORCHJOB}
    reported = [
        FileResult(result.path, result.documents, [*each.diagnostics, *left_patches(each.file, result, gone)])
        for result, each in zip(results, migrated, strict=True)
    ]
    is_stopped = options.strict and any(each.has_losses for each in migrated)
    if not is_stopped:
        write_migrated(migrated, found, options)
    deliver(reported, after.releases, options, _report_stream(options), read=texts_before(found, files))
    return 1 if is_stopped or not all(each.valid for each in reported) else 0


def _of_project(path: str, options: Options, release: str, gang_scheduler: str) -> int:
    """Migrate the bases of a project."""
    if options.to == MPI_JOB:
        raise JobspecError("--to MPIJob is for files: a project has PyTorchJobs and TrainJobs")
    if options.target:
        raise JobspecError(f"--target is for files: set `target` in {path}")
    files = ProjectFiles(path)
    read = read_project(files.project)
    if isinstance(read, FileResult):
        deliver([read], Cluster().releases, options, sys.stderr, read=reader([files.project]))
        return 1
    cluster = plan(options, files).cluster if options.cluster or read.cluster else None

    source = source_of(files.project, skip_unknown=False)
    found = migrate_project(source, files.read, release=release, gang_scheduler=gang_scheduler, cluster=cluster)
    changed = [each for each in found.files if each.is_changed]
    if not found.wrong and not changed:
        raise JobspecError(f"nothing to migrate: no base of {path} changes")
    is_stopped = bool(found.wrong) or (options.strict and any(each.rule == LOST for each in found.reported))
    if not is_stopped:
        write_migrated(changed, [], options)
    reported = [*found.wrong, *found.reported]
    names = dict.fromkeys([*(each.file.name for each in changed), *(each.mark.file for each in reported)])
    documents = {each.file.name: each.file.documents for each in found.files}
    results = [
        FileResult(
            name,
            [result_of(each, "valid") for each in documents.get(name, ())],
            [each for each in reported if each.mark.file == name],
        )
        for name in names
    ]
    releases = Cluster({**read.asked_releases, **({TRAINER: release} if release else {})}).releases
    reading = texts_before(files.found, [each.file for each in changed])
    deliver(results, releases, options, _report_stream(options), read=reading)
    return 1 if is_stopped else 0


def _report_stream(options: Options) -> TextIO:
    """Where the report goes: to standard output where the files do not."""
    return sys.stdout if options.in_place or options.to_dir is not None else sys.stderr
