"""MPIJobs: those of training-operator (`kubeflow.org/v1`) as mpi-operator has them (`v2beta1`), and both as TrainJobs with the MPI policy.

training-operator's launcher reaches workers by `kubectl exec`, mpi-operator's and the trainer's by SSH: workers run sshd.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jobspec.apis.releases import Target
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, items, text, with_marks
from jobspec.migrate import facts
from jobspec.migrate.facts import NAME, OWN_MANAGERS, JobNode
from jobspec.migrate.writing import (
    NAME_OF_JOB,
    by_migration,
    own_metadata,
    present,
    renamed_variable,
    template_metadata,
    without_nulls,
    words,
)
from jobspec.operators.mpi_operator import OF_OWN_KEYS
from jobspec.operators.trainer.life import has_deadline, makes_again
from jobspec.operators.trainer.runtimes import ANCESTOR, API_VERSION, TRAINER, hides_keys
from jobspec.operators.workloads import NODE

V1, V2 = "kubeflow.org/v1", "kubeflow.org/v2beta1"
LAUNCHER, WORKER = "Launcher", "Worker"
#: The MPI library that the trainer's policy knows.
OPEN_MPI = "OpenMPI"
#: How variables of a launcher show another library than Open MPI.
_LIBRARIES = {"I_MPI_": "Intel", "HYDRA_": "MPICH"}
#: What keeps a worker of training-operator running, which mpi-operator's workers do not need: they run sshd.
_IDLE = ("sleep", "tail")
_SSHD = ("/usr/sbin/sshd", "-De")
_SSH_OF_ROOT, _SSH_OF_USER = "/root/.ssh", "/home/mpiuser/.ssh"
#: The variables of a launcher by which its controller tells it where the workers are; each controller has its own.
OF_CONTROLLER = ("OMPI_MCA_", "I_MPI_", "HYDRA_", "MPIEXEC_")


class MPISource:
    """One MPIJob, and the release of the trainer that it goes to."""

    __slots__ = ("document", "nodes", "release", "spec", "tree")

    def __init__(self, document: Document, objects: Sequence[MarkedTree], target: Target) -> None:
        """*objects*: what its operator makes of it."""
        self.document = document
        self.release = target["trainer"]
        self.tree = without_nulls(with_marks(document.data, document.marks))
        self.spec: MarkedTree = self.tree.value["spec"]
        self.nodes: list[JobNode] = facts.nodes_of(objects, document.group_kind, facts.main_container(document))

    @property
    def replicas(self) -> dict[str, MarkedTree]:
        """Return the replica types by name."""
        return dict(self.spec.entries("mpiReplicaSpecs"))

    def policy(self, *path: str) -> MarkedTree | None:
        """Return a field of the run policy."""
        return self.spec.get("runPolicy", *path)

    @property
    def library(self) -> str:
        """Return the MPI library: as the job says it, or as variables of its launcher show it."""
        given = self.spec.get("mpiImplementation")
        if given is not None or LAUNCHER not in self.replicas:
            return str(given.value) if given else OPEN_MPI
        named = [text(each, "name") for each in items(first_container(self.replicas[LAUNCHER]).get("env"))]
        return next((library for start, library in _LIBRARIES.items() if any(each.startswith(start) for each in named)), OPEN_MPI)

    @property
    def ssh_path(self) -> str:
        """Return the folder of the SSH keys: that of root, unless the containers run as another user."""
        return text(self.spec, "sshAuthMountPath") or (_SSH_OF_USER if any(map(_has_user, self.replicas.values())) else _SSH_OF_ROOT)

    @property
    def runs_on_launcher(self) -> bool:
        """True if the launcher is a host of the job, too."""
        given = self.spec.get("runLauncherAsWorker")
        return given is not None and given.value is True


def first_container(replica: MarkedTree, main: str = "") -> MarkedTree:
    """Return the container of a replica type that MPI runs in: the *main* one, or else the first."""
    return _main_first(replica.value["template"].value["spec"], main)[0]


def root_with_key(source: MPISource) -> MarkedTree | None:
    """Return what says the program of a launcher that runs as root and uses the mounted key; None for another one."""
    launcher = source.replicas.get(LAUNCHER)
    if launcher is None or not source.ssh_path.startswith(_SSH_OF_ROOT):
        return None
    container = first_container(launcher, text(source.spec, "mainContainer"))
    spoken = [text(each) for field in ("command", "args") for each in items(container.get(field))]
    brings_keys = any(part in word for word in spoken for part in OF_OWN_KEYS)
    return None if brings_keys else container.get("image") or container


def _has_user(replica: MarkedTree) -> bool:
    """Whether the containers of a replica type run as another user than root."""
    contexts = [
        replica.get("template", "spec", "securityContext"),
        *(each.get("securityContext") for each in items(replica.get("template", "spec", "containers"))),
    ]
    fields = [each.get(field) for each in contexts if each for field in ("runAsUser", "runAsNonRoot")]
    return any(each is not None and each.value not in (0, False) for each in fields)


# To mpi-operator.


def as_v2(source: MPISource) -> MarkedTree:
    """Return an MPIJob of training-operator as one of mpi-operator."""
    tree = source.tree
    inner = {
        name: each
        for name, each in source.spec.value.items()
        if name not in ("cleanPodPolicy", "mainContainer", "runPolicy", "mpiReplicaSpecs")
    }
    replicas = source.spec.value["mpiReplicaSpecs"]
    main = text(source.spec, "mainContainer")
    implementation = source.library
    path = source.ssh_path
    spec = {
        **inner,
        "mpiImplementation": by_migration(implementation) if implementation != OPEN_MPI else None,
        "sshAuthMountPath": by_migration(path) if path != _SSH_OF_ROOT else None,
        "runPolicy": _run_policy(source),
        "mpiReplicaSpecs": replicas.with_value({name: _replica(name, each, main) for name, each in source.replicas.items()}),
    }
    fields = {
        "apiVersion": tree.value["apiVersion"].with_value(V2),
        "kind": tree.value["kind"],
        "metadata": own_metadata(tree.value["metadata"]),
        "spec": source.spec.with_value(present(spec)),
    }
    made: MarkedTree = tree.with_value(fields)
    return made


def _run_policy(source: MPISource) -> MarkedTree | None:
    """The run policy with what training-operator also takes beside it."""
    given, beside = source.spec.get("runPolicy"), source.spec.get("cleanPodPolicy")
    fields = {name: each for name, each in (given.value.items() if given else ()) if name != "managedBy" or each.value not in OWN_MANAGERS}
    if beside and "cleanPodPolicy" not in fields:
        fields["cleanPodPolicy"] = beside
    launcher = source.replicas.get(LAUNCHER)
    if launcher and _restarts(launcher) == "Never":  # training-operator's job fails then, mpi-operator's launcher is a Job that tries again
        fields["backoffLimit"] = by_migration(0, launcher.get("restartPolicy"))
    if not fields:
        return None
    return given.with_value(fields) if given else by_migration(fields, beside)


def _restarts(replica: MarkedTree) -> str:
    """The restart policy of a replica type of training-operator, with its default."""
    return text(replica, "restartPolicy") or "Never"


def _replica(name: str, replica: MarkedTree, main: str) -> MarkedTree:
    policy, word = replica.get("restartPolicy"), _restarts(replica)
    taken = word if word in ("Never", "OnFailure") else "OnFailure"
    fields = {**replica.value, "restartPolicy": policy.with_value(taken) if policy else by_migration(taken)}
    template = replica.value["template"]
    spec = template.value["spec"]
    ordered = _main_first(spec, main)
    if name == WORKER:
        ordered[0] = _without_idling(ordered[0])
    containers = spec.value["containers"].with_value(ordered)
    fields["template"] = template.with_value({**template.value, "spec": spec.with_value({**spec.value, "containers": containers})})
    made: MarkedTree = replica.with_value(fields)
    return made


def _main_first(spec: MarkedTree, main: str) -> list[MarkedTree]:
    """The containers of a pod, the one first that processes of MPI start in: by SSH, they start in the first one."""
    return sorted(items(spec.get("containers")), key=lambda each: text(each, "name") != main)


def is_idle(spoken: Sequence[str]) -> bool:
    """True if the words of a command only keep a container running."""
    return any(each in " ".join(spoken).split() for each in _IDLE) and not any("sshd" in each for each in spoken)


def _without_idling(container: MarkedTree) -> MarkedTree:
    """A worker's container without a command that only keeps it running, in place of which mpi-operator runs sshd."""
    spoken = [text(each) for field in ("command", "args") for each in items(container.get(field))]
    if not is_idle(spoken):
        return container
    made: MarkedTree = container.with_value({name: each for name, each in container.value.items() if name not in ("command", "args")})
    return made


