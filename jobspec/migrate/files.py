"""Whole files migrated: each job and runtime in them, what is told of it, and the new text of the file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jobspec.diagnostics import Diagnostic
from jobspec.documents.atomic_writes import HEADER
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree
from jobspec.kinds import PYTORCHJOB, TRAINJOB
from jobspec.migrate.jobs import LOST, Migrated, as_document, cannot, loss_report, migrate_pytorchjob
from jobspec.migrate.releases import KINDS, RUNTIMES, migrate_runtime, migrate_trainjob
from jobspec.migrate.text import irreplaceable, place_of, replaced
from jobspec.operators.trainer.runtimes import RuntimeRef, runtime_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.cluster import Cluster
    from jobspec.kinds import GroupKind

    #: What becomes of a document: the trees that take its place, if any do, and what is told of it.
    Outcome = tuple[Sequence[MarkedTree], Sequence[Diagnostic]]


@dataclass(frozen=True, slots=True)
class File:
    """A file to migrate: its documents, as they were checked."""

    name: str
    text: str
    documents: Sequence[Document]

    @property
    def is_rendered(self) -> bool:
        """Whether jobspec writes the file itself, from others."""
        return self.text.startswith(HEADER)


@dataclass(frozen=True, slots=True)
class MigratedFile:
    """A file after the migration."""

    file: File
    text: str
    diagnostics: Sequence[Diagnostic]

    @property
    def is_changed(self) -> bool:
        """Whether its text is another one."""
        return self.text != self.file.text

    @property
    def has_losses(self) -> bool:
        """Whether anything of its jobs is lost, or one cannot be migrated."""
        return any(each.rule == LOST or each.severity == "error" for each in self.diagnostics)


def to_trainjobs(files: Sequence[File], cluster: Cluster, *, gang_scheduler: str) -> list[MigratedFile]:
    """Files in which each PyTorchJob is a TrainJob of the cluster's trainer."""
    there = {id(file): list(file.documents) for file in files}

    def outcome(job: Document, file: File) -> Outcome:
        if job.group_kind != PYTORCHJOB:
            return (), ()
        if file.is_rendered:
            return (), [_rendered(job)]
        found = migrate_pytorchjob(job, _beside(file, files), cluster, gang_scheduler=gang_scheduler)
        if not isinstance(found, Migrated):
            return (), [found]
        taken = next((each for each in there[id(file)] for new in found.documents if _identity(each) == _identity(new)), None)
        if taken:
            return (), [cannot(job, f"it would be or need the {taken.kind} `{taken.name}`, and its file has one already")]
        there[id(file)] += found.documents
        return found.trees, loss_report(found)

    return [_migrated(each, outcome) for each in files]


def to_release(files: Sequence[File], before: Cluster, cluster: Cluster) -> list[MigratedFile]:
    """Files in which TrainJobs and runtimes are in the words of the cluster's trainer, and were in those of another."""
    sources = [each for each in files if not each.is_rendered]
    runtimes = {
        id(each): migrate_runtime(each, cluster.target) for file in sources for each in file.documents if each.group_kind in RUNTIMES
    }

    def new(document: Document) -> Document:
        return as_document(runtimes[id(document)][0], document) if id(document) in runtimes else document

    def outcome(document: Document, file: File) -> Outcome:
        if id(document) in runtimes:
            tree, diagnostics = runtimes[id(document)]
            return _if_other(tree, document), diagnostics
        if file.is_rendered and document.group_kind in KINDS:
            return (), [_rendered(document)]
        if document.group_kind != TRAINJOB:
            return (), ()
        beside = _beside(file, files)
        if runtime_of(document, beside, before.target) is None:
            ref = RuntimeRef(document.data)
            return (), [cannot(document, f"its {ref.kind} `{ref.name}` is not at hand; give the file of it, too")]
        found, dropped = migrate_trainjob(document, beside, [new(each) for each in beside if each is not document], before.target, cluster)
        if found.refusals:
            return (), [cannot(document, "; ".join(dict.fromkeys(found.refusals)))]
        return _if_other(found.trees[0], document), _with_dropped(loss_report(found), dropped)

    return [_migrated(each, outcome) for each in files]


def _rendered(document: Document) -> Diagnostic:
    why = "jobspec has rendered it: migrate what it is rendered from, and render again"
    return cannot(document, why, severity="warning")


def _identity(document: Document) -> tuple[GroupKind, str, str]:
    """What no two objects have in common; an object whose name the server makes has it with no other."""
    return document.group_kind, document.namespace, document.name or str(document.marks.mark)


def _beside(file: File, files: Sequence[File]) -> list[Document]:
    return [*file.documents, *(each for other in files if other is not file for each in other.documents)]


def _if_other(tree: MarkedTree, document: Document) -> Sequence[MarkedTree]:
    return [tree] if tree.data() != document.data else ()


def _with_dropped(diagnostics: Sequence[Diagnostic], dropped: Sequence[Diagnostic]) -> list[Diagnostic]:
    """What is told of a job's pods, and of the fields that are gone those that it does not tell of."""
    places = {str(each.mark) for each in diagnostics}
    return [*diagnostics, *(each for each in dropped if str(each.mark) not in places)]


def _migrated(file: File, outcome: Callable[[Document, File], Outcome]) -> MigratedFile:
    outcomes = {place_of(each): (each, *outcome(each, file)) for each in file.documents}
    new = {place: trees for place, (_, trees, _) in outcomes.items() if trees}
    kept = irreplaceable(file.text, file.documents, new)
    diagnostics: list[Diagnostic] = []
    for place, (document, _, said) in outcomes.items():
        diagnostics += [cannot(document, kept[place])] if place in kept else said
    wanted = {place: trees for place, trees in new.items() if place not in kept}
    return MigratedFile(file, replaced(file.text, file.documents, wanted) if wanted else file.text, diagnostics)
