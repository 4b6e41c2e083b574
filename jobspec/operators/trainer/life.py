"""How a TrainJob lives and ends: which pods are restarted, when it is over, and when its JobSet is recreated.

Follows `Controller.syncJob`, k8s.io/kubernetes pkg/controller/job, 1.36, `executeFailurePolicy`, sigs.k8s.io/jobset pkg/controllers,
0.12, and `TrainJobReconciler.Reconcile`, github.com/kubeflow/trainer pkg/controller, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.apis.releases import is_at_least
from jobspec.operators.batch import RETRIES
from jobspec.operators.life import RestartRules
from jobspec.operators.workloads import REPLICATED_JOB

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal


def rules_of_trainjob(spec: dict[str, Any], objects: Sequence[dict[str, Any]]) -> RestartRules:
    """Return the rules about restarts and the end of a TrainJob.

    A Job makes a new pod for one that failed, whatever its policy; a JobSet may recreate all of its Jobs. *objects*: what the trainer
    expands the job to.
    """
    jobs = {each["metadata"]["labels"][REPLICATED_JOB]: each["spec"] for each in objects if each["kind"] == "Job"}
    jobsets = [each["spec"] for each in objects if each["kind"] == "JobSet"]
    limits = [each.get("backoffLimit", RETRIES) for each in jobs.values()]
    deadlines = [each["activeDeadlineSeconds"] for each in (spec, *jobs.values()) if each.get("activeDeadlineSeconds")]
    return RestartRules(
        dict.fromkeys(jobs, "OnFailure"),
        limit=min(limits, default=RETRIES) + 1,
        deadline=min(deadlines, default=None),
        rounds=1 + max((each.get("failurePolicy", {}).get("maxRestarts", 0) for each in jobsets), default=0),
    )


def makes_again(release: str) -> Literal["", "finished", "failed"]:
    """Return the kind of end after which the trainer recreates the JobSet of a TrainJob.

    The trainer recreates the JobSet once a TTL has deleted it. If the trainer recreates none, return an empty string.
    """
    if not is_at_least(release, "2.1.0"):
        return ""
    return "failed" if is_at_least(release, "2.2.0") else "finished"


def has_deadline(release: str) -> bool:
    """Whether a TrainJob has an `activeDeadlineSeconds` of its own."""
    return is_at_least(release, "2.2.0")
