"""The pods of a PyTorchJob: its templates, with the variables, labels and gang scheduling that the operator adds.

Follows `JobController.createNewPod`, github.com/kubeflow/training-operator pkg/controller.v1/common, `SetRestartPolicy`, pkg/core,
`GetPodFromTemplate`, pkg/controller.v1/control, and `setInitContainer`, pkg/controller.v1/pytorch, with the operator's own template, image
and number of tries, 1.7.0 to 1.9.4.
"""

from __future__ import annotations

from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, each_item, items, set_by, text, with_appended, with_fields, with_missing
from jobspec.go.quantities import Quantity, quantity_of
from jobspec.go.values import integer
from jobspec.operators.made import as_go_writes
from jobspec.operators.training_operator import OBJECT_NAME, POLICIES_OF_PODS, WAIT, WAITING
from jobspec.operators.training_operator.job import Replicas, TrainingJob, labels, metadata, object_name, role_label
from jobspec.programs.command_lines import ENDPOINT, NNODES, NODE_RANK, NPROC_PER_NODE
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
    """A pod spec with the init container that waits until the Master's name is known, where the job has a Master and this is a Worker."""
    if "Master" not in job.replicas or replicas.type != "Worker":
        return spec
    waits = {**WAITING, "command": ["sh", "-c", WAIT.format(OBJECT_NAME.format(job.name.value, "master", 0))]}
    own = spec.get("initContainers")
    mark = own.mark if own else job.operator  # the first of them, not their key: that is where a clash of names is reported
    return with_fields(spec, {"initContainers": MarkedTree([*items(own), set_by(job.operator, waits)], mark)})


def _pod(job: TrainingJob, replicas: Replicas, common: MarkedTree, index: int) -> MarkedTree:
    """One replica's pod."""
    added = variables(job, replicas, index)
    spec = each_item(common, "containers", lambda container: with_appended(container, "env", added, job.operator))
    group_labels, notes = _of_group(job, replicas)
    ours = {"labels": {**labels(job, replicas, index), **role_label(job, replicas, index), **group_labels}, "annotations": notes}
    own = {name: replicas.template.get("metadata", name) for name in ("labels", "annotations", "finalizers")}
    for name, each in ours.items():
        if each:
            before, new = own[name], set_by(job.operator, each)
            own[name] = with_fields(before, new.value) if before else new
    about = metadata(job, object_name(job, replicas, index), **own)
    return set_by(job.operator, {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": spec})


# The variables that the operator adds to every container of a pod, behind those of the job; init containers get none.
#
# Follows `setPodEnv` and `MasterEnvVarGenerator.Generate`, github.com/kubeflow/training-operator pkg/controller.v1/pytorch, 1.7.0 to
# 1.9.4.


def variables(job: TrainingJob, replicas: Replicas, index: int) -> list[MarkedTree]:
    """The variables of one replica; one that is empty has a name alone."""
    found = [_variable(name, value) for name, value in _variables(job, replicas, index)]
    return items(set_by(job.operator, found))


def _variable(name: str, value: str | MarkedTree) -> dict[str, str | MarkedTree]:
    """A variable, and the place of a field that it is made of."""
    if not isinstance(value, MarkedTree):
        return {"name": name, "value": value} if value else {"name": name}
    return {"name": name, "value": value} if value.value else {"name": value.with_value(name)}


def _variables(job: TrainingJob, replicas: Replicas, index: int) -> Iterator[tuple[str, str | MarkedTree]]:
    """Name and value of each variable, in the operator's order."""
    yield "PYTHONUNBUFFERED", "1"
    if "Master" in job.replicas:
        yield from _of_master(job)
        rank = index + 1 if replicas.type == "Worker" else index  # the Master is node 0
        yield "WORLD_SIZE", str(node_count(job) * _processes(job))
        yield "RANK", str(rank)
        if not job.since_1_8 and job.processes:
            yield NPROC_PER_NODE, job.processes
        yield NODE_RANK, str(rank)
    if job.since_1_8 and job.processes:
        yield NPROC_PER_NODE, job.processes
    if job.elastic:
        yield from elastic_variables(job, job.elastic)
    else:
        yield NNODES, str(node_count(job))


def _of_master(job: TrainingJob) -> Iterator[tuple[str, str]]:
    port = job.replicas["Master"].port()
    for name, value in {"PORT": str(port.value) if port else "", "ADDR": OBJECT_NAME.format(job.name.value, "master", 0)}.items():
        yield f"MASTER_{name}", value
        yield f"PET_MASTER_{name}", value


def node_count(job: TrainingJob) -> int:
    """How many replicas of all types were asked for."""
    return sum(int(each.count.value) for each in job.replicas.values())


def _processes(job: TrainingJob) -> int:
    """How many processes a node has, as the operator counts them for `WORLD_SIZE`: 1 for everything but a number of 64 bits."""
    number = integer(str(job.processes.value)) if job.processes else None
    return 1 if number is None else number


# The variables by which `torchrun` finds the other nodes of an elastic job.
#
# Follows `ElasticEnvVarGenerator.Generate`, github.com/kubeflow/training-operator pkg/controller.v1/pytorch, 1.7.0 to 1.9.4.


#: The variables that hold a field of the policy as it stands, in the operator's order; the first two of all come before them.
_COPIED = {"PET_MAX_RESTARTS": "maxRestarts", NPROC_PER_NODE: "nProcPerNode", "PET_RDZV_ID": "rdzvId"}


def elastic_variables(job: TrainingJob, policy: MarkedTree) -> Iterator[tuple[str, str | MarkedTree]]:
    """Name and value of each variable, by the elastic *policy* of a job."""
    yield ENDPOINT, _endpoint(job, policy)
    yield "PET_RDZV_BACKEND", policy.get("rdzvBackend") or "c10d"
    least, most = policy.get("minReplicas"), policy.get("maxReplicas")
    yield NNODES, f"{least.value if least else ''}:{most.value if most else ''}"
    for name, field in _COPIED.items():
        value = policy.get(field)
        if value is not None:
            yield name, value.with_value(str(value.value))
    settings = items(policy.get("rdzvConf"))
    if settings:
        yield "PET_RDZV_CONF", ",".join(f"{text(each, 'key')}={text(each, 'value')}" for each in settings)
    standalone = policy.get("standalone")
    if standalone and standalone.value:
        yield "PET_STANDALONE", standalone.with_value("")


def _endpoint(job: TrainingJob, policy: MarkedTree) -> str:
    """Where the nodes meet: at the first Worker, unless the policy names a host or a port."""
    host, port = policy.get("rdzvHost"), policy.get("rdzvPort")
    number = port or (job.replicas["Worker"].port() if "Worker" in job.replicas else None)
    return f"{host.value if host else f'{job.name.value}-worker-0'}:{number.value if number else ''}"


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
    shape = shapes.part("kubeflow.org/v1", "PyTorchJob", target, (*_POLICY, "minResources"))
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


def _of_group(job: TrainingJob, replicas: Replicas) -> tuple[dict[str, Any], dict[str, Any]]:
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
    from jobspec.kubernetes.index import index_of

    found = index_of(context).priority_class(text(replicas.template, "spec", "priorityClassName")) or {}
    return int(found.get("value") or 0)
