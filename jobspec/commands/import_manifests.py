"""`jobspec import`: make existing manifests bases and variants of a project that renders to them again."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence

from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.results import FileResult
from jobspec.journey.checking import TextFile
from jobspec.journey.journey import Journey, travel
from jobspec.journey.steps import Checked
from jobspec.project.importing import Planned
from jobspec.project.tree import differences
from jobspec.session.arguments import add_paths, declare
from jobspec.session.delivery import deliver
from jobspec.session.finding import find_for
from jobspec.session.found import STDIN, Found
from jobspec.session.imports import (
    as_bytes,
    existing_project,
    files_before,
    import_cluster,
    plan_import,
    read_existing_project,
    read_originals,
    unfit_jobs,
    write_import,
)
from jobspec.session.inputs import by_file, settings_of
from jobspec.session.options import Options, target_option
from jobspec.session.reading import reader, source_of
from jobspec.world.world import Cluster


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    add = add_paths(parser).add_argument
    add("--to", metavar="DIR", default="base", help="the folder for the bases, below the working folder; `base` by default")
    declare(parser, [target_option("make a new project for this release, not for the newest")])
    add("--skip-unknown", action="store_true", help="skip documents that are not manifests or of an unknown kind")
    add("--preview", action="store_true", help="write nothing, and print what would be written, as a diff")


def run(options: Options) -> int:
    """Import manifests into the project of the working folder, with bases below `--to`; 1 where an error was found."""
    found = find_for(options, settings_of(options))
    project = read_existing_project(options)
    if isinstance(project, FileResult):
        return _report([project], options, Cluster(), found)
    cluster = import_cluster(options, project)
    sources = [source_of(each, skip_unknown=options.skip_unknown) for each in found]
    checked = travel(Journey(list(map(TextFile, sources)), cluster, outcome=False))
    results = [each.result.with_diagnostics(unfit_jobs(each, is_named=file.named)) for each, file in zip(checked, found, strict=True)]
    failed = [each for each in results if not each.valid]
    files = [(file, each) for file, each, result in zip(found, checked, results, strict=True) if result.valid]
    jobs = [each for file, answer in files for each in read_originals(file, answer, cluster)]
    if not jobs and failed:
        return _report(results, options, cluster, found)
    if not jobs:
        raise JobspecError("nothing to import: no file holds a training job")
    existing = existing_project(project)
    planned = plan_import(jobs, project, cluster, options)
    if planned.diagnostics:
        return _report(by_file(planned.diagnostics), options, cluster, found, planned.files)
    if any(each.diagnostics for each in results):
        deliver(results, cluster.releases, options, sys.stderr, read=reader(found))
    if options.preview:
        sys.stdout.writelines(differences(files_before(planned), as_bytes(planned)))
    else:
        write_import(planned, existing)
        sys.stdout.writelines(_summary(planned, files))
        sys.stderr.writelines(_afterwards(planned, failed))
    return 1 if failed else 0


def _afterwards(planned: Planned, failed: Sequence[FileResult]) -> Iterator[str]:
    """What is left to do: the originals would make the same objects again, and files with errors were not imported."""
    files = sorted({each.item.original.file for each in planned.entries} - {STDIN} - planned.files.keys())
    if files:
        yield f"jobspec: remove the originals, or each job exists twice: git rm {' '.join(files)}\n"
    if failed:
        yield f"jobspec: not imported because of errors: {', '.join(each.path for each in failed)}\n"


def _summary(planned: Planned, read: Sequence[tuple[Found, Checked]]) -> Iterator[str]:
    """What was written, and which of the files that were *read* has no job."""
    yield from (f"{path}\n" for path in planned.files)
    for each in planned.entries:
        overlays = ", ".join(
            f"{use.name} {' '.join(f'{name}={value}' for name, value in use.values.items())}".rstrip() for use in each.item.uses
        )
        yield f"  {each.name}: {each.item.original.file}{f', with the overlays {overlays}' if overlays else ''}\n"
    for file, _ in read:
        if not any(each.item.original.file == file.path for each in planned.entries):
            yield f"skipped {file.path}: no training job\n"


def _report(
    results: Sequence[FileResult], options: Options, cluster: Cluster, found: Sequence[Found], files: Mapping[str, str] | None = None
) -> int:
    """Report errors; *files* are texts that are not written yet, in which some of them stand."""
    from_disk = reader(found)
    deliver(results, cluster.releases, options, sys.stderr, read=lambda name: (files or {}).get(name) or from_disk(name))
    return 1
