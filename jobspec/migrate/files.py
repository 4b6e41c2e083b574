"""Migrate whole files: each job and runtime in them, what is reported of it, and the new text of the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jobspec.apis.kinds import RUNTIMES, TRAINJOB, GroupKind
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.grouping import grouped
from jobspec.documents.atomic_writes import HEADER
from jobspec.documents.decoding import decode
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, as_document
from jobspec.journey.steps import Source
from jobspec.migrate.facts import compared, job_facts
from jobspec.migrate.jobs import (
    LOST,
    MigratedJob,
    becomes_trainjob,
    becomes_v2,
    cannot,
    loss_report,
    meaning_in,
    migrate_to_trainjob,
    migrate_to_v2,
    report_of,
)
from jobspec.migrate.releases import KINDS, migrate_runtime, migrate_trainjob
from jobspec.migrate.text import irreplaceable, place_of, replaced
from jobspec.operators.trainer.runtimes import RuntimeReference, runtime_of
from jobspec.operators.training_roles import job_among
from jobspec.project.project import LoadedProject, ReadFile
from jobspec.project.rendering import objects_of
from jobspec.project.tree import Whole, whole
from jobspec.world.world import Cluster

#: The trees that take the place of a document, if any do, and what is reported of it.
Replaced = tuple[Sequence[MarkedTree], Sequence[Diagnostic]]


@dataclass(frozen=True, slots=True)
class File:
    """A file to migrate: its documents, as they were checked."""

    name: str
    text: str
    documents: Sequence[Document]

    @property
    def is_rendered(self) -> bool:
        """True if jobspec renders the file from other files."""
        return self.text.startswith(HEADER)


@dataclass(frozen=True, slots=True)
class MigratedFile:
    """A file after the migration."""

    file: File
    text: str
    diagnostics: Sequence[Diagnostic]

    @property
    def is_changed(self) -> bool:
        """True if the file's text has changed."""
        return self.text != self.file.text

    @property
    def has_losses(self) -> bool:
        """True if anything of the file's jobs is lost, or if a job cannot be migrated."""
        return any(each.rule == LOST or each.severity == "error" for each in self.diagnostics)


def to_trainjobs(files: Sequence[File], cluster: Cluster, *, gang_scheduler: str) -> list[MigratedFile]:
    """Convert the jobs in the files to TrainJobs of the cluster's trainer."""

    def migrated(job: Document, context: Sequence[Document]) -> MigratedJob | Diagnostic:
        return migrate_to_trainjob(job, context, cluster, gang_scheduler=gang_scheduler)

    return _converted(files, cluster, becomes_trainjob, migrated)


def to_v2(files: Sequence[File], cluster: Cluster) -> list[MigratedFile]:
    """Convert each MPIJob of training-operator in the files to one of mpi-operator."""
    return _converted(files, cluster, becomes_v2, lambda job, context: migrate_to_v2(job, context, cluster))


def _converted(
    files: Sequence[File],
    cluster: Cluster,
    chosen: Callable[[Document], bool],
    migrated: Callable[[Document, Sequence[Document]], MigratedJob | Diagnostic],
) -> list[MigratedFile]:
    there = {id(file): list(file.documents) for file in files}

    def replace(job: Document, file: File) -> Replaced:
        if not chosen(job):
            return (), ()
        if file.is_rendered:
            return (), [_cannot_migrate_rendered(job)]
        found = migrated(job, _with_others(file, files, cluster))
        if not isinstance(found, MigratedJob):
            return (), [found]
        others = [each for each in there[id(file)] if each is not job]
        taken = next((each for each in others for new in found.documents if _object_identity(each) == _object_identity(new)), None)
        if taken:
            return (), [cannot(job, f"it would be or need the {taken.kind} `{taken.name}`, and its file has one already")]
        there[id(file)] += found.documents
        return found.trees, loss_report(found)

    return [_migrated(each, replace) for each in files]


