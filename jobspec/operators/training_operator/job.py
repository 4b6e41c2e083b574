"""A PyTorchJob as the operator works with it: with the operator's own defaults.

Follows `SetDefaults_PyTorchJob`, github.com/kubeflow/training-operator pkg/apis/kubeflow.org/v1, 1.7.0 to 1.9.4.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items
from jobspec.operators.go_types import as_go_writes
from jobspec.operators.objects import numbers, operator_mark, set_by
from jobspec.operators.stored import stored
from jobspec.schemas import shapes
from jobspec.targets import reached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobspec.diagnostics import Mark
    from jobspec.documents.document import Document
    from jobspec.schemas.shapes import Shape
    from jobspec.targets import Target

CONTAINER = "pytorch"
PORT = "pytorchjob-port"
_PORT_NUMBER = 23456
_TYPES = ("Master", "Worker")


class Replicas:
    """The pods of one replica type."""

    __slots__ = ("count", "restart_policy", "template", "type")

    def __init__(self, kind: str, count: MarkedTree, restart_policy: MarkedTree, template: MarkedTree) -> None:
        self.type = kind
        """`Master` or `Worker`."""
        self.count = count
        """How many were asked for."""
        self.restart_policy = restart_policy
        self.template = template
        """The pod template, with the operator's port in the training container."""

    @property
    def made(self) -> int:
        """How many the operator makes: at least one, even where none was asked for."""
        return max(int(self.count.value), 1)

    def ports(self) -> list[MarkedTree] | None:
        """The ports of the first container named `pytorch`; None where there is no such container."""
        for container in items(self.template.get("spec", "containers")):
            if container.value["name"].value == CONTAINER:
                return items(container.get("ports"))
        return None

    def port(self) -> MarkedTree | None:
        """The number of the port named `pytorchjob-port` in the containers named `pytorch`; None where there is none."""
        for container in items(self.template.get("spec", "containers")):
            if container.value["name"].value == CONTAINER:
                for port in items(container.get("ports")):
                    if "name" in port.value and port.value["name"].value == PORT:
                        return port.get("containerPort")
        return None


class TrainingJob:
    """A PyTorchJob that is stored, and the operator's release."""

    __slots__ = ("elastic", "ends", "gang_scheduler", "name", "namespace", "operator", "processes", "release", "replicas", "tree")

    def __init__(self, document: Document, target: Target, *, gang_scheduler: str, ends: bool) -> None:
        shape = shapes.load(document.api_version, document.kind, target)
        self.release = target["training-operator"]
        self.gang_scheduler = gang_scheduler
        """What the operator was started with as `--gang-scheduler-name`; empty without gang scheduling."""
        self.ends = ends
        """Whether the first and the last pod of each replica type stand for all between."""
        self.operator = operator_mark("training-operator", self.release)
        self.tree = stored(document, target)
        spec = self.tree.get("spec") or self.tree.with_value({})
        template = shape and shape.at(("spec", "pytorchReplicaSpecs", "Worker", "template"))
        self.name: MarkedTree = self.tree.value["metadata"].value["name"]
        self.namespace: MarkedTree = self.tree.value["metadata"].value["namespace"]
        self.replicas: dict[str, Replicas] = _replicas(spec, template, self.operator)
        """By type, Master first; types of other names last."""
        self.elastic = _elastic_policy(spec, self.replicas)
        """The elastic policy with both limits, None where there is none."""
        self.processes = _processes(spec, self.elastic, self.operator)
        """`nprocPerNode`, None where the elastic policy says it."""

    def numbers(self, replicas: Replicas) -> Iterable[int]:
        """The numbers of the pods of a replica type. Raises JobspecError for more than anybody could read."""
        return numbers(replicas.made, f"pods of PyTorchJob `{self.name.value}`", ends=self.ends)

    def since(self, release: str) -> bool:
        """Whether the operator is that release or a later one."""
        return reached(self.release, release)


def _replicas(spec: MarkedTree, template: Shape | None, operator: Mark) -> dict[str, Replicas]:
    given: dict[str, MarkedTree] = {_in_camel_case(name): each for name, each in spec.entries("pytorchReplicaSpecs")}
    order = sorted(given, key=lambda name: _TYPES.index(name) if name in _TYPES else len(_TYPES))
    return {name: _replica_type(name, given[name], template, operator) for name in order}


def _in_camel_case(name: str) -> str:
    return next((known for known in _TYPES if known.lower() == name.lower()), name)


def _replica_type(name: str, spec: MarkedTree, shape: Shape | None, operator: Mark) -> Replicas:
    template = as_go_writes(spec.get("template") or set_by(operator, {}), shape)
    return Replicas(
        name,
        spec.get("replicas") or MarkedTree(1, operator),
        spec.get("restartPolicy") or MarkedTree("OnFailure", operator),
        _with_port(template, operator),
    )


def _with_port(template: MarkedTree, operator: Mark) -> MarkedTree:
    """The template with the operator's port in the training container, or in the first where none has its name."""
    containers = items(template.get("spec", "containers"))
    at = next((number for number, each in enumerate(containers) if each.value["name"].value == CONTAINER), 0)
    if not containers or any("name" in port.value and port.value["name"].value == PORT for port in items(containers[at].get("ports"))):
        return template
    old = containers[at].get("ports")
    port = set_by(operator, {"name": PORT, "containerPort": _PORT_NUMBER})
    ports = old.with_value([*old.value, port]) if old else MarkedTree([port], operator)
    containers[at] = containers[at].with_value({**containers[at].value, "ports": ports})
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
    given = spec.get("nprocPerNode")
    if given is None and (elastic is None or elastic.get("nProcPerNode") is None):
        return MarkedTree("auto", operator)
    return given
