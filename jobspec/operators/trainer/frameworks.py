"""The trainer's plugins for training frameworks: which ones change a job's pods by its `mlPolicy`, and that for plain jobs.

Follows `NewRegistry`, `RunEnforceMLPolicyPlugins` and the plugin plainml, github.com/kubeflow/trainer pkg/runtime/framework, 2.0.0 to
2.3.0. The plugins run in no fixed order; a runtime has one policy, and what the plugin for plain jobs sets beside that of XGBoost is set
anyway.
"""

from __future__ import annotations

from jobspec.operators.made import with_variables
from jobspec.operators.trainer.flux import with_flux
from jobspec.operators.trainer.jax_and_xgboost import with_jax, with_xgboost
from jobspec.operators.trainer.mpi import with_mpi
from jobspec.operators.trainer.pod_sets import TrainerPodSet, with_nodes_of, with_training_container
from jobspec.operators.trainer.torch import with_torch
from jobspec.operators.trainer.train_job import JobOfTrainer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Plugin = Callable[[list[TrainerPodSet], JobOfTrainer], list[TrainerPodSet]]


def is_active(job: JobOfTrainer, name: str) -> bool:
    """Whether a runtime has a policy, and the trainer a plugin for it."""
    return job.policy(name) is not None and job.is_at_least(_PLUGINS[name][0])


def enforced(sets: list[TrainerPodSet], job: JobOfTrainer) -> list[TrainerPodSet]:
    """The pod sets with what the plugins of the runtime's policies make of them."""
    active = [plugin for name, plugin in _PLUGINS.items() if is_active(job, name)]
    for _, change, _ in active:
        sets = change(sets, job)
    return sets if any(instead for _, _, instead in active) else with_plain(sets, job)


def with_plain(sets: list[TrainerPodSet], job: JobOfTrainer) -> list[TrainerPodSet]:
    """The pod sets with the job's number of nodes and its variables."""
    return with_training_container(with_nodes_of(job, sets), lambda container: with_variables(container, job.trainer("env")))


#: The field of `mlPolicy` -> the first release with a plugin for it, the plugin, and whether that for plain jobs leaves such jobs alone.
_PLUGINS: dict[str, tuple[str, Plugin, bool]] = {
    "torch": ("2.0.0", with_torch, True),
    "mpi": ("2.0.0", with_mpi, True),
    "jax": ("2.2.0", with_jax, True),
    "xgboost": ("2.2.0", with_xgboost, False),
    "flux": ("2.2.0", with_flux, False),
}
