"""The trainer's plugin for PyTorch: how many nodes and processes there are, and the variables that pass both to `torchrun`.

Follows `EnforceMLPolicy` of the plugin torch, github.com/kubeflow/trainer pkg/runtime/framework/plugins/torch, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.operators.made import with_items, with_variables
from jobspec.operators.trainer.node_resources import processes_per_node
from jobspec.operators.trainer.plugin_variables import RANK, as_string, named_variables, number_of_nodes, with_variables_and_port
from jobspec.operators.trainer.pod_sets import TrainerPodSet, with_nodes_of, with_training_container
from jobspec.operators.trainer.train_job import PORT, JobOfTrainer
from jobspec.programs.command_lines import MASTER_ADDR, MASTER_PORT, TORCH


def with_torch(sets: list[TrainerPodSet], job: JobOfTrainer) -> list[TrainerPodSet]:
    """The pod sets with what PyTorch needs; torchtune gets the address from its command."""
    sets = with_nodes_of(job, sets)
    nodes, processes = number_of_nodes(sets) or MarkedTree(1, job.mark), processes_per_node(job, sets)
    values = (as_string(nodes), as_string(processes), RANK, job.named(job.first_node), str(PORT))
    variables = named_variables(job, TORCH, values)
    own = [each for each in variables if text(each, "name") not in (MASTER_ADDR, MASTER_PORT)] if job.is_torchtune else variables
    with_jobs = with_training_container(sets, lambda container: with_variables(container, job.trainer("env"))) if job.trainer() else sets
    return _with_injection(with_variables_and_port(with_jobs, job, own), job, variables)


def _with_injection(sets: list[TrainerPodSet], job: JobOfTrainer, variables: list[MarkedTree]) -> list[TrainerPodSet]:
    """From 2.3 on: the same variables for the further containers that the runtime's policy names."""
    targets = [
        (text(target, "jobName"), name.value)
        for target in items(job.policy("torch", "envInjection", "targets"))
        for name in items(target.get("containerNames"))
    ]

    def injected(pod_set: TrainerPodSet) -> TrainerPodSet:
        for name in (name for target, name in targets if target == pod_set.name):
            found = any(text(each, "name") == name for each in pod_set.containers())
            among = "containers" if found else "initContainers"
            pod_set = pod_set.with_container(name, lambda tree: with_items(tree, "env", variables), among=among)
        return pod_set

    return [injected(each) for each in sets] if job.is_at_least("2.3.0") else sets
