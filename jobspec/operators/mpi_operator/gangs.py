"""Gang scheduling of MPIJobs: a PodGroup, and what puts pods into it.

The operator does it if it was started with `--gang-scheduling`. `volcano` is Volcano's PodGroup; any other name is the scheduler that has
the PodGroups of scheduler-plugins.

Follows `newPodGroup`, `decoratePodTemplateSpec`, `calPGMinResource` and `calculatePriorityClassName`, github.com/kubeflow/mpi-operator
pkg/controller/podgroup.go, 0.6.0 to 0.8.2.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items, set_by, text, with_fields
from jobspec.go.quantities import quantity_of
from jobspec.operators.made import as_go_writes
from jobspec.operators.mpi_operator import API_VERSION, LAUNCHER, POLICY, REPLICAS, WORKER
from jobspec.operators.mpi_operator.job import MPIJob, metadata
from jobspec.operators.priorities import value_of_class
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from jobspec.apis.releases import Target
    from jobspec.documents.document import Document

_VOLCANO = "volcano"
_POLICY = (*POLICY, "schedulingPolicy")


def pod_group(job: MPIJob, context: Sequence[Document], target: Target) -> MarkedTree:
    """Return the PodGroup of a job. *context*: documents with priority classes."""
    policy = job.tree.get(*_POLICY) or MarkedTree({}, job.operator)
    members = policy.get("minAvailable") or MarkedTree(job.workers + 1, job.operator)
    given = policy.get("minResources")
    least = _least_resources(job, int(members.value), context) if given is None else {}
    shape = shapes.part(API_VERSION, "MPIJob", target, (*_POLICY, "minResources"))
    resources: Any = as_go_writes(given, shape) if given else least
    is_volcano = job.gang_scheduler == _VOLCANO
    spec: dict[str, Any] = {"minMember": members} if members.value else {}
    if is_volcano:
        spec |= {name: each for name, each in (("queue", _queue(job, policy)), ("priorityClassName", _priority_class(job, policy))) if each}
        spec |= {} if resources is None else {"minResources": resources}
    else:
        spec |= {"scheduleTimeoutSeconds": policy.get("scheduleTimeoutSeconds") or 0}
        spec |= {"minResources": resources} if resources else {}
    group = "scheduling.volcano.sh/v1beta1" if is_volcano else "scheduling.x-k8s.io/v1alpha1"
    about = metadata(job, job.name)
    return set_by(job.operator, {"apiVersion": group, "kind": "PodGroup", "metadata": about, "spec": spec})


def in_gang(template: MarkedTree, job: MPIJob) -> MarkedTree:
    """Return a pod template with the scheduler and the PodGroup of its gang.

    The scheduler replaces another one.
    """
    if not job.gang_scheduler:
        return template
    if job.gang_scheduler == _VOLCANO:
        field, marks = "annotations", {"scheduling.k8s.io/group-name": job.name}
    else:
        field, marks = "labels", {"scheduling.x-k8s.io/pod-group": job.name}
    about = template.get("metadata") or MarkedTree({}, job.operator)
    before = about.get(field) or MarkedTree({}, job.operator)
    about = with_fields(about, {field: with_fields(before, set_by(job.operator, marks).value)})
    spec = with_fields(template.value["spec"], {"schedulerName": set_by(job.operator, job.gang_scheduler)})
    return template.with_value({**template.value, "metadata": about, "spec": spec})


def _queue(job: MPIJob, policy: MarkedTree) -> MarkedTree | None:
    """Return the queue of Volcano that the policy or an annotation of the job names."""
    own = policy.get("queue")
    return own if own is not None and own.value else job.tree.get("metadata", "annotations", "scheduling.volcano.sh/queue-name")


def _priority_class(job: MPIJob, policy: MarkedTree) -> MarkedTree | None:
    """Return the first priority class that the policy, the launcher or the workers name."""
    own = (job.tree.get(*REPLICAS, role, "template", "spec", "priorityClassName") for role in (LAUNCHER, WORKER))
    return next((each for each in (policy.get("priorityClass"), *own) if each is not None and each.value), None)


def _least_resources(job: MPIJob, members: int, context: Sequence[Document]) -> dict[str, str] | None:
    """Return what the first pods request together.

    Those of the higher priority come first. If there are no members, return None.
    """
    if members == 0:
        return None
    counts = {LAUNCHER: 1, **({WORKER: job.workers} if job.has_workers else {})}
    if sum(counts.values()) > members:
        counts[_lower(job, context)] = members - 1
    total: dict[str, Any] = {}
    for role, count in counts.items():
        for container in items(job.tree.get(*REPLICAS, role, "template", "spec", "containers")):
            for name, each in _requests(container).items():
                amount = quantity_of(each).times(count)
                total[name] = total[name] + amount if name in total else amount
    return {name: str(amount) for name, amount in total.items()}


def _lower(job: MPIJob, context: Sequence[Document]) -> str:
    """Return the replica type of the lower priority; of two equal ones, the workers."""
    values = {
        role: value_of_class(text(job.tree, *REPLICAS, role, "template", "spec", "priorityClassName"), context)
        for role in (LAUNCHER, WORKER)
    }
    return LAUNCHER if values[LAUNCHER] < values[WORKER] else WORKER


def _requests(container: MarkedTree) -> dict[str, Any]:
    """Return the requests of a container; a resource without a request counts with its limit."""
    found: dict[str, Any] = {}
    for part in ("limits", "requests"):
        resources = container.get("resources", part)
        found |= {name: each.value for name, each in resources.value.items()} if resources else {}
    return found
