"""A job as the operator sees it: defaults, names, labels and owners.

Follows `SetDefaults_PyTorchJob` and its like, github.com/kubeflow/training-operator pkg/apis/kubeflow.org/v1, 1.7.0 to 1.9.4.
"""

from __future__ import annotations

from jobspec.apis.releases import Target, is_at_least
from jobspec.diagnostics.places import Mark
from jobspec.diagnostics.record import Record
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, items, set_by, text, with_appended
from jobspec.operators.made import as_go_writes, indices, operator_mark, owner_references, stored
from jobspec.operators.training_operator import OBJECT_NAME
from jobspec.operators.training_operator.frameworks import FRAMEWORKS, WORKER, Framework
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class Replicas(Record):
    """The pods of one replica type."""

    framework: Framework
    type: str
    """Such as `Master` or `Worker`."""
    count: MarkedTree
    """How many were asked for."""
    restart_policy: MarkedTree
    template: MarkedTree
    """The pod template, with the operator's port in the training container."""

    @property
    def made(self) -> int:
        """How many the operator makes: of most kinds at least one, even where none was asked for."""
        return max(int(self.count.value), self.framework.fewest)

    def _training(self) -> list[MarkedTree]:
        """The containers of the name that the operator requires."""
        return [each for each in items(self.template.get("spec", "containers")) if each.value["name"].value == self.framework.container]

    def ports(self) -> list[MarkedTree] | None:
        """The ports of the first training container; None where there is no such container."""
        return next((items(each.get("ports")) for each in self._training()), None)

    def port(self) -> MarkedTree | None:
        """The number of the operator's port in the training containers, by its name; None where there is none."""
        ports = (port for each in self._training() for port in items(each.get("ports")))
        return next((port.get("containerPort") for port in ports if text(port, "name") == self.framework.port), None)


class TrainingJob:
    """A job that is stored, and the operator's release."""

    def __init__(self, document: Document, target: Target, *, gang_scheduler: str, first_and_last_only: bool) -> None:
        shape = shapes.load(document.api_version, document.kind, target)
        release = target["training-operator"]
        self.framework = framework = FRAMEWORKS[document.group_kind]
        self.gang_scheduler = gang_scheduler
        """What the operator was started with as `--gang-scheduler-name`; empty without gang scheduling."""
        self.first_and_last_only = first_and_last_only
        """Whether the first and the last pod of each replica type stand for all between."""
        self.operator = operator_mark("training-operator", release)
        self.tree = stored(document, target)
        spec = self.tree.get("spec") or self.tree.with_value({})
        template = shape and shape.at((*framework.replicas, "Worker", "template"))
        self.name: MarkedTree = self.tree.value["metadata"].value["name"]
        self.namespace: MarkedTree = self.tree.value["metadata"].value["namespace"]
        self.owners = owner_references(self.operator, "kubeflow.org/v1", document.kind, self.name)
        self.replicas: dict[str, Replicas] = _replicas(self.tree, framework, template, self.operator)
        """By type, in the order of their ranks; types of other names last."""
        self.elastic = _elastic_policy(spec, self.replicas)
        """The elastic policy with both limits, None where there is none."""
        self.processes = _processes(spec, self.elastic, self.operator)
        """`nprocPerNode`, None where the elastic policy says it."""
        self.release = release
        self.since_1_8 = is_at_least(release, "1.8.0")
        """Whether the operator is 1.8.0 or a later one."""

    def indices(self, replicas: Replicas) -> Iterable[int]:
        """The indices of the pods of a replica type. Raises JobspecError for too many to expand."""
        return indices(replicas.made, f"pods of {self.framework.kind[1]} `{self.name.value}`", first_and_last_only=self.first_and_last_only)


def node_count(job: TrainingJob) -> int:
    """How many replicas of all types were asked for."""
    return sum(int(each.count.value) for each in job.replicas.values())


def _replicas(tree: MarkedTree, framework: Framework, template: Shape | None, operator: Mark) -> dict[str, Replicas]:
    types = framework.types
    known = {name.lower(): name for name in types}
    given: dict[str, MarkedTree] = {known.get(name.lower(), name): each for name, each in tree.entries(*framework.replicas)}
    order = sorted(given, key=lambda name: types.index(name) if name in types else len(types))
    return {name: _replica_type(framework, name, given[name], template, operator) for name in order}


def _replica_type(framework: Framework, name: str, spec: MarkedTree, shape: Shape | None, operator: Mark) -> Replicas:
    template = _with_port(framework, as_go_writes(spec.get("template") or set_by(operator, {}), shape), operator)
    count = spec.get("replicas") or MarkedTree(framework.fewest if name == WORKER else 1, operator)
    policy = spec.get("restartPolicy") or MarkedTree(framework.restart_policy, operator)
    return Replicas(framework, name, count, policy, template)


def _with_port(framework: Framework, template: MarkedTree, operator: Mark) -> MarkedTree:
    """The template with the operator's port in the training container, or in the first where none has its name."""
    containers = items(template.get("spec", "containers"))
    at = next((number for number, each in enumerate(containers) if each.value["name"].value == framework.container), 0)
    if not framework.port or not containers or any(text(port, "name") == framework.port for port in items(containers[at].get("ports"))):
        return template
    port = set_by(operator, {"name": framework.port, "containerPort": framework.number})
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


# Names, labels and owners of what training-operator makes for a job.
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
        f"{_LABEL}operator-name": job.framework.controller,
        f"{_LABEL}replica-index": str(index),
        f"{_LABEL}replica-type": replicas.type.lower(),
    }


def role_label(job: TrainingJob, replicas: Replicas, index: int) -> dict[str, Any]:
    """The label of the pod that leads: that of the leading types, or of the first Worker."""
    leads = job.framework.leads(job.replicas, replicas.type, index, job.release)
    return {f"{_LABEL}job-role": "master"} if leads else {}


def metadata(job: TrainingJob, name: Any, **more: Any) -> dict[str, Any]:
    """The metadata of an object that belongs to the job."""
    present = {field: value for field, value in more.items() if value}
    return {"name": name, "namespace": job.namespace, **present, "ownerReferences": job.owners}
