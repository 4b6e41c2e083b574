"""The rules of the trainer's webhook by the policy of a job's runtime: torch and torchtune, mpi, xgboost, flux or volcano.

Follows `Validate` of the plugins of these names, github.com/kubeflow/trainer pkg/runtime/framework/plugins, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.diagnostics import Finding, Key, Path, Record, Rule, remove
from jobspec.go.formats import is_parsed_quantity
from jobspec.operators.trainer.runtimes import RESERVED, TRAINER, RuntimeReference, ancestor
from jobspec.targets import Target, is_at_least
from jobspec.workloads import PATCHED_JOBS, TEMPLATE, Workload, items_at, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any


_TRAINER: Path = ("spec", "trainer")
_PROCESSES: Path = (*_TRAINER, "numProcPerNode")
_NODES: Path = (*_TRAINER, "numNodes")
_ENVIRONMENT: Path = (*_TRAINER, "env")
_QUEUE = Key("scheduling.volcano.sh/queue-name")
_TEMPLATE_QUEUE: Path = ("template", "metadata", "annotations", _QUEUE)


def policy(workload: Workload, name: str) -> dict[str, Any] | None:
    """The policy *name* in the runtime's `mlPolicy`; None where it is not set."""
    found: dict[str, Any] | None = value_at(workload.runtime.data, ("spec", "mlPolicy", name)) if workload.runtime else None
    return found


def is_reviewed_by_torch(workload: Workload, target: Target) -> bool:
    """Whether torch's plugin reviews the job: until 2.1 only where `trainer.numProcPerNode` is set."""
    needed = _TRAINER if is_at_least(target["trainer"], "2.2.0") else _PROCESSES
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
    nodes = value_at(workload.document.data, _NODES)
    if mpi.get("runLauncherAsNode") is True and nodes is not None and nodes >= 2:
        missing = [name for name in ("launcher", "node") if name not in pods_of(workload, target)]
        if missing:
            message = f"MPI on {nodes} nodes needs a replicated job `{missing[0]}`, which the runtime does not have"
            yield Finding(_NODES, message, "write `numNodes: 1`, or name another runtime")


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


# The containers and mounts of a TrainJob's pods: those of its runtime, with the job's changes merged into them.
#
# The webhook reviews the pods after that merge. So a job may add a container that the runtime does not have; from 2.3 on, also a replicated
# job.
#
# Follows `TrainingRuntime.mergeRuntimePatches` (`mergePodSpecOverrides` in 2.0), github.com/kubeflow/trainer pkg/runtime/core, 2.0.0 to
# 2.3.0.


PATCHES: Path = ("spec", "runtimePatches")
_POD: Path = (*TEMPLATE, "spec")
#: The fields for changes to pods until 2.1 -> the path of the pod spec in an entry, which names its replicated jobs in `targetJobs`.
_OVERRIDES: dict[str, Path] = {"podTemplateOverrides": ("spec",), "podSpecOverrides": ()}


class ReplicatedPods:
    """The pods of one replicated job: the containers with the volumes that they mount, and the init containers."""

    def __init__(self) -> None:
        self.containers: dict[str, set[str]] = {}
        self.init: set[str] = set()

    def add(self, spec: Any) -> None:
        """Merge a pod spec into the pods."""
        self.init.update(container["name"] for _, container in items_at(spec, ("initContainers",)))
        for path, container in items_at(spec, ("containers",)):
            mounts = self.containers.setdefault(container["name"], set())
            mounts.update(mount["name"] for _, mount in items_at(spec, (*path, "volumeMounts")))


class PodChange(Record):
    """A change that a TrainJob makes to the pods of one replicated job."""

    job: str
    job_path: Path
    """The path of the replicated job's name."""
    spec: Any
    """The partial pod spec; None where there is none."""
    spec_path: Path


def changes(workload: Workload) -> Iterator[PodChange]:
    """All changes to pods in a TrainJob, in order."""
    data = workload.document.data
    for patch, _ in items_at(data, PATCHES):
        for path, job in items_at(data, (*patch, *PATCHED_JOBS)):
            yield PodChange(job["name"], (*path, "name"), value_at(job, _POD), (*path, *_POD))
    for field, inside in _OVERRIDES.items():
        for override, content in items_at(data, ("spec", field)):
            for path, job in items_at(data, (*override, "targetJobs")):
                yield PodChange(job["name"], (*path, "name"), value_at(content, inside), (*override, *inside))


