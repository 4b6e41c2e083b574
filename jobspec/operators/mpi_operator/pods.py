"""The workers of an MPIJob, and the pod template of its launcher: keys, hosts and variables go into the first container.

Follows `newWorker`, `newLauncherPodTemplate` and `setupSSHOnPod`, github.com/kubeflow/mpi-operator pkg/controller, 0.6.0 to 0.8.0.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, changed, is_true, items, set_by, with_appended, with_fields
from jobspec.operators.mpi_operator import HOSTS, HOSTS_FOLDER, KEYS, KEYS_FOLDER, LAUNCHER, SSHD, WORKER
from jobspec.operators.mpi_operator.gangs import in_gang
from jobspec.operators.mpi_operator.job import MPIJob, index_label, launcher_name, metadata, pod_labels, worker_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

KEY_FILES = (("ssh-privatekey", "id_rsa"), ("ssh-publickey", "id_rsa.pub"), ("ssh-publickey", "authorized_keys"))
"""The keys of the Secret, and the files that are made of them."""
HOST_FILES = {"hostfile": 0o444, "discover_hosts.sh": 0o555}
"""The files about the hosts, and their modes."""


# The workers.


def workers(job: MPIJob) -> Iterator[MarkedTree]:
    """The pods of the workers, in order; none for a job without `Worker`."""
    if not job.has_workers:
        return
    template = in_gang(job.template(WORKER), job)
    common = _placed(_worker_spec(template.value["spec"], job), job)
    shift = 1 if job.launcher_works and job.numbers_all else 0
    for index in job.indices():
        name = worker_name(job, index)
        labels = {**pod_labels(job, WORKER), **index_label(index + shift)}
        about = metadata(job, name, labels=_labelled(template, labels, job), annotations=_annotations(template))
        spec = with_fields(common, {"hostname": set_by(job.operator, name)})
        yield set_by(job.operator, {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": spec})


def _worker_spec(spec: MarkedTree, job: MPIJob) -> MarkedTree:
    """The spec that all workers share: sshd for a first container without a command line, and the domain of the job's hosts."""
    domain = set_by(job.operator, f"{job.name.value}.{job.namespace.value}.svc.cluster.local")
    spec = changed(spec, ("dnsConfig",), lambda each: with_appended(each, "searches", [domain], job.operator))

    def container(tree: MarkedTree) -> MarkedTree:
        starts_itself = items(tree.get("command")) or items(tree.get("args"))
        return tree if starts_itself else with_fields(tree, {"command": set_by(job.operator, list(SSHD))})

    return _with_keys(_with_variables(_first_container(spec, container), [("K_MPI_JOB_ROLE", "worker")], job), job)


# The launcher.


def launcher_template(job: MPIJob) -> MarkedTree:
    """The pod template of the launcher's Job."""
    template = in_gang(job.template(LAUNCHER), job)
    name = set_by(job.operator, launcher_name(job))
    spec = with_fields(_placed(template.value["spec"], job), {"hostname": name})
    spec = _with_hosts(_with_keys(_with_variables(spec, _launcher_variables(job), job), job), job)
    number = index_label(0) if job.launcher_works and job.numbers_all else {}
    about = {"labels": _labelled(template, {**pod_labels(job, LAUNCHER), **number}, job), "ownerReferences": job.owners}
    about |= {"annotations": notes} if (notes := _annotations(template)) else {}
    return set_by(job.operator, {"metadata": about, "spec": spec})


_HOST_FILE = f"{HOSTS_FOLDER}/hostfile"
_ATTEMPTS = "-o ConnectionAttempts=10"


