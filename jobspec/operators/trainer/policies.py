"""The rules of the trainer's webhook by the policy of a job's runtime: torch and torchtune, mpi, xgboost, flux or volcano.

Follows `Validate` of the plugins of these names, github.com/kubeflow/trainer pkg/runtime/framework/plugins, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.apis.releases import Target, is_at_least
from jobspec.diagnostics.places import Key, Path, items_at, value_at
from jobspec.diagnostics.problems import remove
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.operators.trainer.merged_pods import PATCHES, pods_of
from jobspec.operators.trainer.runtimes import RESERVED
from jobspec.operators.workloads import Workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


SPEC_TRAINER: Path = ("spec", "trainer")


_PROCESSES: Path = (*SPEC_TRAINER, "numProcPerNode")


NODES: Path = (*SPEC_TRAINER, "numNodes")


_ENVIRONMENT: Path = (*SPEC_TRAINER, "env")


_QUEUE = Key("scheduling.volcano.sh/queue-name")


_TEMPLATE_QUEUE: Path = ("template", "metadata", "annotations", _QUEUE)


def policy(workload: Workload, name: str) -> dict[str, Any] | None:
    """The policy *name* in the runtime's `mlPolicy`; None where it is not set."""
    found: dict[str, Any] | None = value_at(workload.runtime.data, ("spec", "mlPolicy", name)) if workload.runtime else None
    return found


def is_reviewed_by_torch(workload: Workload, target: Target) -> bool:
    """Whether torch's plugin reviews the job: until 2.1 only where `trainer.numProcPerNode` is set."""
    needed = SPEC_TRAINER if is_at_least(target["trainer"], "2.2.0") else _PROCESSES
    return policy(workload, "torch") is not None and value_at(workload.document.data, needed) is not None


def reserved_environment(workload: Workload, target: Target) -> Iterator[Finding]:
    """The operator sets the environment variables that give each pod its rank and the number of pods; a job cannot set them.

    Set `trainer.numNodes` and `trainer.numProcPerNode`. Until 2.1 the webhook checks jobs with torch only where the latter is set.
    """
    reviewed = {
        "torch": is_reviewed_by_torch(workload, target),
        "mpi": policy(workload, "mpi") is not None and is_at_least(target["trainer"], "2.3.0"),
        "xgboost": policy(workload, "xgboost") is not None,
    }
    for name, reserved in RESERVED.items():
        for path, variable in items_at(workload.document.data, _ENVIRONMENT) if reviewed[name] else ():
            if variable["name"] in reserved:
                message = f"the trainer sets `{variable['name']}` itself: a job on a runtime with the policy `{name}` cannot"
                field = "" if name == "xgboost" else "spec.trainer.env"
                yield Finding((*path, "name"), message, "remove it", field=field, changes=[remove(path)])


def processes_per_node(workload: Workload, target: Target) -> Iterator[Finding]:
    """`trainer.numProcPerNode` takes only what the runtime's launcher understands.

    Until 2.1 that is an integer, and with torch `auto`, `cpu` or `gpu` as well; Flux needs at least 1.
    """
    data = workload.document.data
    value = value_at(data, _PROCESSES)
    number = "; write an integer without quotes" if str(value).isdecimal() else ""
    if isinstance(value, str) and is_reviewed_by_torch(workload, target) and value not in ("auto", "cpu", "gpu"):
        yield Finding(_PROCESSES, f'with torch, `numProcPerNode` is a number, `auto`, `cpu` or `gpu`, not "{value}"{number}')
    if isinstance(value, str) and policy(workload, "mpi") is not None:
        yield Finding(_PROCESSES, f'with MPI, `numProcPerNode` is a number, not "{value}"{number}')
    if isinstance(value, int) and value < 1 and policy(workload, "flux") is not None and is_at_least(target["trainer"], "2.3.0"):
        yield Finding(_PROCESSES, f"with Flux, `numProcPerNode` is at least 1, not {value}")


def launcher_and_node(workload: Workload, target: Target) -> Iterator[Finding]:
    """MPI on several nodes with a launcher that trains, too, needs replicated jobs named `launcher` and `node` in the runtime."""
    mpi = policy(workload, "mpi") or {}
    nodes = value_at(workload.document.data, NODES)
    if mpi.get("runLauncherAsNode") is True and nodes is not None and nodes >= 2:
        missing = [name for name in ("launcher", "node") if name not in pods_of(workload, target)]
        if missing:
            message = f"MPI on {nodes} nodes needs a replicated job `{missing[0]}`, which the runtime does not have"
            yield Finding(NODES, message, "write `numNodes: 1`, or name another runtime")


def injection_target(workload: Workload, target: Target) -> Iterator[Finding]:
    """The containers in `envInjection.targets`, which get torch's environment variables, have to exist in the runtime."""
    for _, wanted in items_at(policy(workload, "torch"), ("envInjection", "targets")):
        job = pods_of(workload, target).get(wanted["jobName"])
        for name in wanted["containerNames"]:
            if not job or name not in job.init | job.containers.keys():
                message = f"no container `{name}` in `{wanted['jobName']}` of the runtime, whose `envInjection` names it"
                yield Finding(("spec", "runtimeRef"), message, "correct `envInjection` in the runtime")


def reserved_container(workload: Workload, target: Target) -> Iterator[Finding]:
    """Flux adds an init container `flux-installer` to the job `node`, which therefore cannot have one of that name already."""
    node = pods_of(workload, target).get("node") if policy(workload, "flux") is not None else None
    if node and "flux-installer" in node.init:
        message = "the init container `flux-installer` of the job `node` is Flux's own"
        yield Finding(("spec", "runtimeRef"), message, "rename it", field="spec.trainer.initContainers")


def queue_name(workload: Workload, target: Target) -> Iterator[Finding]:
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
        yield Finding(path, f"the annotation `{_QUEUE}` is empty", hint, field=f"spec.annotations[{_QUEUE}]")


POLICY_RULES = [
    Rule(reserved_environment),
    Rule(processes_per_node),
    Rule(launcher_and_node),
    Rule(injection_target, since="2.3.0"),
    Rule(reserved_container, since="2.2.0"),
    Rule(queue_name, since="2.1.0"),
]
