"""The variables that the trainer's plugins for frameworks set in the training container, and the numbers in them."""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, set_by
from jobspec.operators.made import with_items
from jobspec.operators.trainer.pod_sets import TrainerPodSet, first, with_training_container
from jobspec.operators.trainer.train_job import PORT, JobOfTrainer
from jobspec.operators.workloads import JOB_INDEX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


COMPLETION_INDEX = f"metadata.annotations['{JOB_INDEX}']"
"""Where a pod of an indexed Job finds its number."""
RANK = {"fieldRef": {"fieldPath": COMPLETION_INDEX}}


def named_variables(job: JobOfTrainer, names: Sequence[str], values: Sequence[Any]) -> list[MarkedTree]:
    """The variables of these names and values, of which a mapping is what the value is taken from."""
    pairs = zip(names, values, strict=True)
    return [set_by(job.mark, {"name": name, "valueFrom" if isinstance(value, dict) else "value": value}) for name, value in pairs]


def as_string(number: MarkedTree) -> MarkedTree:
    """A number as the value of a variable."""
    return number.with_value(str(number.value))


def number_of_nodes(sets: list[TrainerPodSet]) -> MarkedTree | None:
    """The number of pods of the first pod set that trains."""
    training = first(sets, lambda each: each.trains)
    return training.count if training else None


def with_variables_and_port(sets: list[TrainerPodSet], job: JobOfTrainer, variables: list[MarkedTree]) -> list[TrainerPodSet]:
    """The container that trains with variables and the port; nothing where the job has no `trainer`."""
    if job.trainer() is None:
        return sets

    def container(tree: MarkedTree) -> MarkedTree:
        return with_items(with_items(tree, "env", variables), "ports", [set_by(job.mark, {"containerPort": PORT})])

    return with_training_container(sets, container)