# To the trainer: a runtime with the launcher and the workers as two replicated jobs.


def mpi_ways(source: MPISource) -> Iterator[list[MarkedTree]]:
    """Yield the manifests that may take the place of an MPIJob, with the TrainJob last."""
    yield [_runtime(source), _train_job(source)]


def _runtime(source: MPISource) -> MarkedTree:
    renamed = _renaming(source)
    launcher, worker = (source.replicas.get(each) for each in (LAUNCHER, WORKER))
    assert launcher is not None
    slots = source.spec.get("slotsPerWorker")
    count = worker.get("replicas") if worker else None
    workers = int(count.value) if count else 1 if worker else 0
    mpi = {
        "numProcPerNode": slots or by_migration(1),
        "mpiImplementation": by_migration(OPEN_MPI),
        "sshAuthMountPath": source.spec.get("sshAuthMountPath") or by_migration(source.ssh_path),
        "runLauncherAsNode": True if source.runs_on_launcher else None,
    }
    waits = source.spec.get("launcherCreationPolicy")
    after: dict[str, Any] = (
        {"dependsOn": [{"name": NODE, "status": "Ready"}]} if worker and waits and waits.value == "WaitForWorkersReady" else {}
    )
    labels = {"metadata": {"labels": {ANCESTOR: TRAINER}}}
    jobs: list[dict[str, Any]] = []
    if worker:
        template = _pod_template(source, worker, renamed, is_launcher=False)
        limit = present({"backoffLimit": _limit(source, worker)})
        jobs.append({"name": NODE, "template": {**labels, "spec": {**limit, "template": template}}})
    at = {} if worker else labels
    limits = {"backoffLimit": _limit(source, launcher), "activeDeadlineSeconds": _deadline_of_job(source)}
    template = _pod_template(source, launcher, renamed, is_launcher=True)
    jobs.append({"name": "launcher", **after, "template": {**at, "spec": {**present(limits), "template": template}}})
    seconds = None if makes_again(source.release) else source.policy("ttlSecondsAfterFinished")
    success = {"operator": "All", "targetReplicatedJobs": ["launcher"]}
    inside = {**present({"ttlSecondsAfterFinished": seconds}), "successPolicy": success, "replicatedJobs": jobs}
    metadata = present({"name": _runtime_name(source), "namespace": source.tree.get("metadata", "namespace")})
    policy = {"numNodes": (count or workers) if workers else 1, "mpi": present(mpi)}
    whole = {"mlPolicy": policy, "template": {"spec": inside}}
    return by_migration({"apiVersion": API_VERSION, "kind": "TrainingRuntime", "metadata": metadata, "spec": whole})


