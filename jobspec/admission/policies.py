"""The rules of the trainer's webhook for TrainJobs, by the policy of their runtime: torch, mpi, xgboost, flux or volcano.

Follows `Validate` of the plugins of these names, github.com/kubeflow/trainer pkg/runtime/framework/plugins, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.admission.pods import PATCHES, pods_of
from jobspec.admission.rule import Fault, WebhookRule
from jobspec.diagnostics import Key
from jobspec.targets import reached
from jobspec.workloads import items_at, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.targets import Target
    from jobspec.workloads import Workload

_TRAINER: Path = ("spec", "trainer")
_PROCESSES: Path = (*_TRAINER, "numProcPerNode")
_NODES: Path = (*_TRAINER, "numNodes")
_ENVIRONMENT: Path = (*_TRAINER, "env")
_QUEUE = Key("scheduling.volcano.sh/queue-name")
_TEMPLATE_QUEUE: Path = ("template", "metadata", "annotations", _QUEUE)

_RESERVED = {
    "torch": ("PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"),
    "mpi": tuple(
        f"OMPI_MCA_{name}" for name in ("orte_default_hostfile", "plm_rsh_args", "orte_keep_fqdn_hostnames", "orte_set_default_slots")
    ),
    "xgboost": ("DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID", "DMLC_NUM_WORKER"),
}


def policy(workload: Workload, name: str) -> dict[str, Any] | None:
    """The policy *name* in the runtime's `mlPolicy`; None where it is not set."""
    found: dict[str, Any] | None = value_at(workload.runtime.data, ("spec", "mlPolicy", name)) if workload.runtime else None
    return found


def is_reviewed_by_torch(workload: Workload, target: Target) -> bool:
    """Whether torch's plugin reviews the job: until 2.1 only where `trainer.numProcPerNode` is set."""
    needed = _TRAINER if reached(target["trainer"], "2.2.0") else _PROCESSES
    return policy(workload, "torch") is not None and value_at(workload.document.data, needed) is not None


def reserved_environment(workload: Workload, target: Target) -> Iterator[Fault]:
    """The operator sets the environment variables that tell each pod its rank and the number of pods; a job cannot set them.

    Set `trainer.numNodes` and `trainer.numProcPerNode`. Until 2.1 the webhook checks jobs with torch only where the latter is set.
    """
    reviewed = {
        "torch": is_reviewed_by_torch(workload, target),
        "mpi": policy(workload, "mpi") is not None and reached(target["trainer"], "2.3.0"),
        "xgboost": policy(workload, "xgboost") is not None,
    }
    for name, reserved in _RESERVED.items():
        for path, variable in items_at(workload.document.data, _ENVIRONMENT) if reviewed[name] else ():
            if variable["name"] in reserved:
                message = f"the trainer sets `{variable['name']}` itself, so a job on a runtime with the policy `{name}` cannot"
                yield Fault((*path, "name"), message, "remove it", field="" if name == "xgboost" else "spec.trainer.env")


def processes_per_node(workload: Workload, target: Target) -> Iterator[Fault]:
    """`trainer.numProcPerNode` takes only what the runtime's launcher understands.

    Until 2.1 that is an integer, and with torch `auto`, `cpu` or `gpu` as well; Flux needs at least 1.
    """
    data = workload.document.data
    value = value_at(data, _PROCESSES)
    number = "; an integer stands without quotes" if str(value).isdecimal() else ""
    if isinstance(value, str) and is_reviewed_by_torch(workload, target) and value not in ("auto", "cpu", "gpu"):
        yield Fault(_PROCESSES, f'with torch, `numProcPerNode` is a number, `auto`, `cpu` or `gpu`, not "{value}"{number}')
    if isinstance(value, str) and policy(workload, "mpi") is not None:
        yield Fault(_PROCESSES, f'with MPI, `numProcPerNode` is a number, not "{value}"{number}')
    if isinstance(value, int) and value < 1 and policy(workload, "flux") is not None and reached(target["trainer"], "2.3.0"):
        yield Fault(_PROCESSES, f"with Flux, `numProcPerNode` is at least 1, not {value}")


def launcher_and_node(workload: Workload, target: Target) -> Iterator[Fault]:
    """MPI on several nodes with a launcher that trains, too, needs replicated jobs named `launcher` and `node` in the runtime."""
    mpi = policy(workload, "mpi") or {}
    nodes = value_at(workload.document.data, _NODES)
    if mpi.get("runLauncherAsNode") is True and nodes is not None and nodes >= 2:
        missing = [name for name in ("launcher", "node") if name not in pods_of(workload, target)]
        if missing:
            message = f"on {nodes} nodes, MPI needs a replicated job `{missing[0]}`, which the runtime does not have"
            yield Fault(_NODES, message, "write `numNodes: 1`, or name another runtime")


def injection_target(workload: Workload, target: Target) -> Iterator[Fault]:
    """The containers in `envInjection.targets`, which get torch's environment variables, have to exist in the runtime."""
    for _, wanted in items_at(policy(workload, "torch"), ("envInjection", "targets")):
        job = pods_of(workload, target).get(wanted["jobName"])
        for name in wanted["containerNames"]:
            if not job or name not in job.init | job.containers.keys():
                message = f"the runtime gives torch's environment to a container `{name}` of `{wanted['jobName']}`, and has none"
                yield Fault(("spec", "runtimeRef"), message, "correct `envInjection` in the runtime")


def reserved_container(workload: Workload, target: Target) -> Iterator[Fault]:
    """Flux adds an init container `flux-installer` to the job `node`, which therefore cannot have one of that name already."""
    node = pods_of(workload, target).get("node") if policy(workload, "flux") is not None else None
    if node and "flux-installer" in node.init:
        message = "the init container `flux-installer` of the job `node` is Flux's own"
        yield Fault(("spec", "runtimeRef"), message, "give it another name", field="spec.trainer.initContainers")


def queue_name(workload: Workload, target: Target) -> Iterator[Fault]:
    """Volcano takes the name of a job's queue from an annotation; an empty one is no name. Remove it for the default queue."""
    if not workload.runtime or value_at(workload.runtime.data, ("spec", "podGroupPolicy", "volcano")) is None:
        return
    data = workload.document.data
    patched: list[Path] = [(*path, "trainingRuntimeSpec", *_TEMPLATE_QUEUE) for path, _ in items_at(data, PATCHES)]
    said = [path for path in (("spec", "annotations", _QUEUE), *patched) if value_at(data, path) is not None]
    last = value_at(data, said[-1]) if said else value_at(workload.runtime.data, ("spec", *_TEMPLATE_QUEUE))
    if last == "":
        hint = "name a queue, or remove the annotation"
        path = said[-1] if said else ("spec", "runtimeRef")
        yield Fault(path, f"the annotation `{_QUEUE}` is empty", hint, field=f"spec.annotations[{_QUEUE}]")


WEBHOOK_RULES = [
    WebhookRule(reserved_environment),
    WebhookRule(processes_per_node),
    WebhookRule(launcher_and_node),
    WebhookRule(injection_target, since="2.3.0"),
    WebhookRule(reserved_container, since="2.2.0"),
    WebhookRule(queue_name, since="2.1.0"),
]
