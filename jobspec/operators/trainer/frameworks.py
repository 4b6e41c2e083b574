"""The trainer's plugins for training frameworks: which ones change a job's pods by its `mlPolicy`, and what they set.

Follows `NewRegistry` and `RunEnforceMLPolicyPlugins`, github.com/kubeflow/trainer pkg/runtime/framework, 2.0.0 to 2.3.0. The plugins run
in no fixed order; a runtime has one policy, and what the plugin for plain jobs sets beside that of XGBoost is set anyway.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, is_true, items, set_by, text, with_appended
from jobspec.go.values import integer
from jobspec.operators.made import RANDOM, with_items, with_variables
from jobspec.operators.trainer.node_resources import gpus, processes_per_node, resources_per_node
from jobspec.operators.trainer.pod_sets import LAUNCHER, TrainerPodSet, endpoints, first, with_nodes_of, with_training_container
from jobspec.operators.trainer.runtimes import hides_keys
from jobspec.operators.trainer.torchtune import MANAGED, is_lora, is_qlora, model_of
from jobspec.operators.trainer.train_job import PORT, JobOfTrainer, core_object
from jobspec.operators.workloads import JOB_INDEX, NODE
from jobspec.programs.command_lines import JAX, MASTER_ADDR, MASTER_PORT, OPEN_MPI, TORCH, XGBOOST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Plugin = Callable[[list[TrainerPodSet], JobOfTrainer], list[TrainerPodSet]]


def is_active(job: JobOfTrainer, name: str) -> bool:
    """Whether a runtime has a policy, and the trainer a plugin for it."""
    return job.policy(name) is not None and job.is_at_least(_PLUGINS[name][0])


def enforced(sets: list[TrainerPodSet], job: JobOfTrainer) -> list[TrainerPodSet]:
    """The pod sets with what the plugins of the runtime's policies make of them."""
    active = [plugin for name, plugin in _PLUGINS.items() if is_active(job, name)]
    for _, change, _ in active:
        sets = change(sets, job)
    return sets if any(instead for _, _, instead in active) else with_plain(sets, job)


# The trainer's plugin for PyTorch: how many nodes and processes there are, and the variables that pass both to `torchrun`.
#
# Follows `EnforceMLPolicy` of the plugin torch, github.com/kubeflow/trainer pkg/runtime/framework/plugins/torch, 2.0.0 to 2.3.0.


COMPLETION_INDEX = f"metadata.annotations['{JOB_INDEX}']"
"""Where a pod of an indexed Job finds its number."""
_RANK = {"fieldRef": {"fieldPath": COMPLETION_INDEX}}


def with_torch(sets: list[TrainerPodSet], job: JobOfTrainer) -> list[TrainerPodSet]:
    """The pod sets with what PyTorch needs; torchtune gets the address from its command."""
    sets = with_nodes_of(job, sets)
    nodes, processes = _count(sets) or MarkedTree(1, job.mark), processes_per_node(job, sets)
    values = (_as_string(nodes), _as_string(processes), _RANK, job.named(job.first_node), str(PORT))
    variables = _variables(job, TORCH, values)
    own = [each for each in variables if text(each, "name") not in (MASTER_ADDR, MASTER_PORT)] if job.is_torchtune else variables
    with_jobs = with_training_container(sets, lambda container: with_variables(container, job.trainer("env"))) if job.trainer() else sets
    return _with_injection(_with_variables(with_jobs, job, own), job, variables)


def _variables(job: JobOfTrainer, names: Sequence[str], values: Sequence[Any]) -> list[MarkedTree]:
    """The variables of these names and values, of which a mapping is what the value is taken from."""
    pairs = zip(names, values, strict=True)
    return [set_by(job.mark, {"name": name, "valueFrom" if isinstance(value, dict) else "value": value}) for name, value in pairs]


def _as_string(number: MarkedTree) -> MarkedTree:
    """A number as the value of a variable."""
    return number.with_value(str(number.value))


