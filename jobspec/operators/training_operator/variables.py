"""The variables that the operator adds to the containers of a pod, behind those of the job; init containers get none.

Follows `SetClusterSpec` and what it calls, github.com/kubeflow/training-operator pkg/controller.v1/tensorflow, xgboost, paddlepaddle, jax
and mxnet, 1.7.0 to 1.9.4, of an operator that was started without `CUSTOM_CLUSTER_DOMAIN`.
"""

from __future__ import annotations

from jobspec.apis import kinds
from jobspec.documents.marked_tree import MarkedTree, each_item, items, set_by, text, with_appended
from jobspec.operators.training_operator import OBJECT_NAME
from jobspec.operators.training_operator.job import Replicas, TrainingJob, node_count
from jobspec.operators.training_operator.torch_variables import torch_variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    #: The value of a variable: a text, a field that it is made of, or a source.
    Value = str | MarkedTree | Mapping[str, Any]
    Variables = Iterator[tuple[str, Value]]


def with_variables(spec: MarkedTree, job: TrainingJob, replicas: Replicas, index: int) -> MarkedTree:
    """Return the pod spec of one replica with the variables that its containers get; one that is empty has a name alone."""
    found = [_variable(name, value) for name, value in _VARIABLES[job.framework.kind](job, replicas, index)]
    if not found:
        return spec
    added = items(set_by(job.operator, found))
    if job.framework.kind == kinds.TFJOB:  # the first one of the operator's name alone
        names = [text(each, "name") for each in items(spec.get("containers"))]
        only = names.index(job.framework.container) if job.framework.container in names else len(names)
    else:
        only = None
    numbers = iter(range(len(items(spec.get("containers")))))
    return each_item(
        spec, "containers", lambda each: with_appended(each, "env", added, job.operator) if next(numbers) == only or only is None else each
    )


def _variable(name: str, value: Value) -> dict[str, Any]:
    """A variable, and the place of a field that it is made of."""
    if isinstance(value, MarkedTree):
        return {"name": name, "value": value} if value.value else {"name": value.with_value(name)}
    if isinstance(value, str):
        return {"name": name, "value": value} if value else {"name": name}
    return {"name": name, "valueFrom": value}


def replica_name(job: TrainingJob, role: str, index: int) -> str:
    """The name of the pod and the service of one replica of a type."""
    return OBJECT_NAME.format(job.name.value, role.lower(), index)


def port_number(job: TrainingJob, role: str) -> int:
    """The number of the operator's port of a replica type; of one that a job lacks, which the webhook refuses, the usual one."""
    port = job.replicas[role].port() if role in job.replicas else None
    return int(port.value) if port else job.framework.number


_UNBUFFERED = ("PYTHONUNBUFFERED", "1")


# A TFJob: one variable, in the container `tensorflow` alone, and only where there is more than one replica.


def is_distributed(job: TrainingJob) -> bool:
    """Whether a TFJob has not exactly one replica of the types that the operator knows."""
    return sum(int(each.count.value) for name, each in job.replicas.items() if name in job.framework.types) != 1


def _of_tfjob(job: TrainingJob, replicas: Replicas, index: int) -> Variables:
    if not is_distributed(job):
        return
    role = replicas.type.lower()
    hosts = {
        name.lower(): [f"{replica_name(job, name, at)}.{job.namespace.value}.svc:{port_number(job, name)}" for at in range(_asked(each))]
        for name, each in job.replicas.items()
    }
    task = {"type": role, "index": index}
    dynamic = job.tree.get("spec", "enableDynamicWorker")
    if dynamic is None or dynamic.value is not True:
        yield "TF_CONFIG", _as_json({"cluster": dict(sorted(hosts.items())), "task": task, "environment": "cloud"})
        return
    own = hosts[role][index] if index < len(hosts[role]) else ""
    workers = {str(index): own} if role == "worker" else {}
    servers = [own] if role == "ps" else hosts.get("ps") if role == "worker" else []
    yield "TF_CONFIG", _as_json({"cluster": {"worker": workers, "ps": servers}, "task": task})


def _asked(replicas: Replicas) -> int:
    return max(int(replicas.count.value), 0)


