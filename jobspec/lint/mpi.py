"""MPIJobs: whether mpirun starts a process in each slot, reaches the workers by SSH, and what stays when the launcher has ended."""

from __future__ import annotations

from jobspec.diagnostics.places import Key
from jobspec.diagnostics.problems import set_to
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.diagnostics.wording import counted
from jobspec.documents.marked_tree import MarkedTree, items, number, text
from jobspec.lint.container import LintedContainer
from jobspec.lint.mpi_hosts import launcher_works, workers
from jobspec.lint.ssh_keys import user_of
from jobspec.operators.mpi_operator import LAUNCHER, POLICY, REPLICAS, SSHD, WORKER
from jobspec.programs.command_lines import NAMES, file_name
from jobspec.programs.mpirun import MpirunCommand, mentions_mpirun, mpirun_in
from jobspec.programs.shells import read_script, script_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobspec.diagnostics.diagnostic import Severity
    from jobspec.diagnostics.rules import Place
    from jobspec.lint.linted import LintedJob

_SSH_SERVER = file_name(SSHD[0])
#: Programs that certainly are no SSH server, and start none.
_NO_SERVERS = frozenset(("sleep", "tail", "cat", "echo", "true", "mpirun", "mpiexec", "horovodrun", "deepspeed", "accelerate", *NAMES))
#: Programs that start processes for the GPUs of their host themselves.
_LOCAL_LAUNCHERS = (*NAMES, "deepspeed", "accelerate")
_STARTS = ("AtStartup", "WaitForWorkersReady")


# The parts of an MPIJob that rules look at.


def _first_containers(job: LintedJob) -> dict[str, LintedContainer]:
    """The first container of the launcher and of the workers, into which the operator puts keys, hosts and variables."""
    found: dict[str, LintedContainer] = {}
    for each in job.containers:
        if not each.is_init:
            found.setdefault(each.role.name.lower(), each)
    return found


def _others(job: LintedJob, first: LintedContainer) -> list[LintedContainer]:
    """The containers beside the first one of a role."""
    return [each for each in job.containers if each.role is first.role and each is not first and not each.is_init]


def _slots(job: LintedJob) -> int:
    """The slots of a host."""
    return number(job.tree, "spec", "slotsPerWorker", default=1)


def _implementation(job: LintedJob) -> str:
    return text(job.tree, "spec", "mpiImplementation") or "OpenMPI"


def _written_words(container: LintedContainer) -> list[MarkedTree]:
    """The words of `command` and `args` that a file wrote."""
    return [each for each in container.program.words if each.mark.line]


def _mpirun(job: LintedJob) -> tuple[LintedContainer, MpirunCommand] | None:
    """The launcher's call of mpirun, for the hosts of the job; None where there is none, or another list of hosts."""
    launcher = _first_containers(job).get(LAUNCHER.lower())
    call = mpirun_in(launcher.program.texts) if launcher else None
    if launcher is None or call is None or call.names_hosts:
        return None
    return launcher, call


# Processes and slots.


def more_processes_than_slots(job: LintedJob) -> Iterator[Finding]:
    """The launcher of an MPIJob starts more processes than its hosts have slots.

    Why: the operator writes `slotsPerWorker` slots for each worker into the list of the hosts, and for the launcher only with
    `runLauncherAsWorker`, with training-operator for one with GPUs. Open MPI refuses to start more processes than there are slots, and the
    launcher fails until its `backoffLimit`.
    Intel MPI and MPICH begin again at the first host, whose processes then share its CPUs and GPUs.
    Instead: leave out `-np`, which starts a process in each slot, or write the number of slots.
    Before: "slotsPerWorker: 1, command: [mpirun, -np, '4', train], Worker: {replicas: 2}"
    After: "slotsPerWorker: 2, command: [mpirun, -np, '4', train], Worker: {replicas: 2}"
    Evidence: open-mpi/ompi#3133, kubeflow/mpi-operator#680
    """
    found = _mpirun(job)
    if found is None or found[1].count is None or found[1].oversubscribes or _oversubscribes(found[0]):
        return
    launcher, call = found
    count, hosts, slots = call.count or 0, _hosts(job), _slots(job)
    if hosts and count > hosts * slots:
        there = f"{counted(hosts * slots, 'slot')} ({_in_words(hosts, slots)})"
        consequence = "mpirun refuses to start" if _implementation(job) == "OpenMPI" else "processes share the slots"
        message = f"{consequence}: {counted(count, 'process')} for {there}"
        yield Finding(launcher.program.words[call.at], message, "leave out the number, or set `slotsPerWorker` or `replicas`")


