"""A PyTorchJob as the operator sees it: defaults, names, labels, owners, and the errors that stop the operator.

Follows `SetDefaults_PyTorchJob`, github.com/kubeflow/training-operator pkg/apis/kubeflow.org/v1, 1.7.0 to 1.9.4.
"""

from __future__ import annotations

from jobspec.apis.kinds import PYTORCHJOB
from jobspec.apis.releases import Target, is_at_least
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Key, Mark, Path, value_at
from jobspec.diagnostics.record import Record
from jobspec.diagnostics.rules import Finding
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, items, set_by, text, with_appended
from jobspec.operators.made import as_go_writes, indices, operator_mark, owner_references, stored
from jobspec.operators.training_operator import MANAGED_BY, OBJECT_NAME, PORT, PORT_NUMBER, REPLICA_TYPES, webhook
from jobspec.operators.webhooks import job_name, undecodable_value
from jobspec.operators.workloads import CONTAINERS, REPLICA_SPECS, Workload, roles_in, suspension
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any


class Replicas(Record):
    """The pods of one replica type."""

    type: str
    """`Master` or `Worker`."""
    count: MarkedTree
    """How many were asked for."""
    restart_policy: MarkedTree
    template: MarkedTree
    """The pod template, with the operator's port in the training container."""

    @property
    def made(self) -> int:
        """How many the operator makes: at least one, even where none was asked for."""
        return max(int(self.count.value), 1)

    def _training(self) -> list[MarkedTree]:
        """The containers named `pytorch`."""
        return [each for each in items(self.template.get("spec", "containers")) if each.value["name"].value == CONTAINERS[PYTORCHJOB]]

    def ports(self) -> list[MarkedTree] | None:
        """The ports of the first container named `pytorch`; None where there is no such container."""
        return next((items(each.get("ports")) for each in self._training()), None)

    def port(self) -> MarkedTree | None:
        """The number of the port named `pytorchjob-port` in the containers named `pytorch`; None where there is none."""
        ports = (port for each in self._training() for port in items(each.get("ports")))
        return next((port.get("containerPort") for port in ports if text(port, "name") == PORT), None)


class TrainingJob:
    """A PyTorchJob that is stored, and the operator's release."""

    def __init__(self, document: Document, target: Target, *, gang_scheduler: str, first_and_last_only: bool) -> None:
        shape = shapes.load(document.api_version, document.kind, target)
        release = target["training-operator"]
        self.gang_scheduler = gang_scheduler
        """What the operator was started with as `--gang-scheduler-name`; empty without gang scheduling."""
        self.first_and_last_only = first_and_last_only
        """Whether the first and the last pod of each replica type stand for all between."""
        self.operator = operator_mark("training-operator", release)
        self.tree = stored(document, target)
        spec = self.tree.get("spec") or self.tree.with_value({})
        template = shape and shape.at(("spec", "pytorchReplicaSpecs", "Worker", "template"))
        self.name: MarkedTree = self.tree.value["metadata"].value["name"]
        self.namespace: MarkedTree = self.tree.value["metadata"].value["namespace"]
        self.owners = owner_references(self.operator, "kubeflow.org/v1", "PyTorchJob", self.name)
        self.replicas: dict[str, Replicas] = _replicas(spec, template, self.operator)
        """By type, Master first; types of other names last."""
        self.elastic = _elastic_policy(spec, self.replicas)
        """The elastic policy with both limits, None where there is none."""
        self.processes = _processes(spec, self.elastic, self.operator)
        """`nprocPerNode`, None where the elastic policy says it."""
        self.since_1_8 = is_at_least(release, "1.8.0")
        """Whether the operator is 1.8.0 or a later one."""

    def indices(self, replicas: Replicas) -> Iterable[int]:
        """The indices of the pods of a replica type. Raises JobspecError for too many to expand."""
        return indices(replicas.made, f"pods of PyTorchJob `{self.name.value}`", first_and_last_only=self.first_and_last_only)


def _replicas(spec: MarkedTree, template: Shape | None, operator: Mark) -> dict[str, Replicas]:
    known = {name.lower(): name for name in REPLICA_TYPES}
    given: dict[str, MarkedTree] = {known.get(name.lower(), name): each for name, each in spec.entries("pytorchReplicaSpecs")}
    order = sorted(given, key=lambda name: REPLICA_TYPES.index(name) if name in REPLICA_TYPES else len(REPLICA_TYPES))
    return {name: _replica_type(name, given[name], template, operator) for name in order}


