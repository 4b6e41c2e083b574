"""The trainer's plugin for MPI: the keys by which the launcher reaches the nodes, and the list of the hosts.

Follows the plugin mpi, github.com/kubeflow/trainer pkg/runtime/framework/plugins/mpi, 2.0.0 to 2.3.0.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, text
from jobspec.operators.edits import is_true, with_items
from jobspec.operators.objects import set_by
from jobspec.operators.stored import RANDOM
from jobspec.operators.trainer.pod_sets import LAUNCHER, NODE, endpoints, first
from jobspec.operators.trainer.resources import gpus, resources_per_node, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.operators.trainer.pod_sets import PodSet
    from jobspec.operators.trainer.train_job import TrainJob

_KEYS = "mpi-ssh-auth"
_HOSTS = "mpi-hostfile"
_FOLDER = "/etc/mpi"


def with_mpi(sets: list[PodSet], job: TrainJob) -> list[PodSet]:
    """The pod sets with what MPI needs: the launcher counts as one of the nodes where the runtime says so."""
    slots = slots_per_node(job, sets)
    nodes = first(sets, lambda each: each.name == NODE)
    wanted = job.trainer("numNodes")
    if wanted and is_true(job.policy("mpi"), "runLauncherAsNode"):
        wanted = wanted.with_value(max(wanted.value - 1, 1))
    counted = [each.with_count(wanted) if each is nodes else each for each in sets]
    return [_with_mounts(each, job, slots) if each.name in (NODE, LAUNCHER) else each for each in counted]


def slots_per_node(job: TrainJob, sets: list[PodSet]) -> MarkedTree:
    """The number of processes of a node; from 2.1 on a 1 of the runtime stands for the number of GPUs."""
    own = job.trainer("numProcPerNode")
    if own:
        return own.with_value(own.value if isinstance(own.value, int) else _number(own.value))
    slots = job.policy("mpi", "numProcPerNode") or MarkedTree(1, job.mark)
    amount = gpus(resources_per_node(job, sets)) if slots.value == 1 and job.reached("2.1.0") else None
    return amount.with_value(max(1, whole(amount))) if amount else slots


def _number(words: str) -> int:
    """A text as Go reads it for a number: 0 where it is none."""
    return int(words) if words.lstrip("+-").isdecimal() and words.isascii() else 0


def _with_mounts(pod_set: PodSet, job: TrainJob, slots: MarkedTree) -> PodSet:
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


def _keys_volume(name: str, job: TrainJob) -> dict[str, Any]:
    """The keys' volume; from 2.3 on with a mode for each file."""
    files = (("ssh-privatekey", "id_rsa", 0o640), ("ssh-publickey", "id_rsa.pub", 0o644), ("ssh-publickey", "authorized_keys", 0o644))
    if job.reached("2.3.0"):
        items = [{"key": key, "path": path, "mode": mode} for key, path, mode in files]
        return {"name": _KEYS, "secret": {"secretName": f"{name}-{_KEYS}", "defaultMode": 0o400, "items": items}}
    return {"name": _KEYS, "secret": {"secretName": f"{name}-{_KEYS}", "items": [{"key": key, "path": path} for key, path, _ in files]}}


def _hosts_volume(name: str) -> dict[str, Any]:
    items = [{"key": "hostfile", "path": "hostfile", "mode": 0o444}]
    return {"name": _HOSTS, "configMap": {"name": f"{name}-{_HOSTS}", "items": items}}


def secret(job: TrainJob) -> dict[str, Any]:
    """The keys, which the trainer makes up."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"{text(job.name)}-{_KEYS}"},
        "type": "kubernetes.io/ssh-auth",
        "data": {"ssh-privatekey": RANDOM, "ssh-publickey": RANDOM},
        "immutable": True,
    }


def host_file(job: TrainJob, sets: list[PodSet], spec: MarkedTree) -> dict[str, Any]:
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
