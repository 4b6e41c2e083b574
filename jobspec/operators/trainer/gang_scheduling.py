"""The trainer's plugins for gang scheduling: a pod group for all pods of a job, and what puts each pod into it.

Follows the plugins coscheduling and volcano (2.1 on), github.com/kubeflow/trainer pkg/runtime/framework/plugins, 2.0.0 to 2.3.0, and
`PodRequests`, k8s.io/component-helpers resource.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, changed, text, with_fields
from jobspec.kubernetes.pods.amounts import exact_amounts, pod_requests
from jobspec.operators.trainer.pod_sets import POD, TrainerPodSet
from jobspec.operators.trainer.train_job import JobOfTrainer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_LABEL = "scheduling.x-k8s.io/pod-group"
_ANNOTATION = "scheduling.k8s.io/group-name"
_QUEUE = "scheduling.volcano.sh/queue-name"


def has_volcano(job: JobOfTrainer) -> bool:
    """Whether Volcano schedules the job's pods."""
    return job.is_at_least("2.1.0") and job.group_policy("volcano") is not None


def in_group(replicated: MarkedTree, job: JobOfTrainer) -> MarkedTree:
    """A replicated job whose pods say that they are in the job's group."""
    template = POD[:-1]
    if job.group_policy("coscheduling"):
        replicated = changed(replicated, (*template, "metadata", "labels"), lambda tree: with_fields(tree, {_LABEL: job.name}))
    if has_volcano(job):
        replicated = changed(replicated, (*template, "metadata", "annotations"), lambda tree: with_fields(tree, {_ANNOTATION: job.name}))
    return replicated


def pod_groups(job: JobOfTrainer, sets: list[TrainerPodSet], annotations: MarkedTree | None) -> list[dict[str, Any]]:
    """The pod groups; *annotations* are the JobSet's."""
    if not job.group_policy("coscheduling") and not has_volcano(job):
        return []
    spec = {"minMember": sum(each.count.value for each in sets), "minResources": _requests(sets)}
    own: dict[str, dict[str, MarkedTree]] = {}
    if job.group_policy("coscheduling"):
        timeout = job.group_policy("coscheduling", "scheduleTimeoutSeconds")
        own["scheduling.x-k8s.io/v1alpha1"] = {"scheduleTimeoutSeconds": timeout} if timeout else {}
    if has_volcano(job):
        own["scheduling.volcano.sh/v1beta1"] = _volcano(job, sets, annotations)
    group = {"kind": "PodGroup", "metadata": {"name": text(job.name)}}
    return [{"apiVersion": version, **group, "spec": {**spec, **each}} for version, each in own.items()]


def _volcano(job: JobOfTrainer, sets: list[TrainerPodSet], annotations: MarkedTree | None) -> dict[str, MarkedTree]:
    """What Volcano wants to know besides: the queue, the priority of the last pods that have one, the network's topology."""
    classes = [name for each in sets if (name := each.job.get(*POD, "priorityClassName"))]
    found = {
        "queue": annotations.get(_QUEUE) if annotations else None,
        "priorityClassName": classes[-1] if classes else None,
        "networkTopology": job.group_policy("volcano", "networkTopology"),
    }
    return {name: each for name, each in found.items() if each is not None}


def _requests(sets: list[TrainerPodSet]) -> dict[str, str]:
    """The resources that all pods ask for."""
    from jobspec.kubernetes.pods.amounts import sum_of

    every = [(pod_requests(spec.data(), exact_amounts), each.count.value) for each in sets if (spec := each.job.get(*POD))]
    total = sum_of([{name: each.times(count) for name, each in amounts.items()} for amounts, count in every])
    return {name: str(amount) for name, amount in sorted(total.items())}
