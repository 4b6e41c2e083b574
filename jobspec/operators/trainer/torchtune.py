"""The command that the trainer writes for a TrainJob that fine-tunes with torchtune.

Follows `EnforceMLPolicy`, `getRecipeAndConfig` and `extractOverridesFromRuntime` of the plugin torch, github.com/kubeflow/trainer
pkg/runtime/framework/plugins/torch, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items, set_by, text
from jobspec.operators.trainer.policies import MANAGED, is_lora, is_qlora, model_of
from jobspec.operators.trainer.train_job import NODE, PORT, JobOfTrainer, PodSet, first, gpus, processes_per_node, resources_per_node, whole


def command_of(job: JobOfTrainer, sets: list[PodSet]) -> MarkedTree | None:
    """The command of a job that fine-tunes with torchtune, with what the trainer adds where the runtime is for PyTorch."""
    command = job.trainer("command")
    training = first(sets, lambda each: each.trains)
    if command is None or training is None or job.policy("torch") is None:
        return command
    if not any(text(each, "name") == NODE for each in training.containers()):
        return command
    amount = gpus(resources_per_node(job, sets))
    how = _Processes(training.count.value, processes_per_node(job, sets).value, whole(amount) if amount else 0)
    recipe, suffix = _recipe(job, how)
    added = [f"--rdzv_endpoint={job.first_node}:{PORT}"] if _has_rendezvous(job, how) else []
    added += [recipe, "--config", f"{model_of(text(job.tree, 'spec', 'runtimeRef', 'name'))}{suffix}"]
    return command.with_value([*items(command), *(set_by(job.mark, each) for each in added), *_folders(job, sets)])


class _Processes:
    """How many nodes there are, how many processes each has (a number or `auto`), and how many GPUs."""

    __slots__ = ("each", "gpus", "nodes")

    def __init__(self, nodes: int, each: int | str, gpus: int) -> None:
        self.nodes = nodes
        self.each = each
        self.gpus = gpus


def _has_rendezvous(job: JobOfTrainer, how: _Processes) -> bool:
    """Whether several processes have to find each other."""
    if not job.is_at_least("2.1.0"):
        return how.nodes > 1 or how.each != 1
    return how.nodes > 1 or (how.each > 1 if isinstance(how.each, int) else how.gpus > 1)


def _recipe(job: JobOfTrainer, how: _Processes) -> tuple[str, str]:
    """The recipe, and the end of its configuration's name."""
    if not job.is_at_least("2.1.0"):
        alone = how.nodes == 1 and how.each == 1
        return ("full_finetune_single_device", "_full_single_device") if alone else _full(how.nodes)
    kind = _kind(job)
    if how.nodes == 1 and (how.each == 1 or how.gpus == 1):
        return f"{'full' if kind == 'full' else 'lora'}_finetune_single_device", f"_{kind}_single_device"
    return ("lora_finetune_distributed", f"_{kind}") if how.nodes == 1 and kind != "full" else _full(how.nodes)


def _full(nodes: int) -> tuple[str, str]:
    return "full_finetune_distributed", "_full_multinode" if nodes > 1 else "_full"


def _kind(job: JobOfTrainer) -> str:
    """How the arguments ask for the model to be tuned: `qlora`, `lora` or `full`."""
    arguments = [str(each.value) for each in items(job.trainer("args"))]
    return "qlora" if is_qlora(arguments, job.release) else "lora" if is_lora(arguments) else "full"


def _folders(job: JobOfTrainer, sets: list[PodSet]) -> list[MarkedTree]:
    """The words of the runtime's own command that are settings of folders."""
    managed = MANAGED if job.is_at_least("2.1.0") else MANAGED[:-1]
    nodes = [each for pods in sets if pods.trains for each in pods.containers() if text(each, "name") == NODE]
    return [word for node in nodes for word in items(node.get("command")) if str(word.value).partition("=")[0] in managed]