def _launcher_variables(job: MPIJob) -> list[tuple[str, Any]]:
    """Name and value of each variable of the launcher, in the operator's order; the last ones hide the GPUs of one that only launches."""
    slots = job.slots.with_value(str(job.slots.value))
    of_implementation: dict[str, list[tuple[str, Any]]] = {
        "OpenMPI": [
            ("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
            ("OMPI_MCA_orte_default_hostfile", _HOST_FILE),
            ("OMPI_MCA_plm_rsh_args", _ATTEMPTS),
            ("OMPI_MCA_orte_set_default_slots", slots),
        ],
        "Intel": [
            ("I_MPI_HYDRA_HOST_FILE", _HOST_FILE),
            ("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", _ATTEMPTS),
            ("I_MPI_PERHOST", slots),
        ],
        "MPICH": [("HYDRA_HOST_FILE", _HOST_FILE), ("HYDRA_LAUNCH_EXTRA_ARGS", _ATTEMPTS)],
    }
    hidden = [] if job.launcher_works else [("NVIDIA_VISIBLE_DEVICES", None), ("NVIDIA_DRIVER_CAPABILITIES", None)]
    return [("K_MPI_JOB_ROLE", "launcher"), *of_implementation[job.implementation], *hidden]


def _with_hosts(spec: MarkedTree, job: MPIJob) -> MarkedTree:
    """A pod spec with the files about the hosts in its first container."""
    files = [{"key": name, "path": name, "mode": mode} for name, mode in HOST_FILES.items()]
    volume = {"name": HOSTS, "configMap": {"name": f"{job.name.value}-config", "items": files}}
    return _with_volume(spec, volume, HOSTS_FOLDER, job)


# What the pods of both replica types get.


def _placed(spec: MarkedTree, job: MPIJob) -> MarkedTree:
    """A pod spec below the Service of the job; one in the network of its node asks the cluster's DNS."""
    dns = {"dnsPolicy": set_by(job.operator, "ClusterFirstWithHostNet")} if is_true(spec, "hostNetwork") else {}
    return with_fields(spec, {"subdomain": job.name, **dns})


def _labelled(template: MarkedTree, labels: dict[str, Any], job: MPIJob) -> MarkedTree:
    """The labels of a template, and the operator's in their place."""
    added, own = set_by(job.operator, labels), template.get("metadata", "labels")
    return with_fields(own, added.value) if own else added


def _annotations(template: MarkedTree) -> MarkedTree | None:
    """The annotations of a template; None without any."""
    found = template.get("metadata", "annotations")
    return found if found and found.value else None


def _with_variables(spec: MarkedTree, variables: Sequence[tuple[str, Any]], job: MPIJob) -> MarkedTree:
    """A pod spec with variables behind those of its first container; one that is given as None has no value."""
    added = [{"name": name, **({} if value is None else {"value": value})} for name, value in variables]
    return _first_container(spec, lambda each: with_appended(each, "env", items(set_by(job.operator, added)), job.operator))


def _with_keys(spec: MarkedTree, job: MPIJob) -> MarkedTree:
    """A pod spec with the keys for SSH in its first container; the mode is that for root alone."""
    files = [{"key": key, "path": path} for key, path in KEY_FILES]
    mode = {"defaultMode": 0o600} if job.keys_folder.value == KEYS_FOLDER else {}
    volume = {"name": KEYS, "secret": {"secretName": f"{job.name.value}-ssh", **mode, "items": files}}
    return _with_volume(spec, volume, job.keys_folder, job)


def _with_volume(spec: MarkedTree, volume: dict[str, Any], folder: str | MarkedTree, job: MPIJob) -> MarkedTree:
    spec = with_appended(spec, "volumes", [set_by(job.operator, volume)], job.operator)
    mount = set_by(job.operator, {"name": volume["name"], "mountPath": folder})
    return _first_container(spec, lambda each: with_appended(each, "volumeMounts", [mount], job.operator))


def _first_container(spec: MarkedTree, change: Callable[[MarkedTree], MarkedTree]) -> MarkedTree:
    """A pod spec whose first container is changed."""
    containers = spec.value["containers"]
    first, *others = containers.value
    return spec.with_value({**spec.value, "containers": containers.with_value([change(first), *others])})
