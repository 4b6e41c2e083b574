"""Read the project, the cluster and the files that an import of manifests meets."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from jobspec.apis.kinds import PROJECT_FILE
from jobspec.apis.releases import parse_targets
from jobspec.diagnostics.diagnostic import Diagnostic, lines_of
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import Mark, value_at
from jobspec.diagnostics.results import FileResult
from jobspec.documents.atomic_writes import add_files
from jobspec.documents.decoding import decode
from jobspec.documents.document import Document, without_wrapped
from jobspec.documents.reader import read as read_documents
from jobspec.journey.steps import Checked
from jobspec.operators.training_roles import overlaid_jobs, training_jobs
from jobspec.operators.workloads import OVERLAID_KINDS
from jobspec.project.import_overlays import Original, originals
from jobspec.project.importing import Destination, Existing, Planned, plan
from jobspec.project.project import OUTPUT, LoadedProject, Sources
from jobspec.project.variants import combinations_of
from jobspec.session.found import Found
from jobspec.session.inputs import load_run_context
from jobspec.session.options import Options
from jobspec.session.project import plan as plan_project
from jobspec.session.project import read_project
from jobspec.session.reading import content_of
from jobspec.session.trees import ProjectFiles
from jobspec.world.world import Cluster


def read_existing_project(options: Options) -> LoadedProject | FileResult | None:
    """The project that is there, what is wrong with it, or None for a new one."""
    if not os.path.lexists(PROJECT_FILE):
        return None
    if options.target:
        raise JobspecError(f"--target is for a new project: set `target` in {PROJECT_FILE}")
    return read_project(Found(PROJECT_FILE, named=True))


def import_cluster(options: Options, project: LoadedProject | None) -> Cluster:
    """Return the cluster that imported manifests meet: of the project, or of the command line."""
    if project is None:
        return load_run_context(options).cluster
    wrong = list(project.wrong_releases())
    if wrong:
        raise JobspecError(lines_of(wrong))
    return Cluster(project.asked_releases)


def existing_project(project: LoadedProject | None) -> Existing | None:
    """Return what an existing project has; None if there is no project."""
    if project is None:
        return None
    text = decode(content_of(Found(PROJECT_FILE, named=True)), PROJECT_FILE)
    assert isinstance(text, str)  # the file has been read before
    found, _ = combinations_of(project, Sources(ProjectFiles(PROJECT_FILE).read, Cluster(project.asked_releases)))
    (document,) = read_documents(text.removeprefix("\ufeff").replace("\r\n", "\n"), file=PROJECT_FILE)[0]
    return Existing(document, text, {each.name.lower() for each in found})


def plan_import(jobs: Sequence[Original], project: LoadedProject | None, cluster: Cluster, options: Options) -> Planned:
    """Plan the files that make jobs bases and variants of a project.

    The project is that of the working folder, and the bases are below `--to`. Of jobs that are variants already, the plan has errors alone.
    """
    if again := _imported_before(jobs, project):
        return Planned({}, (), again)
    folder = base_folder(options.to, project.output if project else OUTPUT)
    asked_releases = project.asked_releases if project else parse_targets(options.target)
    read = ProjectFiles(PROJECT_FILE).read
    existing = existing_project(project)
    return plan(jobs, Destination(PROJECT_FILE, folder, read, cluster.target, asked_releases=asked_releases, existing=existing))


def _imported_before(jobs: Sequence[Original], project: LoadedProject | None) -> list[Diagnostic]:
    """Errors about jobs that variants of the project are already: of the same kind, namespace and name."""
    if project is None:
        return []
    planned = plan_project(Options(), ProjectFiles(PROJECT_FILE)).with_variants()
    made = {}
    for variant in planned.variants:
        base = next(filter(variant.base.is_job, variant.base.documents))
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


def write_import(planned: Planned, existing: Existing | None) -> None:
    """Write the files of an import, all or none."""
    add_files(os.curdir, lambda: files_to_add(planned, existing), replaced=[PROJECT_FILE])


def base_folder(to: str, output: str) -> str:
    """The folder of the bases. Raises JobspecError for one that the project could not read, and for the rendered tree."""
    folder = os.path.normpath(to)
    here, place = os.path.realpath(os.curdir), os.path.realpath(folder)
    if not to or os.path.commonpath((here, place)) != here or ".git" in os.path.relpath(place, here).split(os.sep):
        raise JobspecError(f"--to {to}: choose a folder inside of the working folder, such as `base`")
    if os.path.commonpath((os.path.realpath(output), place)) == os.path.realpath(output):
        raise JobspecError(f"--to {to}: {output} holds what is rendered, and nothing else; choose another folder, such as `base`")
    return folder.replace(os.sep, "/")


def unfit_jobs(checked: Checked, *, is_named: bool) -> Iterator[Diagnostic]:
    """Yield what keeps a valid file from being imported.

    The user named the file and it holds no job, or it holds an object whose name the server makes.
    """
    path = checked.result.path
    documents = without_wrapped(checked.documents)
    jobs = _jobs_to_import(documents, is_named=is_named)
    if checked.result.valid and is_named and not jobs:
        names = ", ".join(dict.fromkeys(kind for _, kind in OVERLAID_KINDS))
        hint = f"put what belongs to a job into the job's file; the kinds of jobs are {names}"
        yield Diagnostic("no-workload", "no training job in the file to import", Mark(path), hint=hint)
    for each in documents if jobs else ():
        if not each.name and value_at(each.data, ("metadata", "generateName")):
            path_of_name = ("metadata", "generateName")
            hint = "write `name` for it: a job of a project has one, and an object without is recreated in each sync"
            yield each.problem("missing-name", "what is imported needs `metadata.name`", path_of_name, at_key=True, hint=hint)


def _jobs_to_import(documents: Sequence[Document], *, is_named: bool) -> list[Document]:
    """Return the jobs of a file.

    If a folder is named, and not the file, Jobs and CronJobs need a sign that they train.
    """
    return overlaid_jobs(documents) if is_named else training_jobs(documents)


def read_originals(file: Found, checked: Checked, cluster: Cluster) -> list[Original]:
    """Read the jobs of a checked file as originals of variants."""
    text = decode(content_of(file), file.path)
    assert isinstance(text, str)
    documents = without_wrapped(checked.documents)
    return originals(file.path, text, documents, cluster.target, jobs=_jobs_to_import(documents, is_named=file.named))


def files_before(planned: Planned) -> dict[str, bytes]:
    """Return the present content of the files that an import will replace."""
    return {path: content_of(Found(path, named=True)) for path in planned.files if os.path.isfile(path)}


def as_bytes(planned: Planned) -> dict[str, bytes]:
    """Return the planned files as bytes, by path."""
    return {path: text.encode() for path, text in planned.files.items()}


def files_to_add(planned: Planned, existing: Existing | None) -> Mapping[str, bytes]:
    """The files to write; a base that stands there as it would be written stays."""
    before, after = files_before(planned), as_bytes(planned)
    if before.get(PROJECT_FILE) != (existing.text.encode() if existing else None):
        raise JobspecError(f"{PROJECT_FILE} was changed meanwhile; nothing was written, try again")
    return {path: content for path, content in after.items() if content != before.get(path)}
