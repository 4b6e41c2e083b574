"""What a scheduler and a kubelet see of a pod: all of its spec but names that differ from operator to operator, and its own metadata."""

from __future__ import annotations

from jobspec.documents.marked_tree import items
from jobspec.migration.facts import Fact, flat_field
from jobspec.migration.program import THE_PORT, known_port, program_facts
from jobspec.migration.selectors import with_neutral_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.migration.facts import Key
    from jobspec.migration.nodes import JobNode
    from jobspec.migration.program import Side

TRAINING = "container that trains"
#: How a pod is called; a job says it seldom, operators do.
_NAMES = ("hostname", "subdomain")
#: Fields of a pod that are compared on their own; the restart policy is a part of how the job lives.
_OWN = frozenset((*_NAMES, "restartPolicy", "containers", "initContainers"))
#: Fields of a container that are compared as its program, or say what it is called.
_PROGRAM = frozenset(("name", "command", "args", "env", "envFrom", "ports"))
#: What operators write on pods to find them again.
_OPERATORS = {"training-operator": ("training.kubeflow.org/",), "trainer": ("jobset.sigs.k8s.io/", "alpha.jobset.sigs.k8s.io/")}
#: The init container by which Workers wait for the name of the Master; the names of a TrainJob's nodes are known from the beginning.
_WAITING = "init-pytorch"


def pod_facts(node: JobNode, side: Side) -> Iterator[tuple[Key, Fact]]:
    """All facts of a pod."""
    key = (node.name,)
    spec = node.pod.tree.value["spec"]
    for name, child in with_neutral_names(spec).value.items():
        if name not in _OWN or (name in _NAMES and _is_said(child, node, side)):
            yield from flat_field(name, child, (*key, "pod"))
    yield from _host_ports(node, side)
    for field in ("initContainers", "containers"):
        for container in items(spec.get(field)):
            yield from _container(node, container, field, side)
    for field in ("labels", "annotations"):
        for name, each in node.pod.tree.value["metadata"].entries(field):
            is_operators = name.startswith(_OPERATORS[side.operator]) or str(each.mark).startswith(side.operator)
            if not is_operators and not (side.operator == "trainer" and is_of_job(name)):
                yield (*key, field, name), Fact("<its pod group>" if _is_group(name, each, side) else each.value, each.place())


def _is_said(name: MarkedTree, node: JobNode, side: Side) -> bool:
    """Whether somebody has written how a pod is called: training-operator does not, and JobSet calls it by its host name."""
    return side.operator == "training-operator" or str(name.value) not in node.pod.host_name.split(".")


def _is_group(name: str, value: MarkedTree, side: Side) -> bool:
    """Whether a label or annotation names the pod group of the job, whose name follows that of the job."""
    return name.startswith("scheduling.") and value.value in side.groups


def is_of_job(label: str) -> bool:
    """Whether a Job writes a label on its pods; it refuses a template in which somebody else has."""
    return label.startswith("batch.kubernetes.io/") or label in ("job-name", "controller-uid")


def _container(node: JobNode, container: MarkedTree, field: str, side: Side) -> Iterator[tuple[Key, Fact]]:
    name = str(container.value["name"].value)
    if name == _WAITING and side.operator in str(container.mark):
        return
    is_training = node.training is not None and field == "containers" and name == node.training.value["name"].value
    label = TRAINING if is_training else f"{'init container' if field == 'initContainers' else 'container'} {name}"
    for child_name, child in container.value.items():
        if child_name == "ports":
            yield from _ports(child, side, (node.name, label))
        elif child_name not in _PROGRAM:
            yield from flat_field(child_name, child, (node.name, label))
    yield from program_facts(node, container, side, (node.name, label))


def _ports(ports: MarkedTree, side: Side, key: Key) -> Iterator[tuple[Key, Fact]]:
    """The ports but for that of the operator, at which the processes meet."""
    own = [each for each in items(ports) if not str(each.mark).startswith(side.operator) and not _is_operators(each)]
    yield from flat_field("ports", ports.with_value(own), key) if own else ()


def _host_ports(node: JobNode, side: Side) -> Iterator[tuple[Key, Fact]]:
    """The ports that a pod takes from its machine, where no other pod with one of them can run."""
    containers = items(node.pod.tree.get("spec", "containers"))
    ports = [each for container in containers for each in items(container.get("ports")) if each.get("hostPort")]
    if ports:
        yield (node.name, "pod", "host ports"), Fact(sorted(_number(each, side) for each in ports), ports[0].place())


def _number(port: MarkedTree, side: Side) -> str:
    number = str(port.value["hostPort"].value)
    return THE_PORT if number == known_port(side.operator) else number


def _is_operators(port: MarkedTree) -> bool:
    name = port.get("name")
    return name is not None and name.value == "pytorchjob-port"