def _runtime_name(source: MPISource) -> str:
    return source.document.name or text(source.tree, "metadata", "generateName").rstrip("-")


def _limit(source: MPISource, replica: MarkedTree) -> MarkedTree | None:
    """The number of restarts: mpi-operator's launcher is a Job with that of the run policy."""
    policy = replica.get("restartPolicy")
    if source.document.api_version == V1 and (policy is None or policy.value == "Never"):
        return by_migration(0, policy)
    return source.policy("backoffLimit")


def _deadline_of_job(source: MPISource) -> MarkedTree | None:
    return None if has_deadline(source.release) else source.policy("activeDeadlineSeconds")


def _train_job(source: MPISource) -> MarkedTree:
    tree = source.tree
    managed = source.policy("managedBy")
    deadline = source.policy("activeDeadlineSeconds") if has_deadline(source.release) else None
    spec = {
        "managedBy": managed if managed and managed.value not in (*OWN_MANAGERS, "kubeflow.org/mpi-operator") else None,
        "suspend": source.policy("suspend"),
        "activeDeadlineSeconds": deadline,
        "runtimeRef": by_migration({"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": _runtime_name(source)}),
    }
    fields = {
        "apiVersion": tree.value["apiVersion"].with_value(API_VERSION),
        "kind": tree.value["kind"].with_value("TrainJob"),
        "metadata": own_metadata(tree.value["metadata"]),
        "spec": source.spec.with_value(present(spec)),
    }
    made: MarkedTree = tree.with_value(fields)
    return made


