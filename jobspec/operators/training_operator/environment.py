"""The variables that the operator adds to every container of a pod, behind those of the job; init containers get none.

Follows `setPodEnv` and `MasterEnvVarGenerator.Generate`, github.com/kubeflow/training-operator pkg/controller.v1/pytorch, 1.7.0 to
1.9.4.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items
from jobspec.operators.objects import set_by

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.operators.training_operator.job import Replicas, TrainingJob


def with_variables(container: MarkedTree, added: list[MarkedTree], job: TrainingJob) -> MarkedTree:
    """A container with the operator's variables behind its own."""
    own = container.get("env")
    env = own.with_value([*items(own), *added]) if own else MarkedTree(added, job.operator)
    return container.with_value({**container.value, "env": env})


def variables(job: TrainingJob, replicas: Replicas, index: int) -> list[MarkedTree]:
    """The variables of one replica; one that is empty has a name alone."""
    return [_variable(job, name, value) for name, value in _variables(job, replicas, index)]


def _variable(job: TrainingJob, name: str, value: str | MarkedTree) -> MarkedTree:
    text = value.value if isinstance(value, MarkedTree) else value
    return set_by(job.operator, {"name": name, "value": value} if text else {"name": name})


def _variables(job: TrainingJob, replicas: Replicas, index: int) -> Iterator[tuple[str, str | MarkedTree]]:
    yield "PYTHONUNBUFFERED", "1"
    if "Master" in job.replicas:
        yield from _of_master(job)
        rank = rank_of(replicas, index)
        yield "WORLD_SIZE", str(node_count(job) * _processes(job))
        yield "RANK", str(rank)
        if not job.since("1.8.0") and job.processes:
            yield "PET_NPROC_PER_NODE", job.processes
        yield "PET_NODE_RANK", str(rank)
    if job.since("1.8.0") and job.processes:
        yield "PET_NPROC_PER_NODE", job.processes
    if job.elastic:
        from jobspec.operators.training_operator.elastic import elastic_variables

        yield from elastic_variables(job)
    else:
        yield "PET_NNODES", str(node_count(job))


def _of_master(job: TrainingJob) -> Iterator[tuple[str, str]]:
    port = job.replicas["Master"].port()
    for name, value in {"PORT": str(port.value) if port else "", "ADDR": f"{job.name.value}-master-0"}.items():
        yield f"MASTER_{name}", value
        yield f"PET_MASTER_{name}", value


def rank_of(replicas: Replicas, index: int) -> int:
    """The number of a replica's node in a job that has a Master, which is node 0."""
    return index + 1 if replicas.type == "Worker" else index


def node_count(job: TrainingJob) -> int:
    """How many replicas of all types were asked for."""
    return sum(int(each.count.value) for each in job.replicas.values())


def _processes(job: TrainingJob) -> int:
    """How many processes a node has, as the operator counts them for `WORLD_SIZE`: 1 for everything but a number."""
    text = str(job.processes.value) if job.processes else ""
    digits = text[1:] if text[:1] in ("+", "-") else text
    return int(text) if digits.isdecimal() and digits.isascii() else 1