def _replica_type(name: str, spec: MarkedTree, shape: Shape | None, operator: Mark) -> Replicas:
    template = _with_port(as_go_writes(spec.get("template") or set_by(operator, {}), shape), operator)
    count, policy = spec.get("replicas") or MarkedTree(1, operator), spec.get("restartPolicy") or MarkedTree("OnFailure", operator)
    return Replicas(name, count, policy, template)


def _with_port(template: MarkedTree, operator: Mark) -> MarkedTree:
    """The template with the operator's port in the training container, or in the first where none has its name."""
    containers = items(template.get("spec", "containers"))
    at = next((number for number, each in enumerate(containers) if each.value["name"].value == CONTAINERS[PYTORCHJOB]), 0)
    if not containers or any(text(port, "name") == PORT for port in items(containers[at].get("ports"))):
        return template
    port = set_by(operator, {"name": PORT, "containerPort": PORT_NUMBER})
    containers[at] = with_appended(containers[at], "ports", [port], operator)
    return template.replace_at(("spec", "containers"), lambda before: before.with_value(containers))


def _elastic_policy(spec: MarkedTree, replicas: dict[str, Replicas]) -> MarkedTree | None:
    """The elastic policy: one limit is the other's, where that is left out, or the number of Workers."""
    policy = spec.get("elasticPolicy")
    if policy is None:
        return None
    least, most = policy.get("minReplicas"), policy.get("maxReplicas")
    workers = replicas["Worker"].count if "Worker" in replicas else None
    limits = {"minReplicas": least or most or workers, "maxReplicas": most or least or workers}
    return policy.with_value({**policy.value, **{name: each for name, each in limits.items() if each is not None}})


def _processes(spec: MarkedTree, elastic: MarkedTree | None, operator: Mark) -> MarkedTree | None:
    """`nprocPerNode`, `auto` where nobody says it; None where the elastic policy alone does."""
    given = spec.get("nprocPerNode")
    if given is None and (elastic is None or elastic.get("nProcPerNode") is None):
        return MarkedTree("auto", operator)
    return given


# Names, labels and owners of what training-operator makes for a PyTorchJob.
#
# Follows `GenGeneralName`, github.com/kubeflow/training-operator pkg/core, and `JobController.GenLabels` and `GenOwnerReference`,
# pkg/controller.v1/common, 1.7.0 to 1.9.4.


_LABEL = "training.kubeflow.org/"


def object_name(job: TrainingJob, replicas: Replicas, index: int) -> str:
    """The name of one replica's pod, and of its service."""
    return OBJECT_NAME.format(job.name.value, replicas.type.lower(), index)


def labels(job: TrainingJob, replicas: Replicas, index: int) -> dict[str, Any]:
    """The labels of one replica's pod and service, by which the service finds the pod."""
    return {
        f"{_LABEL}job-name": job.name,
        f"{_LABEL}operator-name": "pytorchjob-controller",
        f"{_LABEL}replica-index": str(index),
        f"{_LABEL}replica-type": replicas.type.lower(),
    }


def role_label(job: TrainingJob, replicas: Replicas, index: int) -> dict[str, Any]:
    """The label of the pod that leads: the Master's; without a Master that of the first Worker, from 1.8 on."""
    first_worker = "Master" not in job.replicas and index == 0 and job.since_1_8
    return {f"{_LABEL}job-role": "master"} if replicas.type == "Master" or first_worker else {}


def metadata(job: TrainingJob, name: Any, **more: Any) -> dict[str, Any]:
    """The metadata of an object that belongs to the job."""
    present = {field: value for field, value in more.items() if value}
    return {"name": name, "namespace": job.namespace, **present, "ownerReferences": job.owners}


# Errors in an accepted job that stop the operator: it refuses the job, or crashes.
#
# Follows `ValidateV1PyTorchJob`, github.com/kubeflow/training-operator pkg/apis/kubeflow.org/v1, 1.7.0, in which the operator itself
# makes the checks of the later webhook; and, for crashes, `SetDefaults_PyTorchJob` and `setPodEnv`, 1.7.0 to 1.9.4.


_ELASTIC: Path = ("spec", "elasticPolicy")
_OWN_NAME = "kubeflow.org/training-operator"


