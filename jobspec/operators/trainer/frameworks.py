"""The trainer's plugins for training frameworks: which ones change a job's pods by its `mlPolicy`, and what they set.

Follows `NewRegistry` and `RunEnforceMLPolicyPlugins`, github.com/kubeflow/trainer pkg/runtime/framework, 2.0.0 to 2.3.0. The plugins run
in no fixed order; a runtime has one policy, and what the plugin for plain jobs sets beside that of XGBoost is set anyway.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items, set_by, text
from jobspec.operators.made import RANDOM, is_true, with_fields, with_items, with_variables
from jobspec.operators.trainer.train_job import (
    LAUNCHER,
    NODE,
    PORT,
    JobOfTrainer,
    PodSet,
    endpoints,
    first,
    gpus,
    processes_per_node,
    resources_per_node,
    whole,
    with_nodes_of,
    with_training_container,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Plugin = Callable[[list[PodSet], JobOfTrainer], list[PodSet]]


def _torch() -> Plugin:
    return with_torch


def _mpi() -> Plugin:
    return with_mpi


def _jax() -> Plugin:
    return with_jax


def _xgboost() -> Plugin:
    return with_xgboost


def _flux() -> Plugin:
    return with_flux


#: The field of `mlPolicy` -> the first release with a plugin for it, the plugin, and whether that for plain jobs leaves such jobs alone.
_PLUGINS: dict[str, tuple[str, Callable[[], Plugin], bool]] = {
    "torch": ("2.0.0", _torch, True),
    "mpi": ("2.0.0", _mpi, True),
    "jax": ("2.2.0", _jax, True),
    "xgboost": ("2.2.0", _xgboost, False),
    "flux": ("2.2.0", _flux, False),
}


def is_active(job: JobOfTrainer, name: str) -> bool:
    """Whether a runtime has a policy, and the trainer a plugin for it."""
    return job.policy(name) is not None and job.is_at_least(_PLUGINS[name][0])


def enforced(sets: list[PodSet], job: JobOfTrainer) -> list[PodSet]:
    """The pod sets with what the plugins of the runtime's policies make of them."""
    active = [name for name in _PLUGINS if is_active(job, name)]
    for name in active:
        sets = _PLUGINS[name][1]()(sets, job)
    if any(_PLUGINS[name][2] for name in active):
        return sets
    return with_plain(sets, job)


# The trainer's plugin for PyTorch: how many nodes and processes there are, and the variables that tell `torchrun` so.
#
# Follows `EnforceMLPolicy` of the plugin torch, github.com/kubeflow/trainer pkg/runtime/framework/plugins/torch, 2.0.0 to 2.3.0.


COMPLETION_INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
"""Where a pod of an indexed Job finds its number."""


def with_torch(sets: list[PodSet], job: JobOfTrainer) -> list[PodSet]:
    """The pod sets with what PyTorch needs."""
    sets = with_nodes_of(job, sets)
    training = first(sets, lambda each: each.trains)
    nodes = training.count if training else MarkedTree(1, job.mark)
    processes = processes_per_node(job, sets)
    ranks = _rank_variables(job, nodes, processes)
    if job.trainer() is None:
        return _with_injection(sets, job, ranks)
    own = ranks if job.is_torchtune else [*ranks, *_address_variables(job)]

    def container(tree: MarkedTree) -> MarkedTree:
        tree = with_items(with_variables(tree, job.trainer("env")), "env", own)
        return with_items(tree, "ports", [set_by(job.mark, {"containerPort": PORT})])

    return _with_injection(with_training_container(sets, container), job, ranks)


def _rank_variables(job: JobOfTrainer, nodes: MarkedTree, processes: MarkedTree) -> list[MarkedTree]:
    mark = job.mark
    return [
        set_by(mark, {"name": "PET_NNODES", "value": nodes.with_value(str(nodes.value))}),
        set_by(mark, {"name": "PET_NPROC_PER_NODE", "value": processes.with_value(str(processes.value))}),
        set_by(mark, {"name": "PET_NODE_RANK", "valueFrom": {"fieldRef": {"fieldPath": COMPLETION_INDEX}}}),
    ]


def _address_variables(job: JobOfTrainer) -> list[MarkedTree]:
    return [
        set_by(job.mark, {"name": "PET_MASTER_ADDR", "value": job.named(job.first_node)}),
        set_by(job.mark, {"name": "PET_MASTER_PORT", "value": str(PORT)}),
    ]


