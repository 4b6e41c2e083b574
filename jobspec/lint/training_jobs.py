"""Jobs of training-operator beside PyTorchJobs: how TensorFlow's processes meet, what ends the job, and how MPI reaches its workers."""

from __future__ import annotations

from jobspec.apis.kinds import MPIJOB, QUEUED_TRAINING_JOBS, TFJOB
from jobspec.diagnostics.places import Key
from jobspec.diagnostics.problems import rename, set_to
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.diagnostics.wording import counted
from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.kubernetes.problems import listed
from jobspec.lint.container import LintedContainer
from jobspec.lint.linted import LintedJob
from jobspec.operators.kueue.versions import not_queued
from jobspec.operators.training_operator import SCRIPTS, SCRIPTS_PATH
from jobspec.operators.training_operator.frameworks import LAUNCHER, WORKER
from jobspec.operators.workloads import QUEUE
from jobspec.programs.command_lines import file_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.diagnostics.diagnostic import Severity
    from jobspec.diagnostics.rules import Place

_TF_CONFIG = "TF_CONFIG"
_ALL_WORKERS = "AllWorkers"
_STARTERS = ("mpirun", "mpiexec", "horovodrun")


def missing_tf_config(job: LintedJob) -> Iterator[Finding]:
    """A TFJob that is to be distributed has no `TF_CONFIG`: it has one replica of the types that the operator knows.

    Why: training-operator sets `TF_CONFIG`, by which the processes of TensorFlow find each other, only if a job has more than one replica
    in all, Chief, Master, PS, Worker and Evaluator counted. A program that reads the variable ends with an error, or trains alone.
    Instead: more replicas, or a program that does without the variable.
    Before: "enableDynamicWorker: true, tfReplicaSpecs: {Worker: {replicas: 1}}"
    After: "enableDynamicWorker: true, tfReplicaSpecs: {Worker: {replicas: 2}}"
    Evidence: kubeflow/training-operator#1078; `isDistributed` of training-operator pkg/controller.v1/tensorflow
    """
    if job.given.group_kind != TFJOB or not job.framework or any(_TF_CONFIG in _names(each) for each in job.training_containers):
        return
    dynamic = job.tree.get("spec", "enableDynamicWorker")
    if dynamic and dynamic.value is True:
        message = "`enableDynamicWorker` has no effect: a job of one replica gets no `TF_CONFIG`"
        yield Finding(dynamic, message, "raise `replicas`, or remove it")
        return
    others = [role for role in job.roles if role.name not in job.framework.types]
    if others and job.training_pods > 1:
        message = f"no pod gets `TF_CONFIG`: the operator counts one replica, without {listed(each.name for each in others)}"
        yield Finding(job.replica_spec(others[0]) or ("metadata", "name"), message, f"the types are {listed(job.framework.types)}")
        return
    for container in job.training_containers:
        for place in _reading(container, _TF_CONFIG):
            yield Finding(place, "`TF_CONFIG` is not set: the operator sets it for more than one replica", "raise `replicas`, or set it")
            return


def _names(container: LintedContainer) -> set[str]:
    """The names of the variables of a container."""
    return {name for name, _ in container.variables}


def _reading(container: LintedContainer, variable: str) -> Iterator[MarkedTree]:
    """The words and values of a container that name a variable."""
    found = (*container.program.words, *(value for _, each in container.variables if (value := each.get("value"))))
    yield from (each for each in found if each.mark.line and variable in str(each.value))


def unknown_replica_type(job: LintedJob) -> Iterator[Finding]:
    """A TFJob has a replica type that TensorFlow and training-operator do not know.

    Why: the webhook takes any name, and the operator makes its pods; but it never looks at how they end, so that the job goes by the other
    types alone, and a job without others never ends. Kueue does not count them.
    Instead: Chief or Master, PS, Worker, Evaluator.
    Before: "tfReplicaSpecs: {Workers: {replicas: 2}}"
    After: "tfReplicaSpecs: {Worker: {replicas: 2}}"
    Evidence: `UpdateJobStatus` of training-operator pkg/controller.v1/tensorflow
    """
    if job.given.group_kind == TFJOB and job.framework:
        for role, spec in job.replica_specs:
            if role.name not in job.framework.types:
                known = listed(job.framework.types)
                yield Finding(spec, f"the job does not depend on how pods of `{role.name}` end", f"the types are {known}")


