"""The rules of the trainer's webhook for TrainJobs that fine-tune with torchtune, with the command `tune run`.

Follows `validateTorchTune`, github.com/kubeflow/trainer pkg/runtime/framework/plugins/torch, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.apis.releases import Target, is_at_least
from jobspec.diagnostics.places import Path, items_at, value_at
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.operators.trainer.node_resources import counted_container, gpus_in
from jobspec.operators.trainer.policies import NODES, SPEC_TRAINER
from jobspec.operators.trainer.runtimes import RuntimeReference
from jobspec.operators.trainer.torchtune import MANAGED, is_lora, is_qlora, model_of
from jobspec.operators.workloads import Workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


_ARGUMENTS: Path = (*SPEC_TRAINER, "args")
_RUNTIME: Path = ("spec", "runtimeRef", "name")
_LARGE = "llama3_3/70B"
_QWEN = "qwen2_5/1.5B"
_MODELS = ("llama3_2/1B", "llama3_2/3B", _LARGE, _QWEN)
_MODELS_2_0 = ("llama3_2/1B", "llama3_2/7B", _LARGE)


def _model(workload: Workload) -> str:
    return model_of(RuntimeReference(workload.document.data).name)


def _nodes(workload: Workload) -> int:
    nodes = value_at(workload.document.data, NODES)
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
    if value_at(workload.document.data, NODES) is None and not is_at_least(target["trainer"], "2.2.0"):
        yield Finding(NODES, "`tune run` needs `numNodes`: without it the webhook crashes", "write `numNodes: 1`")
    elif nodes > 1 and model != _LARGE:
        yield Finding(
            NODES, f"torchtune tunes {f'`{model}`' if model else 'this model'} on one node, not on {nodes}", "write `numNodes: 1`"
        )
    elif nodes > 1 and is_at_least(target["trainer"], "2.3.0") and (is_lora(_arguments(workload)) or _is_qlora(workload, target)):
        yield Finding(NODES, f"torchtune cannot tune by LoRA on {nodes} nodes", "write `numNodes: 1`, or remove the arguments of LoRA")


def torchtune_qlora(workload: Workload, target: Target) -> Iterator[Finding]:
    """QLoRA (`model.quantize_base=true`) works for Llama 3.2 on one device only, and for Qwen not at all."""
    if _nodes(workload) != 1 or not _is_qlora(workload, target):
        return
    model = _model(workload)
    processes = value_at(workload.document.data, (*SPEC_TRAINER, "numProcPerNode"))
    if model == _QWEN:
        message = f"torchtune cannot tune `{model}` by QLoRA"
        yield Finding(_RUNTIME, message, "remove `model.quantize_base` from the arguments, or name another runtime")
    elif model.startswith("llama3_2/") and processes != 1 and _gpus(workload) != 1:
        message = f"torchtune tunes `{model}` by QLoRA on one GPU only"
        path = (*SPEC_TRAINER, "numProcPerNode" if processes is not None else "resourcesPerNode")
        yield Finding(path, message, "write `numProcPerNode: 1`, or ask for one GPU in `resourcesPerNode`")


def torchtune_arguments(workload: Workload, target: Target) -> Iterator[Finding]:
    """The runtime sets the folders that torchtune reads and writes, to fit its volumes; a job cannot set them in `args`."""
    for path, argument in items_at(workload.document.data, _ARGUMENTS):
        name = argument.partition("=")[0]
        if name in MANAGED:
            hint = "remove it, or set it in a runtime of your own"
            yield Finding(path, f"`{name}` is set by the runtime, and cannot be set by a job", hint)


def _gpus(workload: Workload) -> int:
    """The number of GPUs of a node: the job's resources count where it has any, else the runtime's."""
    resources = value_at(workload.document.data, (*SPEC_TRAINER, "resourcesPerNode"))
    if resources is None:
        replicated = [job.data for job in workload.roles]
        at = counted_container(replicated)
        resources = value_at(replicated, (*at, "resources")) if at else {}
    found = gpus_in(resources)
    return found[1] if found else 0


TORCHTUNE_RULES = [
    Rule(torchtune_model),
    Rule(torchtune_nodes),
    Rule(torchtune_qlora, since="2.1.0"),
    Rule(torchtune_arguments, since="2.3.0"),
]