def pods_of(workload: Workload, target: Target) -> dict[str, ReplicatedPods]:
    """Name of a replicated job -> its pods, after the TrainJob's changes."""
    found: dict[str, ReplicatedPods] = {}
    for job in workload.roles:
        found.setdefault(job.name, ReplicatedPods()).add(job.in_pod())
    for change in changes(workload):
        if change.job not in found and is_at_least(target["trainer"], "2.3.0"):
            found[change.job] = ReplicatedPods()
        if change.job in found:
            found[change.job].add(change.spec)
    return found


POLICY_RULES = [
    Rule(reserved_environment),
    Rule(processes_per_node),
    Rule(launcher_and_node),
    Rule(injection_target, since="2.3.0"),
    Rule(reserved_container, since="2.2.0"),
    Rule(queue_name, since="2.1.0"),
]


# The rules of the trainer's webhook for TrainJobs that fine-tune with torchtune: those with the command `tune run` that torch's plugin
# reviews.
#
# Follows `validateTorchTune`, github.com/kubeflow/trainer pkg/runtime/framework/plugins/torch, 2.0.0 to 2.3.0.


_ARGUMENTS: Path = (*_TRAINER, "args")
_RUNTIME: Path = ("spec", "runtimeRef", "name")
_LARGE = "llama3_3/70B"
_QWEN = "qwen2_5/1.5B"
_MODELS = ("llama3_2/1B", "llama3_2/3B", _LARGE, _QWEN)
_MODELS_2_0 = ("llama3_2/1B", "llama3_2/7B", _LARGE)


def _model(workload: Workload) -> str:
    return model_of(RuntimeReference(workload.document.data).name)


def _nodes(workload: Workload) -> int:
    nodes = value_at(workload.document.data, _NODES)
    return 1 if nodes is None else nodes


def _arguments(workload: Workload) -> list[str]:
    return value_at(workload.document.data, _ARGUMENTS) or []


def _is_qlora(workload: Workload, target: Target) -> bool:
    return is_qlora(_arguments(workload), target["trainer"])


def torchtune_model(workload: Workload, target: Target) -> Iterator[Finding]:
    """`tune run` needs a model that the operator knows; it reads the model from the runtime's name.

    For another model, write the command differently.
    """
    known = _MODELS if is_at_least(target["trainer"], "2.1.0") else _MODELS_2_0
    if _model(workload) not in known:
        message = f"the runtime's name `{RuntimeReference(workload.document.data).name}` is not a model that torchtune supports"
        yield Finding(_RUNTIME, message, f"name a runtime such as `torchtune-llama3.2-1b`; the models are {', '.join(known)}")


def torchtune_nodes(workload: Workload, target: Target) -> Iterator[Finding]:
    """Only the largest model is tuned on more than one node; until 2.1 `numNodes` is required for every model."""
    model, nodes = _model(workload), _nodes(workload)
    if value_at(workload.document.data, _NODES) is None and not is_at_least(target["trainer"], "2.2.0"):
        yield Finding(_NODES, "`tune run` needs `numNodes`: without it the webhook crashes", "write `numNodes: 1`")
    elif nodes > 1 and model != _LARGE:
        yield Finding(_NODES, f"torchtune tunes `{model}` on one node, not on {nodes}", "write `numNodes: 1`")
    elif nodes > 1 and is_at_least(target["trainer"], "2.3.0") and (is_lora(_arguments(workload)) or _is_qlora(workload, target)):
        yield Finding(_NODES, f"torchtune cannot tune by LoRA on {nodes} nodes", "write `numNodes: 1`, or remove the arguments of LoRA")


