"""The command that the trainer's plugin for PyTorch writes for a TrainJob that fine-tunes with torchtune.

Follows `EnforceMLPolicy`, `getRecipeAndConfig` and `extractOverridesFromRuntime` of the plugin torch, github.com/kubeflow/trainer
pkg/runtime/framework/plugins/torch, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items, set_by, text
from jobspec.operators.trainer.node_resources import gpus, processes_per_node, resources_per_node
from jobspec.operators.trainer.plugin_variables import number_of_nodes
from jobspec.operators.trainer.pod_sets import TrainerPodSet, training_container
from jobspec.operators.trainer.torchtune import MANAGED, is_lora, is_qlora, model_of
from jobspec.operators.trainer.train_job import PORT, JobOfTrainer
from jobspec.operators.workloads import NODE


def command_of_torchtune(job: JobOfTrainer, sets: list[TrainerPodSet]) -> MarkedTree | None:
    """The command of a job that fine-tunes with torchtune, with what the trainer adds where the runtime is for PyTorch."""
    command = job.trainer("command")
    nodes = number_of_nodes(sets)
    if command is None or nodes is None or training_container(sets) is None or job.policy("torch") is None:
        return command
    amount = gpus(resources_per_node(job, sets))
    counts = (nodes.value, processes_per_node(job, sets).value, amount.value if amount else 0)
    recipe, suffix = _recipe(job, *counts)
    added = [f"--rdzv_endpoint={job.first_node}:{PORT}"] if _has_rendezvous(job, *counts) else []
    added += [recipe, "--config", f"{model_of(text(job.tree, 'spec', 'runtimeRef', 'name'))}{suffix}"]
    return command.with_value([*items(command), *(set_by(job.mark, each) for each in added), *_folders(job, sets)])


def _has_rendezvous(job: JobOfTrainer, nodes: int, processes: int | str, devices: int) -> bool:
    """Whether several processes have to find each other; *processes* of a node are a number or `auto`, *devices* its GPUs."""
    if not job.is_at_least("2.1.0"):
        return nodes > 1 or processes != 1
    return nodes > 1 or (processes > 1 if isinstance(processes, int) else devices > 1)


def _recipe(job: JobOfTrainer, nodes: int, processes: int | str, devices: int) -> tuple[str, str]:
    """The recipe, and the end of its configuration's name."""
    full = ("full_finetune_distributed", "_full_multinode" if nodes > 1 else "_full")
    if not job.is_at_least("2.1.0"):
        return ("full_finetune_single_device", "_full_single_device") if nodes == 1 and processes == 1 else full
    kind = _kind(job)
    if nodes == 1 and (processes == 1 or devices == 1):
        return f"{'full' if kind == 'full' else 'lora'}_finetune_single_device", f"_{kind}_single_device"
    return ("lora_finetune_distributed", f"_{kind}") if nodes == 1 and kind != "full" else full


def _kind(job: JobOfTrainer) -> str:
    """How the arguments ask for the model to be tuned: `qlora`, `lora` or `full`."""
    arguments = [str(each.value) for each in items(job.trainer("args"))]
    return "qlora" if is_qlora(arguments, job.release) else "lora" if is_lora(arguments) else "full"


def _folders(job: JobOfTrainer, sets: list[TrainerPodSet]) -> list[MarkedTree]:
    """The words of the runtime's own command that are settings of folders."""
    managed = MANAGED if job.is_at_least("2.1.0") else MANAGED[:-1]
    nodes = [each for pods in sets if pods.trains for each in pods.containers() if text(each, "name") == NODE]
    return [word for node in nodes for word in items(node.get("command")) if str(word.value).partition("=")[0] in managed]