def _pod_template(source: MPISource, replica: MarkedTree, renamed: Callable[[str], str], *, is_launcher: bool) -> MarkedTree:
    template = replica.value["template"]
    spec = template.value["spec"]
    first, *others = _main_first(spec, text(source.spec, "mainContainer"))
    if not is_launcher:
        first = _without_idling(first) if source.document.api_version == V1 else first
    fields = {**first.value, "name": first.value["name"].with_value(NODE)}
    if not is_launcher and "command" not in fields:
        fields["command"] = by_migration(list(_SSHD))
    for field in ("command", "args"):
        if field in fields:
            fields[field] = words(fields[field], renamed)
    env = _environment(first, _of_controller(source, is_launcher=is_launcher), renamed)
    fields |= {"env": env} if env else {}
    policy = replica.get("restartPolicy")
    word = (policy.value if policy else "") or ("OnFailure" if is_launcher and source.document.api_version == V2 else "Never")
    taken = word if word in ("Never", "OnFailure") else "OnFailure"
    kept = {name: each for name, each in facts.with_new_names(spec).value.items() if name != "restartPolicy"}
    pod = {"restartPolicy": policy.with_value(taken) if policy else by_migration(taken), **kept}
    pod["containers"] = spec.value["containers"].with_value([first.with_value(fields), *others])
    if is_launcher and _needs_group(source, replica):
        given = spec.get("securityContext")
        group = by_migration(_group_of(first, given))
        pod["securityContext"] = given.with_value({**given.value, "fsGroup": group}) if given else by_migration({"fsGroup": group})
    made: MarkedTree = template.with_value({**template.value, **template_metadata(template), "spec": spec.with_value(pod)})
    return made


def _needs_group(source: MPISource, launcher: MarkedTree) -> bool:
    """Whether the user of a launcher can read the key only as a member of a group of the pod.

    So it is in TrainJobs from trainer 2.3 on, unless the user is root.
    """
    has_group = launcher.get("template", "spec", "securityContext", "fsGroup") is not None
    return hides_keys(source.release) and not source.ssh_path.startswith(_SSH_OF_ROOT) and not has_group


def _group_of(container: MarkedTree, context: MarkedTree | None) -> int:
    """A group for the pods, which may be any: that with the number of their user, or of the first user of most images."""
    said = container.get("securityContext", "runAsUser") or (context.get("runAsUser") if context else None)
    return said.value if said and isinstance(said.value, int) and said.value > 0 else _FIRST_USER


_FIRST_USER = 1000


def _of_controller(source: MPISource, *, is_launcher: bool) -> list[MarkedTree]:
    """The variables that the operator adds to a pod, but for those by which MPI finds the workers."""
    roles = [node for node in source.nodes if (node.pod.role == "launcher") == is_launcher]
    made = roles[0].training if roles else None
    added = [each for each in items(made and made.get("env")) if not each.mark.line]
    return [by_migration(each.data(), None) for each in added if not text(each, "name").startswith(OF_CONTROLLER)]


def _environment(container: MarkedTree, added: Sequence[MarkedTree], renamed: Callable[[str], str]) -> MarkedTree | None:
    given = container.get("env")
    env = [*(renamed_variable(each, renamed) for each in items(given)), *added]
    spoken = [renamed(text(each)) for field in ("command", "args") for each in items(container.get(field))]
    if any(f"$({NAME})" in each for each in [*spoken, *(text(each, "value") for each in env)]):
        env = [NAME_OF_JOB, *env]
    return (given.with_value(env) if given else by_migration(env)) if env else None


def _renaming(source: MPISource) -> Callable[[str], str]:
    """Return a function to replace the names of the job's pods in a text by those of the same pods of a TrainJob."""
    workers = [each for each in source.nodes if each.pod.role != "launcher"]
    launchers = [each for each in source.nodes if each.pod.role == "launcher"]
    names = {_host(node): f"$({NAME})-{NODE}-0-{number}.$({NAME})" for number, node in enumerate(workers)}
    names |= {_host(node): f"$({NAME})-launcher-0-0.$({NAME})" for node in launchers}
    return facts.with_other_hosts(names, facts.DOMAIN)


def _host(node: JobNode) -> str:
    return node.pod.host_name.partition(".")[0] or text(node.pod.tree, "metadata", "name")