def to_release(files: Sequence[File], before: Cluster, cluster: Cluster) -> list[MigratedFile]:
    """Convert the TrainJobs and runtimes in the files to the cluster's trainer release.

    *before*: the cluster with the trainer release of the files.
    """
    sources = [each for each in files if not each.is_rendered]
    runtimes = {
        id(each): migrate_runtime(each, cluster.target)
        for each in (*(each for file in sources for each in file.documents), *before.lookups)
        if each.group_kind in RUNTIMES
    }

    def new(document: Document) -> Document:
        return as_document(runtimes[id(document)][0], document) if id(document) in runtimes else document

    def replace(document: Document, file: File) -> Replaced:
        if id(document) in runtimes:
            tree, diagnostics = runtimes[id(document)]
            return _if_other(tree, document), diagnostics
        if file.is_rendered and document.group_kind in KINDS:
            return (), [_cannot_migrate_rendered(document)]
        if document.group_kind != TRAINJOB:
            return (), ()
        context = _with_others(file, files, before)
        if runtime_of(document, context, before.target) is None:
            ref = RuntimeReference(document.data)
            return (), [cannot(document, f"its {ref.kind} `{ref.name}` is not among the given files; give the file of it, too")]
        others = [new(each) for each in context if each is not document]
        found, dropped = migrate_trainjob(document, context, others, before.target, cluster)
        if found.refusals:
            return (), [cannot(document, "; ".join(dict.fromkeys(found.refusals)))]
        losses = loss_report(found)
        places = {str(each.mark) for each in losses}
        return _if_other(found.trees[0], document), [*losses, *(each for each in dropped if str(each.mark) not in places)]

    return [_migrated(each, replace) for each in files]


def _cannot_migrate_rendered(document: Document) -> Diagnostic:
    return cannot(document, "rendered by jobspec: migrate its sources, and render again", severity="warning")


def _object_identity(document: Document) -> tuple[GroupKind, str, str]:
    """Return the identity of an object: kind, namespace and name.

    An object with `generateName` is unique.
    """
    return document.group_kind, document.namespace, document.name or str(document.marks.mark)


def _with_others(file: File, files: Sequence[File], cluster: Cluster) -> list[Document]:
    return [*file.documents, *(each for other in files if other is not file for each in other.documents), *cluster.lookups]


def _if_other(tree: MarkedTree, document: Document) -> Sequence[MarkedTree]:
    return [tree] if tree.data() != document.data else ()


def _migrated(file: File, replace: Callable[[Document, File], Replaced]) -> MigratedFile:
    outcomes = {place_of(each): (each, *replace(each, file)) for each in file.documents}
    new = {place: trees for place, (_, trees, _) in outcomes.items() if trees}
    kept = irreplaceable(file.text, file.documents, new)
    reported = [[cannot(document, kept[place])] if place in kept else said for place, (document, _, said) in outcomes.items()]
    wanted = {place: trees for place, trees in new.items() if place not in kept}
    text = replaced(file.text, file.documents, wanted) if wanted else file.text
    return MigratedFile(file, text, [each for several in reported for each in several])


# Migrate a project: its bases change, its overlays stay, and losses are found in the pods of its variants.


@dataclass(frozen=True, slots=True)
class MigratedProject:
    """A project after the migration: its files, and diagnostics about its variants.

    If there are errors, nothing is migrated.
    """

    files: Sequence[MigratedFile] = ()
    reported: Sequence[Diagnostic] = ()
    wrong: Sequence[Diagnostic] = ()