def _with_injection(sets: list[PodSet], job: JobOfTrainer, ranks: list[MarkedTree]) -> list[PodSet]:
    """From 2.3 on: the same variables for the further containers that the runtime's policy names."""
    variables = [*ranks, *_address_variables(job)]
    targets = [
        (text(target, "jobName"), name.value)
        for target in items(job.policy("torch", "envInjection", "targets"))
        for name in items(target.get("containerNames"))
    ]

    def injected(pod_set: PodSet) -> PodSet:
        for target, name in targets:
            if target == pod_set.name:
                found = any(text(each, "name") == name for each in pod_set.containers())
                among = "containers" if found else "initContainers"
                pod_set = pod_set.with_container(name, lambda tree: with_items(tree, "env", variables), among=among)
        return pod_set

    return [injected(each) for each in sets] if job.is_at_least("2.3.0") else sets


# The trainer's plugins for JAX (2.2 on) and XGBoost (2.2 on): variables by which processes find each other. And that for plain jobs.
#
# Follows the plugins jax, xgboost and plainml, github.com/kubeflow/trainer pkg/runtime/framework/plugins, 2.0.0 to 2.3.0.


_RANK = {"fieldRef": {"fieldPath": COMPLETION_INDEX}}


def with_plain(sets: list[PodSet], job: JobOfTrainer) -> list[PodSet]:
    """The pod sets with the job's number of nodes and its variables."""
    sets = with_nodes_of(job, sets)
    return with_training_container(sets, lambda container: with_variables(container, job.trainer("env")))


def with_jax(sets: list[PodSet], job: JobOfTrainer) -> list[PodSet]:
    """The pod sets with the variables of JAX: one process a node, the first coordinates."""
    counted = with_nodes_of(job, sets)
    nodes = _count(counted)
    variables: list[dict[str, Any]] = [
        {"name": "JAX_NUM_PROCESSES", "value": nodes and nodes.with_value(str(nodes.value))},
        {"name": "JAX_PROCESS_ID", "valueFrom": _RANK},
        {"name": "JAX_COORDINATOR_ADDRESS", "value": job.named(f"{job.first_node}:{PORT}")},
    ]
    return _with_variables_of_torch(counted, job, variables)


def with_xgboost(sets: list[PodSet], job: JobOfTrainer) -> list[PodSet]:
    """The pod sets with the variables of XGBoost: a worker for each GPU, or one a node."""
    counted = with_nodes_of(job, sets)
    nodes = _count(counted)
    amount = gpus(resources_per_node(job, counted))
    workers = nodes and nodes.with_value(str(nodes.value * (whole(amount) if amount else 1)))
    variables: list[dict[str, Any]] = [
        {"name": "DMLC_TRACKER_URI", "value": job.named(job.first_node)},
        {"name": "DMLC_TRACKER_PORT", "value": str(PORT)},
        {"name": "DMLC_TASK_ID", "valueFrom": _RANK},
        {"name": "DMLC_NUM_WORKER", "value": workers},
    ]
    return _with_variables_of_torch(counted, job, variables)


def _count(sets: list[PodSet]) -> MarkedTree | None:
    training = first(sets, lambda each: each.trains)
    return training.count if training else None


def _with_variables_of_torch(sets: list[PodSet], job: JobOfTrainer, variables: list[dict[str, Any]]) -> list[PodSet]:
    """The container that trains with variables and the port; nothing where the job has no `trainer`."""
    if job.trainer() is None:
        return sets

    def container(tree: MarkedTree) -> MarkedTree:
        tree = with_items(tree, "env", [set_by(job.mark, each) for each in variables])
        return with_items(tree, "ports", [set_by(job.mark, {"containerPort": PORT})])

    return with_training_container(sets, container)


# The trainer's plugin for MPI: the keys by which the launcher reaches the nodes, and the list of the hosts.
#
# Follows the plugin mpi, github.com/kubeflow/trainer pkg/runtime/framework/plugins/mpi, 2.0.0 to 2.3.0.


_KEYS = "mpi-ssh-auth"
_HOSTS = "mpi-hostfile"
_FOLDER = "/etc/mpi"


def with_mpi(sets: list[PodSet], job: JobOfTrainer) -> list[PodSet]:
    """The pod sets with what MPI needs: the launcher counts as one of the nodes where the runtime says so."""
    slots = slots_per_node(job, sets)
    nodes = first(sets, lambda each: each.name == NODE)
    wanted = job.trainer("numNodes")
    if wanted and is_true(job.policy("mpi"), "runLauncherAsNode"):
        wanted = wanted.with_value(max(wanted.value - 1, 1))
    counted = [each.with_count(wanted) if each is nodes else each for each in sets]
    return [_with_mounts(each, job, slots) if each.name in (NODE, LAUNCHER) else each for each in counted]


