"""Restarts and ends: what happens to a pod that fails, and how long a job may take."""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.apis.kinds import (
    APPLICATION,
    CRON_JOB,
    FLUX,
    JOB,
    JOBSET,
    LEADER_WORKER_SET,
    MPIJOB,
    QUEUE_GROUP,
    RAY_CLUSTER,
    RAY_SERVICE,
    STATEFUL_SET,
    TFJOB,
    TRAINING_JOBS,
    TRAINJOB,
    GroupKind,
)
from jobspec.apis.sibling_kinds import API_VERSION
from jobspec.diagnostics.grouping import gathered
from jobspec.diagnostics.places import Path
from jobspec.diagnostics.problems import remove, set_to
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.diagnostics.wording import counted
from jobspec.documents.marked_tree import MarkedTree, text
from jobspec.lint.container import LintedContainer
from jobspec.lint.linted import LintedDocument, LintedJob
from jobspec.operators.accelerators import OTHER_ACCELERATORS
from jobspec.operators.batch import UNLIMITED
from jobspec.operators.expansion import ExpandedRole
from jobspec.operators.lasting_pods import runs_until_deleted
from jobspec.operators.trainer.life import has_deadline
from jobspec.operators.training_operator.life import cleans_up_at_limits_too
from jobspec.operators.training_signs import ends_with_training
from jobspec.operators.workloads import CONTAINERS, LEADER, REPLICATED_JOB
from jobspec.outcome.training_program import TrainingProgram
from jobspec.programs.torchrun import STATIC