def _as_json(value: Any) -> str:
    """A value as Go writes it."""
    import json

    written = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return written.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")


# An XGBoostJob: all pods meet at the Master, which is rank 0.


def _of_xgboostjob(job: TrainingJob, replicas: Replicas, index: int) -> Variables:
    total, masters = node_count(job), _asked(job.replicas["Master"]) if "Master" in job.replicas else 0
    yield "MASTER_PORT", str(port_number(job, "Master"))
    yield "MASTER_ADDR", replica_name(job, "Master", 0)
    yield "WORLD_SIZE", str(total)
    yield "RANK", str(index + masters if replicas.type == "Worker" else index)
    yield _UNBUFFERED
    if total > 1:
        yield "WORKER_PORT", str(port_number(job, "Worker"))
        yield "WORKER_ADDRS", ",".join(replica_name(job, "Worker", at) for at in range(total - 1))


# A PaddleJob: with a Master a parameter server and trainers, without one collective training, which begins at the first Worker.


def _of_paddlejob(job: TrainingJob, replicas: Replicas, index: int) -> Variables:
    yield _UNBUFFERED
    yield "PADDLE_JOB_ID", str(job.name.value)
    yield "PADDLE_NNODES", str(node_count(job))
    first = "Master" if "Master" in job.replicas else "Worker"
    port = port_number(job, first)
    if index == 0 and replicas.type == first:
        yield "POD_IP_DUMMY", {"fieldRef": {"fieldPath": "status.podIP"}}
        yield "PADDLE_MASTER", f"$(POD_IP_DUMMY):{port}"
    else:
        yield "PADDLE_MASTER", f"{replica_name(job, first, 0)}:{port}"
    if first == "Master":
        yield "PADDLE_SERVER_NUM" if replicas.type == "Master" else "PADDLE_TRAINER_NUM", "1"


def _of_jaxjob(job: TrainingJob, replicas: Replicas, index: int) -> Variables:
    yield _UNBUFFERED
    yield "COORDINATOR_PORT", str(port_number(job, "Worker"))
    yield "COORDINATOR_ADDRESS", replica_name(job, "Worker", 0)
    yield "NUM_PROCESSES", str(node_count(job))
    yield "PROCESS_ID", str(index)


# An MXJob: the whole cluster as JSON, and the variables of BytePS.


_TUNER_KEY = "tuner-server-key"


def _of_mxjob(job: TrainingJob, replicas: Replicas, index: int) -> Variables:
    role = replicas.type.lower()
    cluster = {
        name.lower(): [{"url": replica_name(job, name, at), "port": port_number(job, name)} for at in range(_asked(each))]
        for name, each in sorted(job.replicas.items(), key=lambda each: each[0].lower())
    }
    labels = {name.lower(): text(each.template, "metadata", "annotations", _TUNER_KEY) for name, each in job.replicas.items()}
    root: Mapping[str, Any] = next(iter(cluster.get("scheduler", ())), {"url": "", "port": 0})
    yield "MX_CONFIG", _as_json({"cluster": cluster, "labels": dict(sorted(labels.items())), "task": {"type": role, "index": index}})
    yield "DMLC_PS_ROOT_PORT", str(root["port"])
    yield "DMLC_PS_ROOT_URI", str(root["url"])
    yield "DMLC_NUM_SERVER", str(len(cluster.get("server", ())))
    yield "DMLC_NUM_WORKER", str(len(cluster.get("worker", ())))
    yield "DMLC_ROLE", role
    yield "DMLC_USE_KUBERNETES", "1"
    if role == "worker":
        yield "DMLC_WORKER_ID", str(index)


_VARIABLES: Mapping[kinds.GroupKind, Callable[[TrainingJob, Replicas, int], Variables]] = {
    kinds.PYTORCHJOB: torch_variables,
    kinds.TFJOB: _of_tfjob,
    kinds.XGBOOSTJOB: _of_xgboostjob,
    kinds.PADDLEJOB: _of_paddlejob,
    kinds.JAXJOB: _of_jaxjob,
    kinds.MXJOB: _of_mxjob,
}