def slots_per_node(job: JobOfTrainer, sets: list[PodSet]) -> MarkedTree:
    """The number of processes of a node; from 2.1 on a 1 of the runtime stands for the number of GPUs."""
    own = job.trainer("numProcPerNode")
    if own:
        return own.with_value(own.value if isinstance(own.value, int) else _number(own.value))
    slots = job.policy("mpi", "numProcPerNode") or MarkedTree(1, job.mark)
    amount = gpus(resources_per_node(job, sets)) if slots.value == 1 and job.is_at_least("2.1.0") else None
    return amount.with_value(max(1, whole(amount))) if amount else slots


def _number(words: str) -> int:
    """A text as Go reads it for a number: 0 where it is none."""
    return int(words) if words.lstrip("+-").isdecimal() and words.isascii() else 0


def _with_mounts(pod_set: PodSet, job: JobOfTrainer, slots: MarkedTree) -> PodSet:
    launches = pod_set.name == LAUNCHER
    name = text(job.name)
    volumes = [_keys_volume(name, job), *([_hosts_volume(name)] if launches else [])]

    def container(tree: MarkedTree) -> MarkedTree:
        path = job.policy("mpi", "sshAuthMountPath") or MarkedTree("/root/.ssh", job.mark)
        tree = with_items(tree, "volumeMounts", [set_by(job.mark, {"name": _KEYS, "mountPath": path})])
        if not launches:
            return tree
        tree = with_items(tree, "volumeMounts", [set_by(job.mark, {"name": _HOSTS, "mountPath": _FOLDER})])
        return with_items(tree, "env", [set_by(job.mark, each) for each in _variables(slots)])

    mounted = pod_set.with_pod(lambda pod: with_items(pod, "volumes", [set_by(job.mark, each) for each in volumes]))
    return mounted.with_container(NODE, container)


def _variables(slots: MarkedTree) -> list[dict[str, Any]]:
    return [
        {"name": "OMPI_MCA_orte_default_hostfile", "value": f"{_FOLDER}/hostfile"},
        {"name": "OMPI_MCA_orte_keep_fqdn_hostnames", "value": "true"},
        {"name": "OMPI_MCA_orte_set_default_slots", "value": slots.with_value(str(slots.value))},
        {"name": "OMPI_MCA_plm_rsh_args", "value": "-o ConnectionAttempts=10"},
    ]


def _keys_volume(name: str, job: JobOfTrainer) -> dict[str, Any]:
    """The keys' volume; from 2.3 on with a mode for each file."""
    files = (("ssh-privatekey", "id_rsa", 0o640), ("ssh-publickey", "id_rsa.pub", 0o644), ("ssh-publickey", "authorized_keys", 0o644))
    if job.is_at_least("2.3.0"):
        items = [{"key": key, "path": path, "mode": mode} for key, path, mode in files]
        return {"name": _KEYS, "secret": {"secretName": f"{name}-{_KEYS}", "defaultMode": 0o400, "items": items}}
    return {"name": _KEYS, "secret": {"secretName": f"{name}-{_KEYS}", "items": [{"key": key, "path": path} for key, path, _ in files]}}


def _hosts_volume(name: str) -> dict[str, Any]:
    items = [{"key": "hostfile", "path": "hostfile", "mode": 0o444}]
    return {"name": _HOSTS, "configMap": {"name": f"{name}-{_HOSTS}", "items": items}}