def uncounted_replica_type(job: LintedJob) -> Iterator[Finding]:
    """Kueue does not count the pods of a replica type whose name has other capital letters than it expects.

    Why: training-operator corrects `worker` to `Worker`, and makes its pods. Kueue knows the types in their own spelling alone: the job is
    admitted by what is left, and its pods take more than the quota.
    Instead: the spelling of the API.
    Fix: writes it; the pods are the same.
    Before: "tfReplicaSpecs: {worker: {replicas: 8}}"
    After: "tfReplicaSpecs: {Worker: {replicas: 8}}"
    Evidence: `OrderedReplicaTypes` of sigs.k8s.io/kueue pkg/controller/jobs/kubeflow, 0.19.2, on a server
    """
    if not job.framework or job.given.group_kind not in QUEUED_TRAINING_JOBS or not job.queue_name:
        return
    for name, spec in job.tree.entries(*job.framework.replicas):
        known = job.framework.title(name.lower())
        if known != name and known in job.framework.types:
            edits = [(job.tree, rename((*job.framework.replicas, Key(name)), known))]
            yield Finding(spec, f"Kueue does not count the pods of `{name}`: it knows `{known}`", f"write `{known}`", edits=edits)


def first_worker_ends_job(job: LintedJob) -> Iterator[Finding]:
    """A TFJob without a Chief succeeds as soon as its first Worker does, whatever becomes of the others.

    Why: the default of `successPolicy` looks at the Worker of index 0 alone. The others run on, and their failures are not reported; with
    `cleanPodPolicy: Running` or `All` they are deleted, in the middle of their work.
    Instead: write `successPolicy: AllWorkers`, or let a Chief decide.
    Before: "tfReplicaSpecs: {Worker: {replicas: 4}}"
    After: "successPolicy: AllWorkers, tfReplicaSpecs: {Worker: {replicas: 4}}"
    Evidence: `IsWorker0Completed` and `UpdateJobStatus` of training-operator pkg/controller.v1/tensorflow
    """
    workers = next((role for role in job.roles if role.name == WORKER), None)
    if job.given.group_kind != TFJOB or not job.framework or workers is None or workers.count < 2:
        return
    policy = job.tree.get("spec", "successPolicy")
    if job.framework.has_leader([role.name for role in job.roles]) or text(policy):
        return
    deletes = text(job.tree, "spec", "runPolicy", "cleanPodPolicy") in ("All", "Running")
    one, several = ("one is deleted", "are deleted") if deletes else ("one runs on", "run on")
    what = one if workers.count == 2 else f"{workers.count - 1} {several}"
    severity: Severity = "warning" if deletes else "info"
    message = f"the job succeeds with its first Worker, the other {what}"
    place: Place = policy or job.replica_spec(workers) or ("metadata", "name")
    yield Finding(place, message, f"write `successPolicy: {_ALL_WORKERS}`", severity=severity)


def unknown_success_policy(job: LintedJob) -> Iterator[Finding]:
    """A TFJob has a `successPolicy` that training-operator does not know, and treats as the default.

    Why: the server takes any text. The operator knows `AllWorkers`; with everything else the job succeeds with its first Worker.
    Instead: `AllWorkers`, or nothing.
    Fix: writes the policy that has nearly this name.
    Before: "successPolicy: allWorkers"
    After: "successPolicy: AllWorkers"
    Evidence: `UpdateJobStatus` of training-operator pkg/controller.v1/tensorflow
    """
    said = job.tree.get("spec", "successPolicy")
    if job.given.group_kind == TFJOB and said and text(said) not in ("", _ALL_WORKERS):
        is_near = text(said).lower() == _ALL_WORKERS.lower()
        message = f"unknown success policy `{text(said)}`: the job succeeds with its first Worker"
        edits = [(said, set_to((), _ALL_WORKERS))] if is_near else []
        yield Finding(said, message, f"write `{_ALL_WORKERS}`" if is_near else f"the policy is `{_ALL_WORKERS}`, or none", edits=edits)


# MPIJobs of v1, whose launcher starts processes in the workers by `kubectl exec`.


def _is_mpijob(job: LintedJob) -> bool:
    return job.given.group_kind == MPIJOB and job.framework is not None


def _containers(job: LintedJob, role: str) -> list[LintedContainer]:
    """The containers of a replica type, in order."""
    return [each for each in job.containers if each.role.name == role and not each.is_init]


