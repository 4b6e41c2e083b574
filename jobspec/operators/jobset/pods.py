"""Expand a JobSet: its Service, its claims and its Jobs, and the pods that the Job controller makes of the Jobs.

Follows `podWebhook.Default`, sigs.k8s.io/jobset pkg/webhooks, 0.8.2 to 0.12.0, for the pods of a JobSet.
"""

from __future__ import annotations

from jobspec.apis.kinds import PRIORITY_CLASS
from jobspec.diagnostics.grouping import grouped
from jobspec.documents.marked_tree import MarkedTree, of_kind, set_by, text
from jobspec.operators.batch import completions_of, job_defaults, pods_of
from jobspec.operators.jobset.mutation import admitted, stored_jobset
from jobspec.operators.jobset.objects import CONTROLLER, made_by_jobset
from jobspec.operators.made import Expansion, api_server, stored
from jobspec.operators.workloads import REPLICATED_JOB

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.apis.releases import Target
    from jobspec.diagnostics.places import Mark
    from jobspec.documents.document import Document


def expand_jobset(jobset: Document, target: Target, *, context: Sequence[Document] = (), first_and_last_only: bool = False) -> Expansion:
    """What JobSet and Kubernetes make of a JobSet that a server accepts, in the order in which it comes; arguments as for `expand`."""
    tree = stored_jobset(stored(jobset, target), target)
    manager = tree.get("spec", "managedBy")
    if manager and text(manager) not in ("", CONTROLLER):
        message = f"`{text(manager)}` manages the JobSet: JobSet creates nothing for it here"
        return Expansion((), [jobset.problem("no-pods-created", message, ("spec", "managedBy"), severity="info")])
    objects = objects_of_jobset(tree, target, context=context, first_and_last_only=first_and_last_only)
    return Expansion(objects, counts=counts_of(objects))


def objects_of_jobset(jobset: MarkedTree, target: Target, *, context: Sequence[Document], first_and_last_only: bool) -> list[MarkedTree]:
    """The objects created for a stored JobSet. *first_and_last_only*: as for `expand`."""
    objects = made_by_jobset(jobset, target)
    return [*objects, *pods_among_jobs(objects, target, context=context, first_and_last_only=first_and_last_only)]


def counts_of(objects: Sequence[MarkedTree]) -> dict[str, int]:
    """The pods of each replicated job among the objects of a JobSet."""
    by_role = grouped(of_kind(objects, "Job"), lambda each: text(each, "metadata", "labels", REPLICATED_JOB))
    return {role: sum(map(completions_of, jobs)) for role, jobs in by_role.items()}


def pods_among_jobs(
    objects: Sequence[MarkedTree], target: Target, *, context: Sequence[Document], first_and_last_only: bool
) -> list[MarkedTree]:
    """The pods of the Jobs among objects. *first_and_last_only*: of each, as for `expand`."""
    server, pods = api_server(target), list[MarkedTree]()
    for job in [job_defaults(each, server) for each in of_kind(objects, "Job")]:
        priority = _priority(job.value["spec"].value["template"].value["spec"], server, context)
        pods += [admitted(pod, target, priority) for pod in pods_of(job, target, first_and_last_only=first_and_last_only)]
    return pods


def _priority(spec: MarkedTree, server: Mark, context: Sequence[Document]) -> MarkedTree | None:
    """The priority of the pods of a Job; None where their class is not at hand."""
    if spec.get("priorityClassName") is None and not any(each.group_kind == PRIORITY_CLASS for each in context):
        return spec.get("priority") or set_by(server, 0)
    from jobspec.operators.priorities import with_priority

    return with_priority(spec, server, context).get("priority")
