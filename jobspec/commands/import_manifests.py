"""`jobspec import`: make existing manifests bases and variants of a project that renders to them again."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence

from jobspec.apis.kinds import PROJECT_FILE
from jobspec.apis.releases import parse_target
from jobspec.diagnostics.diagnostic import Diagnostic, lines_of
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import Mark
from jobspec.diagnostics.results import FileResult
from jobspec.documents.atomic_writes import add_files
from jobspec.documents.decoding import decode
from jobspec.documents.reader import read as read_documents
from jobspec.journey.checking import TextFile
from jobspec.journey.journey import Journey, travel
from jobspec.journey.steps import Checked
from jobspec.operators.workloads import KINDS, is_workload, value_at
from jobspec.project.import_overlays import Original, originals
from jobspec.project.importing import Destination, Existing, Planned, plan
from jobspec.project.project import OUTPUT, LoadedProject, Sources
from jobspec.project.tree import differences
from jobspec.project.variants import combinations_of
from jobspec.session.delivery import deliver
from jobspec.session.finding import find_for
from jobspec.session.found import STDIN, Found
from jobspec.session.inputs import by_file, load_run_context, settings_of
from jobspec.session.options import Options, add_paths, declare, target_option
from jobspec.session.project import plan as plan_project
from jobspec.session.project import read_project
from jobspec.session.reading import content_of, reader, source_of
from jobspec.session.trees import ProjectFiles
from jobspec.session.writing import complete_earlier
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
    complete_earlier([os.curdir])
    found = find_for(options, settings_of(options))
    project = _project(options)
    if isinstance(project, FileResult):
        return _report([project], options, Cluster(), found)
    cluster = _cluster(options, project)
    sources = [source_of(each, skip_unknown=options.skip_unknown) for each in found]
    checked = travel(Journey(list(map(TextFile, sources)), cluster, outcome=False))
    results = [each.result.with_diagnostics(_unfit(each, is_named=file.named)) for each, file in zip(checked, found, strict=True)]
    failed = [each for each in results if not each.valid]
    files = [(file, each) for file, each, result in zip(found, checked, results, strict=True) if result.valid]
    jobs = [each for file, answer in files for each in _originals(file, answer, cluster)]
    if not jobs and failed:
        return _report(results, options, cluster, found)
    if not jobs:
        raise JobspecError("nothing to import: no file holds a training job")
    existing = _existing(project)
    if again := _imported_before(jobs, project):
        return _report(by_file(again), options, cluster, found)
    folder = _folder(options.to, project.output if project else OUTPUT)
    asked_releases = project.asked_releases if project else dict(map(parse_target, options.target))
    planned = plan(
        jobs,
        Destination(
            PROJECT_FILE, folder, ProjectFiles(PROJECT_FILE).read, cluster.target, asked_releases=asked_releases, existing=existing
        ),
    )
    if planned.diagnostics:
        return _report(by_file(planned.diagnostics), options, cluster, found, planned.files)
    if any(each.diagnostics for each in results):
        deliver(results, cluster.releases, options, sys.stderr, read=reader(found))
    if options.preview:
        sys.stdout.writelines(differences(_before(planned), _as_bytes(planned)))
    else:
        add_files(os.curdir, lambda: _added(planned, existing), replaced=[PROJECT_FILE])
        sys.stdout.writelines(_summary(planned, files))
        sys.stderr.writelines(_afterwards(planned, failed))
    return 1 if failed else 0


def _imported_before(jobs: Sequence[Original], project: LoadedProject | None) -> list[Diagnostic]:
    """Errors about jobs that variants of the project are already: of the same kind, namespace and name."""
    if project is None:
        return []
    planned = plan_project(Options(), ProjectFiles(PROJECT_FILE)).with_variants()
    made = {}
    for variant in planned.variants:
        base = next(filter(is_workload, variant.base.documents))
        namespace = str(variant.namespace.value) if variant.namespace else base.namespace
        if not variant.hashed:
            made[base.group_kind, variant.job_name.value, namespace] = variant.name
    wrong = []
    for each in jobs:
        key = each.job.group_kind, each.job.name, each.job.namespace
        if name := made.get(key):
            message = f"{each.job.kind} `{each.job.name}` is imported already: the variant `{name}` of {PROJECT_FILE}"
            hint = "remove the variant and its base first, or rename the job"
            wrong.append(each.job.problem("import-differs", message, ("metadata", "name"), hint=hint))
    return wrong


def _afterwards(planned: Planned, failed: Sequence[FileResult]) -> Iterator[str]:
    """What is left to do: the originals would make the same objects again, and files with errors were not imported."""
    files = sorted({each.item.original.file for each in planned.entries} - {STDIN} - planned.files.keys())
    if files:
        yield f"jobspec: remove the originals, or each job exists twice: git rm {' '.join(files)}\n"
    if failed:
        yield f"jobspec: not imported because of errors: {', '.join(each.path for each in failed)}\n"


def _project(options: Options) -> LoadedProject | FileResult | None:
    """The project that is there, what is wrong with it, or None for a new one."""
    if not os.path.lexists(PROJECT_FILE):
        return None
    if options.target:
        raise JobspecError(f"--target is for a new project: set `target` in {PROJECT_FILE}")
    return read_project(Found(PROJECT_FILE, named=True))


def _cluster(options: Options, project: LoadedProject | None) -> Cluster:
    if project is None:
        return load_run_context(options).cluster
    wrong = list(project.wrong_releases())
    if wrong:
        raise JobspecError(lines_of(wrong))
    return Cluster(project.asked_releases)


def _existing(project: LoadedProject | None) -> Existing | None:
    if project is None:
        return None
    text = decode(content_of(Found(PROJECT_FILE, named=True)), PROJECT_FILE)
    assert isinstance(text, str)  # the file has been read before
    found, _ = combinations_of(project, Sources(ProjectFiles(PROJECT_FILE).read, Cluster(project.asked_releases)))
    (document,) = read_documents(text.removeprefix("\ufeff").replace("\r\n", "\n"), file=PROJECT_FILE)[0]
    return Existing(document, text, {each.name.lower() for each in found})


def _folder(to: str, output: str) -> str:
    """The folder of the bases. Raises JobspecError for one that the project could not read, and for the rendered tree."""
    folder = os.path.normpath(to)
    here, place = os.path.realpath(os.curdir), os.path.realpath(folder)
    if not to or os.path.commonpath((here, place)) != here or ".git" in os.path.relpath(place, here).split(os.sep):
        raise JobspecError(f"--to {to}: choose a folder inside of the working folder, such as `base`")
    if os.path.commonpath((os.path.realpath(output), place)) == os.path.realpath(output):
        raise JobspecError(f"--to {to}: {output} holds what is rendered, and nothing else; choose another folder, such as `base`")
    return folder.replace(os.sep, "/")


def _unfit(checked: Checked, *, is_named: bool) -> Iterator[Diagnostic]:
    """What keeps a valid file from being imported: it was named and holds no job, or an object whose name the server makes."""
    path = checked.result.path
    jobs = [each for each in checked.documents if is_workload(each)]
    if checked.result.valid and is_named and not jobs:
        hint = f"put what belongs to a job into the job's file; the kinds of jobs are {', '.join(kind for _, kind in KINDS)}"
        yield Diagnostic("no-workload", "no training job in the file to import", Mark(path), hint=hint)
    for each in checked.documents if jobs else ():
        if not each.name and value_at(each.data, ("metadata", "generateName")):
            path_of_name = ("metadata", "generateName")
            hint = "write `name` for it: a job of a project has one, and an object without is recreated in each sync"
            yield each.problem("missing-name", "what is imported needs `metadata.name`", path_of_name, at_key=True, hint=hint)


def _originals(file: Found, checked: Checked, cluster: Cluster) -> list[Original]:
    text = decode(content_of(file), file.path)
    assert isinstance(text, str)
    return originals(file.path, text, checked.documents, cluster.target)


def _before(planned: Planned) -> dict[str, bytes]:
    """What stands in the place of the files that are to be written."""
    return {path: content_of(Found(path, named=True)) for path in planned.files if os.path.isfile(path)}


def _as_bytes(planned: Planned) -> dict[str, bytes]:
    return {path: text.encode() for path, text in planned.files.items()}


def _added(planned: Planned, existing: Existing | None) -> Mapping[str, bytes]:
    """The files to write; a base that stands there as it would be written stays."""
    before, after = _before(planned), _as_bytes(planned)
    if before.get(PROJECT_FILE) != (existing.text.encode() if existing else None):
        raise JobspecError(f"{PROJECT_FILE} was changed meanwhile; nothing was written, try again")
    return {path: content for path, content in after.items() if content != before.get(path)}


def _summary(planned: Planned, read: Sequence[tuple[Found, Checked]]) -> Iterator[str]:
    """What was written, and which of the files that were *read* has no job."""
    yield from (f"{path}\n" for path in planned.files)
    for each in planned.entries:
        overlays = ", ".join(
            f"{use.name} {' '.join(f'{name}={value}' for name, value in use.values.items())}".rstrip() for use in each.item.uses
        )
        yield f"  {each.name}: {each.item.original.file}{f', by the overlays {overlays}' if overlays else ''}\n"
    for file, answer in read:
        if not any(map(is_workload, answer.documents)):
            yield f"skipped {file.path}: no training job\n"


def _report(
    results: Sequence[FileResult], options: Options, cluster: Cluster, found: Sequence[Found], files: Mapping[str, str] | None = None
) -> int:
    """Report errors; *files* are texts that are not written yet, in which some of them stand."""
    from_disk = reader(found)
    deliver(results, cluster.releases, options, sys.stderr, read=lambda name: (files or {}).get(name) or from_disk(name))
    return 1
