"""What mpi-operator does with a changed field of an MPIJob that lives on under its name.

Follows `syncHandler`, `getOrCreateConfigMap`, `getOrCreateWorker` and `syncLauncherSchedulingDirectives`,
github.com/kubeflow/mpi-operator pkg/controller, 0.8: missing workers are made and those above the number deleted, the list of the hosts
is written again, and the Job of the launcher is changed only when the job resumes, in what decides on its node.
"""

from __future__ import annotations

from jobspec.apis.kinds import MPIJOB
from jobspec.diagnostics.places import Path, value_at
from jobspec.documents.document import Document
from jobspec.operators.life import HOSTS_CHANGE, PODS_STAY, RUN_POLICY, Effect, suspension_effect
from jobspec.operators.mpi_operator import LAUNCHER, REPLICAS, WORKER
from jobspec.operators.workloads import is_suspended, suspend_of

_LAUNCHER_STAYS = "the launcher's Job stays as it is, also over a suspension: create the job anew"
#: The fields of the launcher's template that a resumed job takes over.
_PLACING = (
    ("spec", "nodeSelector"),
    ("spec", "tolerations"),
    ("spec", "schedulingGates"),
    ("metadata", "labels"),
    ("metadata", "annotations"),
)


def effect_on_mpijob(path: Path, old: Document, new: Document, *, is_stopped: bool = False) -> Effect:
    """Return the effect of a changed field of an MPIJob, at a path in its spec.

    *is_stopped*: Kueue suspends and resumes the job because of the change.
    """
    if path == suspend_of(MPIJOB):
        return suspension_effect(old, new)
    if path[:2] == RUN_POLICY:
        return _effect_of_run_policy(path)
    is_paused = is_stopped or is_suspended(old) or is_suspended(new)
    if path[:3] == (*REPLICAS, WORKER):
        was_there, is_there = (value_at(each.data, path[:3]) is not None for each in (old, new))
        if path[3:] == ("replicas",) or was_there != is_there:
            return Effect("" if is_paused else HOSTS_CHANGE)
        return Effect() if is_paused else Effect(PODS_STAY, heeded=False)
    if path[:3] == (*REPLICAS, LAUNCHER):
        is_placed = path[3:4] == ("template",) and path[4:6] in _PLACING
        return Effect() if is_paused and is_placed else Effect(_LAUNCHER_STAYS, heeded=False)
    if path[1:] == ("slotsPerWorker",):
        return Effect("the list of the hosts changes; the launcher keeps the variable with the old number", heeded=False)
    return Effect(_LAUNCHER_STAYS, heeded=False)


def _effect_of_run_policy(path: Path) -> Effect:
    """The effect of a changed field of an MPIJob's run policy: the launcher's Job keeps its limits."""
    if path[2:] == ("managedBy",):
        return Effect("mpi-operator leaves the job and its pods to another controller")
    return Effect() if path[2:] == ("cleanPodPolicy",) else Effect(_LAUNCHER_STAYS, heeded=False)