def _with_injection(sets: list[TrainerPodSet], job: JobOfTrainer, variables: list[MarkedTree]) -> list[TrainerPodSet]:
    """From 2.3 on: the same variables for the further containers that the runtime's policy names."""
    targets = [
        (text(target, "jobName"), name.value)
        for target in items(job.policy("torch", "envInjection", "targets"))
        for name in items(target.get("containerNames"))
    ]

    def injected(pod_set: TrainerPodSet) -> TrainerPodSet:
        for name in (name for target, name in targets if target == pod_set.name):
            found = any(text(each, "name") == name for each in pod_set.containers())
            among = "containers" if found else "initContainers"
            pod_set = pod_set.with_container(name, lambda tree: with_items(tree, "env", variables), among=among)
        return pod_set

    return [injected(each) for each in sets] if job.is_at_least("2.3.0") else sets


# The command that the trainer's plugin for PyTorch writes for a TrainJob that fine-tunes with torchtune.
#
# Follows `EnforceMLPolicy`, `getRecipeAndConfig` and `extractOverridesFromRuntime` of the plugin torch, github.com/kubeflow/trainer
# pkg/runtime/framework/plugins/torch, 2.0.0 to 2.3.0.


def command_of_torchtune(job: JobOfTrainer, sets: list[TrainerPodSet]) -> MarkedTree | None:
    """The command of a job that fine-tunes with torchtune, with what the trainer adds where the runtime is for PyTorch."""
    command = job.trainer("command")
    nodes = _count(sets)
    if command is None or nodes is None or _training_container(sets) is None or job.policy("torch") is None:
        return command
    amount = gpus(resources_per_node(job, sets))
    counts = (nodes.value, processes_per_node(job, sets).value, amount.value if amount else 0)
    recipe, suffix = _recipe(job, *counts)
    added = [f"--rdzv_endpoint={job.first_node}:{PORT}"] if _has_rendezvous(job, *counts) else []
    added += [recipe, "--config", f"{model_of(text(job.tree, 'spec', 'runtimeRef', 'name'))}{suffix}"]
    return command.with_value([*items(command), *(set_by(job.mark, each) for each in added), *_folders(job, sets)])


def _has_rendezvous(job: JobOfTrainer, nodes: int, processes: int | str, devices: int) -> bool:
    """Whether several processes have to find each other; *processes* of a node are a number or `auto`, *devices* its GPUs."""
    if not job.is_at_least("2.1.0"):
        return nodes > 1 or processes != 1
    return nodes > 1 or (processes > 1 if isinstance(processes, int) else devices > 1)


def _recipe(job: JobOfTrainer, nodes: int, processes: int | str, devices: int) -> tuple[str, str]:
    """The recipe, and the end of its configuration's name."""
    full = ("full_finetune_distributed", "_full_multinode" if nodes > 1 else "_full")
    if not job.is_at_least("2.1.0"):
        return ("full_finetune_single_device", "_full_single_device") if nodes == 1 and processes == 1 else full
    kind = _kind(job)
    if nodes == 1 and (processes == 1 or devices == 1):
        return f"{'full' if kind == 'full' else 'lora'}_finetune_single_device", f"_{kind}_single_device"
    return ("lora_finetune_distributed", f"_{kind}") if nodes == 1 and kind != "full" else full


def _kind(job: JobOfTrainer) -> str:
    """How the arguments ask for the model to be tuned: `qlora`, `lora` or `full`."""
    arguments = [str(each.value) for each in items(job.trainer("args"))]
    return "qlora" if is_qlora(arguments, job.release) else "lora" if is_lora(arguments) else "full"


def _folders(job: JobOfTrainer, sets: list[TrainerPodSet]) -> list[MarkedTree]:
    """The words of the runtime's own command that are settings of folders."""
    managed = MANAGED if job.is_at_least("2.1.0") else MANAGED[:-1]
    nodes = [each for pods in sets if pods.trains for each in pods.containers() if text(each, "name") == NODE]
    return [word for node in nodes for word in items(node.get("command")) if str(word.value).partition("=")[0] in managed]


