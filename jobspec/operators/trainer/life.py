"""How a TrainJob lives and ends: which pods are started again, when it is over, and what is made of it once more.

Follows `Controller.syncJob`, k8s.io/kubernetes pkg/controller/job, 1.36, `executeFailurePolicy`, sigs.k8s.io/jobset pkg/controllers, 0.12,
and `TrainJobReconciler.Reconcile`, github.com/kubeflow/trainer pkg/controller, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.diagnostics import Path
from jobspec.documents.document import Document
from jobspec.kinds import TRAINJOB
from jobspec.operators.life import Effect, suspension_effect
from jobspec.targets import is_at_least
from jobspec.workloads import suspend_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal

    from jobspec.operators.life import RestartRules


def restart_rules_of(spec: dict[str, Any], objects: Sequence[dict[str, Any]]) -> RestartRules:
    """The rules of a TrainJob: a Job makes a new pod for one that failed, whatever its policy; a JobSet may make all of its Jobs anew."""
    from jobspec.operators.batch import RETRIES
    from jobspec.operators.life import RestartRules
    from jobspec.workloads import REPLICATED_JOB

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
    """The ended TrainJobs whose JobSet the trainer makes again once a time to live has deleted it; empty where it leaves all alone."""
    if not is_at_least(release, "2.1.0"):
        return ""
    return "failed" if is_at_least(release, "2.2.0") else "finished"


def has_deadline(release: str) -> bool:
    """Whether a TrainJob has an `activeDeadlineSeconds` of its own."""
    return is_at_least(release, "2.2.0")


# What the trainer does with a changed field of a TrainJob that lives on under its name.
#
# Follows `JobSet.Build`, github.com/kubeflow/trainer pkg/runtime/framework/plugins/jobset, 2.0.0 to 2.3.0: a JobSet is not touched while
# neither it nor its TrainJob is suspended.


_PATCHES = ("runtimePatches", "podTemplateOverrides", "podSpecOverrides")


def effect_on_trainjob(path: Path, old: Document, new: Document) -> Effect:
    """The effect of a changed field of a TrainJob, at a path in its spec."""
    if path == suspend_of(TRAINJOB):
        return suspension_effect(old, new)
    if path[1] in _PATCHES:  # the webhook takes them from suspended jobs only
        return Effect()
    return Effect("the trainer does not change a JobSet that it has made", heeded=False)