#: Where a kind of job says how long it stays after its end.
_TTL: dict[GroupKind, Path] = {
    **dict.fromkeys(TRAINING_JOBS, ("spec", "runPolicy", "ttlSecondsAfterFinished")),
    JOB: ("spec", "ttlSecondsAfterFinished"),
    JOBSET: ("spec", "ttlSecondsAfterFinished"),
}
#: The kinds of jobs that are Jobs, or are made of them, without a runtime.
_OF_BATCH = (JOB, CRON_JOB, JOBSET)
_REPLICATED_JOBS = ("replicatedJobs[]",)
#: Of a Job that JobSet makes: the label with the name of its replicated job, which is that of the role.
_OF_ROLE = ("metadata", "labels", REPLICATED_JOB)
#: The label by which Kueue ends a job that runs longer than this.
LONGEST_RUN = f"{QUEUE_GROUP}/max-exec-time-seconds"
CLEANING = ("All", "Running", "None", "")
_ENGINES = (
    APPLICATION,
    ("argoproj.io", "ApplicationSet"),
    ("helm.toolkit.fluxcd.io", "HelmRelease"),
    FLUX,
    ("source.toolkit.fluxcd.io", "GitRepository"),
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics.diagnostic import Severity


def ignored_restart_policy(job: LintedJob) -> Iterator[Finding]:
    """The pod template's `restartPolicy` has no effect: the replica type's policy replaces it.

    Why: the line is misleading, and only an event of the job says so. Without a policy of the replica type, training-operator
    takes OnFailure, although the API's own text says Never; mpi-operator takes OnFailure for the launcher and Never for workers.
    Instead: write it beside `replicas`.
    Fix: moves the policy to where it counts, which changes `restartPolicy` of the pods; an existing one is kept.
    Before: Worker: {replicas: 2, template: {spec: {restartPolicy: Never}}}
    After: Worker: {replicas: 2, restartPolicy: Never, template: {spec: {}}}
    Evidence: kubeflow/trainer#2127, kubeflow/training-operator#648; `setRestartPolicy` of training-operator pkg/controller.v1/common, and
    of mpi-operator pkg/controller
    """
    for role, spec in job.role_specs:
        said = spec.get("template", "spec", "restartPolicy")
        counts = _restart_policy(role)
        if said and said.value and said.value != counts:
            edits = [(said, remove()), *([] if spec.get("restartPolicy") else [(spec, set_to(("restartPolicy",), said.value))])]
            message = f"no effect: `restartPolicy: {said.value}` is replaced by `{counts}` of the replica type"
            yield Finding(said, message, "set `restartPolicy` next to `replicas`", edits=edits)


def uncounted_backoff_limit(job: LintedJob) -> Iterator[Finding]:
    """`backoffLimit` has no effect with this restart policy: training-operator does not count its restarts.

    Why: the operator adds up the restarts of containers in pods that restart in place, which are those of OnFailure and Always. With
    Never, the job ends at the first failure; with ExitCode, failed pods are recreated without a limit.
    Instead: use OnFailure where restarts are to be limited.
    Before:
        runPolicy: {backoffLimit: 3}
        restartPolicy: ExitCode
    After:
        runPolicy: {backoffLimit: 3}
        restartPolicy: OnFailure
    Evidence: kubeflow/trainer#2045, kubeflow/trainer#1589; `PastBackoffLimit` of training-operator pkg/controller.v1/common
    """
    limit = job.tree.get("spec", "runPolicy", "backoffLimit")
    policies = {_restart_policy(role) for role, _ in job.replica_specs}
    if limit and limit.value is not None and policies and not policies & {"OnFailure", "Always"}:
        said = " and ".join(f"`{each}`" for each in _policies_written(job))
        yield Finding(limit, f"`backoffLimit` has no effect where `restartPolicy` is {said}", "use `OnFailure`, or remove the limit")


def unlimited_restarts(job: LintedJob) -> Iterator[Finding]:
    """The job retries forever: it has no `backoffLimit`.

    Why: with OnFailure and neither `backoffLimit` nor a deadline, a program that ends with an error at its first line is started forever,
    and the job never fails.
    Instead: write a `backoffLimit`, or a deadline.
    Before: restartPolicy: OnFailure
    After:
        runPolicy: {backoffLimit: 3}
        restartPolicy: OnFailure
    Evidence: kubeflow/trainer#1589, kubeflow/trainer#2045
    """
    if _is_limited(job) or next(partial_restart(job), None):
        return
    for _, spec in job.replica_specs:
        said = spec.get("restartPolicy")
        if said and said.value in ("OnFailure", "Always") and said.mark.line:
            yield Finding(said, "retries forever: no `backoffLimit`", "set `runPolicy.backoffLimit`")
            return
    for limit, _ in () if job.framework else _retries_of_runtime(job):
        if limit and limit.value == UNLIMITED:
            yield Finding(limit, f"retries forever: a `backoffLimit` of {UNLIMITED}", "set a smaller `backoffLimit`")
            return


def _is_limited(job: LintedJob) -> bool:
    """Whether something ends the restarts of a job."""
    policy = job.get(*(job.policy if job.framework else ("spec",))) or {}
    return policy.get("backoffLimit") is not None or policy.get("activeDeadlineSeconds") is not None


def partial_restart(job: LintedJob) -> Iterator[Finding]:
    """A restarted rank cannot rejoin, and the others hang in the collective.

    Why: with OnFailure, the kubelet starts the failed container again in its place; a Job makes a new pod, too, also those of a TrainJob or
    JobSet, as often as its `backoffLimit` says, which is 6 by default. The other pods are in the middle of a collective operation with the
    old process: they hang until a timeout, of half an hour by default for NCCL, and hold their GPUs meanwhile.
    Instead: let the whole job restart. With elastic training, torchrun's agents agree on a new round; else use `Never`, and let what
    created the job recreate it; a JobSet does so with `failurePolicy.maxRestarts`.
    Before: Worker: {replicas: 4, restartPolicy: OnFailure}
    After: Worker: {replicas: 4, restartPolicy: Never}
    Evidence: kubeflow/trainer#2269, kubeflow/trainer#2000, kubeflow/trainer#1504
    """
    if job.training_pods < 2 or job.tree.get("spec", "elasticPolicy") or (job.framework and not job.is_pytorchjob):
        return
    message = "a restarted rank cannot rejoin, the others hang in the collective"
    severity: Severity = "warning" if job.gpus else "info"
    for role, spec in job.replica_specs:
        if _restart_policy(role) in ("OnFailure", "Always"):
            hint = "use `restartPolicy: Never`, or elastic training: torchrun then restarts all ranks"
            yield Finding(spec.get("restartPolicy") or spec, message, hint, severity=severity)
            return
    if job.is_pytorchjob or job.in_runtime("spec", "mlPolicy", "torch", "elasticPolicy"):
        return
    if job.given.group_kind in _OF_BATCH:
        yield from _partial_restart_of_jobs(job, message, severity)
        return
    for limit, policy in _retries_of_runtime(job):
        place = policy or limit
        if place and (limit is None or limit.value):
            hint = "set `backoffLimit: 0`, and `failurePolicy.maxRestarts` of the runtime's JobSet: then all ranks restart"
            yield Finding(place, message, hint, severity=severity)
            return


def _partial_restart_of_jobs(job: LintedJob, message: str, severity: Severity) -> Iterator[Finding]:
    """The first Job that restarts pods of a role whose pods train together, or makes them again."""
    together = {each.name for each in job.training if each.together and not _agrees_again(each)}
    for each in job.batch_jobs:
        role = text(each, *_OF_ROLE) or next((one.name for one in job.training), "")
        spec = each.get("spec")
        if role not in together or spec is None or spec.get("podFailurePolicy"):
            continue
        limit, policy = spec.get("backoffLimit"), spec.get("template", "spec", "restartPolicy")
        is_written = limit is not None and bool(limit.mark.line)
        place = policy if text(policy) == "OnFailure" else limit if is_written else None
        if place and not (is_written and limit is not None and not limit.value):
            is_jobset = job.given.group_kind == JOBSET
            where = "in the Job templates, and `failurePolicy.maxRestarts`" if is_jobset else "in a JobSet with `maxRestarts`"
            yield Finding(place, message, f"set `backoffLimit: 0` {where}: then all ranks restart", severity=severity)
            return


def _agrees_again(role: ExpandedRole) -> bool:
    """Whether torchrun's agents agree on a new round when one of them comes back: they have restarts left, and no static rendezvous."""
    container = role.training_container()
    program = TrainingProgram(container) if container else None
    settings = program.settings if program and program.is_torchrun else None
    return settings is not None and settings.backend != STATIC and settings.value("max_restarts") != "0"


def implicit_restart_policy(job: LintedJob) -> Iterator[Finding]:
    """The replica type has no `restartPolicy`: the default is OnFailure, although the API documentation says Never.

    Why: readers of the manifest or of `kubectl explain` expect something else.
    Instead: write the policy.
    Fix: writes the policy that the pods have anyway, unless another rule advises against that.
    Before: Worker: {replicas: 2}
    After: Worker: {replicas: 2, restartPolicy: OnFailure}
    Evidence: kubeflow/trainer#2127
    """
    default = job.framework.restart_policy if job.framework else ""
    if default == "Never":
        return
    is_advised = not next(partial_restart(job), None) and _is_limited(job)
    for _, spec in job.replica_specs:
        if not text(spec, "restartPolicy") and not text(spec, "template", "spec", "restartPolicy"):
            edits = [(spec, set_to(("restartPolicy",), default))] if is_advised else []
            yield Finding(spec, f"no `restartPolicy`: failed pods restart ({default})", "set `restartPolicy`", edits=edits)


def unknown_clean_pod_policy(job: LintedJob) -> Iterator[Finding]:
    """training-operator does not know the `cleanPodPolicy`, and treats it as All.

    Why: the server accepts any text; the operator then deletes all pods of the finished job, and their logs with them.
    Instead: write All, Running or None.
    Fix: writes the policy that has nearly this name; the pods are the same.
    Before: cleanPodPolicy: none
    After: cleanPodPolicy: None
    Evidence: `DeletePodsAndServices` of training-operator pkg/controller.v1/common
    """
    said = job.tree.get("spec", "runPolicy", "cleanPodPolicy")
    if said and isinstance(said.value, str) and said.value not in CLEANING:
        near = next((each for each in CLEANING if each.lower() == said.value.lower()), "")
        edits = [(said, set_to((), near))] if near else []
        message = f"unknown clean-up policy `{said.value}`: all pods of the finished job are deleted"
        yield Finding(said, message, f"write `{near}`" if near else "use `All`, `Running` or `None`", edits=edits)


def lost_logs(job: LintedJob) -> Iterator[Finding]:
    """All pods are deleted when the job ends, and their logs with them.

    Why: `kubectl logs` finds nothing any more where nobody collects logs, and that is mostly noticed after a failure. Before 1.9.4, the
    operator deletes the pods of a job that fails by its `backoffLimit` or its deadline whatever the policy says.
    Instead: use `Running`, which leaves the pods that have ended, and let `ttlSecondsAfterFinished` delete the job later.
    Before: cleanPodPolicy: All
    After: cleanPodPolicy: Running
    Evidence: kubeflow/trainer#3419, kubeflow/trainer#1579
    """
    said = job.tree.get("spec", "runPolicy", "cleanPodPolicy")
    if said and said.value == "All":
        yield Finding(said, "logs are deleted with the pods, also when the job fails", "use `Running`")
    elif said and said.value in ("None", "Running") and not cleans_up_at_limits_too(job.target["training-operator"]):
        limit = next((name for name in ("backoffLimit", "activeDeadlineSeconds") if job.get("spec", "runPolicy", name) is not None), "")
        if limit:
            message = f"before 1.9.4 this has no effect on a job that fails by its `{limit}`: its pods are deleted"
            yield Finding(said, message, "use training-operator 1.9.4")


def no_deadline(job: LintedJob) -> Iterator[Finding]:
    """A job with GPUs, TPUs or the like has no deadline: it holds them as long as it hangs.

    Why: a process that waits for a peer, a data set or a lock never fails; without a deadline its GPUs are gone until somebody looks.
    Instead: set `activeDeadlineSeconds` to more than the job can need, in the `spec` of a Job or TrainJob, in a PyTorchJob's `runPolicy`,
    in the Job templates of a JobSet.
    Before: spec: {runtimeRef: {name: torch-distributed}}
    After: spec: {runtimeRef: {name: torch-distributed}, activeDeadlineSeconds: 86400}
    Evidence: kyverno/kyverno#13879
    """
    held = _held(job)
    if held and _can_have_deadline(job) and not _has_deadline(job):
        message = f"no deadline: a hanging job holds {held} forever"
        place = ("spec", "runPolicy") if job.get("spec", "runPolicy") else ("metadata", "name")
        where = (*_REPLICATED_JOBS, "template", "spec") if job.given.group_kind == JOBSET else job.policy[1:]
        yield Finding(place, message, f"set `{'.'.join((*where, 'activeDeadlineSeconds'))}`")


def _held(job: LintedJob) -> str:
    """Say how many GPUs a job holds, or else other accelerators of the first kind; empty if it holds none."""
    if job.gpus:
        return counted(job.gpus, "GPU")
    numbers = gathered((name, number * each.role.count) for each in job.containers for name, _, number in each.other_accelerators)
    return next((f"{sum(several)} `{name}`" for name, several in numbers.items() if sum(several)), "")


def _can_have_deadline(job: LintedJob) -> bool:
    if job.given.group_kind in (LEADER_WORKER_SET, RAY_CLUSTER, RAY_SERVICE):  # which run until they are deleted
        return False
    return job.given.group_kind != TRAINJOB or has_deadline(job.target["trainer"])


def _has_deadline(job: LintedJob) -> bool:
    """Whether something ends the job that hangs: its own deadline, or one of each Job or pod with accelerators that it makes."""
    own = job.tree.get(*job.policy, "activeDeadlineSeconds")
    if (own and own.value is not None) or job.given.group_kind in CONTAINERS:
        return bool(own and own.value is not None)
    holding = {id(each.role): each.role for each in job.containers if each.gpus or each.other_accelerators}.values()
    limited = {text(each, *_OF_ROLE) for each in job.batch_jobs if text(each, "spec", "activeDeadlineSeconds")}
    is_set = any(text(each.get("labels"), LONGEST_RUN) for each in job.metadata)
    return is_set or all(each.name in limited or text(each.pod_tree, "spec", "activeDeadlineSeconds") for each in holding)


def zero_deadline(job: LintedJob) -> Iterator[Finding]:
    """The deadline of a job of training-operator is 0: it fails as soon as it starts.

    Why: the server takes 0 and negative numbers. The operator then fails the job at its first look, and deletes its pods.
    Instead: a number of seconds, or no deadline.
    Before: runPolicy: {activeDeadlineSeconds: 0}
    After: runPolicy: {activeDeadlineSeconds: 86400}
    Evidence: `PastActiveDeadline` of training-operator pkg/controller.v1/common
    """
    said = job.tree.get("spec", "runPolicy", "activeDeadlineSeconds")
    if said and isinstance(said.value, int) and said.value <= 0:
        yield Finding(said, "the job fails as soon as it has started: its deadline is 0", "write a number of seconds, or remove it")


def never_deleted(job: LintedJob) -> Iterator[Finding]:
    """A failed job with `ExitCode` and a TTL is never deleted.

    Why: for an exit code below 128 the operator fails the job, and does not note when. The time to live counts from that moment, so that
    each clean-up ends with an error: the job stays, and so do its pods.
    Instead: use `Never`, or delete failed jobs yourself.
    Before:
        runPolicy: {ttlSecondsAfterFinished: 3600}
        restartPolicy: ExitCode
    After:
        runPolicy: {ttlSecondsAfterFinished: 3600}
        restartPolicy: Never
    Evidence: `ReconcilePods` and `CleanupJob` of training-operator pkg/controller.v1/common
    """
    said = job.tree.get("spec", "runPolicy", "ttlSecondsAfterFinished")
    sets_time = job.given.group_kind in (TFJOB, MPIJOB)
    if said and said.value is not None and "ExitCode" in _policies_written(job) and not sets_time:
        yield Finding(said, "never deleted: a job that fails under `ExitCode` gets no completion time", "use `Never`")


def leftover_pods(job: LintedJob) -> Iterator[Finding]:
    """Pods of a finished job keep running and hold their GPUs.

    Why: the job ends with its Master, or with the first pod that fails for good. With None, the default, the operator leaves the other
    pods as they are: they wait for those that are gone until a timeout, if they have one.
    Instead: use `Running`: what has ended stays, with its logs.
    Before: runPolicy: {cleanPodPolicy: None}
    After: runPolicy: {cleanPodPolicy: Running}
    Evidence: kubeflow/trainer#1579, kubeflow/pytorch-operator#260
    """
    said = job.tree.get("spec", "runPolicy", "cleanPodPolicy")
    ends_at_once = {"Never", "ExitCode"} & {*_policies_written(job)}
    if job.given.group_kind != MPIJOB and text(said) in ("", "None") and ends_at_once and job.training_pods > 1 and job.gpus:
        place = said or (("spec", "runPolicy") if job.get("spec", "runPolicy") else ("metadata", "name"))
        yield Finding(place, "when one pod fails, the others keep running and hold their GPUs", "set `cleanPodPolicy: Running`")


def deadline_in_queue(job: LintedJob) -> Iterator[Finding]:
    """The deadline of a TrainJob includes the time that its pod group waits to be scheduled.

    Why: the trainer counts from the moment in which the job was made. While a gang scheduler has no place for all pods, the job is not
    suspended, so that the deadline comes nearer, and the job can fail before it has begun.
    Instead: add what the job may wait, or have Kueue hold it, which suspends it: then the deadline counts from its release.
    Before: activeDeadlineSeconds: 3600
    After: activeDeadlineSeconds: 86400
    Evidence: `reconcileDeadline` of github.com/kubeflow/trainer pkg/controller, 2.2 and 2.3
    """
    said = job.tree.get("spec", "activeDeadlineSeconds")
    if said and said.value and job.in_runtime("spec", "podGroupPolicy"):
        message = f"the {text(said)} seconds also count while the pod group waits to be scheduled"
        yield Finding(said, message, "add the time that the job may wait")


def ttl_in_git(document: LintedDocument) -> Iterator[Finding]:
    """A TTL in Git: Argo CD or Flux recreate the deleted job, and it runs again.

    Why: an engine makes whatever is in Git and not in the cluster. It cannot know that the job is gone because it was done.
    Instead: leave `ttlSecondsAfterFinished` out of what an engine syncs, and remove the job from Git when it is done.
    Fix: removes the time to live, where the files have an engine; the pods are the same.
    Before: runPolicy: {ttlSecondsAfterFinished: 3600}
    After: runPolicy: {}
    Evidence: argoproj/argo-cd#8586, argoproj/argo-cd#13851, argoproj/argo-cd#6880
    """
    kind = document.given.group_kind
    trains = kind in TRAINING_JOBS and document.given.api_version == API_VERSION
    path = _TTL.get(kind, ()) if trains or kind not in TRAINING_JOBS else ()
    if not path or document.get(*path) is None or not document.can_be_synced:
        return
    is_synced = any(each in _ENGINES for each in document.documents.kinds())
    if is_synced or trains:
        edits = [(path, remove())] if is_synced else []
        message = f"{'trains' if trains else 'runs'} again: after its TTL the job is deleted, and a sync from Git recreates it"
        hint = "remove it from jobs that are synced from Git"
        yield Finding(path, message, hint, edits=edits, severity="warning" if is_synced else "info")


def _restart_policy(role: ExpandedRole) -> str:
    """The policy of a role's pods; with ExitCode, the operator makes a failed pod again itself, and its own policy is Never."""
    return text(role.pod_tree, "spec", "restartPolicy")


def _retries_of_runtime(job: LintedJob) -> Iterator[tuple[MarkedTree | None, MarkedTree | None]]:
    """The places of `backoffLimit` and `restartPolicy: OnFailure` in the runtime's training Jobs of a TrainJob."""
    training = {each.name for each in job.training}
    for each in job.expanded.of_kind("Job"):
        if text(each, "metadata", "labels", REPLICATED_JOB) in training:
            limit, policy = each.get("spec", "backoffLimit"), each.get("spec", "template", "spec", "restartPolicy")
            file = job.runtime.file if job.runtime else ""
            said = [one if one and one.mark.line and one.mark.file == file else None for one in (limit, policy)]
            if any(said):
                yield said[0], said[1] if said[1] and said[1].value == "OnFailure" else None


def _policies_written(job: LintedJob) -> list[str]:
    """The policies of the replica types; empty for one of a PyTorchJob that says none."""
    default = job.framework.restart_policy if job.framework and not job.is_pytorchjob else ""
    return sorted({text(spec, "restartPolicy") or default for _, spec in job.replica_specs})


#: Containers by whose names a pod says the images of the sidecars that GKE's webhook puts into it. Its drivers end them.
_ENDED_BY_DRIVER = frozenset(("gke-gcsfuse-sidecar", "gke-gcsfuse-metadata-prefetch", "gke-parallelstore-sidecar"))


def sidecar_container(job: LintedJob) -> Iterator[Finding]:
    """A pod has a sidecar container: it completes only when both containers exit.

    Why: a container that runs until it is stopped, such as one that ships logs, keeps the pod, its GPUs and the job from ending. The
    sidecars of GKE's drivers of volumes, such as `gke-gcsfuse-sidecar`, end with the other containers.
    Instead: make it an init container with `restartPolicy: Always`: the kubelet stops it when the others are done.
    Before: containers: [{name: pytorch}, {name: logs}]
    After:
        initContainers: [{name: logs, restartPolicy: Always}]
        containers: [{name: pytorch}]
    Evidence: https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/
    """
    trained = [each.role for each in job.training_containers if not runs_until_deleted(job.given, each.role.name)]
    for container in job.containers:
        works = (
            container.trains or container.is_init or container.gpus or container.other_accelerators or container.name in _ENDED_BY_DRIVER
        )
        if not works and container.role in trained and text(container.image) and container.tree.mark.line:
            message = f"the pod completes only when the sidecar `{container.name}` exits, too"
            yield Finding(container.tree, message, "make it a native sidecar: an init container with `restartPolicy: Always`")


#: The kinds whose pods restart every container that ends.
_RESTARTING = (LEADER_WORKER_SET, STATEFUL_SET, ("apps", "Deployment"), ("apps", "ReplicaSet"))


def training_without_end(job: LintedJob) -> Iterator[Finding]:
    """A Deployment, a StatefulSet or a LeaderWorkerSet trains: when the program ends, it is started again, for ever.

    Why: the pods of these kinds can only have `restartPolicy: Always`, so that a container restarts also after it has ended with success;
    LeaderWorkerSet recreates the whole group then. Nothing is ever complete: the model is trained again and again, the pods show
    CrashLoopBackOff, and the GPUs are never given back.
    Instead: use a Job or a TrainJob, which end with their pods.
    Before: "kind: Deployment, whose pod runs `torchrun train.py`"
    After: "kind: Job"
    Evidence: `ValidatePodTemplateSpecForReplicaSet` and `validatePodTemplateSpecForStatefulSet` of k8s.io/kubernetes
    pkg/apis/apps/validation; `ContainerRestarted` of sigs.k8s.io/lws
    """
    is_group = job.given.group_kind == LEADER_WORKER_SET
    for container in job.containers:
        trains = container.role.name == LEADER if is_group else container.trains and _uses_hardware(container)
        if trains and not container.is_init and ends_with_training(container.tree, container.program.script):
            place = next((place for _, place in container.words), container.tree)
            message = f"trains again and again: a {job.given.kind} restarts `{container.name}` when it ends, also with success"
            yield Finding(place, message, f"use a {'TrainJob or a JobSet' if is_group else 'Job or a TrainJob'}, which end")
            return


def _uses_hardware(container: LintedContainer) -> bool:
    """True if a container requests accelerators, or starts a launcher of several processes."""
    return bool(container.gpus or container.other_accelerators or container.launcher == "torchrun" or container.other_launcher)


RULES = (
    Rule(ignored_restart_policy, "warning", sees="job", reads=["restartPolicy"], has_unsafe_fix=True),
    Rule(uncounted_backoff_limit, "warning", sees="training-operator", reads=["backoffLimit"]),
    Rule(unlimited_restarts, "info", sees="job", reads=["restartPolicy"]),
    Rule(partial_restart, "warning", sees="job"),
    Rule(implicit_restart_policy, "info", sees="training-operator"),
    Rule(unknown_clean_pod_policy, "warning", sees="training-operator", reads=["cleanPodPolicy"], has_unsafe_fix=True),
    Rule(lost_logs, "info", sees="training-operator", reads=["cleanPodPolicy"]),
    Rule(no_deadline, "warning", sees="job", reads=["gpu", *OTHER_ACCELERATORS]),
    Rule(zero_deadline, "error", sees="training-operator", reads=["activeDeadlineSeconds"]),
    Rule(never_deleted, "warning", sees="training-operator", reads=["ttlSecondsAfterFinished"]),
    Rule(leftover_pods, "info", sees="training-operator", reads=["gpu"]),
    Rule(deadline_in_queue, "info", sees="TrainJob", reads=["activeDeadlineSeconds"]),
    Rule(ttl_in_git, "info", sees="document", of=_TTL, has_unsafe_fix=True),
    Rule(sidecar_container, "info"),
    Rule(training_without_end, "warning", sees="any pods", of=_RESTARTING, reads=["train", "tun", "sft"]),
)
