"""The pods of a job: its templates, with the variables, labels and gang scheduling that the operator adds.

Follows `JobController.createNewPod`, github.com/kubeflow/training-operator pkg/controller.v1/common, `SetRestartPolicy`, pkg/core,
`GetPodFromTemplate`, pkg/controller.v1/control, and `setInitContainer`, pkg/controller.v1/pytorch, with the operator's own template, image
and number of tries, 1.7.0 to 1.9.4.
"""

from __future__ import annotations

from jobspec.apis.kinds import PYTORCHJOB
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, items, set_by, text, with_fields, with_missing
from jobspec.go.quantities import Quantity, quantity_of
from jobspec.operators.made import as_go_writes
from jobspec.operators.training_operator import OBJECT_NAME, POLICIES_OF_PODS, WAIT, WAITING
from jobspec.operators.training_operator.job import Replicas, TrainingJob, labels, metadata, node_count, object_name, role_label
from jobspec.operators.training_operator.variables import with_variables
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from jobspec.apis.releases import Target


def pods(job: TrainingJob, replicas: Replicas) -> Iterator[MarkedTree]:
    """The pods of a replica type, in order."""
    spec = replicas.template.get("spec")
    if spec is None:
        return
    policy = replicas.restart_policy
    restart = MarkedTree(POLICIES_OF_PODS.get(policy.value, policy.value), policy.mark, policy.key)
    scheduler = scheduler_name(job)
    scheduled = with_missing(with_fields(spec, {"restartPolicy": restart}), scheduler, job.operator)
    common = _with_init_container(scheduled, job, replicas)
    for index in job.indices(replicas):
        yield _pod(job, replicas, common, index)


def _with_init_container(spec: MarkedTree, job: TrainingJob, replicas: Replicas) -> MarkedTree:
    """The pod spec of a PyTorchJob's Worker with the init container that waits for the Master's name, where the job has a Master."""
    if job.framework.kind != PYTORCHJOB or "Master" not in job.replicas or replicas.type != "Worker":
        return spec
    waits = {**WAITING, "command": ["sh", "-c", WAIT.format(OBJECT_NAME.format(job.name.value, "master", 0))]}
    own = spec.get("initContainers")
    mark = own.mark if own else job.operator  # the first of them, not their key: that is where a clash of names is reported
    return with_fields(spec, {"initContainers": MarkedTree([*items(own), set_by(job.operator, waits)], mark)})


def _pod(job: TrainingJob, replicas: Replicas, common: MarkedTree, index: int) -> MarkedTree:
    """One replica's pod."""
    spec = with_variables(common, job, replicas, index)
    group_labels, notes = group_marks(job, replicas)
    ours = {"labels": {**labels(job, replicas, index), **role_label(job, replicas, index), **group_labels}, "annotations": notes}
    own = {name: replicas.template.get("metadata", name) for name in ("labels", "annotations", "finalizers")}
    for name, each in ours.items():
        if each:
            before, new = own[name], set_by(job.operator, each)
            own[name] = with_fields(before, new.value) if before else new
    about = metadata(job, object_name(job, replicas, index), **own)
    return set_by(job.operator, {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": spec})


# Gang scheduling, where the operator was started with the name of a scheduler for it: a PodGroup, and what puts pods into it.
#
# Follows `JobController.ReconcileJobs` and `CalcPGMinResources`, github.com/kubeflow/training-operator pkg/controller.v1/common, and
# `DecoratePodTemplateSpec`, pkg/controller.v1/control, 1.7.0 to 1.9.4: `volcano` is Volcano's, any other name that of scheduler-plugins.
# Which of two replica types of one priority comes first is by chance; here the Master does.


_VOLCANO = "volcano"
_POLICY = ("spec", "runPolicy", "schedulingPolicy")


def pod_groups(job: TrainingJob, context: Sequence[Document], target: Target) -> Iterator[MarkedTree]:
    """The PodGroup of a job with gang scheduling."""
    policy = job.tree.get(*_POLICY) or job.tree.with_value({})
    members, given = policy.get("minAvailable") or MarkedTree(node_count(job), job.operator), policy.get("minResources")
    shape = shapes.part("kubeflow.org/v1", job.framework.kind[1], target, (*_POLICY, "minResources"))
    resources = as_go_writes(given, shape) if given else set_by(job.operator, _least_resources(job, int(members.value), context))
    spec: dict[str, Any] = {"minMember": members, "minResources": resources}
    if _is_volcano(job):
        queue = policy.get("queue") if text(policy, "queue") else "default" * job.since_1_8
        spec |= {"queue": queue, "priorityClassName": policy.get("priorityClass")}
    else:
        spec |= {"scheduleTimeoutSeconds": policy.get("scheduleTimeoutSeconds")}
    about = metadata(job, job.name, annotations=job.tree.value["metadata"].value.get("annotations"))
    group = "scheduling.volcano.sh/v1beta1" if _is_volcano(job) else "scheduling.x-k8s.io/v1alpha1"
    present = {name: each for name, each in spec.items() if (each.value if isinstance(each, MarkedTree) else each)}
    yield set_by(job.operator, {"apiVersion": group, "kind": "PodGroup", "metadata": about, "spec": present})


def scheduler_name(job: TrainingJob) -> dict[str, Any]:
    """The scheduler of pods whose template names none."""
    return {"schedulerName": _VOLCANO if _is_volcano(job) else job.gang_scheduler} if job.gang_scheduler else {}


def group_marks(job: TrainingJob, replicas: Replicas) -> tuple[dict[str, Any], dict[str, Any]]:
    """The labels and annotations that put a pod into its group: annotations into Volcano's, a label into that of scheduler-plugins."""
    if _is_volcano(job):
        return {}, {"scheduling.k8s.io/group-name": job.name, "volcano.sh/task-spec": replicas.type.lower()}
    return {"scheduling.x-k8s.io/pod-group": job.name} if job.gang_scheduler else {}, {}


def _is_volcano(job: TrainingJob) -> bool:
    return job.gang_scheduler.lower() == _VOLCANO


def _least_resources(job: TrainingJob, members: int, context: Sequence[Document]) -> dict[str, str]:
    """What the first pods request together, those of the highest priority first; a container without requests counts with its limits."""
    from jobspec.kubernetes.pods.amounts import sum_of

    total: dict[str, Quantity] = {}
    left = members
    for replicas in sorted(job.replicas.values(), key=lambda each: -_priority(each, context)):
        count = min(int(replicas.count.value), max(left, 0))
        left -= count
        for container in items(replicas.template.get("spec", "containers")) * count:
            resources = container.get("resources")
            wanted = (resources.get("requests") or resources.get("limits")) if resources else None
            total = sum_of((total, {name: quantity_of(each.value) for name, each in wanted.value.items()} if wanted else {}))
    return {name: str(amount) for name, amount in total.items()}


def _priority(replicas: Replicas, context: Sequence[Document]) -> int:
    """The `value` of the PriorityClass; 0 for one that is not given."""
    from jobspec.operators.priorities import value_of_class

    return value_of_class(text(replicas.template, "spec", "priorityClassName"), context)
