"""The rules of the trainer's webhook for TrainJobs that fine-tune with torchtune: those with the command `tune run`.

Follows `validateTorchTune`, github.com/kubeflow/trainer pkg/runtime/framework/plugins/torch, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.admission.policies import is_reviewed_by_torch
from jobspec.admission.rule import Fault, WebhookRule
from jobspec.go.formats import is_parsed_quantity
from jobspec.runtimes.runtime import RuntimeRef, ancestor
from jobspec.runtimes.torchtune import MANAGED, is_lora, is_qlora, model_of
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
_NODES: Path = (*_TRAINER, "numNodes")
_ARGUMENTS: Path = (*_TRAINER, "args")
_RUNTIME: Path = ("spec", "runtimeRef", "name")

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]

_LARGE = "llama3_3/70B"
_QWEN = "qwen2_5/1.5B"
_MODELS = ("llama3_2/1B", "llama3_2/3B", _LARGE, _QWEN)
_MODELS_2_0 = ("llama3_2/1B", "llama3_2/7B", _LARGE)


def _model(workload: Workload) -> str:
    return model_of(RuntimeRef(workload.document.data).name)


def _nodes(workload: Workload) -> int:
    nodes = value_at(workload.document.data, _NODES)
    return 1 if nodes is None else nodes


def _arguments(workload: Workload) -> list[str]:
    return value_at(workload.document.data, _ARGUMENTS) or []


def _is_qlora(workload: Workload, target: Target) -> bool:
    return is_qlora(_arguments(workload), target["trainer"])


def torchtune_model(workload: Workload, target: Target) -> Iterator[Fault]:
    """`tune run` needs a model that the operator knows; it reads the model from the runtime's name.

    For another model, write the command differently.
    """
    known = _MODELS if reached(target["trainer"], "2.1.0") else _MODELS_2_0
    if is_reviewed_by_torch(workload, target) and _model(workload) not in known:
        message = f"the runtime's name `{RuntimeRef(workload.document.data).name}` stands for no model that torchtune is set up for"
        yield Fault(_RUNTIME, message, f"name a runtime such as `torchtune-llama3.2-1b`; the models are {', '.join(known)}")


def torchtune_nodes(workload: Workload, target: Target) -> Iterator[Fault]:
    """Only the largest model is tuned on more than one node; until 2.1 `numNodes` is required for every model."""
    if not is_reviewed_by_torch(workload, target):
        return
    model, nodes = _model(workload), _nodes(workload)
    if value_at(workload.document.data, _NODES) is None and not reached(target["trainer"], "2.2.0"):
        yield Fault(_NODES, "`tune run` needs `numNodes`, without which the webhook fails", "write `numNodes: 1`")
    elif nodes > 1 and model != _LARGE:
        yield Fault(_NODES, f"torchtune tunes `{model}` on one node, not on {nodes}", "write `numNodes: 1`")
    elif nodes > 1 and reached(target["trainer"], "2.3.0") and (is_lora(_arguments(workload)) or _is_qlora(workload, target)):
        yield Fault(_NODES, f"torchtune cannot tune by LoRA on {nodes} nodes", "write `numNodes: 1`, or remove the arguments of LoRA")


def torchtune_qlora(workload: Workload, target: Target) -> Iterator[Fault]:
    """QLoRA (`model.quantize_base=true`) works for Llama 3.2 on one device only, and for Qwen not at all."""
    if not is_reviewed_by_torch(workload, target) or _nodes(workload) != 1 or not _is_qlora(workload, target):
        return
    model = _model(workload)
    processes = value_at(workload.document.data, (*_TRAINER, "numProcPerNode"))
    if model == _QWEN:
        message = f"torchtune cannot tune `{model}` by QLoRA"
        yield Fault(_RUNTIME, message, "remove `model.quantize_base` from the arguments, or name another runtime")
    elif model.startswith("llama3_2/") and processes != 1 and _gpus(workload) != 1:
        message = f"torchtune tunes `{model}` by QLoRA on one GPU only"
        path = (*_TRAINER, "numProcPerNode" if processes is not None else "resourcesPerNode")
        yield Fault(path, message, "write `numProcPerNode: 1`, or ask for one GPU in `resourcesPerNode`")


def torchtune_arguments(workload: Workload, target: Target) -> Iterator[Fault]:
    """The runtime sets the folders that torchtune reads and writes, to fit its volumes; a job cannot set them in `args`."""
    for path, argument in items_at(workload.document.data, _ARGUMENTS) if is_reviewed_by_torch(workload, target) else ():
        name = argument.partition("=")[0]
        if name in MANAGED:
            yield Fault(path, f"`{name}` is set by the runtime, so a job cannot set it", "remove it, or set it in a runtime of your own")


def _gpus(workload: Workload) -> int:
    """The number of GPUs of a node: the job's resources count where it has any, else the runtime's; requests before limits."""
    resources = value_at(workload.document.data, (*_TRAINER, "resourcesPerNode"))
    if resources is None:
        resources = _runtime_resources(workload)
    return _gpus_in(resources.get("requests")) or _gpus_in(resources.get("limits"))


def _runtime_resources(workload: Workload) -> dict[str, Any]:
    for job in workload.roles:
        if job.name == "node" or ancestor(job) == "trainer":
            for _, container in job.items("containers"):
                if container["name"] == "node":
                    return container.get("resources") or {}
    return {}


def _gpus_in(resources: dict[str, Any] | None) -> int:
    amounts = (_whole(str(amount)) for name, amount in (resources or {}).items() if "gpu" in name.lower() and amount is not None)
    return next(amounts, 0)


def _whole(quantity: str) -> int:
    """A quantity rounded up to a whole number, as Kubernetes counts devices."""
    from decimal import ROUND_CEILING, Decimal

    number = quantity.rstrip("numkMGTPEi")
    unit = quantity[len(number) :]
    exponent = number.lower().partition("e")[2]
    if not is_parsed_quantity(quantity) or abs(int(exponent or 0)) > 18:
        return 0  # no number of devices
    times = 1024 ** _BINARY.index(unit) if unit in _BINARY else Decimal(10) ** _DECIMAL[unit]
    return int((Decimal(number) * times).to_integral_value(ROUND_CEILING))


WEBHOOK_RULES = [
    WebhookRule(torchtune_model),
    WebhookRule(torchtune_nodes),
    WebhookRule(torchtune_qlora, since="2.1.0"),
    WebhookRule(torchtune_arguments, since="2.3.0"),
]