def idle_hosts(job: LintedJob) -> Iterator[Finding]:
    """The launcher of an MPIJob starts so few processes that some of its hosts have none.

    Why: mpirun fills the slots of the first worker, then those of the next. The workers that are left run an SSH server alone, and hold
    their CPUs and GPUs as long as the job takes.
    Instead: leave out `-np`, which starts a process in each slot, or have fewer workers.
    Before: "slotsPerWorker: 8, command: [mpirun, -np, '8', train], Worker: {replicas: 2}"
    After: "slotsPerWorker: 8, command: [mpirun, -np, '16', train], Worker: {replicas: 2}"
    Evidence: mpirun(1) of Open MPI, `--map-by slot`
    """
    found = _mpirun(job)
    if found is None or found[1].count is None:
        return
    launcher, call = found
    count, hosts, slots = call.count or 0, _hosts(job), max(_slots(job), 1)
    used = count if call.places else -(-count // slots)
    if 0 < used < hosts:
        message = f"{counted(hosts - used, 'host')} of {hosts} idle: mpirun starts {counted(count, 'process')}, {slots} per host"
        yield Finding(launcher.program.words[call.at], message, f"leave out the number, or write {hosts * slots}")


def slots_beside_gpus(job: LintedJob) -> Iterator[Finding]:
    """The workers of an MPIJob have another number of GPUs than of slots.

    Why: mpirun starts `slotsPerWorker` processes on each worker, one by default. With fewer processes than GPUs, the others are paid for
    and idle; with more, two processes get the same GPU, or one that is not there.
    Instead: set `slotsPerWorker` to the GPUs of a worker.
    Before: "slotsPerWorker: 1, Worker: {resources: {limits: {nvidia.com/gpu: 8}}}"
    After: "slotsPerWorker: 8, Worker: {resources: {limits: {nvidia.com/gpu: 8}}}"
    Evidence: kubeflow/mpi-operator#680; the examples of github.com/kubeflow/mpi-operator examples/v2beta1
    """
    worker, found = _first_containers(job).get(WORKER.lower()), _mpirun(job)
    if worker is None or found is None or found[1].places or not worker.gpus:
        return
    launcher, slots = found[0], _slots(job)
    if slots == worker.gpus or slots < 1 or next(more_processes_than_slots(job), None) or launcher.program.mentions(*_LOCAL_LAUNCHERS):
        return
    place: Place = job.tree.get("spec", "slotsPerWorker") or worker.gpu_place
    one = f"{counted(slots, 'process')} on a worker of {counted(worker.gpus, 'GPU')}"
    if slots < worker.gpus:
        yield Finding(place, f"{one}: {worker.gpus - slots} of {worker.gpus} GPUs are idle", f"set `slotsPerWorker: {worker.gpus}`")
    else:
        yield Finding(place, f"{one}: processes share a GPU, or find none", f"set `slotsPerWorker: {worker.gpus}`")


def gpus_of_launcher(job: LintedJob) -> Iterator[Finding]:
    """The launcher of an MPIJob asks for GPUs that it cannot use.

    Why: the operator hides the GPUs of a launcher that only starts the others: `NVIDIA_VISIBLE_DEVICES` is empty. The scheduler sets
    them aside all the same.
    Instead: set `runLauncherAsWorker: true`, so that the launcher has processes, too, or remove its GPUs.
    Before: "Launcher: {resources: {limits: {nvidia.com/gpu: 1}}}"
    After: "runLauncherAsWorker: true"
    Evidence: `newLauncherPodTemplate` of github.com/kubeflow/mpi-operator pkg/controller, 0.6 to 0.8
    """
    launcher = _first_containers(job).get(LAUNCHER.lower())
    if launcher and launcher.gpus and workers(job) and not launcher_works(job):
        message = f"{counted(launcher.gpus, 'GPU')} of the launcher idle: the operator hides them from its container"
        yield Finding(launcher.gpu_place, message, "set `runLauncherAsWorker: true`, or remove them")


def _hosts(job: LintedJob) -> int:
    """How many hosts are in the list that mpirun reads."""
    return workers(job) + launcher_works(job)


def _in_words(hosts: int, slots: int) -> str:
    return f"{counted(hosts, 'host')} with {counted(slots, 'slot')}"


def _oversubscribes(launcher: LintedContainer) -> bool:
    """Whether a variable has Open MPI start more processes than there are slots."""
    return any("oversubscribe" in name.lower() or name.endswith("_map_by") for name, _ in launcher.variables)


# Whether the launcher reaches the workers.


def mpi_container_not_first(job: LintedJob) -> Iterator[Finding]:
    """The container with mpirun, or with the work of a worker, is not the first one of its pod.

    Why: the operator puts the keys for SSH, the list of the hosts, its variables, and the SSH server of workers into the first container,
    whatever its name. Another one, such as the side-car that stands before it, gets none of it: mpirun knows no hosts, or finds no
    server on them.
    Instead: write the container first in the list.
    Before: "containers: [{name: logs, image: 'logs:1'}, {name: mpi, command: [mpirun, train]}]"
    After: "containers: [{name: mpi, command: [mpirun, train]}, {name: logs, image: 'logs:1'}]"
    Evidence: `setupSSHOnPod` of github.com/kubeflow/mpi-operator pkg/controller, 0.6 to 0.8
    """
    first = _first_containers(job)
    launcher, worker = first.get(LAUNCHER.lower()), first.get(WORKER.lower())
    if launcher and not mentions_mpirun(launcher.program.texts):
        for each in _others(job, launcher):
            if mentions_mpirun(each.program.texts):
                message = f"`{each.name}` runs mpirun without hosts and keys: the operator gives them to `{launcher.name}`"
                yield Finding(each.tree.get("name") or each.tree, message, f"write `{each.name}` first in the list")
    if worker and not _serves(worker):
        for each in _others(job, worker):
            if _serves(each) or each.gpus > worker.gpus:
                message = f"`{each.name}` gets no keys and no SSH server: the operator gives them to `{worker.name}`"
                yield Finding(each.tree.get("name") or each.tree, message, f"write `{each.name}` first in the list")


def worker_without_ssh_server(job: LintedJob) -> Iterator[Finding]:
    """The workers of an MPIJob start no SSH server, by which mpirun starts processes on them.

    Why: the operator writes `/usr/sbin/sshd -De` only into a first container that has neither `command` nor `args`. With `args` alone, the
    entrypoint of the image gets them: that is an info if they may be the name of a program that starts a server. mpirun then cannot
    connect, and the launcher fails until its `backoffLimit`.
    Instead: leave out both, or write the server with its options as `command`.
    Before: "Worker: {containers: [{command: [sleep, infinity]}]}"
    After: "Worker: {containers: [{command: [/usr/sbin/sshd, -De]}]}"
    Evidence: `newWorker` of github.com/kubeflow/mpi-operator pkg/controller, 0.6 to 0.8
    """
    worker = _first_containers(job).get(WORKER.lower())
    words = _written_words(worker) if worker else []
    if worker is None or not words or _serves(worker):
        return
    if not items(worker.tree.get("command")):
        is_likely = str(words[0].value).startswith("-") or _runs_no_server(worker.program.texts)
        severity: Severity | None = None if is_likely else "info"  # the entrypoint of an image of one's own may start sshd
        message = "mpirun cannot connect: with `args` alone, the workers run the image's entrypoint, and no sshd"
        yield Finding(words[0], message, "write `command: [/usr/sbin/sshd]` before them, or leave them out", severity=severity)
    elif _runs_no_server(worker.program.texts):
        message = f"mpirun cannot connect: the workers run `{file_name(str(words[0].value))}`, and no sshd"
        yield Finding(words[0], message, "leave out `command` and `args`, or start `/usr/sbin/sshd -De`")


def _serves(container: LintedContainer) -> bool:
    """Whether the command line of a container has the name of the SSH server, other than the one that the operator writes."""
    return any(_SSH_SERVER in str(each.value) for each in _written_words(container))


def _runs_no_server(words: Sequence[str]) -> bool:
    """Whether a command line certainly starts no SSH server: it is that of a known program, or a script of such."""
    at = script_at(words)
    if at is None:
        return _is_no_server(words)
    script = read_script(words[at])
    return bool(script.commands) and not script.reads_files and all(_is_no_server(each.words) for each in script.commands)


def _is_no_server(words: Sequence[str]) -> bool:
    program = file_name(words[0])
    return program in _NO_SERVERS or program.rstrip("0123456789.") == "python"


def ssh_server_of_another_user(job: LintedJob) -> Iterator[Finding]:
    """The SSH server that the operator starts in workers cannot run as the user, or with the capabilities, of their container.

    Why: `/usr/sbin/sshd -De` reads the keys of the host, which are root's. As root, it needs the capability SYS_CHROOT for each
    connection.
    Instead: start sshd with a configuration of the user's own, as the images of mpi-operator have it; as root, keep the capability.
    Before: "Worker: {containers: [{securityContext: {runAsUser: 1000}}]}"
    After: "command: [/usr/sbin/sshd], args: [-De, -f, /home/mpiuser/.sshd_config]"
    Evidence: kubeflow/mpi-operator#642, kubeflow/mpi-operator#301
    """
    worker = _first_containers(job).get(WORKER.lower())
    if worker is None:
        return
    user, is_root = user_of(worker)
    if user and not is_root and not _written_words(worker):
        message = "mpirun cannot connect: `sshd -De` cannot read its keys unless it is root"
        yield Finding(user, message, "write `command: [/usr/sbin/sshd, -De, -f, FILE]` with a configuration of this user")
    if user and is_root and (not _written_words(worker) or _serves(worker)) and (dropped := _lacks_chroot(worker)):
        message = "mpirun cannot connect: sshd as root lacks the capability SYS_CHROOT"
        yield Finding(dropped, message, "add SYS_CHROOT, SETUID and SETGID, or run as another user")


def _lacks_chroot(container: LintedContainer) -> MarkedTree | None:
    """Where a container drops the capability SYS_CHROOT; None where it keeps it, or gets it back."""
    named = {field: items(container.tree.get("securityContext", "capabilities", field)) for field in ("add", "drop")}
    said = {field: [str(each.value).upper().removeprefix("CAP_") for each in found] for field, found in named.items()}
    if {"SYS_CHROOT", "ALL"} & {*said["add"]}:
        return None
    return next((each for each, name in zip(named["drop"], said["drop"], strict=True) if name in ("ALL", "SYS_CHROOT")), None)


def launcher_before_workers(job: LintedJob) -> Iterator[Finding]:
    """The launcher of an MPIJob starts with the workers, and may not try again.

    Why: by default, the operator creates the launcher beside the workers. While one of them waits for its node or pulls its image, mpirun
    does not reach it and fails; with a `backoffLimit` of 0, the job has then failed.
    Instead: set `launcherCreationPolicy: WaitForWorkersReady`, or allow some retries.
    Before: "runPolicy: {backoffLimit: 0}"
    After: "launcherCreationPolicy: WaitForWorkersReady, runPolicy: {backoffLimit: 0}"
    Evidence: kubeflow/mpi-operator#288; `launcherCreationPolicy` of github.com/kubeflow/mpi-operator, 0.5 on
    """
    limit = job.tree.get(*POLICY, "backoffLimit")
    if limit and limit.value == 0 and workers(job) and text(job.tree, "spec", "launcherCreationPolicy") in ("", _STARTS[0]):
        message = "fails if a worker starts later than the launcher: no retries, and the launcher does not wait"
        yield Finding(limit, message, f"set `launcherCreationPolicy: {_STARTS[1]}`")


# What the operator does not read, or reads otherwise than it looks.


def ignored_replica_type(job: LintedJob) -> Iterator[Finding]:
    """mpi-operator ignores a replica type that is neither Launcher nor Worker.

    Why: the server accepts any name. Without `Worker`, the launcher finds no hosts but itself.
    Instead: write `Launcher` and `Worker`.
    Before: "mpiReplicaSpecs: {Launcher: {}, worker: {replicas: 2}}"
    After: "mpiReplicaSpecs: {Launcher: {}, Worker: {replicas: 2}}"
    Evidence: `syncHandler` of github.com/kubeflow/mpi-operator pkg/controller, 0.6 to 0.8
    """
    for name, _ in job.tree.entries(*REPLICAS):
        if name not in (LAUNCHER, WORKER):
            near = next((each for each in (LAUNCHER, WORKER) if each.lower() == name.lower().removesuffix("s")), "")
            message = f"mpi-operator ignores the replica type `{name}`: it creates none of its pods"
            yield Finding((*REPLICAS, Key(name)), message, f"write `{near}`" if near else f"the types are `{LAUNCHER}` and `{WORKER}`")


def unknown_launcher_policy(job: LintedJob) -> Iterator[Finding]:
    """mpi-operator does not know the `launcherCreationPolicy`, and waits until all workers are ready.

    Why: the server accepts any text, and the operator compares it with AtStartup alone.
    Instead: write AtStartup or WaitForWorkersReady.
    Before: launcherCreationPolicy: AtStart
    After: launcherCreationPolicy: AtStartup
    Evidence: `syncHandler` of github.com/kubeflow/mpi-operator pkg/controller, 0.6 to 0.8
    """
    said = job.tree.get("spec", "launcherCreationPolicy")
    if text(said) not in ("", *_STARTS):
        message = f"unknown policy `{text(said)}`: the launcher waits until all workers are ready"
        yield Finding(said, message, f"write `{_STARTS[0]}` or `{_STARTS[1]}`")


# What stays when the launcher has ended.


def workers_run_on(job: LintedJob) -> Iterator[Finding]:
    """The workers of an MPIJob run on when the job has succeeded or failed.

    Why: workers are SSH servers, which end by themselves never. Without `cleanPodPolicy`, the operator leaves them, and they hold their
    CPUs and GPUs, which Kueue counts no more. `ttlSecondsAfterFinished` deletes the Job of the launcher alone.
    Instead: set `cleanPodPolicy: Running`.
    Fix: writes the policy if the job has none; the pods are the same.
    Before: "runPolicy: {backoffLimit: 2}"
    After: "runPolicy: {backoffLimit: 2, cleanPodPolicy: Running}"
    Evidence: kubeflow/mpi-operator#134, kubeflow/trainer#1241; `cleanUpWorkerPods` of github.com/kubeflow/mpi-operator pkg/controller
    """
    said = job.tree.get(*POLICY, "cleanPodPolicy")
    if not workers(job) or text(said) not in ("", "None"):
        return
    held = sum(each.gpus * each.role.count for each in job.containers if each.role.name.lower() == WORKER.lower())
    what = f" and hold {counted(held, 'GPU')}" if held else ""
    place: Place = said or (POLICY if job.get(*POLICY) else ("metadata", "name"))
    severity: Severity = "info" if text(said) else "warning"
    edits = [(job.tree, set_to((*POLICY, "cleanPodPolicy"), "Running"))] if not text(said) else []
    yield Finding(
        place, f"the workers run on after the job has ended{what}", "set `cleanPodPolicy: Running`", edits=edits, severity=severity
    )


def ttl_of_launcher(job: LintedJob) -> Iterator[Finding]:
    """`ttlSecondsAfterFinished` of an MPIJob deletes the Job of its launcher, and not the MPIJob.

    Why: the operator hands the field on to that Job. After the time, the launcher and its logs are gone; the MPIJob stays, and so do its
    workers without a `cleanPodPolicy`, its Service, and its keys.
    Instead: delete MPIJobs yourself, or keep the field for the logs.
    Before: "runPolicy: {ttlSecondsAfterFinished: 60}"
    After: "runPolicy: {cleanPodPolicy: Running}"
    Evidence: `newLauncherJob` of github.com/kubeflow/mpi-operator pkg/controller, 0.6 to 0.8
    """
    said = job.tree.get(*POLICY, "ttlSecondsAfterFinished")
    if said and said.value is not None:
        yield Finding(said, "deletes the launcher with its logs, not the MPIJob", "remove it if the logs are to stay")


RULES = (
    Rule(more_processes_than_slots, "warning", sees="any MPIJob", reads=["mpi"]),
    Rule(idle_hosts, "warning", sees="any MPIJob", reads=["mpi"]),
    Rule(slots_beside_gpus, "warning", sees="any MPIJob", reads=["gpu"]),
    Rule(gpus_of_launcher, "warning", sees="MPIJob", reads=["gpu"]),
    Rule(mpi_container_not_first, "warning", sees="MPIJob"),
    Rule(worker_without_ssh_server, "warning", sees="MPIJob"),
    Rule(ssh_server_of_another_user, "warning", sees="MPIJob", reads=["runas"]),
    Rule(launcher_before_workers, "info", sees="MPIJob", reads=["backofflimit"]),
    Rule(ignored_replica_type, "warning", sees="MPIJob"),
    Rule(unknown_launcher_policy, "warning", sees="MPIJob", reads=["launchercreationpolicy"]),
    Rule(workers_run_on, "warning", sees="MPIJob", has_unsafe_fix=True),
    Rule(ttl_of_launcher, "info", sees="MPIJob", reads=["ttlsecondsafterfinished"]),
)
