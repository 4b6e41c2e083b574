"""The way of a PyTorchJob to a TrainJob that changes least, found by comparing the pods of each with its own."""

from __future__ import annotations

from jobspec.migration.loss import COST, LOST
from jobspec.migration.migrated import Migrated
from jobspec.migration.pytorchjob import ways
from jobspec.migration.source import SourceJob
from jobspec.migration.view import view

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.cluster import Cluster
    from jobspec.diagnostics import Diagnostic, Severity
    from jobspec.documents.document import Document


def migrate_pytorchjob(job: Document, beside: Sequence[Document], cluster: Cluster, *, gang_scheduler: str = "") -> Migrated | Diagnostic:
    """The TrainJob that comes closest to a PyTorchJob; of several, the plainest. Or why there is none."""
    before = view(job, beside, cluster.target, gang_scheduler=gang_scheduler)
    if not before.nodes:
        why = next((each.message for each in before.refusals), "it has no pods")
        return cannot(job, f"training-operator makes no pods of it: {why}")
    found = []
    for trees in ways(SourceJob(job, before.objects, cluster.target, gang_scheduler=gang_scheduler)):
        candidate = Migrated(job, trees, before, cluster)
        found.append(candidate)
        if candidate.cost() < COST[LOST]:
            break
    best = min(found, key=lambda each: each.cost() // COST[LOST])
    return cannot(job, "; ".join(dict.fromkeys(best.refusals))) if best.refusals else best


def cannot(job: Document, why: str, *, severity: Severity = "error") -> Diagnostic:
    """That a job stays as it is."""
    return job.problem("not-migrated", f"{job.kind} {job.name} stays as it is: {why}", ("metadata", "name"), severity=severity)
