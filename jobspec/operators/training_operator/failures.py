"""Errors in an accepted job that stop the operator: it refuses the job, or crashes.

Follows `ValidateV1PyTorchJob` and its like, github.com/kubeflow/training-operator pkg/apis/kubeflow.org/v1, 1.7.0, in which the operator
itself makes the checks of the later webhooks, and `ValidateV1MpiJobSpec`, 1.7.0 to 1.9.4; for crashes, `SetDefaults_PyTorchJob`,
`SetDefaults_PaddleJob`, `setPodEnv` and `genClusterSpec`, 1.7.0 to 1.9.4.
"""

from __future__ import annotations

from jobspec.apis import kinds
from jobspec.apis.releases import Target
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Key, Path, value_at
from jobspec.diagnostics.rules import Finding
from jobspec.documents.document import Document
from jobspec.operators.training_operator import MANAGED_BY, webhook
from jobspec.operators.training_operator.frameworks import FRAMEWORKS, LAUNCHER, Framework
from jobspec.operators.training_operator.job import TrainingJob
from jobspec.operators.training_operator.variables import is_distributed
from jobspec.operators.webhooks import job_name, undecodable_value
from jobspec.operators.workloads import Workload, roles_in, suspension

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    Check = Callable[[Workload, Target], Iterator[Finding]]

_ELASTIC: Path = ("spec", "elasticPolicy")
_OWN_NAME = "kubeflow.org/training-operator"


def reasons_for_nothing(document: Document, target: Target) -> list[Diagnostic]:
    """Return why the operator creates nothing at all for the job.

    If the operator gets to the replica types, return no reason.
    """
    refused: list[Diagnostic] = []
    framework = FRAMEWORKS[document.group_kind]
    has_webhook = webhook.has_webhook(target["training-operator"])
    if not has_webhook or framework.kind == kinds.MPIJOB:
        if unreadable := _by_operator(document, "refused-by-operator", undecodable_value(Workload(document), target)):
            return unreadable
        refused = _by_operator(document, "refused-by-operator", _refused(document, framework, target))
    manager = value_at(document.data, MANAGED_BY)
    if manager and manager != _OWN_NAME and framework.is_managed:
        message = f"`{manager}` manages the job: the operator creates nothing for it here"
        return [document.problem("no-pods-created", message, MANAGED_BY, severity="info")]
    if not roles_in(document) and framework.kind != kinds.MPIJOB:
        message, hint = "the operator ignores a job without replica types: no pods, no status", webhook.missing_types(framework)
        refused.append(document.problem("refused-by-operator", message, framework.replicas, hint=hint))
    return [*refused, *_by_operator(document, "operator-crash", _crashes_at_once(document, framework))] or suspension(document)


def failures_in_pods(job: TrainingJob, document: Document) -> list[Diagnostic]:
    """The reasons for which the operator makes no pods, which come behind the autoscaler."""
    refused = _by_operator(document, "refused-by-operator", _not_found(job))
    return [*refused, *_by_operator(document, "operator-crash", _crashes_in_pods(job, document))]


def _by_operator(document: Document, rule: str, found: Iterable[Finding]) -> list[Diagnostic]:
    """What the operator itself finds, at fields as the document spells them, and not as a webhook does."""
    return [document.diagnostic(Finding(each.at, each.message, each.hint), rule) for each in found]


def _any_container(workload: Workload, _: Target) -> Iterator[Finding]:
    """Every replica type of an MPIJob needs a container, of any name."""
    for role in workload.roles:
        if not role.in_pod("containers"):
            yield Finding(role.at("containers"), f"`{role.name}` has no container")


def _missing_launcher(workload: Workload, _: Target) -> Iterator[Finding]:
    """An MPIJob needs a Launcher, which starts the processes in the Workers."""
    path = FRAMEWORKS[workload.document.group_kind].replicas
    if value_at(workload.document.data, path) is not None and all(role.name != LAUNCHER for role in workload.roles):
        yield Finding((*path, Key(LAUNCHER)), "an MPIJob needs a `Launcher`, and has none", "add a `Launcher` with `replicas: 1`")