def migrate_project(
    source: Source, read: ReadFile, *, release: str, gang_scheduler: str, cluster: Cluster | None = None
) -> MigratedProject:
    """Migrate the bases of a project: to TrainJobs, or to a *release* of the trainer.

    *source*: the file of the project.
    """
    sources: dict[str, Source] = {}

    def reader(texts: Mapping[str, str]) -> ReadFile:
        """Read the files of the project, or their new *texts*, and keep them by their shown names."""

        def read_one(path: str) -> Source:
            found = read(path)
            sources[found.name] = Source(found.name, texts[found.name]) if found.name in texts else found
            return sources[found.name]

        return read_one

    before = whole(source, reader({}), cluster)
    if (mistakes := _mistakes(before)) or before.project is None:
        return MigratedProject(wrong=mistakes)
    project = _with_release(source, before.project, release)
    new = before.cluster.with_releases({**before.project.asked_releases, "trainer": release}) if release else before.cluster
    by_file = {each.base.file: each.base.documents for each in before.variants}
    bases = [_file(sources[name], documents) for name, documents in by_file.items()]
    files = to_release(bases, before.cluster, new) if release else to_trainjobs(bases, new, gang_scheduler=gang_scheduler)
    refused = [each for file in files for each in file.diagnostics if each.severity == "error"]
    after = whole(Source(source.name, project.text), reader({each.file.name: each.text for each in files}), new if cluster else None)
    if wrong := [*refused, *_mistakes(after)]:
        return MigratedProject(wrong=wrong)
    found = []
    for old, now in zip(before.variants, after.variants, strict=True):
        sides = [([*objects_of(each, it.cluster)[0], *it.cluster.lookups], it.cluster) for each, it in ((old, before), (now, after))]
        found += [(old.name, each) for each in _lost(*sides, gang_scheduler=gang_scheduler)]
    reported = _once(found, len(before.variants))
    wrong = [each for each in reported if each.severity == "error"]
    return MigratedProject(wrong=wrong) if wrong else MigratedProject([*files, project], reported)


def _mistakes(found: Whole) -> list[Diagnostic]:
    every = [*found.diagnostics, *(each for variant in found.rendered for each in variant.checked.result.diagnostics)]
    return [each for each in every if each.severity == "error"]


def _file(source: Source, documents: Sequence[Document]) -> File:
    text = decode(source.content if isinstance(source.content, bytes) else source.content.encode(), source.name)
    assert isinstance(text, str)  # the project has been checked
    return File(source.name, text, documents)


def _with_release(source: Source, project: LoadedProject, release: str) -> MigratedFile:
    """Return the project's own file with the new release of the trainer in its target.

    If the target names no release of the trainer, the file is unchanged.
    """
    file = _file(source, ())
    said = project.spec.get("target", "trainer")
    if not release or said is None or said.mark.line != said.mark.end_line:
        return MigratedFile(file, file.text, ())
    lines = file.text.split("\n")
    line = lines[said.mark.line - 1]
    lines[said.mark.line - 1] = f'{line[: said.mark.column - 1]}"{release}"{line[said.mark.end_column - 1 :]}'
    return MigratedFile(file, "\n".join(lines), ())


def _lost(before: tuple[list[Document], Cluster], after: tuple[list[Document], Cluster], *, gang_scheduler: str) -> list[Diagnostic]:
    """The losses of a variant, from its objects before and after."""
    job, other = (job_among(documents) for documents, _ in (before, after))
    assert job
    assert other
    seen = job_facts(job, before[0], before[1].target, gang_scheduler=gang_scheduler)
    then = job_facts(other, after[0], after[1].target)
    refusals = [each.message for each in then.refusals if each.severity == "error"]
    if refusals:
        return [cannot(job, "; ".join(refusals))]
    differences = compared(seen, then)
    return report_of([meaning_in(seen.facts, each) for each in differences], differences, job)


def _once(found: Sequence[tuple[str, Diagnostic]], count: int) -> list[Diagnostic]:
    """Report the losses of several variants at one place once.

    The variants' names are added, unless all variants have the loss.
    """
    once = []
    for group in grouped(found, lambda each: (each[1].rule, str(each[1].mark), each[1].message)).values():
        names, first = ", ".join(dict.fromkeys(f"`{name}`" for name, _ in group)), group[0][1]
        once.append(first if len(group) == count else first.with_message(f"{first.message} (in {names})"))
    return once