def unknown_main_container(job: LintedJob) -> Iterator[Finding]:
    """`mainContainer` of an MPIJob names no container of the workers.

    Why: the launcher starts each process by `kubectl exec --container NAME`, which ends with an error: no process starts in any worker.
    Instead: the name of the workers' container, or no `mainContainer`, which is the first one.
    Before: "mainContainer: trainer, Worker: {containers: [{name: mpi}]}"
    After: "mainContainer: mpi, Worker: {containers: [{name: mpi}]}"
    Evidence: `newConfigMap` of training-operator pkg/controller.v1/mpi
    """
    said, containers = job.tree.get("spec", "mainContainer"), _containers(job, WORKER)
    names = [each.name for each in containers]
    if _is_mpijob(job) and said and text(said) and names and text(said) not in names:
        message = f"no process starts: the workers have no container `{text(said)}`"
        yield Finding(said, message, f"they have {listed(names)}")


def mpi_scripts_elsewhere(job: LintedJob) -> Iterator[Finding]:
    """The container with MPI is not the first one of its pod, which alone gets the hosts and the script that reaches them.

    Why: training-operator mounts both into the first container of a pod, whatever its name, and sets its variables there. Another one does
    not know the workers; and Open MPI looks for the script in each worker, too.
    Instead: write the container first in the list.
    Before: "Launcher: {containers: [{name: logs}, {name: mpi, command: [mpirun, train]}]}"
    After: "Launcher: {containers: [{name: mpi, command: [mpirun, train]}, {name: logs}]}"
    Evidence: `newLauncher` and `newWorker` of training-operator pkg/controller.v1/mpi
    """
    if not _is_mpijob(job):
        return
    launching = _containers(job, LAUNCHER)
    for each in () if any(map(_starts_mpi, launching[:1])) else launching[1:]:
        if _starts_mpi(each) and not _has_scripts(each):
            message = f"`{each.name}` runs MPI without its hosts: the operator gives them to `{launching[0].name}`"
            yield Finding(each.tree.get("name") or each.tree, message, f"write `{each.name}` first in the list")
    main = job.tree.get("spec", "mainContainer")
    workers = _containers(job, WORKER)
    for each in workers[1:]:
        if main and each.name == text(main) and not _has_scripts(each):
            message = f"`{each.name}` of the workers lacks `{SCRIPTS_PATH}`, which the operator mounts into `{workers[0].name}`"
            yield Finding(main, message, f"write `{each.name}` first in the list")


def _starts_mpi(container: LintedContainer) -> bool:
    """Whether a word of the command line is a program that starts MPI."""
    return any(file_name(part) in _STARTERS for word in container.program.texts for part in word.split())


def _has_scripts(container: LintedContainer) -> bool:
    """Whether a container mounts the operator's scripts itself."""
    return any(text(each, "name") == SCRIPTS for each in items(container.tree.get("volumeMounts")))


def sleeping_workers(job: LintedJob) -> Iterator[Finding]:
    """The workers of an MPIJob of v1 sleep on when the job has succeeded or failed.

    Why: workers without a command run `sleep 365d`, in which the launcher starts processes. The job ends with its launcher; with None, the
    default of `cleanPodPolicy`, the operator leaves the workers, which hold their CPUs and GPUs for a year.
    Instead: set `cleanPodPolicy: Running`.
    Fix: writes the policy if the job has none; the pods are the same.
    Before: "runPolicy: {backoffLimit: 2}"
    After: "runPolicy: {backoffLimit: 2, cleanPodPolicy: Running}"
    Evidence: `newWorker` of training-operator pkg/controller.v1/mpi
    """
    workers = _containers(job, WORKER)
    if not _is_mpijob(job) or not workers or any(each.mark.line for each in workers[0].program.words):
        return
    said = job.tree.get("spec", "runPolicy", "cleanPodPolicy") or job.tree.get("spec", "cleanPodPolicy")
    if text(said) not in ("", "None"):
        return
    held = sum(each.gpus * each.role.count for each in workers)
    what = f" and hold {counted(held, 'GPU')}" if held else ""
    message = f"the workers sleep on after the job has ended{what}"
    edits = [] if text(said) else [(job.tree, set_to(("spec", "runPolicy", "cleanPodPolicy"), "Running"))]
    place: Place = said or (("spec", "runPolicy") if job.get("spec", "runPolicy") else ("metadata", "name"))
    yield Finding(place, message, "set `cleanPodPolicy: Running`", edits=edits, severity="info" if text(said) else "warning")


def launcher_reaches_all_pods(job: LintedJob) -> Iterator[Finding]:
    """The launcher of an MPIJob without workers may run commands in every pod of the namespace.

    Why: training-operator gives the launcher's service account the right to `kubectl exec` in the workers, by their names. Without a worker
    the list of names is empty, which to Kubernetes means all pods.
    Instead: add workers, or use another kind of job.
    Before: "mpiReplicaSpecs: {Launcher: {}}"
    After: "mpiReplicaSpecs: {Launcher: {}, Worker: {replicas: 2}}"
    Evidence: `newLauncherRole` of training-operator pkg/controller.v1/mpi
    """
    if _is_mpijob(job) and not _containers(job, WORKER):
        spec = next((spec for role, spec in job.replica_specs if role.name == LAUNCHER), None)
        message = "without workers, the launcher may run commands in every pod of the namespace"
        yield Finding(spec or ("metadata", "name"), message, "add a `Worker`, or use another kind of job")