#: The checks of the operator itself in releases without webhooks, besides those of all kinds, by kind.
_CHECKS: Mapping[kinds.GroupKind, tuple[Check, ...]] = {
    kinds.PYTORCHJOB: (job_name, webhook.training_container, webhook.processes_twice),
    kinds.TFJOB: (job_name, webhook.training_container, webhook.chief_and_master),
    kinds.XGBOOSTJOB: (job_name, webhook.training_container, webhook.missing_master),
    kinds.PADDLEJOB: (job_name, webhook.training_container),
    kinds.MXJOB: (job_name, webhook.training_container),
    kinds.MPIJOB: (_any_container, _missing_launcher),
}


def _refused(document: Document, framework: Framework, target: Target) -> Iterator[Finding]:
    """The mistakes for which the operator refuses a job, as a later release's webhook does."""
    workload = Workload(document)
    for check in (*_CHECKS[framework.kind], webhook.replica_specs, webhook.container_image):
        yield from check(workload, target)
    is_exact = framework.kind == kinds.MPIJOB  # the operator corrects the spelling of the types of all other kinds first
    known = [each if is_exact else each.lower() for each in framework.types]
    for role in workload.roles:
        if framework.refuses_types and (role.name if is_exact else role.name.lower()) not in known:
            yield Finding(role.path, f"{framework.a_job} has no replica type `{role.name}`", webhook.known_types(framework))
        if role.name == framework.single and role.data.get("replicas") not in (None, 1):
            yield Finding((*role.path, "replicas"), f"the {role.name} has `replicas: {role.data['replicas']}`; it must be 1")


def _crashes_at_once(document: Document, framework: Framework) -> Iterator[Finding]:
    """The crashes of the operator while it fills in defaults."""
    given = roles_in(document)
    for role in given:
        if framework.port and not role.in_pod("containers"):
            message = f"`{role.name}` has no container: the operator crashes"
            yield Finding(role.at("containers"), message, f"it needs one named `{framework.container}`")
    policy = value_at(document.data, _ELASTIC)
    has_workers = any(role.name.lower() == "worker" for role in given)
    if policy is not None and not has_workers and policy.get("minReplicas") is None and policy.get("maxReplicas") is None:
        yield Finding(_ELASTIC, "no `Worker`: the operator crashes on the number of Workers", "add a `Worker`")


def _not_found(job: TrainingJob) -> Iterator[Finding]:
    """What the operator does not find in the job; it retries forever."""
    wanted = job.framework.container
    for name, replicas in job.replicas.items():
        if replicas.ports() is None and job.framework.port:
            path = (*job.framework.replicas, Key(name), "template", "spec", "containers")
            yield Finding(path, f"none of `{name}`'s containers is named `{wanted}`, so the operator finds no port", f"name one `{wanted}`")


def _crashes_in_pods(job: TrainingJob, document: Document) -> Iterator[Finding]:
    """The crashes of the operator while it sets the variables."""
    if job.framework.kind in (kinds.TFJOB, kinds.MXJOB):
        yield from _too_few(job, document)
    policy = job.elastic
    if policy is None or job.framework.kind != kinds.PYTORCHJOB:
        return
    settings = policy.get("rdzvConf")
    if settings and not settings.value:
        yield Finding((*_ELASTIC, "rdzvConf"), "the operator crashes on an empty `rdzvConf`", "remove `rdzvConf`")
    if "Worker" not in job.replicas and policy.get("rdzvPort") is None:
        yield Finding(_ELASTIC, "no `Worker`: the operator crashes on the port of the Workers", "add a `Worker`")
    if job.processes is None and "Master" in job.replicas and not job.since_1_8:
        message = "with a Master, this release reads `spec.nprocPerNode` alone, and crashes where only `nProcPerNode` is there"
        yield Finding((*_ELASTIC, "nProcPerNode"), message, "write `nprocPerNode` in `spec` instead")


def _too_few(job: TrainingJob, document: Document) -> Iterator[Finding]:
    """Numbers of replicas with which the operator crashes on the list of addresses."""
    is_sparse = value_at(document.data, ("spec", "enableDynamicWorker")) is True
    for role in roles_in(document):
        count = role.data.get("replicas")
        is_listed = is_sparse and count == 0 and role.name.lower() in ("ps", "worker")
        if count is not None and (count < 0 or is_listed) and (job.framework.kind == kinds.MXJOB or is_distributed(job)):
            message = f"the operator crashes on `replicas: {count}` of `{role.name}`"
            yield Finding((*role.path, "replicas"), message, f"remove `{role.name}`, or write at least 1")