def reasons_for_nothing(document: Document, target: Target) -> list[Diagnostic]:
    """Why the operator creates nothing at all for the job; none where it gets to the replica types."""
    refused: list[Diagnostic] = []
    if not webhook.has_webhook(target["training-operator"]):
        if unreadable := _by_operator(document, "refused-by-operator", undecodable_value(Workload(document), target)):
            return unreadable
        refused = _by_operator(document, "refused-by-operator", _refused(document, target))
    manager = value_at(document.data, MANAGED_BY)
    if manager and manager != _OWN_NAME:
        message = f"`{manager}` manages the job: the operator creates nothing for it here"
        return [document.problem("no-pods-created", message, MANAGED_BY, severity="info")]
    if not roles_in(document):
        message = "the operator ignores a job without replica types: no pods, no status"
        refused.append(document.problem("refused-by-operator", message, REPLICA_SPECS, hint="add a `Master`, a `Worker` or both"))
    return [*refused, *_by_operator(document, "operator-crash", _crashes_at_once(document))] or suspension(document)


def failures_in_pods(job: TrainingJob, document: Document) -> list[Diagnostic]:
    """The reasons for which the operator makes no pods, which come behind the autoscaler."""
    refused = _by_operator(document, "refused-by-operator", _not_found(job))
    return [*refused, *_by_operator(document, "operator-crash", _crashes_in_pods(job))]


def _by_operator(document: Document, rule: str, found: Iterable[Finding]) -> list[Diagnostic]:
    """What the operator itself finds, at fields as the document spells them, and not as a webhook does."""
    return [document.diagnostic(Finding(each.at, each.message, each.hint), rule) for each in found]


def _refused(document: Document, target: Target) -> Iterator[Finding]:
    """The mistakes for which the operator refuses a job, as a later release's webhook does."""
    workload = Workload(document)
    for check in (job_name, webhook.replica_specs, webhook.training_container, webhook.container_image, webhook.processes_twice):
        yield from check(workload, target)
    for role in workload.roles:
        if role.name.lower() not in ("master", "worker"):
            yield Finding(role.path, f"a PyTorchJob has no replica type `{role.name}`", "the types are `Master` and `Worker`")
        if role.name == "Master" and role.data.get("replicas") not in (None, 1):
            yield Finding((*role.path, "replicas"), f"the Master has `replicas: {role.data['replicas']}`; it must be 1")


def _crashes_at_once(document: Document) -> Iterator[Finding]:
    """The crashes of the operator while it fills in defaults."""
    given = roles_in(document)
    for role in given:
        if not role.in_pod("containers"):
            message = f"`{role.name}` has no container: the operator crashes"
            yield Finding(role.at("containers"), message, "it needs one named `pytorch`")
    policy = value_at(document.data, _ELASTIC)
    has_workers = any(role.name.lower() == "worker" for role in given)
    if policy is not None and not has_workers and policy.get("minReplicas") is None and policy.get("maxReplicas") is None:
        yield Finding(_ELASTIC, "no `Worker`: the operator crashes on the number of Workers", "add a `Worker`")


def _not_found(job: TrainingJob) -> Iterator[Finding]:
    """What the operator does not find in the job; it retries forever."""
    for name, replicas in job.replicas.items():
        if replicas.ports() is None:
            path = (*REPLICA_SPECS, Key(name), "template", "spec", "containers")
            yield Finding(path, f"none of `{name}`'s containers is named `pytorch`, so the operator finds no port", "name one `pytorch`")


def _crashes_in_pods(job: TrainingJob) -> Iterator[Finding]:
    """The crashes of the operator while it sets the variables."""
    policy = job.elastic
    if policy is None:
        return
    settings = policy.get("rdzvConf")
    if settings and not settings.value:
        yield Finding((*_ELASTIC, "rdzvConf"), "the operator crashes on an empty `rdzvConf`", "remove `rdzvConf`")
    if "Worker" not in job.replicas and policy.get("rdzvPort") is None:
        yield Finding(_ELASTIC, "no `Worker`: the operator crashes on the port of the Workers", "add a `Worker`")
    if job.processes is None and "Master" in job.replicas and not job.since_1_8:
        message = "with a Master, this release reads `spec.nprocPerNode` alone, and crashes where only `nProcPerNode` is there"
        yield Finding((*_ELASTIC, "nProcPerNode"), message, "write `nprocPerNode` in `spec` instead")