def legacy_operator(job: LintedJob) -> Iterator[Finding]:
    """The job is one of training-operator, which is legacy: a TrainJob replaces PyTorchJobs.

    Why: TrainJob, of Kubeflow Trainer, has replaced them, and distributions remove training-operator: then the server does not
    know the kind. Kueue ships with its integrations switched off from 0.19 on: such a job bypasses Kueue.
    It is a warning where the pinned cluster, or `--target kueue=0.19`, says that this is so; of kinds beside PyTorchJob nothing else is
    said.
    Instead: a TrainJob. `jobspec migrate` writes it, and reports what its pods lose.
    Before: kind: PyTorchJob
    After: kind: TrainJob
    Evidence: https://www.kubeflow.org/docs/components/trainer/operator-guides/migration/, the release notes of Kueue 0.19
    """
    kueue = job.cluster.installed.get("kueue")
    hint = "`jobspec migrate FILE --to TrainJob --in-place` converts it" if job.is_pytorchjob else ""
    bypasses, way = _bypasses_queue(job, kueue) if kueue and job.get("metadata", "labels", QUEUE) else ("", "")
    if "training-operator" not in job.cluster.installed:
        message = f"the cluster has no training-operator: its server knows no {job.given.kind}"
        yield Finding(("kind",), message, hint, severity="warning")
    elif bypasses:
        yield Finding(("kind",), bypasses, hint or way, severity="warning")
    elif job.is_pytorchjob:
        yield Finding(("kind",), "PyTorchJob is legacy: Kubeflow Trainer's TrainJob replaces it", hint)


def _bypasses_queue(job: LintedJob, kueue: str) -> tuple[str, str]:
    """Why a release of Kueue does not queue a job of training-operator, and the hint; both empty for one that it queues."""
    if job.given.group_kind not in QUEUED_TRAINING_JOBS:
        return f"bypasses Kueue: it does not queue {job.given.kind}s of {job.given.api_version}", ""
    return not_queued(job.given.group_kind, kueue, job.documents.queues.configuration)


def partial_gang(job: LintedJob) -> Iterator[Finding]:
    """`minAvailable` is not the number of the job's pods.

    Why: with fewer, a gang scheduler starts a part of the pods, which wait for the others and hold their GPUs; two such jobs can lock
    each other out forever. With more, no pod starts.
    Instead: the number of all pods, which is also what it is by itself.
    Before:
        minAvailable: 1
        Worker: {replicas: 3}
    After: Worker: {replicas: 3}
    Evidence: kubernetes-sigs/kueue#2796, kubeflow/trainer#1825, kubeflow/pytorch-operator#186
    """
    said = job.tree.get("spec", "runPolicy", "schedulingPolicy", "minAvailable")
    number = job.training_pods
    if said and isinstance(said.value, int) and number and said.value != number and not job.tree.get("spec", "elasticPolicy"):
        message = f"`minAvailable` differs from the job's {counted(number, 'pod')}"
        yield Finding(said, message, "remove it: all pods together are the group")


RULES = (
    Rule(legacy_operator, "info", sees="training-operator"),
    Rule(missing_tf_config, "warning", sees="training-operator", reads=["tfreplicaspecs"]),
    Rule(unknown_replica_type, "warning", sees="training-operator", reads=["tfreplicaspecs"]),
    Rule(uncounted_replica_type, "warning", sees="training-operator", reads=[QUEUE]),
    Rule(first_worker_ends_job, "info", sees="training-operator", reads=["tfreplicaspecs"]),
    Rule(unknown_success_policy, "warning", sees="training-operator", reads=["successpolicy"]),
    Rule(unknown_main_container, "error", sees="training-operator", reads=["maincontainer"]),
    Rule(mpi_scripts_elsewhere, "warning", sees="training-operator", reads=["mpireplicaspecs"]),
    Rule(sleeping_workers, "warning", sees="training-operator", reads=["mpireplicaspecs"], has_unsafe_fix=True),
    Rule(launcher_reaches_all_pods, "warning", sees="training-operator", reads=["mpireplicaspecs"]),
    Rule(partial_gang, "warning", sees="training-operator", reads=["minAvailable"]),
)