def secret(job: JobOfTrainer) -> dict[str, Any]:
    """The keys, which the trainer makes up."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"{text(job.name)}-{_KEYS}"},
        "type": "kubernetes.io/ssh-auth",
        "data": {"ssh-privatekey": RANDOM, "ssh-publickey": RANDOM},
        "immutable": True,
    }


def host_file(job: JobOfTrainer, sets: list[PodSet], spec: MarkedTree) -> dict[str, Any]:
    """The list of the hosts, for OpenMPI; *spec* is that of the JobSet."""
    slots = slots_per_node(job, sets)
    names = (NODE, LAUNCHER) if is_true(job.policy("mpi"), "runLauncherAsNode") else (NODE,)
    hosts = [host for each in sets if each.name in names for host in endpoints(each, job, spec)]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{text(job.name)}-{_HOSTS}"},
        "data": {"hostfile": slots.with_value("".join(f"{host} slots={slots.value}\n" for host in hosts))},
    }


# The trainer's plugin for Flux (2.2 on): a workload manager that is put beside the job's program and starts it.
#
# Follows the plugin flux, github.com/kubeflow/trainer pkg/runtime/framework/plugins/flux, 2.2.0 to 2.3.0. The scripts that the trainer puts
# into a ConfigMap are its own; here a remark stands for them.


_SETTINGS = "/etc/flux-config"
_VIEW = "FLUX_VIEW_IMAGE"
_IMAGE = "ghcr.io/converged-computing/flux-view-ubuntu:tag-jammy"
_REMARK = "# the script that comes with the trainer\n"


def with_flux(sets: list[PodSet], job: JobOfTrainer) -> list[PodSet]:
    """The pod sets with what Flux needs: the nodes get an init container that installs it, and volumes."""
    image = _image(sets, job)
    return [_installed(each, job, image) if each.name == NODE else each for each in sets]


def wrapped_command(sets: list[PodSet], job: JobOfTrainer) -> MarkedTree:
    """The command that starts Flux, which starts the job's; in 2.2 the runtime's own command is forgotten."""
    container = _training_container(sets)
    inherited = container.get("command") if container and job.is_at_least("2.3.0") else None
    own = job.trainer("command") or inherited
    words = [str(each.value) for each in (*items(own), *items(job.trainer("args")))]
    whole = set_by(job.mark, " ".join(words).strip())
    start = [set_by(job.mark, each) for each in ("/bin/bash", f"{_SETTINGS}/entrypoint.sh")]
    return MarkedTree([*start, own.with_value(whole.value) if own else whole], job.mark)


def _training_container(sets: list[PodSet]) -> MarkedTree | None:
    training = first(sets, lambda each: each.trains)
    return next((each for each in training.containers() if text(each, "name") == NODE), None) if training else None


def _image(sets: list[PodSet], job: JobOfTrainer) -> MarkedTree:
    """The image with Flux in it: that of a variable of the job, or of the runtime's container."""
    container = _training_container(sets)
    of_runtime = [value for each in items(container.get("env") if container else None) if (value := _value(each))]
    of_job = [_value(each) or each.with_value("") for each in items(job.trainer("env")) if text(each, "name") == _VIEW]
    return [set_by(job.mark, _IMAGE), *of_runtime, *of_job][-1]


def _value(variable: MarkedTree) -> MarkedTree | None:
    return variable.get("value") if text(variable, "name") == _VIEW else None


def _installed(pod_set: PodSet, job: JobOfTrainer, image: MarkedTree) -> PodSet:
    settings = f"{text(job.name)}-flux-entrypoint"
    installer = {
        "name": "flux-installer",
        "image": image,
        "command": ["/bin/bash", f"{_SETTINGS}/init.sh"],
        "volumeMounts": [{"name": "flux-install", "mountPath": "/mnt/flux"}, {"name": settings, "mountPath": _SETTINGS, "readOnly": True}],
    }

    def pod(spec: MarkedTree) -> MarkedTree:
        spec = with_items(spec, "volumes", [set_by(job.mark, each) for each in _volumes(job, settings)])
        before = spec.get("initContainers")
        added = (before or spec).with_value([*items(before), set_by(job.mark, installer)])
        return with_fields(spec, {"initContainers": added})

    mounts = [set_by(job.mark, each) for each in _mounts(job, settings)]
    return pod_set.with_pod(pod).with_container(NODE, lambda each: with_items(each, "volumeMounts", mounts))


def _volumes(job: JobOfTrainer, settings: str) -> list[dict[str, Any]]:
    memory: list[dict[str, Any]] = [{"name": "shared-memory", "emptyDir": {"medium": "Memory"}}]
    return [
        {"name": "spack-install", "emptyDir": {}},
        {"name": "flux-install", "emptyDir": {}},
        {"name": settings, "configMap": {"name": settings, "defaultMode": 0o755}},
        *(memory if job.is_at_least("2.3.0") else []),
        {"name": "flux-curve", "secret": {"secretName": f"{text(job.name)}-flux-curve", "defaultMode": 0o400}},
    ]


def _mounts(job: JobOfTrainer, settings: str) -> list[dict[str, Any]]:
    memory: list[dict[str, Any]] = [{"name": "shared-memory", "mountPath": "/dev/shm", "readOnly": True}]  # noqa: S108 (in a pod)
    return [
        {"name": "flux-install", "mountPath": "/mnt/flux"},
        {"name": "spack-install", "mountPath": "/opt/software"},
        {"name": settings, "mountPath": _SETTINGS, "readOnly": True},
        {"name": "flux-curve", "mountPath": "/curve", "readOnly": True},
        *(memory if job.is_at_least("2.3.0") else []),
    ]


def settings_and_keys(job: JobOfTrainer) -> list[dict[str, Any]]:
    """The ConfigMap with the scripts, and the Secret with the keys."""
    name = text(job.name)
    scripts = {"entrypoint.sh": _REMARK, "init.sh": _REMARK}
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"{name}-flux-entrypoint"}, "data": scripts},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"{name}-flux-curve"}, "data": {"curve.cert": RANDOM}},
    ]
