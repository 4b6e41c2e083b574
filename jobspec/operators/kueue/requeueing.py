"""Changes for which Kueue stops a job that runs in a queue, and queues it again: those of the containers and counts of its pod sets.

Follows `EquivalentToWorkload` and `ensureOneWorkload`, sigs.k8s.io/kueue pkg/controller/jobframework, `ComparePodSetSlices`,
pkg/util/equality, and `EnsureWorkloadSlices`, pkg/workloadslicing, 0.19.2: node selectors are not compared, and tolerations are not of a
job that is admitted. Of an elastic job only the names of the pod sets are. Its webhook refuses such changes of a LeaderWorkerSet, whose
groups have Workloads of their own.
"""

from __future__ import annotations

from jobspec.apis.kinds import LEADER_WORKER_SET
from jobspec.apis.releases import QUEUES
from jobspec.go.values import structs
from jobspec.operators.kueue.management import is_elastic
from jobspec.operators.kueue.versions import RELEASE, makes_workloads_of, not_queued
from jobspec.operators.kueue.workload import queue_name, workload_of
from jobspec.operators.workloads import is_suspended

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.apis.releases import Target
    from jobspec.documents.document import Document
    from jobspec.operators.kueue.world import World

    #: A job, and what it may refer to, such as runtimes.
    State = tuple[Document, Sequence[Document]]


def is_requeued(before: State, after: State, target: Target, world: World) -> bool:
    """True if Kueue stops a job between two states, and queues it again.

    A suspended job has no pods to stop.
    """
    if not all(_runs_in_queue(job, target, world) for job, _ in (before, after)):
        return False
    compared = _names if is_elastic(after[0], target, world) else _compared
    old, new = (compared(*each, target, world) for each in (before, after))
    return old is not None and new is not None and old != new


def _runs_in_queue(job: Document, target: Target, world: World) -> bool:
    """True if Kueue queues a job that does not say to be suspended."""
    if not makes_workloads_of(job) or job.group_kind == LEADER_WORKER_SET or is_suspended(job) or not queue_name(job, target, world):
        return False
    bypasses, _ = not_queued(job.group_kind, target.get(QUEUES, RELEASE), world.configuration)
    return not bypasses


def _names(job: Document, context: Sequence[Document], target: Target, world: World) -> list[object] | None:
    """Return the names of the pod sets of an elastic job; None if there are none."""
    workload = workload_of(job, context, target, world)
    return None if workload.problem else [*sorted(each.name for each in workload.pod_sets)]


def _compared(job: Document, context: Sequence[Document], target: Target, world: World) -> list[object] | None:
    """Return what Kueue compares of the pod sets of a job; None if there are none."""
    workload = workload_of(job, context, target, world)
    if workload.problem:
        return None
    return [
        (each.count, each.least, *(structs(each.spec, field) for field in ("initContainers", "containers"))) for each in workload.pod_sets
    ]
