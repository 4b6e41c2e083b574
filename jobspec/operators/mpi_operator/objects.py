"""All that mpi-operator makes of an MPIJob, in its order.

That are a Service, a ConfigMap, a Secret, a PodGroup, the workers, the launcher's Job and its pod.

Follows `syncHandler`, `newJobService`, `newConfigMap`, `updateDiscoverHostsInConfigMap`, `newSSHAuthSecret` and `newLauncherJob`,
github.com/kubeflow/mpi-operator pkg/controller, 0.6.0 to 0.8.0, without a domain of the cluster, as the operator
starts by default. It updates `discover_hosts.sh` with the workers that run; here all of them do.
"""

from __future__ import annotations

from jobspec.diagnostics.places import value_at
from jobspec.documents.marked_tree import MarkedTree, set_by
from jobspec.operators.batch import job_defaults, pods_of
from jobspec.operators.made import RANDOM, Expansion, api_server
from jobspec.operators.mpi_operator import CONTROLLER, LIMITS, POLICY
from jobspec.operators.mpi_operator.job import MPIJob, launcher_name, metadata, selecting_labels, worker_name
from jobspec.operators.mpi_operator.pods import launcher_template, workers
from jobspec.operators.mpi_operator.validation import refusals
from jobspec.operators.workloads import suspension

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from jobspec.apis.releases import Target
    from jobspec.diagnostics.diagnostic import Diagnostic
    from jobspec.documents.document import Document


def expand_mpijob(
    document: Document, target: Target, *, context: Sequence[Document] = (), gang_scheduler: str = "", first_and_last_only: bool = False
) -> Expansion:
    """Return the objects of an accepted MPIJob.

    *gang_scheduler*, *first_and_last_only*: as for `expand`. *context*: has priority classes.

    If the job is suspended, it has no workers, and its launcher's Job is suspended, too. Raises JobspecError for too many workers.
    """
    nothing = _managed_elsewhere(document) or refusals(document, target)
    if nothing:
        return Expansion((), nothing)
    job = MPIJob(document, target, gang_scheduler=gang_scheduler, first_and_last_only=first_and_last_only)
    objects = [service(job), config_map(job), secret(job)]
    if gang_scheduler and not job.suspended:
        from jobspec.operators.mpi_operator.gangs import pod_group

        objects.append(pod_group(job, context, target))
    if not job.suspended:
        objects += workers(job)
    launcher = launcher_job(job)
    pods = pods_of(job_defaults(launcher, api_server(target)), target)
    counts = {} if job.suspended else {"launcher": 1, **({"worker": job.workers} if job.has_workers else {})}
    return Expansion([*objects, launcher, *pods], suspension(document), counts)


def _managed_elsewhere(document: Document) -> list[Diagnostic]:
    """The finding that another controller manages the job, for which mpi-operator then creates nothing."""
    path = (*POLICY, "managedBy")
    manager = value_at(document.data, path)
    if manager in (None, CONTROLLER):
        return []
    message = f"`{manager}` manages the job: mpi-operator creates nothing for it here"
    return [document.problem("no-pods-created", message, path, severity="info")]


def service(job: MPIJob) -> MarkedTree:
    """The headless Service by which the pods find each other; a launcher that works is found before it is ready."""
    early = {"publishNotReadyAddresses": True} if job.launcher_works and job.numbers_all else {}
    return _object(job, "v1", "Service", job.name, spec={"clusterIP": "None", "selector": selecting_labels(job), **early})


def config_map(job: MPIJob) -> MarkedTree:
    """The ConfigMap with the list of the hosts, and with a script that prints those that run."""
    pattern = "{} slots={}\n" if job.implementation == "OpenMPI" else "{}:{}\n"
    hosts = list(_hosts(job))
    lines = job.slots.with_value("".join(pattern.format(host, job.slots.value) for host in hosts))
    launcher, own = hosts[: job.launcher_works], hosts[job.launcher_works :]
    script = "#!/bin/sh\n" + "".join(f"echo {host}\n" for host in [*launcher, *([] if job.suspended else sorted(own))])
    return _object(job, "v1", "ConfigMap", f"{job.name.value}-config", data={"hostfile": lines, "discover_hosts.sh": script})


def _hosts(job: MPIJob) -> Iterator[str]:
    """The hosts that mpirun may start processes on, each below the Service of the job."""
    names = [worker_name(job, index) for index in job.indices()] if job.has_workers else []
    for name in [*([launcher_name(job)] if job.launcher_works else []), *names]:
        yield f"{name}.{job.name.value}.{job.namespace.value}.svc"


def secret(job: MPIJob) -> MarkedTree:
    """The Secret with the keys, which the operator makes up."""
    keys = {"ssh-privatekey": RANDOM, "ssh-publickey": RANDOM}
    return _object(job, "v1", "Secret", f"{job.name.value}-ssh", type="kubernetes.io/ssh-auth", data=keys)


def launcher_job(job: MPIJob) -> MarkedTree:
    """The Job of the launcher, which has the limits of the MPIJob."""
    spec: dict[str, Any] = {name: each for name in LIMITS if (each := job.run_policy.get(name))}
    spec |= {"template": launcher_template(job)}
    spec |= {"suspend": job.run_policy.value["suspend"]} if job.suspended else {}
    return _object(job, "batch/v1", "Job", launcher_name(job), spec=spec)


def _object(job: MPIJob, api_version: str, kind: str, name: Any, **fields: Any) -> MarkedTree:
    """An object beside the workers."""
    about = metadata(job, name, labels={"app": job.name})
    return set_by(job.operator, {"apiVersion": api_version, "kind": kind, "metadata": about, **fields})
