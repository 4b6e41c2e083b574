"""The trainer's plugins for gang scheduling: a pod group for all pods of a job, and what puts each pod into it.

Follows the plugins coscheduling and volcano (2.1 on), github.com/kubeflow/trainer pkg/runtime/framework/plugins, 2.0.0 to 2.3.0, and
`PodRequests`, k8s.io/component-helpers resource.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import text
from jobspec.operators.edits import changed, with_fields
from jobspec.operators.trainer.pod_sets import POD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.kubernetes.admission.amounts import Amounts
    from jobspec.operators.trainer.pod_sets import PodSet
    from jobspec.operators.trainer.train_job import TrainJob

_LABEL = "scheduling.x-k8s.io/pod-group"
_ANNOTATION = "scheduling.k8s.io/group-name"
_QUEUE = "scheduling.volcano.sh/queue-name"


def has_volcano(job: TrainJob) -> bool:
    """Whether Volcano schedules the job's pods."""
    return job.reached("2.1.0") and job.group_policy("volcano") is not None


def in_group(replicated: MarkedTree, job: TrainJob) -> MarkedTree:
    """A replicated job whose pods say that they are in the job's group."""
    template = POD[:-1]
    if job.group_policy("coscheduling"):
        replicated = changed(replicated, (*template, "metadata", "labels"), lambda tree: with_fields(tree, {_LABEL: job.name}))
    if has_volcano(job):
        replicated = changed(replicated, (*template, "metadata", "annotations"), lambda tree: with_fields(tree, {_ANNOTATION: job.name}))
    return replicated


def pod_groups(job: TrainJob, sets: list[PodSet], annotations: MarkedTree | None) -> list[dict[str, Any]]:
    """The pod groups; *annotations* are the JobSet's."""
    if not job.group_policy("coscheduling") and not has_volcano(job):
        return []
    members = sum(each.count.value for each in sets)
    spec = {"minMember": members, "minResources": _requests(sets)}
    metadata = {"name": text(job.name)}
    groups: list[dict[str, Any]] = []
    if job.group_policy("coscheduling"):
        timeout = job.group_policy("coscheduling", "scheduleTimeoutSeconds")
        own = {**spec, **({"scheduleTimeoutSeconds": timeout} if timeout else {})}
        groups.append({"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": metadata, "spec": own})
    if has_volcano(job):
        own = {**spec, **_volcano(job, sets, annotations)}
        groups.append({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": metadata, "spec": own})
    return groups


def _volcano(job: TrainJob, sets: list[PodSet], annotations: MarkedTree | None) -> dict[str, MarkedTree]:
    """What Volcano wants to know besides: the queue, the priority of the last pods that have one, the network's topology."""
    classes = [name for each in sets if (name := each.job.get(*POD, "priorityClassName"))]
    found = {
        "queue": annotations.get(_QUEUE) if annotations else None,
        "priorityClassName": classes[-1] if classes else None,
        "networkTopology": job.group_policy("volcano", "networkTopology"),
    }
    return {name: each for name, each in found.items() if each is not None}


def _requests(sets: list[PodSet]) -> dict[str, str]:
    """The resources that all pods ask for."""
    from jobspec.kubernetes.admission.amounts import exact_amounts, pod_requests
    from jobspec.kubernetes.pods.resources import sum_of

    every = [_times(pod_requests(spec.data(), exact_amounts), each.count.value) for each in sets if (spec := each.job.get(*POD))]
    return {name: str(amount) for name, amount in sorted(sum_of(every).items())}


def _times(amounts: Amounts, count: int) -> Amounts:
    return {name: each.times(count) for name, each in amounts.items()}
