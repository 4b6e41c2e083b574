"""How jobs live and end: which pods are restarted, when a job has succeeded or failed, what stays, and what a changed field does.

First what holds for the jobs of several operators, then those of training-operator, MPIJobs of mpi-operator, TrainJobs, LeaderWorkerSets,
Jobs, CronJobs and JobSets.
"""

from __future__ import annotations

from jobspec.apis.kinds import LEADER_WORKER_SET, MPIJOB, PYTORCHJOB, RAY_CLUSTER, TRAINJOB
from jobspec.apis.releases import is_at_least
from jobspec.diagnostics.places import Path, value_at
from jobspec.diagnostics.record import Record
from jobspec.documents.document import Document
from jobspec.operators import mpi_operator
from jobspec.operators.mpi_operator import LAUNCHER, REPLICAS, WORKER
from jobspec.operators.trainer.runtimes import PATCH_FIELDS
from jobspec.operators.training_operator.frameworks import FRAMEWORKS, Framework
from jobspec.operators.workloads import REPLICATED_JOB, is_suspended, suspend_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any, Literal

    Condition = Literal["Succeeded", "Failed"]


RETRYABLE = 128
"""Exit codes from here on say that a signal ended the process: the restart policy ExitCode tries again."""


class Effect(Record):
    """Whether the operator acts on a changed field of an existing job, and a note about it."""

    note: str = ""
    heeded: bool = True


def runs_until_deleted(job: Document, role: str) -> bool:
    """True if the pods of a role never end by themselves.

    Such pods are MPI's workers, which are servers of SSH, those of LeaderWorkerSets, which are restarted, and those of Ray's clusters. The
    pod that submits a RayJob's program, whose role has the name of the job, ends.
    """
    if job.group_kind[0] == RAY_CLUSTER[0]:
        return role != job.name
    is_mpi_worker = (job.api_version, job.kind) == (mpi_operator.API_VERSION, MPIJOB[1]) and role == WORKER
    return is_mpi_worker or job.group_kind == LEADER_WORKER_SET


def suspension_effect(old: Document, new: Document) -> Effect:
    """What a changed `suspend` does; nothing where `false` comes or goes."""
    before, after = is_suspended(old), is_suspended(new)
    if before == after:
        return Effect()
    return Effect("the job is suspended: its pods are deleted" if after else "the job is resumed: its pods are recreated")


def restart_rules(job: Document, objects: Sequence[dict[str, Any]]) -> RestartRules:
    """Return the rules about restarts and the end of a job.

    *objects*: what the operator expands the job to.
    """
    spec = job.data["spec"]
    return _rules_of_pytorchjob(spec) if job.group_kind == PYTORCHJOB else _rules_of_trainjob(spec, objects)


class RestartRules(Record):
    """The rules of one job about restarts and its end."""

    policies: Mapping[str, str]
    """The restart policy of each role."""
    limit: int | None
    """How many restarts in all its pods may have before the job fails; None is no limit."""
    deadline: float | None
    """The seconds after which the job fails; None is no limit."""
    rounds: int = 1
    """How often all of the job is started before it has failed."""
    decisive: Collection[str] = ()
    """The roles of which the success of one pod ends the job."""

    def starts_again(self, role: str, code: int) -> bool:
        """Whether a pod whose process ended with *code* is started again, unless the job is over."""
        policy = self.policies[role]
        if policy == "ExitCode":
            return code >= RETRYABLE
        return policy == "Always" or (policy == "OnFailure" and code != 0)

    def too_many(self, restarts: int) -> bool:
        """Whether the job fails after this number of restarts of all pods."""
        return self.limit is not None and restarts > 0 and restarts >= self.limit

    def condition(self, ended: Mapping[tuple[str, str], int], pods: Sequence[tuple[str, str]]) -> Condition | None:
        """The condition of a job whose pods, given by role and name, *ended* with these exit codes; None while it runs."""
        if any(ended.values()):
            return "Failed"
        if any(role in self.decisive for role, _ in ended):
            return "Succeeded"
        return "Succeeded" if len(ended) == len(pods) else None


