"""How a PyTorchJob lives and ends: which pods are started again, who has to succeed, and what stays afterwards.

Follows `JobController.ReconcileJobs`, `ReconcilePods`, `PastBackoffLimit` and `PastActiveDeadline`, github.com/kubeflow/training-operator
pkg/controller.v1/common, and `PyTorchJobReconciler.UpdateJobStatus`, pkg/controller.v1/pytorch, 1.7.0 to 1.9.4.
"""

from __future__ import annotations

from jobspec.diagnostics import Path
from jobspec.documents.document import Document
from jobspec.kinds import PYTORCHJOB
from jobspec.operators.life import Effect, suspension_effect
from jobspec.targets import is_at_least
from jobspec.workloads import is_suspended, suspend_of, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from jobspec.operators.life import RestartRules


RESTART_POLICY = "OnFailure"
"""The restart policy of a replica type that says none."""


def restart_rules_of(spec: dict[str, Any]) -> RestartRules:
    """The rules of a PyTorchJob."""
    from jobspec.operators.life import RestartRules

    replicas = {name.lower(): each or {} for name, each in spec["pytorchReplicaSpecs"].items()}
    policy = spec.get("runPolicy") or {}
    decisive = decisive_role(replicas, elastic=bool(spec.get("elasticPolicy")))
    return RestartRules(
        {name: each.get("restartPolicy") or RESTART_POLICY for name, each in replicas.items()},
        limit=policy.get("backoffLimit"),
        deadline=policy.get("activeDeadlineSeconds"),
        one_is_enough=[decisive] if decisive else [],
    )


def decisive_role(roles: Collection[str], *, elastic: bool) -> str:
    """The role of which one pod that succeeds ends the job, among *roles* in lower case; empty where all pods have to succeed."""
    return "master" if "master" in roles else "worker" if elastic else ""


def counts_restarts(restart_policy: str) -> bool:
    """Whether restarts count towards the job's `backoffLimit`: those of pods that the operator makes anew do not."""
    return restart_policy != "ExitCode"


def leaves_running_pods(clean_pod_policy: str | None) -> bool:
    """Whether the pods that run when the job ends run on."""
    return clean_pod_policy in (None, "None")


def leaves_finished_pods(clean_pod_policy: str | None) -> bool:
    """Whether the pods that have ended stay, and their logs with them."""
    return clean_pod_policy in (None, "None", "Running")


def cleans_up_at_limits_too(release: str) -> bool:
    """Whether `cleanPodPolicy` decides on the pods of a job that fails by its `backoffLimit` or deadline; older releases delete all."""
    return is_at_least(release, "1.9.4")


# What the training-operator does with a changed field of a PyTorchJob that lives on under its name.
#
# Follows `ReconcileJobs` and `ReconcilePods`, github.com/kubeflow/training-operator pkg/controller.v1/common, and `ReconcileHPA`,
# pkg/controller.v1/pytorch, 1.9: a pod is made where one is missing and deleted where it is one too many, and one that is there is left as
# it is; the run policy is read anew each time.


_REPLICAS: Path = ("spec", "pytorchReplicaSpecs")
_RUN_POLICY: Path = ("spec", "runPolicy")
_PODS_STAY = "the operator leaves the pods that run as they are; only pods that it makes later are of the new spec"
_NODES_STAY = "the pods that run keep the number of nodes that they were told"


def effect_on_pytorchjob(path: Path, old: Document, new: Document) -> Effect:
    """The effect of a changed field of a PyTorchJob, at a path in its spec."""
    if path == suspend_of(PYTORCHJOB):
        return suspension_effect(old, new)
    if path == (*_RUN_POLICY, "managedBy"):
        return Effect("the training-operator leaves a job to another controller with the pods that it has")
    if path[:2] == _RUN_POLICY:
        return Effect()
    if _is_scaled(path, old, new):
        return Effect(_NODES_STAY)
    if path[:2] == ("spec", "elasticPolicy") and path[2:3] and path[2] in ("minReplicas", "maxReplicas", "metrics"):
        return _of_autoscaler(path, new)
    return _of_pods(path, old, new)


def _is_scaled(path: Path, old: Document, new: Document) -> bool:
    """Whether pods are made or deleted for a change: of the number of replicas, or since the role is new."""
    role = path[:3]
    if path[:2] != _REPLICAS or value_at(new.data, role) is None:
        return False
    return path[3:] == ("replicas",) or value_at(old.data, role) is None


def _of_autoscaler(path: Path, new: Document) -> Effect:
    if value_at(new.data, ("spec", "elasticPolicy", "metrics")) is not None:
        return Effect(_NODES_STAY)
    if path[2] == "metrics":
        return Effect("the operator leaves its HorizontalPodAutoscaler", heeded=False)
    return Effect(_PODS_STAY, heeded=False)


def _of_pods(path: Path, old: Document, new: Document) -> Effect:
    """The effect of a change of pods: none on those that run; a suspended job has none, and makes them anew when it resumes."""
    if is_suspended(old) or is_suspended(new):
        return Effect()
    if value_at(new.data, path[:3]) is None and path[:2] == _REPLICAS:
        return Effect("the operator leaves the pods of a role that is gone", heeded=False)
    return Effect(_PODS_STAY, heeded=False)
