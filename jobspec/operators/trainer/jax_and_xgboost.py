"""The trainer's plugins for JAX and XGBoost (2.2 on): variables by which processes find each other.

Follows the plugins jax and xgboost, github.com/kubeflow/trainer pkg/runtime/framework/plugins, 2.2.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.operators.trainer.node_resources import gpus, resources_per_node
from jobspec.operators.trainer.plugin_variables import RANK, as_string, named_variables, number_of_nodes, with_variables_and_port
from jobspec.operators.trainer.pod_sets import TrainerPodSet, with_nodes_of
from jobspec.operators.trainer.train_job import PORT, JobOfTrainer
from jobspec.programs.command_lines import JAX, XGBOOST


def with_jax(sets: list[TrainerPodSet], job: JobOfTrainer) -> list[TrainerPodSet]:
    """The pod sets with the variables of JAX: one process a node, the first coordinates."""
    counted = with_nodes_of(job, sets)
    nodes = number_of_nodes(counted)
    values = (nodes and as_string(nodes), RANK, job.named(f"{job.first_node}:{PORT}"))
    return with_variables_and_port(counted, job, named_variables(job, JAX, values))


def with_xgboost(sets: list[TrainerPodSet], job: JobOfTrainer) -> list[TrainerPodSet]:
    """The pod sets with the variables of XGBoost: a worker for each GPU, or one a node."""
    counted = with_nodes_of(job, sets)
    nodes = number_of_nodes(counted)
    amount = gpus(resources_per_node(job, counted))
    workers = nodes and nodes.with_value(str(nodes.value * max(1, amount.value if amount else 1)))
    return with_variables_and_port(counted, job, named_variables(job, XGBOOST, (job.named(job.first_node), str(PORT), RANK, workers)))