# How a PyTorchJob lives and ends: which pods are restarted, who has to succeed, and what stays afterwards.
#
# Follows `JobController.ReconcileJobs`, `ReconcilePods`, `PastBackoffLimit` and `PastActiveDeadline`, github.com/kubeflow/training-operator
# pkg/controller.v1/common, and `PyTorchJobReconciler.UpdateJobStatus`, pkg/controller.v1/pytorch, 1.7.0 to 1.9.4.


RESTART_POLICY = "OnFailure"
"""The restart policy of a replica type that says none."""


def _rules_of_pytorchjob(spec: dict[str, Any]) -> RestartRules:
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


# What the training-operator does with a changed field of a job that lives on under its name.
#
# Follows `ReconcileJobs` and `ReconcilePods`, github.com/kubeflow/training-operator pkg/controller.v1/common, `ReconcileHPA`,
# pkg/controller.v1/pytorch, and `getOrCreateConfigMap`, pkg/controller.v1/mpi, 1.9: a pod is made where one is missing and deleted where it
# is one too many, and one that is there is left as it is; the run policy is read each time, and so is what decides on success.


_RUN_POLICY: Path = ("spec", "runPolicy")
_PODS_STAY = "running pods stay as they are; only new pods get the new spec"
_NODES_STAY = "running pods keep the old number of nodes"
_HOSTS_CHANGE = "the list of the hosts changes; a running mpirun keeps those that it has read"
#: The fields of a spec that the operator reads each time, as it reads the run policy.
_READ_EACH_TIME = ("successPolicy", "cleanPodPolicy")
#: The fields from which the operator writes the scripts of an MPIJob again.
_OF_SCRIPTS = ("slotsPerWorker", "mainContainer")
#: The fields of an elastic policy that are those of its autoscaler.
_SCALED = ("minReplicas", "maxReplicas", "metrics")


def effect_on_training_job(path: Path, old: Document, new: Document) -> Effect:
    """The effect of a changed field of a job of training-operator, at a path in its spec."""
    framework = FRAMEWORKS[new.group_kind]
    if path == suspend_of(new.group_kind):
        return suspension_effect(old, new)
    if path == (*_RUN_POLICY, "managedBy"):
        if not framework.is_managed:
            return Effect(f"the training-operator makes the pods of {framework.a_job} whatever it says", heeded=False)
        return Effect("the training-operator leaves the job and its pods to another controller")
    if path[:2] == _RUN_POLICY or path[1] in _READ_EACH_TIME:
        return Effect()
    if path[1] in _OF_SCRIPTS:
        return Effect("" if is_suspended(new) else _HOSTS_CHANGE)
    return _effect_on_pods(path, framework, old, new)


def _effect_on_pods(path: Path, framework: Framework, old: Document, new: Document) -> Effect:
    """The effect of a changed field that decides which pods there are, and what they are."""
    was_there, is_there = (value_at(each.data, path[:3]) is not None for each in (old, new))
    is_of_role = path[:2] == framework.replicas
    if is_of_role and is_there and (path[3:] == ("replicas",) or not was_there):  # pods are made or deleted
        return Effect(_HOSTS_CHANGE if framework.kind == MPIJOB else _NODES_STAY)
    if framework.kind == PYTORCHJOB and path[:2] == ("spec", "elasticPolicy") and path[2:3] and path[2] in _SCALED:
        if value_at(new.data, ("spec", "elasticPolicy", "metrics")) is not None:
            return Effect(_NODES_STAY)
        return Effect("its HorizontalPodAutoscaler stays" if path[2] == "metrics" else _PODS_STAY, heeded=False)
    if is_suspended(old) or is_suspended(new):  # without pods; new ones come when the job resumes
        return Effect()
    return Effect("pods of a removed role stay" if is_of_role and not is_there else _PODS_STAY, heeded=False)


# What mpi-operator does with a changed field of an MPIJob that lives on under its name.
#
# Follows `syncHandler`, `getOrCreateConfigMap`, `getOrCreateWorker` and `syncLauncherSchedulingDirectives`,
# github.com/kubeflow/mpi-operator pkg/controller, 0.8: missing workers are made and those above the number deleted, the list of the hosts
# is written again, and the Job of the launcher is changed only when the job resumes, in what decides on its node.


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
    if path[:2] == _RUN_POLICY:
        return _effect_of_run_policy(path)
    is_paused = is_stopped or is_suspended(old) or is_suspended(new)
    if path[:3] == (*REPLICAS, WORKER):
        was_there, is_there = (value_at(each.data, path[:3]) is not None for each in (old, new))
        if path[3:] == ("replicas",) or was_there != is_there:
            return Effect("" if is_paused else _HOSTS_CHANGE)
        return Effect() if is_paused else Effect(_PODS_STAY, heeded=False)
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


