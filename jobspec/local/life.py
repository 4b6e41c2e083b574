"""When a pod is started again, and when its job is over.

Follows `JobController.ReconcilePods`, `PastBackoffLimit` and `PastActiveDeadline`, github.com/kubeflow/training-operator
pkg/controller.v1/common, and `PyTorchJobReconciler.UpdateJobStatus`, pkg/controller.v1/pytorch, 1.7.0 to 1.9.4; for TrainJobs
`Controller.syncJob`, k8s.io/kubernetes pkg/controller/job, 1.36, and `executeFailurePolicy`, sigs.k8s.io/jobset pkg/controllers, 0.12.
"""

from __future__ import annotations

from jobspec import kinds
from jobspec.operators.jobset.objects import ROLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any, Literal

    from jobspec.documents.document import Document

    Condition = Literal["Succeeded", "Failed"]

_RETRYABLE = 128  # exit codes from here on say that a signal ended the process, for the policy ExitCode
_RETRIES = 6  # of a Job that does not say `backoffLimit`


class Life:
    """The rules of one job."""

    __slots__ = ("_is_enough", "deadline", "limit", "policies", "rounds")

    def __init__(
        self,
        policies: Mapping[str, str],
        *,
        limit: int | None,
        deadline: float | None,
        rounds: int = 1,
        one_is_enough: Collection[str] = (),
    ) -> None:
        self.policies = policies
        """The restart policy of each role."""
        self.limit = limit
        """How many restarts in all its pods may have before the job fails; None is no limit."""
        self.deadline = deadline
        """The seconds after which the job fails; None is no limit."""
        self.rounds = rounds
        """How often all of the job is started before it has failed."""
        self._is_enough = frozenset(one_is_enough)

    def starts_again(self, role: str, code: int) -> bool:
        """Whether a pod whose process ended with *code* is started again, unless the job is over."""
        policy = self.policies[role]
        if policy == "ExitCode":
            return code >= _RETRYABLE
        return policy == "Always" or (policy == "OnFailure" and code != 0)

    def too_many(self, restarts: int) -> bool:
        """Whether so many restarts of all pods together are the end of the job."""
        return self.limit is not None and restarts > 0 and restarts >= self.limit

    def condition(self, ended: Mapping[tuple[str, str], int], pods: Sequence[tuple[str, str]]) -> Condition | None:
        """What becomes of a job whose pods, as role and name, *ended* for good with these exit codes; None while it goes on."""
        if any(ended.values()):
            return "Failed"
        if any(role in self._is_enough for role, _ in ended):
            return "Succeeded"
        return "Succeeded" if len(ended) == len(pods) else None


def life_of(job: Document, objects: Sequence[dict[str, Any]]) -> Life:
    """The rules of a job that its operator expands to these *objects*."""
    return _of_pytorchjob(job.data["spec"]) if job.group_kind == kinds.PYTORCHJOB else _of_trainjob(job.data["spec"], objects)


def _of_pytorchjob(spec: dict[str, Any]) -> Life:
    replicas = {name.lower(): each or {} for name, each in spec["pytorchReplicaSpecs"].items()}
    policy = spec.get("runPolicy") or {}
    return Life(
        {name: each.get("restartPolicy") or "OnFailure" for name, each in replicas.items()},
        limit=policy.get("backoffLimit"),
        deadline=policy.get("activeDeadlineSeconds"),
        one_is_enough=["master"] if "master" in replicas else ["worker"] if spec.get("elasticPolicy") else [],
    )


def _of_trainjob(spec: dict[str, Any], objects: Sequence[dict[str, Any]]) -> Life:
    """A Job makes a new pod for one that failed, whatever the restart policy; a JobSet may make all of its Jobs anew."""
    jobs = {each["metadata"]["labels"][ROLE]: each["spec"] for each in objects if each["kind"] == "Job"}
    jobsets = [each["spec"] for each in objects if each["kind"] == "JobSet"]
    limits = [each.get("backoffLimit", _RETRIES) for each in jobs.values()]
    deadlines = [each["activeDeadlineSeconds"] for each in (spec, *jobs.values()) if each.get("activeDeadlineSeconds")]
    return Life(
        dict.fromkeys(jobs, "OnFailure"),
        limit=min(limits, default=_RETRIES) + 1,
        deadline=min(deadlines, default=None),
        rounds=1 + max((each.get("failurePolicy", {}).get("maxRestarts", 0) for each in jobsets), default=0),
    )
