"""`jobspec migrate`: jobs of another kind or release whose pods are the same, and a report of what is not."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TextIO

from jobspec.apis import releases as targets
from jobspec.apis.kinds import PYTORCHJOB
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.results import FileResult
from jobspec.documents.atomic_writes import Replacement, add_files, replace_files
from jobspec.documents.decoding import decode
from jobspec.documents.document import PAGES, result_of
from jobspec.documents.markdown import kept, page_of
from jobspec.documents.reader import read as read_documents
from jobspec.journey.checking import TextFile
from jobspec.journey.journey import Journey, travel
from jobspec.journey.steps import Checked
from jobspec.migrate.files import File, MigratedFile, MigratedProject, migrate_project, to_release, to_trainjobs
from jobspec.migrate.jobs import LOST
from jobspec.migrate.releases import KINDS
from jobspec.operators.workloads import is_workload
from jobspec.reports.formats import FORMATS
from jobspec.session.delivery import deliver
from jobspec.session.finding import find_for
from jobspec.session.fixing import complete_interrupted, show
from jobspec.session.found import STDIN, Found
from jobspec.session.inputs import load_run_context, project_among, settings_of
from jobspec.session.options import Option, Options, add_paths, cluster_option, declare, target_option
from jobspec.session.project import plan, read_project
from jobspec.session.reading import content_of, reader, source_of
from jobspec.session.trees import ProjectFiles
from jobspec.world.world import Cluster


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    add = add_paths(parser).add_argument
    what = "TrainJob, for PyTorchJobs; or trainer=RELEASE, for TrainJobs and runtimes of another release"
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


TRAINJOB = "TrainJob"
_TRAINER = "trainer"


def run(options: Options) -> int:
    """Migrate the jobs in files; 1 where one cannot be migrated, or with `--strict` where anything is lost."""
    if sum((options.diff, options.to_dir is not None, options.in_place)) > 1:
        raise JobspecError("--diff, --to-dir and --in-place are mutually exclusive")
    release, gang_scheduler = _release(options.to), options.gang_scheduler or ""
    project = project_among(options.paths)
    if project:
        return _of_project(project, options, release, gang_scheduler)
    run_context = load_run_context(options)
    found = find_for(options, settings_of(options))
    is_completed = complete_interrupted(found, "--in-place", writes=options.in_place)
    before = _source_cluster(options, found, run_context.cluster) if release else run_context.cluster
    checked = _checked(found, options, before)
    results = [each.result for each in checked]
    if not all(each.valid for each in results):
        deliver(results, before.releases, options, sys.stderr, read=reader(found))
        return 1
    files = [_file(one, each) for one, each in zip(found, checked, strict=True)]
    why_not = _nothing_in(files, options.to)
    if why_not and is_completed:
        return 0
    if why_not:
        raise JobspecError(why_not)
    if release:
        after = before.with_releases({_TRAINER: release})
        migrated = to_release(files, before, after)
    else:
        after = before
        migrated = to_trainjobs(files, before, gang_scheduler=gang_scheduler)
    gone = set() if release else {one.name for each in files for one in each.documents if one.group_kind == PYTORCHJOB}
    reported = [
        FileResult(result.path, result.documents, [*each.diagnostics, *_left_patches(each.file, result, gone)])
        for result, each in zip(results, migrated, strict=True)
    ]
    is_stopped = options.strict and any(each.has_losses for each in migrated)
    if not is_stopped:
        _write_migrated(migrated, found, options)
    deliver(reported, after.releases, options, _report_stream(options), read=_as_it_was(found, files))
    return 1 if is_stopped or not all(each.valid for each in reported) else 0


def _of_project(path: str, options: Options, release: str, gang_scheduler: str) -> int:
    """Migrate the bases of a project."""
    if options.target:
        raise JobspecError(f"--target is for files: set `target` in {path}")
    files = ProjectFiles(path)
    read = read_project(files.project)
    if isinstance(read, FileResult):
        deliver([read], Cluster().releases, options, sys.stderr, read=reader([files.project]))
        return 1
    cluster = plan(options, files).cluster if options.cluster or read.cluster else None

    def migrated() -> MigratedProject:
        source = source_of(files.project, skip_unknown=False)
        return migrate_project(source, files.read, release=release, gang_scheduler=gang_scheduler, cluster=cluster)

    found = migrated()
    is_completed = complete_interrupted([files.project, *files.found], "--in-place", writes=options.in_place)
    if is_completed:
        found = migrated()
    changed = [each for each in found.files if each.is_changed]
    if is_completed and not found.wrong and not changed:
        return 0
    if not found.wrong and not changed:
        raise JobspecError(f"nothing to migrate: no base of {path} changes")
    is_stopped = bool(found.wrong) or (options.strict and any(each.rule == LOST for each in found.reported))
    if not is_stopped:
        _write_migrated(changed, [], options)
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
    releases = Cluster({**read.asked_releases, **({_TRAINER: release} if release else {})}).releases
    reading = _as_it_was(files.found, [each.file for each in changed])
    deliver(results, releases, options, _report_stream(options), read=reading)
    return 1 if is_stopped else 0


def _report_stream(options: Options) -> TextIO:
    """Where the report goes: to standard output where the files do not."""
    return sys.stdout if options.in_place or options.to_dir is not None else sys.stderr


def _release(to: str) -> str:
    """The release of the trainer to go to; empty for `TrainJob`. Raises JobspecError for anything else."""
    if to == TRAINJOB:
        return ""
    operator, _, release = to.partition("=")
    if operator != _TRAINER or not release:
        raise JobspecError(f"--to {to}: write TrainJob, or the release of the trainer to go to, such as trainer=2.3")
    return targets.choose([f"{_TRAINER}={release}"])[_TRAINER]


def _source_cluster(options: Options, found: Sequence[Found], cluster: Cluster) -> Cluster:
    """The cluster that TrainJobs were written for: of --target, else of the newest release that takes the files."""
    if any(each.partition("=")[0] == _TRAINER for each in options.target):
        return cluster
    for release in reversed(targets.RELEASES[_TRAINER]):
        candidate = cluster.with_releases({_TRAINER: release})
        if all(each.result.valid for each in _checked(found, options, candidate)):
            return candidate
    return cluster


def _checked(found: Sequence[Found], options: Options, cluster: Cluster) -> list[Checked]:
    files = [TextFile(source_of(each, skip_unknown=options.skip_unknown)) for each in found]
    return travel(Journey(files, cluster, outcome=False))


def _file(found: Found, checked: Checked) -> File:
    text = decode(content_of(found), found.path)
    assert isinstance(text, str)  # the file has been read before
    return File(found.path, kept(text) if found.path.endswith(PAGES) else text, checked.documents)


def _nothing_in(files: Sequence[File], to: str) -> str:
    """Why there is nothing to migrate; empty where there is something."""
    documents = [each for file in files for each in file.documents]
    if to == TRAINJOB and not any(is_workload(each) and each.kind == "PyTorchJob" for each in documents):
        return "nothing to migrate: the files hold no PyTorchJob"
    if to != TRAINJOB and not any(each.group_kind in KINDS for each in documents):
        return "nothing to migrate: the files hold no TrainJob and no runtime"
    return ""


def _left_patches(file: File, result: FileResult, gone: Collection[str]) -> Iterator[Diagnostic]:
    """A warning for each kustomize patch of a PyTorchJob that is migrated: the patch stays, and kustomize finds nothing that it is for."""
    if gone and any(each.reason == "kustomize patch" for each in result.documents):
        for each in read_documents(file.text, file=file.name)[0]:
            if each.group_kind == PYTORCHJOB and each.name in gone:
                message = f"this kustomize patch of the PyTorchJob `{each.name}` stays as it is, and no longer applies"
                yield each.problem("not-migrated", message, ("kind",), hint="write it for the TrainJob", severity="warning")


def _write_migrated(migrated: Sequence[MigratedFile], found: Sequence[Found], options: Options) -> None:
    changed = {each.file.name: Replacement(*_contents(each)) for each in migrated if each.is_changed}
    if options.diff:
        show(changed)
    elif options.to_dir is not None:
        new = {_path_in_result(name): each.after for name, each in changed.items()}
        if len(new) < len(changed):
            raise JobspecError(f"--to-dir {options.to_dir}: two files have the same name; run it in the folder that contains all of them")
        add_files(options.to_dir, lambda: new)
    elif options.in_place:
        if any(each.path == STDIN for each in found):
            raise JobspecError("--in-place: standard input is not a file")
        if changed:
            replace_files(changed)
    else:
        sys.stdout.write("---\n".join(_ended(_contents(each)[1].decode()) for each in migrated))


def _contents(migrated: MigratedFile) -> tuple[bytes, bytes]:
    """What a file holds before and afterwards; of a page the manifests are a part."""
    is_page = migrated.file.name.endswith(PAGES)
    before, after = ((page_of(text) if is_page else text).encode() for text in (migrated.file.text, migrated.text))
    return before, after


def _path_in_result(path: str) -> str:
    """The path of a file in the folder of the result: as from here, or its name alone where it lies elsewhere."""
    relative = os.path.normpath(os.path.relpath(path)) if path != STDIN else "stdin.yaml"
    return os.path.basename(path) if relative.startswith(os.pardir) else relative.replace(os.sep, "/")


def _ended(text: str) -> str:
    body = text.removeprefix("---\n")
    return body if body.endswith("\n") else f"{body}\n"


def _as_it_was(found: Sequence[Found], files: Sequence[File]) -> Callable[[str], str]:
    """What gives the text of a file as it was before it was written."""
    texts = {each.name: each.text for each in files}
    others = reader(found)
    return lambda name: texts.get(name) or others(name)
