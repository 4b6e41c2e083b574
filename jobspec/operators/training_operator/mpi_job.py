"""What training-operator makes of an MPIJob: a launcher that may run commands in workers, the workers, and scripts for MPI.

Follows `MPIJobReconciler.ReconcilePods`, github.com/kubeflow/training-operator pkg/controller.v1/mpi, 1.7.0 to 1.9.4, with the operator's
own image of kubectl. The operator adds a worker to `discover_hosts.sh` once it runs; here none runs yet.
"""

from __future__ import annotations

from jobspec.apis.kinds import SERVICE_ACCOUNT
from jobspec.apis.releases import is_at_least
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, items, set_by, text, with_appended, with_fields, with_missing
from jobspec.operators.training_operator import HOSTS, POLICIES_OF_PODS, SCRIPTS, SCRIPTS_PATH
from jobspec.operators.training_operator.frameworks import LAUNCHER, WORKER
from jobspec.operators.training_operator.job import Replicas, TrainingJob, labels, metadata, role_label
from jobspec.operators.training_operator.pods import group_marks, scheduler_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

_KUBECTL, _KUBECTL_PATH = "mpi-job-kubectl", "/opt/kube"
_RSH, _DISCOVERY = "kubexec.sh", "discover_hosts.sh"
_EXECUTABLE, _READABLE = 0o555, 0o444
#: The release since which -> the image that brings kubectl into the launcher.
_IMAGES = {
    "1.9.1": "ghcr.io/kubeflow/training-v1/kubectl-delivery:latest",
    "1.8.0": "kubeflow/kubectl-delivery:latest",
    "": "mpioperator/kubectl-delivery:latest",
}
_AMOUNTS = {"cpu": "100m", "ephemeral-storage": "5Gi", "memory": "512Mi"}


def mpi_objects(job: TrainingJob, context: Sequence[Document]) -> Iterator[MarkedTree]:
    """The objects of a job with a launcher, in the operator's order. *context*: documents in which its service account may be."""
    launcher, workers = job.replicas[LAUNCHER], job.replicas.get(WORKER)
    count = workers.made if workers else 0
    names = [f"{job.name.value}-worker-{index}" for index in range(count)]
    if not _has_account(job, launcher, context):
        yield _object(job, "v1", "ServiceAccount", _account(job, launcher))
    yield _object(job, "v1", "ConfigMap", _config_name(job), data=_scripts(job, names))
    yield from _rights(job, launcher, names)
    if workers:
        yield from (_worker(job, workers, index) for index in job.indices(workers))
    yield _launcher(job, launcher)


def _object(job: TrainingJob, version: str, kind: str, name: Any, **fields: Any) -> MarkedTree:
    """An object beside the pods."""
    return set_by(job.operator, {"apiVersion": version, "kind": kind, "metadata": metadata(job, name, labels={"app": job.name}), **fields})


def _launcher_name(job: TrainingJob) -> str:
    return f"{job.name.value}-launcher"


def _config_name(job: TrainingJob) -> str:
    return f"{job.name.value}-config"


# The service account of the launcher, and what it may do: 1.7 makes an account even for a launcher that names one, and replaces that.


def _account(job: TrainingJob, launcher: Replicas) -> str | MarkedTree:
    """The name of the launcher's service account."""
    named = launcher.template.get("spec", "serviceAccountName")
    return named if named and named.value and job.since_1_8 else _launcher_name(job)


def _has_account(job: TrainingJob, launcher: Replicas, context: Sequence[Document]) -> bool:
    """Whether the cluster has the account that the launcher names, so that the operator makes none."""
    account = _account(job, launcher)
    if not isinstance(account, MarkedTree):
        return False
    given = (each for each in context if each.group_kind == SERVICE_ACCOUNT and each.name == account.value)
    return account.value == "default" or any((each.namespace or "default") == job.namespace.value for each in given)


def _rights(job: TrainingJob, launcher: Replicas, names: Sequence[str]) -> Iterator[MarkedTree]:
    """The role of the launcher and its binding. Without workers, the rule has no names of pods, and so is for all of the namespace."""
    look = {"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["pods"]}
    execute = {"verbs": ["create"], "apiGroups": [""], "resources": ["pods/exec"], **({"resourceNames": list(names)} if names else {})}
    group, name = "rbac.authorization.k8s.io", _launcher_name(job)
    yield _object(job, f"{group}/v1", "Role", name, rules=[look, execute])
    subject = {"kind": "ServiceAccount", "name": _account(job, launcher), "namespace": job.namespace}
    role = {"apiGroup": group, "kind": "Role", "name": name}
    yield _object(job, f"{group}/v1", "RoleBinding", name, subjects=[subject], roleRef=role)


# The scripts: how MPI starts a process in a worker, and which workers there are.


def _scripts(job: TrainingJob, names: Sequence[str]) -> dict[str, str]:
    slots = _slots(job)
    main = text(job.tree, "spec", "mainContainer")
    of_container = f" --container {main}" if main else ""
    rsh = f'#!/bin/sh\nset -x\nPOD_NAME=$1\nshift\n{_KUBECTL_PATH}/kubectl exec ${{POD_NAME}}{of_container} -- /bin/sh -c "$*"'
    own = [_launcher_name(job)] if _has_gpus(job.replicas[LAUNCHER]) else []
    discovery = "#!/bin/sh" + "".join(f"\necho {name}:{slots}\n" for name in own)
    return {_DISCOVERY: discovery, HOSTS: "".join(f"{name} slots={slots}\n" for name in (*own, *names)), _RSH: rsh}


def _slots(job: TrainingJob) -> int:
    """How many processes a host takes."""
    slots = job.tree.get("spec", "slotsPerWorker")
    return 1 if slots is None else int(slots.value)


def _has_gpus(launcher: Replicas) -> bool:
    """Whether a limit of the launcher is one of GPUs, by its name."""
    containers = items(launcher.template.get("spec", "containers"))
    return any("gpu" in name for each in containers for name, _ in each.entries("resources", "limits"))


# The pods. The operator adds to the first container, whatever its name.


def _pod(job: TrainingJob, replicas: Replicas, name: str, index: int | None, spec: MarkedTree) -> MarkedTree:
    own = labels(job, replicas, index or 0)
    if index is None:
        own = {key: value for key, value in own.items() if not key.endswith("replica-index")}
    group_labels, notes = group_marks(job, replicas)
    ours = {"labels": {**own, **role_label(job, replicas, index or 0), **group_labels}, "annotations": notes}
    found = {field: replicas.template.get("metadata", field) for field in ours}
    for field, each in ours.items():
        if each:
            before, new = found[field], set_by(job.operator, each)
            found[field] = with_fields(before, new.value) if before else new
    policy = replicas.restart_policy
    restart = MarkedTree(POLICIES_OF_PODS.get(policy.value, policy.value), policy.mark, policy.key)
    scheduled = with_missing(with_fields(spec, {"restartPolicy": restart}), scheduler_name(job), job.operator)
    return set_by(job.operator, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata(job, name, **found), "spec": scheduled})