def torchtune_qlora(workload: Workload, target: Target) -> Iterator[Finding]:
    """QLoRA (`model.quantize_base=true`) works for Llama 3.2 on one device only, and for Qwen not at all."""
    if _nodes(workload) != 1 or not _is_qlora(workload, target):
        return
    model = _model(workload)
    processes = value_at(workload.document.data, (*_TRAINER, "numProcPerNode"))
    if model == _QWEN:
        message = f"torchtune cannot tune `{model}` by QLoRA"
        yield Finding(_RUNTIME, message, "remove `model.quantize_base` from the arguments, or name another runtime")
    elif model.startswith("llama3_2/") and processes != 1 and _gpus(workload) != 1:
        message = f"torchtune tunes `{model}` by QLoRA on one GPU only"
        path = (*_TRAINER, "numProcPerNode" if processes is not None else "resourcesPerNode")
        yield Finding(path, message, "write `numProcPerNode: 1`, or ask for one GPU in `resourcesPerNode`")


def torchtune_arguments(workload: Workload, target: Target) -> Iterator[Finding]:
    """The runtime sets the folders that torchtune reads and writes, to fit its volumes; a job cannot set them in `args`."""
    for path, argument in items_at(workload.document.data, _ARGUMENTS):
        name = argument.partition("=")[0]
        if name in MANAGED:
            hint = "remove it, or set it in a runtime of your own"
            yield Finding(path, f"`{name}` is set by the runtime, and cannot be set by a job", hint)


def _gpus(workload: Workload) -> int:
    """The number of GPUs of a node: the job's resources count where it has any, else the runtime's; requests before limits."""
    resources = value_at(workload.document.data, (*_TRAINER, "resourcesPerNode"))
    if resources is None:
        nodes = [job for job in workload.roles if job.name == "node" or ancestor(job) == TRAINER]
        containers = [each for job in nodes for _, each in job.items("containers") if each["name"] == "node"]
        resources = (containers[0].get("resources") or {}) if containers else {}
    return _gpus_in(resources.get("requests")) or _gpus_in(resources.get("limits"))


def _gpus_in(resources: dict[str, Any] | None) -> int:
    amounts = (_whole(str(amount)) for name, amount in (resources or {}).items() if "gpu" in name.lower() and amount is not None)
    return next(amounts, 0)


def _whole(text: str) -> int:
    """A quantity rounded up to a whole number, as Kubernetes counts devices; 0 for what is no number of devices."""
    from jobspec.go.quantities import exponent_of, quantity

    return quantity(text).rounded_up() if is_parsed_quantity(text) and abs(exponent_of(text)) <= 18 else 0


TORCHTUNE_RULES = [
    Rule(torchtune_model),
    Rule(torchtune_nodes),
    Rule(torchtune_qlora, since="2.1.0"),
    Rule(torchtune_arguments, since="2.3.0"),
]


# The model of a TrainJob that fine-tunes with torchtune, from the runtime's name, and its method, from the arguments.
#
# Follows `getModelFromRuntimeRef`, `isLoraConfigEnabled` and `isUseQLoraFinetune` of the plugin torch, github.com/kubeflow/trainer
# pkg/runtime/framework/plugins/torch, 2.0.0 to 2.3.0.


MANAGED = ("output_dir", "tokenizer.path", "checkpointer.checkpoint_dir", "tokenizer.merges_file")
"""Settings of folders, which the runtime has in the command of its container and hands over to the job's; the last one from 2.1 on."""


def model_of(runtime: str) -> str:
    """The model in a runtime's name: `llama3_2/1B` of `torchtune-llama3.2-1b`; empty for other names."""
    parts = runtime.split("-")
    return f"{parts[1].replace('.', '_')}/{parts[2].upper()}" if len(parts) == 3 else ""


def is_lora(arguments: Sequence[str]) -> bool:
    """Whether arguments ask for LoRA."""
    return any("model.lora_attn_modules" in argument for argument in arguments)


def is_qlora(arguments: Sequence[str], release: str) -> bool:
    """Whether arguments ask for QLoRA, which DoRA turns off."""
    return _asked(arguments, "model.quantize_base", release) and not _asked(arguments, "model.use_dora", release)


def _asked(arguments: Sequence[str], name: str, release: str) -> bool:
    """Whether an argument turns a setting on: until 2.2 by naming it, from 2.3 on by the value `true` in any case."""
    if not is_at_least(release, "2.3.0"):
        return any(name in argument for argument in arguments)
    parts = [argument.partition("=") for argument in arguments]
    return any(equals and name in before and value.strip().lower() == "true" for before, equals, value in parts)
