"""How a PyTorchJob lives and ends: which pods are restarted, who has to succeed, and what stays afterwards.

Follows `JobController.ReconcileJobs`, `ReconcilePods`, `PastBackoffLimit` and `PastActiveDeadline`, github.com/kubeflow/training-operator
pkg/controller.v1/common, and `PyTorchJobReconciler.UpdateJobStatus`, pkg/controller.v1/pytorch, 1.7.0 to 1.9.4.
"""

from __future__ import annotations

from jobspec.apis.releases import is_at_least
from jobspec.operators.life import RestartRules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

RESTART_POLICY = "OnFailure"
"""The restart policy of a replica type that says none."""


def rules_of_pytorchjob(spec: dict[str, Any]) -> RestartRules:
    """Return the rules about restarts and the end of a PyTorchJob."""
    replicas = {name.lower(): each or {} for name, each in spec["pytorchReplicaSpecs"].items()}
    policy = spec.get("runPolicy") or {}
    decisive = decisive_role(replicas, elastic=bool(spec.get("elasticPolicy")))
    return RestartRules(
        {name: each.get("restartPolicy") or RESTART_POLICY for name, each in replicas.items()},
        limit=policy.get("backoffLimit"),
        deadline=policy.get("activeDeadlineSeconds"),
        decisive=[decisive] if decisive else [],
    )


def decisive_role(roles: Collection[str], *, elastic: bool) -> str:
    """Return the role whose success ends the job.

    *roles* are in lower case. If all pods have to succeed, return an empty string.
    """
    return "master" if "master" in roles else "worker" if elastic else ""


def counts_restarts(restart_policy: str) -> bool:
    """True if restarts count towards the job's `backoffLimit`.

    Restarts of pods that the operator recreates do not count.
    """
    return restart_policy != "ExitCode"


def leaves_running_pods(clean_pod_policy: str | None) -> bool:
    """Whether the pods that run when the job ends run on."""
    return clean_pod_policy in (None, "None")


def leaves_finished_pods(clean_pod_policy: str | None) -> bool:
    """Whether the pods that have ended stay, and their logs with them."""
    return clean_pod_policy in (None, "None", "Running")


def cleans_up_at_limits_too(release: str) -> bool:
    """True if `cleanPodPolicy` decides on the pods of a job that fails by a limit.

    The limit is the `backoffLimit` or the deadline of the job. Older releases delete all pods.
    """
    return is_at_least(release, "1.9.4")
