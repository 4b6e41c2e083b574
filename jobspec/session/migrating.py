"""Check files before a migration, and write those that it changes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator, Sequence

from jobspec.apis import releases as targets
from jobspec.apis.kinds import PYTORCHJOB
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.results import PATCH, FileResult
from jobspec.documents.atomic_writes import Replacement, add_files, replace_files
from jobspec.documents.decoding import decode
from jobspec.documents.document import PAGES, without_wrapped
from jobspec.documents.markdown import kept, page_of
from jobspec.documents.reader import read as read_documents
from jobspec.journey.checking import TextFile
from jobspec.journey.journey import Journey, travel
from jobspec.journey.steps import Checked
from jobspec.migrate.files import File, MigratedFile
from jobspec.migrate.jobs import becomes_trainjob, becomes_v2
from jobspec.migrate.releases import KINDS
from jobspec.session.fixing import show
from jobspec.session.found import STDIN, Found
from jobspec.session.options import Options
from jobspec.session.reading import content_of, reader, source_of
from jobspec.world.world import Cluster

TRAINJOB = "TrainJob"
MPI_JOB = "MPIJob"
TRAINER = "trainer"


def spelled(to: str) -> str:
    """Return the target of a migration; a kind in any case is spelt as Kubernetes spells it."""
    return {each.lower(): each for each in (TRAINJOB, MPI_JOB)}.get(to.lower(), to)


def target_release(to: str) -> str:
    """Return the release of the trainer to go to.

    If *to* is a kind, return an empty string. Raises JobspecError for anything else.
    """
    if to in (TRAINJOB, MPI_JOB):
        return ""
    operator, _, release = to.partition("=")
    if operator != TRAINER or not release:
        raise JobspecError(f"--to {to}: write TrainJob, MPIJob, or the release of the trainer to go to, such as trainer=2.3")
    return targets.choose([f"{TRAINER}={release}"])[TRAINER]


def source_cluster(options: Options, found: Sequence[Found], cluster: Cluster) -> Cluster:
    """Return the cluster that TrainJobs were written for.

    The release of the trainer is that of --target, or else the newest that takes the files.
    """
    if TRAINER in targets.parse_targets(options.target):
        return cluster
    for release in reversed(targets.RELEASES[TRAINER]):
        candidate = cluster.with_releases({TRAINER: release})
        if all(each.result.valid for each in check_found(found, options, candidate)):
            return candidate
    return cluster


def check_found(found: Sequence[Found], options: Options, cluster: Cluster) -> list[Checked]:
    """Check files in a cluster, without what becomes of their jobs."""
    files = [TextFile(source_of(each, skip_unknown=options.skip_unknown)) for each in found]
    return travel(Journey(files, cluster, outcome=False))


def migration_file(found: Found, checked: Checked) -> File:
    """Return a checked file as a migration takes it."""
    text = decode(content_of(found), found.path)
    assert isinstance(text, str)  # the file has been read before
    return File(found.path, kept(text) if found.path.endswith(PAGES) else text, without_wrapped(checked.documents))


def why_nothing_migrates(files: Sequence[File], to: str) -> str:
    """Why there is nothing to migrate; empty where there is something."""
    documents = [each for file in files for each in file.documents]
    if to == TRAINJOB and not any(map(becomes_trainjob, documents)):
        return "nothing to migrate: the files hold no PyTorchJob, no MPIJob, and no JobSet or indexed Job that starts torchrun"
    if to == MPI_JOB and not any(map(becomes_v2, documents)):
        return "nothing to migrate: the files hold no MPIJob of training-operator, `kubeflow.org/v1`"
    if to not in (TRAINJOB, MPI_JOB) and not any(each.group_kind in KINDS for each in documents):
        return "nothing to migrate: the files hold no TrainJob and no runtime"
    return ""


def left_patches(file: File, result: FileResult, gone: Collection[str]) -> Iterator[Diagnostic]:
    """Yield a warning for each kustomize patch of a PyTorchJob that is migrated.

    The patch stays, and kustomize finds nothing to apply the patch to.
    """
    if gone and any(each.reason == PATCH for each in result.documents):
        for each in read_documents(file.text, file=file.name)[0]:
            if each.group_kind == PYTORCHJOB and each.name in gone:
                message = f"this kustomize patch of the PyTorchJob `{each.name}` stays as it is, and no longer applies"
                yield each.problem("not-migrated", message, ("kind",), hint="write it for the TrainJob", severity="warning")


def write_migrated(migrated: Sequence[MigratedFile], found: Sequence[Found], options: Options) -> None:
    """Write migrated files in place, to a folder, as a diff, or to standard output."""
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


def texts_before(found: Sequence[Found], files: Sequence[File]) -> Callable[[str], str]:
    """Return a function that gives the text of a file as it was before it was written."""
    texts = {each.name: each.text for each in files}
    others = reader(found)
    return lambda name: texts.get(name) or others(name)
