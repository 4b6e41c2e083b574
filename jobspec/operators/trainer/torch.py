"""The trainer's plugin for PyTorch: how many nodes and processes there are, and the variables that tell `torchrun` so.

Follows `EnforceMLPolicy` of the plugin torch, github.com/kubeflow/trainer pkg/runtime/framework/plugins/torch, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.operators.edits import with_items
from jobspec.operators.objects import set_by
from jobspec.operators.trainer.pod_sets import first, with_nodes_of, with_training_container
from jobspec.operators.trainer.resources import processes_per_node
from jobspec.operators.trainer.train_job import PORT
from jobspec.operators.trainer.written import with_variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.operators.trainer.pod_sets import PodSet
    from jobspec.operators.trainer.train_job import TrainJob

COMPLETION_INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
"""Where a pod of an indexed Job finds its number."""


def with_torch(sets: list[PodSet], job: TrainJob) -> list[PodSet]:
    """The pod sets with what PyTorch needs."""
    sets = with_nodes_of(job, sets)
    training = first(sets, lambda each: each.trains)
    nodes = training.count if training else MarkedTree(1, job.mark)
    processes = processes_per_node(job, sets)
    ranks = _rank_variables(job, nodes, processes)
    if job.trainer() is None:
        return _with_injection(sets, job, ranks)
    own = ranks if job.is_torchtune else [*ranks, *_address_variables(job)]

    def container(tree: MarkedTree) -> MarkedTree:
        tree = with_items(with_variables(tree, job.trainer("env")), "env", own)
        return with_items(tree, "ports", [set_by(job.mark, {"containerPort": PORT})])

    return _with_injection(with_training_container(sets, container), job, ranks)


def _rank_variables(job: TrainJob, nodes: MarkedTree, processes: MarkedTree) -> list[MarkedTree]:
    mark = job.mark
    return [
        set_by(mark, {"name": "PET_NNODES", "value": nodes.with_value(str(nodes.value))}),
        set_by(mark, {"name": "PET_NPROC_PER_NODE", "value": processes.with_value(str(processes.value))}),
        set_by(mark, {"name": "PET_NODE_RANK", "valueFrom": {"fieldRef": {"fieldPath": COMPLETION_INDEX}}}),
    ]


def _address_variables(job: TrainJob) -> list[MarkedTree]:
    return [
        set_by(job.mark, {"name": "PET_MASTER_ADDR", "value": job.named(job.first_node)}),
        set_by(job.mark, {"name": "PET_MASTER_PORT", "value": str(PORT)}),
    ]


def _with_injection(sets: list[PodSet], job: TrainJob, ranks: list[MarkedTree]) -> list[PodSet]:
    """From 2.3 on: the same variables for the further containers that the runtime's policy names."""
    variables = [*ranks, *_address_variables(job)]
    targets = [
        (text(target, "jobName"), name.value)
        for target in items(job.policy("torch", "envInjection", "targets"))
        for name in items(target.get("containerNames"))
    ]

    def injected(pod_set: PodSet) -> PodSet:
        for target, name in targets:
            if target == pod_set.name:
                found = any(text(each, "name") == name for each in pod_set.containers())
                among = "containers" if found else "initContainers"
                pod_set = pod_set.with_container(name, lambda tree: with_items(tree, "env", variables), among=among)
        return pod_set

    return [injected(each) for each in sets] if job.reached("2.3.0") else sets
