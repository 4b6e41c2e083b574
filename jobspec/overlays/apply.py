"""Apply overlays to the training jobs among a file's documents.

The laws, each a property test: applying nothing changes nothing; `[a, b]` at once equals `a`, then `b`; twice equals once;
overlays that do not conflict commute.
"""

from __future__ import annotations

from jobspec import workloads
from jobspec.diagnostics import Diagnostic, each_once
from jobspec.documents.document import Document
from jobspec.overlays.companions import companions
from jobspec.overlays.job import decides_pods, overlaid
from jobspec.overlays.shared_volumes import unshared_volumes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.overlays.job import OverlaidJob
    from jobspec.overlays.overlay import Overlay
    from jobspec.targets import Target


class Applied:
    """What overlays make of documents."""

    __slots__ = ("_base", "_jobs", "_overlays", "_target", "diagnostics", "documents")

    def __init__(self, base: Sequence[Document], jobs: Sequence[OverlaidJob], overlays: Sequence[Overlay], target: Target) -> None:
        self._base = base
        self._jobs = jobs
        self._overlays = overlays
        self._target = target
        results = {id(job.document): job.result for job in jobs}
        self.documents = [results.get(id(document), document) for document in base]
        """The documents in the file's order, then companions."""
        problems = [*_exclusions(overlays), *(problem for job in jobs for problem in job.problems)]
        if jobs:
            added, found = companions(overlays, _namespaces(jobs))
            problems += [*found, *unshared_volumes(jobs, self.documents, added)]
            self.documents += _as_documents(added, self.documents)
        self.diagnostics = each_once(problems)
        """Everything that is wrong with the overlays on these documents; with an error among it, the documents are of no use."""

    def with_overlay(self, overlay: Overlay) -> Applied:
        """What these overlays make of the documents with one more: where that decides which pods there are, all are applied again."""
        overlays = [*self._overlays, overlay]
        if not self._jobs or any(decides_pods(overlay, job.document.kind) for job in self._jobs):
            return apply(self._base, overlays, self._target)
        return Applied(self._base, [job.with_overlay(overlay) for job in self._jobs], overlays, self._target)

    def accepted(self) -> Applied:
        """The same, whose jobs the server has accepted."""
        return Applied(self._base, [job.as_sound() for job in self._jobs], self._overlays, self._target)


def apply(documents: Sequence[Document], overlays: Sequence[Overlay], target: Target) -> Applied:
    """The documents with the overlays applied, in order, to every training job among them."""
    jobs = [overlaid(each, documents, overlays, target) for each in documents if overlays and workloads.is_workload(each)]
    return Applied(documents, jobs, overlays, target)


def _exclusions(overlays: Sequence[Overlay]) -> Iterator[Diagnostic]:
    """An error for each pair of overlays of which one names the other in `conflicts`."""
    for number, overlay in enumerate(overlays):
        for other in overlays[:number]:
            pairs = ((overlay, other), (other, overlay))
            named = [name for one, another in pairs for name in one.conflicts() if name.value == another.name]
            if named and overlay.name != other.name:
                message = f"`{overlay.name}` and `{other.name}` exclude each other"
                yield Diagnostic("overlay-conflict", message, named[0].mark, hint="apply one of them only")


def _namespaces(jobs: Sequence[OverlaidJob]) -> list[MarkedTree | None]:
    """The different namespaces of the jobs; None for jobs without one."""
    found: dict[str, MarkedTree | None] = {}
    for job in jobs:
        found.setdefault(job.result.namespace, job.tree.get("metadata", "namespace"))
    return list(found.values())


def _as_documents(added: Sequence[MarkedTree], before: Sequence[Document]) -> list[Document]:
    """Companions as documents that follow those of a file."""
    first = before[-1].index + 1
    return [Document(tree.data(), tree.marks, file=before[0].file, index=number) for number, tree in enumerate(added, first)]
