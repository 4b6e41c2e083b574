"""The variables by which `torchrun` finds the other nodes of an elastic job.

Follows `ElasticEnvVarGenerator.Generate`, github.com/kubeflow/training-operator pkg/controller.v1/pytorch, 1.7.0 to 1.9.4.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.operators.training_operator.job import TrainingJob

#: The variables that hold a field of the policy as it stands, in the operator's order; the first two of all come before them.
_COPIED = {"PET_MAX_RESTARTS": "maxRestarts", "PET_NPROC_PER_NODE": "nProcPerNode", "PET_RDZV_ID": "rdzvId"}


def elastic_variables(job: TrainingJob) -> Iterator[tuple[str, str | MarkedTree]]:
    """Name and value of each variable; none where the job is not elastic."""
    policy = job.elastic
    if policy is None:
        return
    yield "PET_RDZV_ENDPOINT", endpoint(job, policy)
    yield "PET_RDZV_BACKEND", policy.get("rdzvBackend") or "c10d"
    least, most = policy.get("minReplicas"), policy.get("maxReplicas")
    yield "PET_NNODES", f"{least.value if least else ''}:{most.value if most else ''}"
    for name, field in _COPIED.items():
        value = policy.get(field)
        if value is not None:
            yield name, value.with_value(str(value.value))
    settings = items(policy.get("rdzvConf"))
    if settings:
        yield "PET_RDZV_CONF", ",".join(f"{_text(each, 'key')}={_text(each, 'value')}" for each in settings)
    standalone = policy.get("standalone")
    if standalone and standalone.value:
        yield "PET_STANDALONE", ""


def endpoint(job: TrainingJob, policy: MarkedTree) -> str:
    """Where the nodes meet: at the first Worker, unless the policy names a host or a port."""
    host, port = policy.get("rdzvHost"), policy.get("rdzvPort")
    number = port or (job.replicas["Worker"].port() if "Worker" in job.replicas else None)
    return f"{host.value if host else f'{job.name.value}-worker-0'}:{number.value if number else ''}"


def _text(setting: MarkedTree, field: str) -> str:
    found = setting.get(field)
    return str(found.value) if found else ""