# The trainer's plugins for JAX (2.2 on) and XGBoost (2.2 on): variables by which processes find each other. And that for plain jobs.
#
# Follows the plugins jax, xgboost and plainml, github.com/kubeflow/trainer pkg/runtime/framework/plugins, 2.0.0 to 2.3.0.


def with_plain(sets: list[TrainerPodSet], job: JobOfTrainer) -> list[TrainerPodSet]:
    """The pod sets with the job's number of nodes and its variables."""
    return with_training_container(with_nodes_of(job, sets), lambda container: with_variables(container, job.trainer("env")))


def with_jax(sets: list[TrainerPodSet], job: JobOfTrainer) -> list[TrainerPodSet]:
    """The pod sets with the variables of JAX: one process a node, the first coordinates."""
    counted = with_nodes_of(job, sets)
    nodes = _count(counted)
    values = (nodes and _as_string(nodes), _RANK, job.named(f"{job.first_node}:{PORT}"))
    return _with_variables(counted, job, _variables(job, JAX, values))


def with_xgboost(sets: list[TrainerPodSet], job: JobOfTrainer) -> list[TrainerPodSet]:
    """The pod sets with the variables of XGBoost: a worker for each GPU, or one a node."""
    counted = with_nodes_of(job, sets)
    nodes = _count(counted)
    amount = gpus(resources_per_node(job, counted))
    workers = nodes and nodes.with_value(str(nodes.value * max(1, amount.value if amount else 1)))
    return _with_variables(counted, job, _variables(job, XGBOOST, (job.named(job.first_node), str(PORT), _RANK, workers)))


def _count(sets: list[TrainerPodSet]) -> MarkedTree | None:
    training = first(sets, lambda each: each.trains)
    return training.count if training else None


def _with_variables(sets: list[TrainerPodSet], job: JobOfTrainer, variables: list[MarkedTree]) -> list[TrainerPodSet]:
    """The container that trains with variables and the port; nothing where the job has no `trainer`."""
    if job.trainer() is None:
        return sets

    def container(tree: MarkedTree) -> MarkedTree:
        return with_items(with_items(tree, "env", variables), "ports", [set_by(job.mark, {"containerPort": PORT})])

    return with_training_container(sets, container)


# The trainer's plugin for MPI: the keys by which the launcher reaches the nodes, and the list of the hosts.
#
# Follows the plugin mpi, github.com/kubeflow/trainer pkg/runtime/framework/plugins/mpi, 2.0.0 to 2.3.0.


_KEYS = "mpi-ssh-auth"
_HOSTS = "mpi-hostfile"
_FOLDER = "/etc/mpi"


def with_mpi(sets: list[TrainerPodSet], job: JobOfTrainer) -> list[TrainerPodSet]:
    """The pod sets with what MPI needs: the launcher counts as one of the nodes where the runtime says so."""
    slots = slots_per_node(job, sets)
    nodes = first(sets, lambda each: each.name == NODE)
    wanted = job.trainer("numNodes")
    if wanted and is_true(job.policy("mpi"), "runLauncherAsNode"):
        wanted = wanted.with_value(max(wanted.value - 1, 1))
    counted = [each.with_count(wanted) if each is nodes else each for each in sets]
    return [_with_mounts(each, job, slots) if each.name in (NODE, LAUNCHER) else each for each in counted]


def slots_per_node(job: JobOfTrainer, sets: list[TrainerPodSet]) -> MarkedTree:
    """The number of processes of a node; from 2.1 on a 1 of the runtime stands for the number of GPUs."""
    own = job.trainer("numProcPerNode")
    if own:
        return own.with_value(own.value if isinstance(own.value, int) else integer(own.value) or 0)
    slots = job.policy("mpi", "numProcPerNode") or MarkedTree(1, job.mark)
    amount = gpus(resources_per_node(job, sets)) if slots.value == 1 and job.is_at_least("2.1.0") else None
    return amount.with_value(max(1, amount.value)) if amount else slots


