"""One job before and after its migration: the manifests that take its place, and what differs."""

from __future__ import annotations

from jobspec import pipeline
from jobspec.documents.document import Document
from jobspec.migration.loss import COST, meaning_in
from jobspec.migration.view import compared, view

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.cluster import Cluster
    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.migration.facts import Difference
    from jobspec.migration.view import JobFacts

_REFUSED = 1_000_000_000


class Migrated:
    """A job, and the manifests that take its place."""

    __slots__ = ("after", "before", "differences", "documents", "job", "refusals", "trees")

    def __init__(
        self, job: Document, trees: Sequence[MarkedTree], before: JobFacts, cluster: Cluster, beside: Sequence[Document] = ()
    ) -> None:
        """*beside*: further documents that the new manifests may refer to."""
        self.job = job
        """As it was."""
        self.trees = trees
        """The manifests that take its place, with the places in the source that their values come from; the job comes last."""
        self.documents = [as_document(each, job) for each in trees]
        """The same as documents."""
        self.before = before
        around = [*self.documents, *beside]
        self.refusals: list[str] = _refusals(self.documents, beside, cluster)
        """Why a server or an operator takes the new manifests not, empty where they do."""
        self.after: JobFacts | None = None
        self.differences: list[Difference] = []
        if not self.refusals:
            after = view(self.documents[-1], around, cluster.target)
            self.after = after
            self.differences = compared(before, after)
            self.refusals = [each.message for each in after.refusals if each.severity == "error"]

    def rules(self) -> list[str]:
        """The rule of each difference."""
        return [meaning_in(self.before.facts, each) for each in self.differences]

    def cost(self) -> int:
        """How much is lost."""
        return _REFUSED if self.refusals else sum(COST[rule] for rule in self.rules())


def as_document(tree: MarkedTree, source: Document) -> Document:
    """A tree as a document in the place of another."""
    return Document(tree.data(), tree.marks(), file=source.file, index=source.index)


def _refusals(documents: Sequence[Document], beside: Sequence[Document], cluster: Cluster) -> list[str]:
    """What a server says against new manifests, beside others that it has."""
    around = pipeline.check(pipeline.Manifests("", [*beside]), cluster) if beside else None
    checked = pipeline.check(pipeline.Manifests(documents[-1].file, documents), cluster)
    resolved = pipeline.resolve([checked, *([around] if around else [])], cluster)[0]
    return [each.message for each in resolved.result.diagnostics if each.severity == "error"]