# How a TrainJob lives and ends: which pods are restarted, when it is over, and when its JobSet is recreated.
#
# Follows `Controller.syncJob`, k8s.io/kubernetes pkg/controller/job, 1.36, `executeFailurePolicy`, sigs.k8s.io/jobset pkg/controllers,
# 0.12, and `TrainJobReconciler.Reconcile`, github.com/kubeflow/trainer pkg/controller, 2.0.0 to 2.3.0.


def _rules_of_trainjob(spec: dict[str, Any], objects: Sequence[dict[str, Any]]) -> RestartRules:
    """A Job makes a new pod for one that failed, whatever its policy; a JobSet may recreate all of its Jobs."""
    from jobspec.operators.batch import RETRIES

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


# What the trainer does with a changed field of a TrainJob that lives on under its name.
#
# Follows `JobSet.Build`, github.com/kubeflow/trainer pkg/runtime/framework/plugins/jobset, 2.0.0 to 2.3.0: a JobSet is not touched while
# neither it nor its TrainJob is suspended.


def effect_on_trainjob(path: Path, old: Document, new: Document) -> Effect:
    """The effect of a changed field of a TrainJob, at a path in its spec."""
    if path == suspend_of(TRAINJOB):
        return suspension_effect(old, new)
    if path[1] in PATCH_FIELDS:  # the webhook takes them from suspended jobs only
        return Effect()
    return Effect("the trainer does not change an existing JobSet", heeded=False)


# What LeaderWorkerSet does with a changed field of a LeaderWorkerSet, whose groups serve for good.
#
# Follows `getPatch`, sigs.k8s.io/lws pkg/utils/revision, and `rollingUpdateParameters`, pkg/controllers, 0.7.0 to 0.10.0: a revision holds
# the templates, the size and the policies of groups, and the network. A new one is rolled out from the last group to the first.


_GROUPS, _NETWORK = ("spec", "leaderWorkerTemplate"), ("spec", "networkConfig")


def effect_on_leader_worker_set(path: Path, old: Document, new: Document) -> Effect:
    """The effect of a changed field of a LeaderWorkerSet, at a path in its spec."""
    if path[:3] == (*_GROUPS, "volumeClaimTemplates"):
        return Effect("its StatefulSets keep their claims: the update of both is refused", heeded=False)
    if path[:2] not in (_GROUPS, _NETWORK):
        return Effect()
    place = ("spec", "rolloutStrategy", "rollingUpdateConfiguration", "partition")
    first = value_at(new.data, place) or 0
    replicas = value_at(new.data, ("spec", "replicas"))
    if isinstance(first, int) and first >= (1 if replicas is None else replicas):
        return Effect(f"no group gets the change: `partition` is {first}", heeded=False)
    return Effect(f"all groups{f' from {first} on' if first else ''} are recreated, one after the other")


# What the controllers of Jobs, CronJobs and JobSets do with a changed field that the server accepts.
#
# Follows `Controller.manageJob`, k8s.io/kubernetes pkg/controller/job, and `ControllerV2.syncCronJob`, pkg/controller/cronjob, 1.36, and
# `suspendJobs` and `resumeJobsIfNecessary`, sigs.k8s.io/jobset pkg/controllers, 0.12: all of a spec is read each time, and the server
# accepts another pod template only while there are no pods.


def effect_on_job(path: Path, old: Document, new: Document) -> Effect:
    """The effect of a changed field of a Job or JobSet, at a path in its spec."""
    return suspension_effect(old, new) if path == suspend_of(new.group_kind) else Effect()


def effect_on_cron_job(path: Path) -> Effect:
    """The effect of a changed field of a CronJob, at a path in its spec."""
    return Effect("Jobs that are there stay as they are; the next one gets the change" if path[1:2] == ("jobTemplate",) else "")
