"""How a PyTorchJob lives and ends: which pods are started again, who has to succeed, and what stays afterwards.

Follows `JobController.ReconcileJobs`, `ReconcilePods`, `PastBackoffLimit` and `PastActiveDeadline`, github.com/kubeflow/training-operator
pkg/controller.v1/common, and `PyTorchJobReconciler.UpdateJobStatus`, pkg/controller.v1/pytorch, 1.7.0 to 1.9.4.
"""

from __future__ import annotations

from jobspec.targets import is_at_least

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
