"""The variables of the pods of a PyTorchJob, by which torchrun and PyTorch find the other processes.

Follows `setPodEnv` and `MasterEnvVarGenerator.Generate`, github.com/kubeflow/training-operator pkg/controller.v1/pytorch, 1.7.0 to
1.9.4.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.go.values import integer
from jobspec.operators.training_operator import OBJECT_NAME
from jobspec.operators.training_operator.job import Replicas, TrainingJob, node_count
from jobspec.programs.command_lines import ENDPOINT, NNODES, NODE_RANK, NPROC_PER_NODE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def torch_variables(job: TrainingJob, replicas: Replicas, index: int) -> Iterator[tuple[str, str | MarkedTree]]:
    """Name and value of each variable of a PyTorchJob's pod, in the operator's order."""
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