def _with_mounts(pod_set: TrainerPodSet, job: JobOfTrainer, slots: MarkedTree) -> TrainerPodSet:
    """The nodes with the keys, and the launcher with the list of hosts and the variables of OpenMPI, too."""
    launches, name = pod_set.name == LAUNCHER, text(job.name)
    hosts = {"name": f"{name}-{_HOSTS}", "items": [{"key": "hostfile", "path": "hostfile", "mode": 0o444}]}
    volumes = [_keys_volume(name, job), *([{"name": _HOSTS, "configMap": hosts}] if launches else [])]
    mounts = [{"name": _KEYS, "mountPath": job.policy("mpi", "sshAuthMountPath") or MarkedTree("/root/.ssh", job.mark)}]
    mounts += [{"name": _HOSTS, "mountPath": _FOLDER}] if launches else []

    def container(tree: MarkedTree) -> MarkedTree:
        tree = with_items(tree, "volumeMounts", items(set_by(job.mark, mounts)))
        settings = (f"{_FOLDER}/hostfile", "true", _as_string(slots), "-o ConnectionAttempts=10")
        return with_items(tree, "env", _variables(job, OPEN_MPI, settings)) if launches else tree

    return pod_set.with_pod(lambda pod: with_items(pod, "volumes", items(set_by(job.mark, volumes)))).with_container(NODE, container)


def _keys_volume(name: str, job: JobOfTrainer) -> dict[str, Any]:
    """The keys' volume; from 2.3 on with a mode for each file."""
    files = (("ssh-privatekey", "id_rsa", 0o640), ("ssh-publickey", "id_rsa.pub", 0o644), ("ssh-publickey", "authorized_keys", 0o644))
    has_modes = hides_keys(job.release)
    items = [{"key": key, "path": path, **({"mode": mode} if has_modes else {})} for key, path, mode in files]
    return {"name": _KEYS, "secret": {"secretName": f"{name}-{_KEYS}", **({"defaultMode": 0o400} if has_modes else {}), "items": items}}


def secret(job: JobOfTrainer) -> dict[str, Any]:
    """The keys, which the trainer makes up."""
    keys = {"ssh-privatekey": RANDOM, "ssh-publickey": RANDOM}
    return core_object("Secret", f"{text(job.name)}-{_KEYS}", type="kubernetes.io/ssh-auth", data=keys, immutable=True)


def host_file(job: JobOfTrainer, sets: list[TrainerPodSet], spec: MarkedTree) -> dict[str, Any]:
    """The list of the hosts, for OpenMPI; *spec* is that of the JobSet."""
    slots = slots_per_node(job, sets)
    names = (NODE, LAUNCHER) if is_true(job.policy("mpi"), "runLauncherAsNode") else (NODE,)
    hosts = [host for each in sets if each.name in names for host in endpoints(each, job, spec)]
    lines = slots.with_value("".join(f"{host} slots={slots.value}\n" for host in hosts))
    return core_object("ConfigMap", f"{text(job.name)}-{_HOSTS}", data={"hostfile": lines})


# The trainer's plugin for Flux (2.2 on): a workload manager that is put beside the job's program and starts it.
#
# Follows the plugin flux, github.com/kubeflow/trainer pkg/runtime/framework/plugins/flux, 2.2.0 to 2.3.0. The scripts that the trainer puts
# into a ConfigMap are its own; here a remark stands for them.


_SETTINGS = "/etc/flux-config"
_VIEW = "FLUX_VIEW_IMAGE"
_IMAGE = "ghcr.io/converged-computing/flux-view-ubuntu:tag-jammy"
_REMARK = "# the script that comes with the trainer\n"


def with_flux(sets: list[TrainerPodSet], job: JobOfTrainer) -> list[TrainerPodSet]:
    """The pod sets with what Flux needs: the nodes get an init container that installs it, and volumes."""
    image = _image(sets, job)
    return [_installed(each, job, image) if each.name == NODE else each for each in sets]


