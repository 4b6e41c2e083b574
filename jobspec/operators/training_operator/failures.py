"""What keeps the operator from making anything of a job that the server has accepted: it refuses the job, or crashes.

Follows `ValidateV1PyTorchJob`, github.com/kubeflow/training-operator pkg/apis/kubeflow.org/v1, 1.7.0, in which the operator itself
makes the checks of the later webhook; and, for crashes, `SetDefaults_PyTorchJob` and `setPodEnv`, 1.7.0 to 1.9.4.
"""

from __future__ import annotations

from jobspec.admission.rule import Fault
from jobspec.diagnostics import Key
from jobspec.targets import reached
from jobspec.workloads import Workload, roles_in, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.diagnostics import Diagnostic, Path
    from jobspec.documents.document import Document
    from jobspec.operators.training_operator.job import TrainingJob
    from jobspec.targets import Target

_REPLICAS: Path = ("spec", "pytorchReplicaSpecs")
_ELASTIC: Path = ("spec", "elasticPolicy")


def unreadable_values(document: Document, target: Target) -> list[Diagnostic]:
    """The values that the operator cannot read, which the webhook of later releases refuses."""
    if reached(target["training-operator"], "1.8.0"):
        return []
    from jobspec.admission.decoding import undecodable_value

    found = undecodable_value(Workload(document), target)
    return [document.problem("refused-by-operator", each.message, each.path, hint=each.hint) for each in found]


def failures_at_once(document: Document, target: Target) -> Iterator[Diagnostic]:
    """The reasons for which the operator makes nothing at all."""
    for fault in _refused(document, target) if not reached(target["training-operator"], "1.8.0") else ():
        yield document.problem("refused-by-operator", fault.message, fault.path, hint=fault.hint)
    if not roles_in(document):
        message = "the operator makes nothing of a job without replica types, and never looks at it again"
        yield document.problem("refused-by-operator", message, _REPLICAS, hint="describe a `Master`, Workers or both")
    for fault in _crashes_at_once(document):
        yield document.problem("operator-crash", fault.message, fault.path, hint=fault.hint)


def failures_in_pods(job: TrainingJob, document: Document) -> Iterator[Diagnostic]:
    """The reasons for which the operator makes no pods, which come behind the autoscaler."""
    for fault in _not_found(job):
        yield document.problem("refused-by-operator", fault.message, fault.path, hint=fault.hint)
    for fault in _crashes_in_pods(job):
        yield document.problem("operator-crash", fault.message, fault.path, hint=fault.hint)


def _refused(document: Document, target: Target) -> Iterator[Fault]:
    from jobspec.admission import pytorchjob as webhook
    from jobspec.admission.names import job_name

    workload = Workload(document)
    for check in (job_name, webhook.replica_specs, webhook.training_container, webhook.container_image, webhook.processes_twice):
        yield from check(workload, target)
    for role in workload.roles:
        if role.name.lower() not in ("master", "worker"):
            yield Fault(role.path, f"a PyTorchJob has no replica type `{role.name}`", "the types are `Master` and `Worker`")
        if role.name == "Master" and role.data.get("replicas") not in (None, 1):
            yield Fault((*role.path, "replicas"), f"the Master has `replicas: {role.data['replicas']}`; it has to be 1")


def _crashes_at_once(document: Document) -> Iterator[Fault]:
    """What the operator's defaults cannot work with."""
    given = roles_in(document)
    for role in given:
        if not role.in_pod("containers"):
            message = f"`{role.name}` has no container, and the operator looks for one"
            yield Fault(role.at("containers"), message, "it needs one named `pytorch`")
    policy = value_at(document.data, _ELASTIC)
    has_workers = any(role.name.lower() == "worker" for role in given)
    if policy is not None and not has_workers and policy.get("minReplicas") is None and policy.get("maxReplicas") is None:
        yield Fault(_ELASTIC, "the operator looks for the number of Workers, and there are none", "add a `Worker`")


def _not_found(job: TrainingJob) -> Iterator[Fault]:
    """What the operator does not find in the job, and looks for again for ever."""
    for name, replicas in job.replicas.items():
        if replicas.ports() is None:
            path = (*_REPLICAS, Key(name), "template", "spec", "containers")
            yield Fault(path, f"none of `{name}`'s containers is named `pytorch`, so the operator finds no port", "name one `pytorch`")


def _crashes_in_pods(job: TrainingJob) -> Iterator[Fault]:
    """What the variables cannot be made of."""
    policy = job.elastic
    if policy is None:
        return
    settings = policy.get("rdzvConf")
    if settings and not settings.value:
        yield Fault((*_ELASTIC, "rdzvConf"), "the operator crashes on an empty list of settings", "remove `rdzvConf`")
    if "Worker" not in job.replicas and policy.get("rdzvPort") is None:
        yield Fault(_ELASTIC, "the operator looks for the port of the Workers, and there are none", "add a `Worker`")
    if job.processes is None and "Master" in job.replicas and not job.since("1.8.0"):
        message = "with a Master, this release reads `spec.nprocPerNode` alone, and crashes where only `nProcPerNode` is there"
        yield Fault((*_ELASTIC, "nProcPerNode"), message, "write `nprocPerNode` in `spec` instead")
