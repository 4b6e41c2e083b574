"""Why mpi-operator creates nothing for an MPIJob that the API server accepts: an event says it, and no condition of the job.

Follows `ValidateMPIJob`, github.com/kubeflow/mpi-operator pkg/apis/kubeflow/validation, 0.6.0 to 0.8.0.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Key, Path
from jobspec.diagnostics.problems import set_to
from jobspec.diagnostics.rules import Finding
from jobspec.kubernetes.metadata import bad_dns1035_label
from jobspec.operators.made import stored
from jobspec.operators.mpi_operator import LAUNCHER, LIMITS, POLICY, REPLICAS, WORKER
from jobspec.operators.webhooks import name_of, unlistable
from jobspec.operators.workloads import Workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.apis.releases import Target
    from jobspec.diagnostics.diagnostic import Diagnostic
    from jobspec.documents.document import Document

RESTART_POLICIES = ("Never", "OnFailure")
CLEAN_POLICIES = ("None", "Running", "All")


def refusals(document: Document, target: Target) -> list[Diagnostic]:
    """Why the operator refuses an accepted job; none for a job that it runs.

    A job that it cannot decode keeps it from listing MPIJobs, in all namespaces.
    """
    workload = Workload(document)
    found = unlistable(document, target) or [*_bad_name(workload), *_refused(stored(document, target).data().get("spec") or {})]
    return [document.diagnostic(Finding(each.at, each.message, each.hint, changes=each.changes), "refused-by-operator") for each in found]


def _bad_name(workload: Workload) -> Iterator[Finding]:
    """The host name of the last worker is a DNS label of RFC 1035: letters, digits and `-`, a letter first, 63 characters at most."""
    name, key = name_of(workload)
    workers = next((each.data.get("replicas") for each in workload.roles if each.name == WORKER), None) or 1
    last = f"{name}-worker-{max(workers, 1) - 1}"
    if why := bad_dns1035_label(last):
        yield Finding(("metadata", key), f"mpi-operator ignores the job: `{last}` cannot be a host name: {why}")


def _refused(spec: dict[str, Any]) -> Iterator[Finding]:
    """The mistakes in the spec of a stored job."""
    roles = {name: (spec.get("mpiReplicaSpecs") or {}).get(name) for name in (LAUNCHER, WORKER)}
    if roles[LAUNCHER] is None:
        yield Finding(REPLICAS, f"mpi-operator ignores a job without `{LAUNCHER}`", f"add a `{LAUNCHER}`, which runs mpirun")
    for name, role in roles.items():
        if role is not None:
            yield from _refused_role(name, role)
    if (slots := spec.get("slotsPerWorker", 1)) < 0:
        yield Finding(("spec", "slotsPerWorker"), f"mpi-operator ignores the job: `slotsPerWorker` is {slots}", "write at least 1")
    yield from _refused_policy(spec.get("runPolicy") or {})


def _refused_role(name: str, role: dict[str, Any]) -> Iterator[Finding]:
    path: Path = (*REPLICAS, Key(name))
    replicas = role.get("replicas")
    if name == LAUNCHER and replicas not in (None, 1):
        change = set_to((*path, "replicas"), 1)
        yield Finding((*path, "replicas"), f"mpi-operator ignores a job of {replicas} launchers", "write `replicas: 1`", changes=[change])
    if name == WORKER and (replicas or 0) < 1:
        message = f"mpi-operator ignores a job whose `{WORKER}` has {'no `replicas`' if replicas is None else f'{replicas} replicas'}"
        yield Finding((*path, "replicas"), message, f"write at least 1, or remove `{WORKER}`")
    policy = role.get("restartPolicy") or RESTART_POLICIES[0]
    if policy not in RESTART_POLICIES:
        message = f"mpi-operator ignores a job with `restartPolicy: {policy}`"
        yield Finding((*path, "restartPolicy"), message, f"write {_choice(RESTART_POLICIES)}")
    template = role.get("template") or {}
    if not (template.get("spec") or {}).get("containers"):
        yield Finding((*path, "template", "spec", "containers"), f"mpi-operator ignores a job whose `{name}` has no container")


def _refused_policy(policy: dict[str, Any]) -> Iterator[Finding]:
    clean = policy.get("cleanPodPolicy")
    if clean is not None and clean not in CLEAN_POLICIES:
        message = f"mpi-operator ignores a job with `cleanPodPolicy: {clean}`"
        yield Finding((*POLICY, "cleanPodPolicy"), message, f"write {_choice(CLEAN_POLICIES)}")
    for name in LIMITS:
        if (number := policy.get(name) or 0) < 0:
            yield Finding((*POLICY, name), f"mpi-operator ignores a job with `{name}: {number}`", "write at least 0, or remove it")


def _choice(values: tuple[str, ...]) -> str:
    """Values as a hint names them."""
    return " or ".join(f"`{each}`" for each in values)