def wrapped_command(sets: list[TrainerPodSet], job: JobOfTrainer) -> MarkedTree:
    """The command that starts Flux, which starts the job's; in 2.2 the runtime's own command is forgotten."""
    container = _training_container(sets)
    inherited = container.get("command") if container and job.is_at_least("2.3.0") else None
    own = job.trainer("command") or inherited
    words = [str(each.value) for each in (*items(own), *items(job.trainer("args")))]
    whole = set_by(job.mark, " ".join(words).strip())
    start = [set_by(job.mark, each) for each in ("/bin/bash", f"{_SETTINGS}/entrypoint.sh")]
    return MarkedTree([*start, own.with_value(whole.value) if own else whole], job.mark)


def _training_container(sets: list[TrainerPodSet]) -> MarkedTree | None:
    training = first(sets, lambda each: each.trains)
    return next((each for each in training.containers() if text(each, "name") == NODE), None) if training else None


def _image(sets: list[TrainerPodSet], job: JobOfTrainer) -> MarkedTree:
    """The image with Flux in it: that of a variable of the job, or of the runtime's container."""
    container = _training_container(sets)
    of_runtime = [value for each in items(container.get("env") if container else None) if (value := _value_of_view(each))]
    of_job = [_value_of_view(each) or each.with_value("") for each in items(job.trainer("env")) if text(each, "name") == _VIEW]
    return [set_by(job.mark, _IMAGE), *of_runtime, *of_job][-1]


def _value_of_view(variable: MarkedTree) -> MarkedTree | None:
    return variable.get("value") if text(variable, "name") == _VIEW else None


def _installed(pod_set: TrainerPodSet, job: JobOfTrainer, image: MarkedTree) -> TrainerPodSet:
    """A pod set with the init container that installs Flux, and with the mounts that the job then needs."""
    settings = f"{text(job.name)}-flux-entrypoint"
    installer = {
        "name": "flux-installer",
        "image": image,
        "command": ["/bin/bash", f"{_SETTINGS}/init.sh"],
        "volumeMounts": [{"name": "flux-install", "mountPath": "/mnt/flux"}, {"name": settings, "mountPath": _SETTINGS, "readOnly": True}],
    }

    def pod(spec: MarkedTree) -> MarkedTree:
        spec = with_items(spec, "volumes", items(set_by(job.mark, _volumes(job, settings))))
        return with_appended(spec, "initContainers", [set_by(job.mark, installer)])

    mounts = items(set_by(job.mark, _mounts(job, settings)))
    return pod_set.with_pod(pod).with_container(NODE, lambda each: with_items(each, "volumeMounts", mounts))


def _volumes(job: JobOfTrainer, settings: str) -> list[dict[str, Any]]:
    return [
        {"name": "spack-install", "emptyDir": {}},
        {"name": "flux-install", "emptyDir": {}},
        {"name": settings, "configMap": {"name": settings, "defaultMode": 0o755}},
        *([{"name": "shared-memory", "emptyDir": {"medium": "Memory"}}] if job.is_at_least("2.3.0") else []),
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
    scripts = core_object("ConfigMap", f"{text(job.name)}-flux-entrypoint", data={"entrypoint.sh": _REMARK, "init.sh": _REMARK})
    return [scripts, core_object("Secret", f"{text(job.name)}-flux-curve", data={"curve.cert": RANDOM})]


#: The field of `mlPolicy` -> the first release with a plugin for it, the plugin, and whether that for plain jobs leaves such jobs alone.
_PLUGINS: dict[str, tuple[str, Plugin, bool]] = {
    "torch": ("2.0.0", with_torch, True),
    "mpi": ("2.0.0", with_mpi, True),
    "jax": ("2.2.0", with_jax, True),
    "xgboost": ("2.2.0", with_xgboost, False),
    "flux": ("2.2.0", with_flux, False),
}
