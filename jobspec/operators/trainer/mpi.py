"""The trainer's plugin for MPI: the keys by which the launcher reaches the nodes, and the list of the hosts.

Follows the plugin mpi, github.com/kubeflow/trainer pkg/runtime/framework/plugins/mpi, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, is_true, items, set_by, text
from jobspec.go.values import integer
from jobspec.operators.made import RANDOM, with_items
from jobspec.operators.trainer.node_resources import gpus, resources_per_node
from jobspec.operators.trainer.plugin_variables import as_string, named_variables
from jobspec.operators.trainer.pod_sets import LAUNCHER, TrainerPodSet, endpoints, first
from jobspec.operators.trainer.runtimes import hides_keys
from jobspec.operators.trainer.train_job import JobOfTrainer, core_object
from jobspec.operators.workloads import NODE
from jobspec.programs.command_lines import OPEN_MPI

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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
        settings = (f"{_FOLDER}/hostfile", "true", as_string(slots), "-o ConnectionAttempts=10")
        return with_items(tree, "env", named_variables(job, OPEN_MPI, settings)) if launches else tree

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