def _worker(job: TrainingJob, replicas: Replicas, index: int) -> MarkedTree:
    first, *others = items(replicas.template.get("spec", "containers"))
    if not items(first.get("command")):
        sleep = set_by(job.operator, {"command": ["sleep"], "args": ["365d"]})
        first = with_fields(first, sleep.value)
    first = with_appended(first, "volumeMounts", _items(job, [_SCRIPTS_MOUNT]), job.operator)
    spec = _with_containers(replicas, [first, *others])
    spec = with_appended(spec, "volumes", _items(job, [_config_volume(job, {_RSH: _EXECUTABLE})]), job.operator)
    return _pod(job, replicas, f"{job.name.value}-worker-{index}", index, spec)


def _launcher(job: TrainingJob, replicas: Replicas) -> MarkedTree:
    first, *others = items(replicas.template.get("spec", "containers"))
    given = {text(each, "name") for each in items(first.get("env"))}
    first = with_appended(first, "env", _items(job, list(_variables(replicas, given))), job.operator)
    first = with_appended(first, "volumeMounts", _items(job, _LAUNCHER_MOUNTS), job.operator)
    spec = with_appended(_with_containers(replicas, [first, *others]), "initContainers", _items(job, [_delivery(job)]), job.operator)
    scripts = {_RSH: _EXECUTABLE, HOSTS: _READABLE, _DISCOVERY: _EXECUTABLE}
    volumes = [{"name": _KUBECTL, "emptyDir": {}}, _config_volume(job, scripts)]
    spec = with_appended(spec, "volumes", _items(job, volumes), job.operator)
    account = _account(job, replicas)
    named = account if isinstance(account, MarkedTree) else MarkedTree(account, job.operator)
    return _pod(job, replicas, _launcher_name(job), None, with_fields(spec, {"serviceAccountName": named}))


def _with_containers(replicas: Replicas, containers: list[MarkedTree]) -> MarkedTree:
    """The pod spec of a type with other containers."""
    spec: MarkedTree = replicas.template.value["spec"]
    return spec.replace_at(("containers",), lambda before: before.with_value(containers))


def _items(job: TrainingJob, data: Sequence[Mapping[str, Any]]) -> list[MarkedTree]:
    return items(set_by(job.operator, list(data)))


_SCRIPTS_MOUNT = {"name": SCRIPTS, "mountPath": SCRIPTS_PATH}
_LAUNCHER_MOUNTS = [{"name": _KUBECTL, "mountPath": _KUBECTL_PATH}, _SCRIPTS_MOUNT]


def _config_volume(job: TrainingJob, modes: Mapping[str, int]) -> dict[str, Any]:
    files = [{"key": name, "path": name, "mode": mode} for name, mode in modes.items()]
    return {"name": SCRIPTS, "configMap": {"name": _config_name(job), "items": files}}


def _variables(launcher: Replicas, given: set[str]) -> Iterator[dict[str, str]]:
    """The variables for Open MPI, which hide GPUs of the node from a launcher that asks for none, and for Intel MPI where not given."""
    yield {"name": "OMPI_MCA_plm_rsh_agent", "value": f"{SCRIPTS_PATH}/{_RSH}"}
    yield {"name": "OMPI_MCA_orte_default_hostfile", "value": f"{SCRIPTS_PATH}/{HOSTS}"}
    if not _has_gpus(launcher):
        yield {"name": "NVIDIA_VISIBLE_DEVICES"}
        yield {"name": "NVIDIA_DRIVER_CAPABILITIES"}
    for name, value in {"I_MPI_HYDRA_BOOTSTRAP": "rsh", "I_MPI_HYDRA_BOOTSTRAP_EXEC": f"{SCRIPTS_PATH}/{_RSH}"}.items():
        if name not in given:
            yield {"name": name, "value": value}


def _delivery(job: TrainingJob) -> dict[str, Any]:
    """The init container that brings kubectl."""
    image = next(image for since, image in _IMAGES.items() if not since or is_at_least(job.release, since))
    return {
        "name": "kubectl-delivery",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "env": [{"name": "TARGET_DIR", "value": _KUBECTL_PATH}, {"name": "NAMESPACE", "value": job.namespace}],
        "volumeMounts": _LAUNCHER_MOUNTS,
        "resources": {"limits": _AMOUNTS, "requests": _AMOUNTS},
    }
