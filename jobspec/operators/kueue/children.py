"""Queue names at the objects that another controller makes of a job, and resumes whenever Kueue suspends them.

Follows `ReconcileGenericJob`, sigs.k8s.io/kueue pkg/controller/jobframework, 0.19: an object with a queue name whose owners are in no queue
is a job of its own.
"""

from __future__ import annotations

from jobspec.apis.kinds import JOB, JOBSET, TRAINJOB
from jobspec.diagnostics.errors import JobspecError
from jobspec.documents.marked_tree import MarkedTree, items, of_kind, text, with_marks
from jobspec.operators.workloads import QUEUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobspec.apis.releases import Target
    from jobspec.documents.document import Document
    from jobspec.operators.kueue.world import World

_LABELS = ("metadata", "labels", QUEUE)
_KINDS = {kind[1]: kind for kind in (JOB, JOBSET)}


def queued_templates(jobset: MarkedTree, *, of_trainer: bool) -> Iterator[tuple[str, MarkedTree]]:
    """Yield the kind and queue name of each object that another controller resumes.

    That is the JobSet, or else its Jobs. *of_trainer*: the trainer makes the JobSet.
    """
    if name := _queue_of(jobset):
        yield from [("JobSet", name)] if of_trainer else []
        return
    for job in items(jobset.get("spec", "replicatedJobs")):
        if name := _queue_of(job, "template"):
            yield "Job", name


def _queue_of(tree: MarkedTree, *path: str) -> MarkedTree | None:
    """Return the queue name of an object; None without one."""
    said = tree.get(*path, *_LABELS)
    return said if said and text(said) else None


def children_in_queues(job: Document, context: Sequence[Document], target: Target, world: World) -> list[tuple[str, str]]:
    """Return the kind and queue name of what Kueue queues of the objects made of a job.

    The job itself names no queue. *context*: what the job may refer to.
    """
    if job.group_kind == JOBSET:
        found = [with_marks(job.data, job.marks)]
    elif job.group_kind == TRAINJOB:
        from jobspec.operators.expansion import expand

        try:
            found = of_kind(expand(job, context, target, first_and_last_only=True, skip_server_checks=True).objects, "JobSet")
        except JobspecError:
            return []
    else:
        return []
    from jobspec.operators.kueue.management import is_queued_kind

    named = (each for tree in found for each in queued_templates(tree, of_trainer=job.group_kind == TRAINJOB))
    return list(dict.fromkeys((kind, text(name)) for kind, name in named if is_queued_kind(_KINDS[kind], target, world)))
