"""The trainer's plugins for JAX (2.2 on) and XGBoost (2.2 on): variables by which processes find each other. And that for plain jobs.

Follows the plugins jax, xgboost and plainml, github.com/kubeflow/trainer pkg/runtime/framework/plugins, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.operators.edits import with_items
from jobspec.operators.objects import set_by
from jobspec.operators.trainer.pod_sets import first, with_nodes_of, with_training_container
from jobspec.operators.trainer.resources import gpus, resources_per_node, whole
from jobspec.operators.trainer.torch import COMPLETION_INDEX
from jobspec.operators.trainer.train_job import PORT
from jobspec.operators.trainer.written import with_variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.operators.trainer.pod_sets import PodSet
    from jobspec.operators.trainer.train_job import TrainJob

_RANK = {"fieldRef": {"fieldPath": COMPLETION_INDEX}}


def with_plain(sets: list[PodSet], job: TrainJob) -> list[PodSet]:
    """The pod sets with the job's number of nodes and its variables."""
    sets = with_nodes_of(job, sets)
    return with_training_container(sets, lambda container: with_variables(container, job.trainer("env")))


def with_jax(sets: list[PodSet], job: TrainJob) -> list[PodSet]:
    """The pod sets with the variables of JAX: one process a node, the first coordinates."""
    counted = with_nodes_of(job, sets)
    nodes = _count(counted)
    variables: list[dict[str, Any]] = [
        {"name": "JAX_NUM_PROCESSES", "value": nodes and nodes.with_value(str(nodes.value))},
        {"name": "JAX_PROCESS_ID", "valueFrom": _RANK},
        {"name": "JAX_COORDINATOR_ADDRESS", "value": job.named(f"{job.first_node}:{PORT}")},
    ]
    return _told(counted, job, variables)


def with_xgboost(sets: list[PodSet], job: TrainJob) -> list[PodSet]:
    """The pod sets with the variables of XGBoost: a worker for each GPU, or one a node."""
    counted = with_nodes_of(job, sets)
    nodes = _count(counted)
    amount = gpus(resources_per_node(job, counted))
    workers = nodes and nodes.with_value(str(nodes.value * (whole(amount) if amount else 1)))
    variables: list[dict[str, Any]] = [
        {"name": "DMLC_TRACKER_URI", "value": job.named(job.first_node)},
        {"name": "DMLC_TRACKER_PORT", "value": str(PORT)},
        {"name": "DMLC_TASK_ID", "valueFrom": _RANK},
        {"name": "DMLC_NUM_WORKER", "value": workers},
    ]
    return _told(counted, job, variables)


def _count(sets: list[PodSet]) -> MarkedTree | None:
    training = first(sets, lambda each: each.trains)
    return training.count if training else None


def _told(sets: list[PodSet], job: TrainJob, variables: list[dict[str, Any]]) -> list[PodSet]:
    """The container that trains with variables and the port; nothing where the job has no `trainer`."""
    if job.trainer() is None:
        return sets

    def container(tree: MarkedTree) -> MarkedTree:
        tree = with_items(tree, "env", [set_by(job.mark, each) for each in variables])
        return with_items(tree, "ports", [set_by(job.mark, {"containerPort": PORT})])

    return with_training_container(sets, container)
