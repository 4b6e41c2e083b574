"""What an operator does with a changed field of a job that lives on under its name.

Follows `ReconcileJobs` and `ReconcilePods`, github.com/kubeflow/training-operator pkg/controller.v1/common, and `ReconcileHPA`,
pkg/controller.v1/pytorch, 1.9: a pod is made where one is missing and deleted where it is one too many, and one that is there is left as
it is; the run policy is read anew each time. And `JobSet.Build`, github.com/kubeflow/trainer pkg/runtime/framework/plugins/jobset, 2.0.0
to 2.3.0: a JobSet is not touched while neither it nor its TrainJob is suspended.
"""

from __future__ import annotations

from jobspec.kinds import CLUSTER_TRAINING_RUNTIME, PYTORCHJOB, TRAINING_RUNTIME, TRAINJOB
from jobspec.workloads import is_suspended, suspend_of, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics import Path
    from jobspec.documents.document import Document
    from jobspec.gitops.diff.changes import FieldChange

_REPLICAS: Path = ("spec", "pytorchReplicaSpecs")
_RUN_POLICY: Path = ("spec", "runPolicy")
_RUNTIMES = (TRAINING_RUNTIME, CLUSTER_TRAINING_RUNTIME)
_PATCHES = ("runtimePatches", "podTemplateOverrides", "podSpecOverrides")

PODS_STAY = "the operator leaves the pods that run as they are; only pods that it makes later are of the new spec"
NODES_STAY = "the pods that run keep the number of nodes that they were told"
RUNS_STAY = "runs that exist keep the runtime they began with"


class Effect:
    """Whether the operator heeds a change, and what there is to say about it."""

    __slots__ = ("heeded", "note")

    def __init__(self, note: str = "", *, heeded: bool = True) -> None:
        self.heeded = heeded
        self.note = note


def effect_of(change: FieldChange, old: Document, new: Document) -> Effect:
    """The effect of a change that the server takes, in an update from *old* to *new*."""
    if change.path[0] != "spec":
        return Effect()
    if new.group_kind == PYTORCHJOB:
        return _of_pytorchjob(change, old, new)
    if new.group_kind == TRAINJOB:
        return _of_trainjob(change, old, new)
    return Effect(RUNS_STAY if new.group_kind in _RUNTIMES else "")


def _of_pytorchjob(change: FieldChange, old: Document, new: Document) -> Effect:
    path = change.path
    if path == suspend_of(PYTORCHJOB):
        return Effect(_suspension(old, new))
    if path == (*_RUN_POLICY, "managedBy"):
        return Effect("the training-operator leaves a job to another controller with the pods that it has")
    if path[:2] == _RUN_POLICY:
        return Effect()
    if _is_scaled(change, old, new):
        return Effect(NODES_STAY)
    if path[:2] == ("spec", "elasticPolicy") and path[2:3] and path[2] in ("minReplicas", "maxReplicas", "metrics"):
        return _of_autoscaler(change, new)
    return _of_pods(change, old, new)


def _is_scaled(change: FieldChange, old: Document, new: Document) -> bool:
    """Whether pods are made or deleted for a change: of the number of replicas, or since the role is new."""
    role: Path = change.path[:3]
    if change.path[:2] != _REPLICAS or value_at(new.data, role) is None:
        return False
    return change.path[3:] == ("replicas",) or value_at(old.data, role) is None


def _of_autoscaler(change: FieldChange, new: Document) -> Effect:
    if value_at(new.data, ("spec", "elasticPolicy", "metrics")) is not None:
        return Effect(NODES_STAY)
    if change.path[2] == "metrics":
        return Effect("the operator leaves its HorizontalPodAutoscaler", heeded=False)
    return Effect(PODS_STAY, heeded=False)


def _of_pods(change: FieldChange, old: Document, new: Document) -> Effect:
    """The effect of a change of pods: none on those that run; a suspended job has none, and makes them anew when it resumes."""
    if is_suspended(old) or is_suspended(new):
        return Effect()
    if value_at(new.data, change.path[:3]) is None and change.path[:2] == _REPLICAS:
        return Effect("the operator leaves the pods of a role that is gone", heeded=False)
    return Effect(PODS_STAY, heeded=False)


def _of_trainjob(change: FieldChange, old: Document, new: Document) -> Effect:
    if change.path == suspend_of(TRAINJOB):
        return Effect(_suspension(old, new))
    if change.path[1] in _PATCHES:  # the webhook takes them from suspended jobs only
        return Effect()
    return Effect("the trainer does not change a JobSet that it has made", heeded=False)


def _suspension(old: Document, new: Document) -> str:
    """What a changed `suspend` does; nothing where `false` comes or goes."""
    before, after = is_suspended(old), is_suspended(new)
    if before == after:
        return ""
    return "the job is suspended: its pods are deleted" if after else "the job is resumed: its pods are made anew"
