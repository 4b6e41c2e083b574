"""Which of the trainer's plugins for training frameworks change a job's pods: those of the runtime's `mlPolicy`.

Follows `NewRegistry` and `RunEnforceMLPolicyPlugins`, github.com/kubeflow/trainer pkg/runtime/framework, 2.0.0 to 2.3.0. The plugins run
in no fixed order; a runtime has one policy, and what the plugin for plain jobs sets beside that of XGBoost is set anyway.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from jobspec.operators.trainer.pod_sets import PodSet
    from jobspec.operators.trainer.train_job import TrainJob

    Plugin = Callable[[list[PodSet], TrainJob], list[PodSet]]


def _torch() -> Plugin:
    from jobspec.operators.trainer.torch import with_torch

    return with_torch


def _mpi() -> Plugin:
    from jobspec.operators.trainer.mpi import with_mpi

    return with_mpi


def _jax() -> Plugin:
    from jobspec.operators.trainer.frameworks import with_jax

    return with_jax


def _xgboost() -> Plugin:
    from jobspec.operators.trainer.frameworks import with_xgboost

    return with_xgboost


def _flux() -> Plugin:
    from jobspec.operators.trainer.flux import with_flux

    return with_flux


#: The field of `mlPolicy` -> the first release with a plugin for it, the plugin, and whether that for plain jobs leaves such jobs alone.
_PLUGINS: dict[str, tuple[str, Callable[[], Plugin], bool]] = {
    "torch": ("2.0.0", _torch, True),
    "mpi": ("2.0.0", _mpi, True),
    "jax": ("2.2.0", _jax, True),
    "xgboost": ("2.2.0", _xgboost, False),
    "flux": ("2.2.0", _flux, False),
}


def is_active(job: TrainJob, name: str) -> bool:
    """Whether a runtime has a policy, and the trainer a plugin for it."""
    return job.policy(name) is not None and job.reached(_PLUGINS[name][0])


def enforced(sets: list[PodSet], job: TrainJob) -> list[PodSet]:
    """The pod sets with what the plugins of the runtime's policies make of them."""
    active = [name for name in _PLUGINS if is_active(job, name)]
    for name in active:
        sets = _PLUGINS[name][1]()(sets, job)
    if any(_PLUGINS[name][2] for name in active):
        return sets
    from jobspec.operators.trainer.frameworks import with_plain

    return with_plain(sets, job)
