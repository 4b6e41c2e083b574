"""Gang scheduling, where the operator was started with the name of a scheduler for it: a PodGroup, and what puts pods into it.

Follows `JobController.ReconcileJobs` and `CalcPGMinResources`, github.com/kubeflow/training-operator pkg/controller.v1/common, and
`DecoratePodTemplateSpec`, pkg/controller.v1/control, 1.7.0 to 1.9.4: `volcano` is Volcano's, any other name that of scheduler-plugins.
Which of two replica types of one priority comes first is by chance; here the Master does.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items
from jobspec.go.quantities import quantity
from jobspec.kubernetes.pods.resources import sum_of
from jobspec.operators.api_defaults.priority import value_of_class
from jobspec.operators.go_types import as_go_writes
from jobspec.operators.objects import set_by
from jobspec.operators.training_operator.names import metadata
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from jobspec.documents.document import Document
    from jobspec.go.quantities import Quantity
    from jobspec.operators.training_operator.job import Replicas, TrainingJob
    from jobspec.targets import Target

_VOLCANO = "volcano"
_POLICY = ("spec", "runPolicy", "schedulingPolicy")


def pod_groups(job: TrainingJob, beside: Sequence[Document], target: Target) -> Iterator[MarkedTree]:
    """The PodGroup of a job; none without gang scheduling."""
    if not job.gang_scheduler:
        return
    policy = job.tree.get(*_POLICY) or job.tree.with_value({})
    members = policy.get("minAvailable") or MarkedTree(sum(int(each.count.value) for each in job.replicas.values()), job.operator)
    resources = _minimum(policy.get("minResources"), target) or set_by(job.operator, _least_resources(job, int(members.value), beside))
    spec: dict[str, Any] = {"minMember": members, "minResources": resources}
    if _is_volcano(job):
        default = "default" if job.since("1.8.0") else ""
        spec |= {"queue": _given(policy, "queue") or default, "priorityClassName": _given(policy, "priorityClass")}
    else:
        spec |= {"scheduleTimeoutSeconds": policy.get("scheduleTimeoutSeconds")}
    about = metadata(job, job.name, annotations=job.tree.value["metadata"].value.get("annotations"))
    group = "scheduling.volcano.sh/v1beta1" if _is_volcano(job) else "scheduling.x-k8s.io/v1alpha1"
    present = {name: each for name, each in spec.items() if (each.value if isinstance(each, MarkedTree) else each)}
    yield set_by(job.operator, {"apiVersion": group, "kind": "PodGroup", "metadata": about, "spec": present})


def scheduler_name(job: TrainingJob) -> dict[str, Any]:
    """The scheduler of pods whose template names none."""
    return {"schedulerName": _VOLCANO if _is_volcano(job) else job.gang_scheduler} if job.gang_scheduler else {}


def group_labels(job: TrainingJob) -> dict[str, Any]:
    """The labels that put a pod into the group of scheduler-plugins."""
    return {"scheduling.x-k8s.io/pod-group": job.name} if job.gang_scheduler and not _is_volcano(job) else {}


def group_annotations(job: TrainingJob, replicas: Replicas) -> dict[str, Any]:
    """The annotations that put a pod into Volcano's group."""
    if not _is_volcano(job):
        return {}
    return {"scheduling.k8s.io/group-name": job.name, "volcano.sh/task-spec": replicas.type.lower()}


def _is_volcano(job: TrainingJob) -> bool:
    return job.gang_scheduler.lower() == _VOLCANO


def _given(policy: MarkedTree, field: str) -> MarkedTree | None:
    found = policy.get(field)
    return found if found and found.value else None


def _minimum(given: MarkedTree | None, target: Target) -> MarkedTree | None:
    shape = shapes.load("kubeflow.org/v1", "PyTorchJob", target)
    return as_go_writes(given, shape.at((*_POLICY, "minResources"))) if given and shape else None


def _least_resources(job: TrainingJob, members: int, beside: Sequence[Document]) -> dict[str, str]:
    """What the first pods request together, those of the highest priority first; a container without requests counts with its limits."""
    total: dict[str, Quantity] = {}
    left = members
    for replicas in sorted(job.replicas.values(), key=lambda each: -_priority(each, beside)):
        count = min(int(replicas.count.value), max(left, 0))
        left -= count
        for container in items(replicas.template.get("spec", "containers")) * count:
            resources = container.get("resources")
            wanted = (resources.get("requests") or resources.get("limits")) if resources else None
            total = sum_of((total, {name: quantity(str(each.value)) for name, each in wanted.value.items()} if wanted else {}))
    return {name: str(amount) for name, amount in total.items()}


def _priority(replicas: Replicas, beside: Sequence[Document]) -> int:
    named = replicas.template.get("spec", "priorityClassName")
    return value_of_class(named.value if named else "", beside)
