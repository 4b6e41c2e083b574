"""A job as its pods show it: what their programs see, what the scheduler and the kubelet see, and how the job lives."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from jobspec import kinds
from jobspec.diagnostics import Diagnostic, Mark
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.migrate.life import life_facts
from jobspec.migrate.source import NAME, Difference, Fact, Hosts, JobNode, Key, differences, flat_field, nodes_of
from jobspec.operators.api_defaults import with_api_defaults
from jobspec.operators.expansion import expand, value_of
from jobspec.programs.command_lines import LAUNCHER, OF_PROCESSES, PORTS, PROGRAM, SETTINGS, CommandLine, command_line
from jobspec.run.pods import expand_references
from jobspec.targets import Target
from jobspec.workloads import released

JOBSET = "jobset"
"""The subject of facts about the JobSet."""


@dataclass(frozen=True, slots=True)
class JobFacts:
    """The facts of one job, and why operators cannot create some of its objects."""

    facts: dict[Key, Fact]
    objects: Sequence[MarkedTree]
    """The objects that operators make of it, without what the server fills in."""
    refusals: Sequence[Diagnostic]
    nodes: int
    """How many pods train."""


def job_facts(job: Document, context: Sequence[Document], target: Target, *, gang_scheduler: str = "") -> JobFacts:
    """The facts of a job that a server accepts. *context*: what it may refer to, such as runtimes and priority classes."""
    expansion = expand(released(job), context, target, gang_scheduler=gang_scheduler)
    objects = with_api_defaults(expansion.objects, context, target)
    nodes = nodes_of(objects, job.group_kind)
    training = sum(each.training is not None for each in nodes)
    operator = "training-operator" if job.group_kind == kinds.PYTORCHJOB else "trainer"
    groups = [text(each, "metadata", "name") for each in objects if text(each, "kind") == "PodGroup"]
    side = JobContext(Hosts(nodes), operator, training, groups)
    facts = dict(fact for node in nodes for fact in pod_facts(node, side))
    facts |= dict(fact for node in nodes for fact in selector_facts(node, nodes))
    facts |= dict(life_facts(job, objects, nodes))
    facts |= dict(_facts_beside_pods(objects, nodes, side))
    return JobFacts(facts, expansion.objects, expansion.diagnostics, training)


def compared(before: JobFacts, after: JobFacts) -> list[Difference]:
    """What differs between two jobs; a JobSet, which a PyTorchJob has none of, is compared with another one."""
    found = differences(before.facts, after.facts)
    has_jobset = any(text(each, "kind") == "JobSet" for each in before.objects)
    return [each for each in found if has_jobset or each.key[0] != JOBSET]


def _facts_beside_pods(objects: Sequence[MarkedTree], nodes: Sequence[JobNode], side: JobContext) -> Iterator[tuple[Key, Fact]]:
    """The metadata of the JobSet, by which queues and others find it, and the files that the operator makes for the pods."""
    volumes = [each for node in nodes for each in items(node.pod.tree.get("spec", "volumes"))]
    mounted = {text(each, "configMap", "name") for each in volumes}
    for each in objects:
        if text(each, "kind") == "JobSet":
            for field in ("labels", "annotations"):
                for name, value in each.value["metadata"].entries(field):
                    yield (JOBSET, field, name), Fact(value.value, value.place())
        elif text(each, "kind") == "ConfigMap" and text(each, "metadata", "name") in mounted:
            for name, value in each.entries("data"):
                yield ("job", "files", name), Fact(side.hosts.in_text(str(value.value)), value.place())


# What a scheduler and a kubelet see of a pod: all of its spec but names that differ from operator to operator, and its own metadata.


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


def pod_facts(node: JobNode, side: JobContext) -> Iterator[tuple[Key, Fact]]:
    """All facts of a pod."""
    key = (node.name,)
    spec = node.pod.tree.value["spec"]
    for name, child in _renamed(spec, dict.fromkeys((OLD_NAME, NEW_NAME), _THE_NAME)).value.items():
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


def _is_said(name: MarkedTree, node: JobNode, side: JobContext) -> bool:
    """Whether somebody has written how a pod is called: training-operator does not, and JobSet calls it by its host name."""
    return side.operator == "training-operator" or str(name.value) not in node.pod.host_name.split(".")


def _is_group(name: str, value: MarkedTree, side: JobContext) -> bool:
    """Whether a label or annotation names the pod group of the job, whose name follows that of the job."""
    return name.startswith("scheduling.") and value.value in side.groups


def is_of_job(label: str) -> bool:
    """Whether a Job writes a label on its pods; it refuses a template in which somebody else has."""
    return label.startswith("batch.kubernetes.io/") or label in ("job-name", "controller-uid")


def _container(node: JobNode, container: MarkedTree, field: str, side: JobContext) -> Iterator[tuple[Key, Fact]]:
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


def _ports(ports: MarkedTree, side: JobContext, key: Key) -> Iterator[tuple[Key, Fact]]:
    """The ports but for that of the operator, at which the processes meet."""
    own = [each for each in items(ports) if not str(each.mark).startswith(side.operator) and not _is_operators(each)]
    yield from flat_field("ports", ports.with_value(own), key) if own else ()


def _host_ports(node: JobNode, side: JobContext) -> Iterator[tuple[Key, Fact]]:
    """The ports that a pod takes from its machine, where no other pod with one of them can run."""
    containers = items(node.pod.tree.get("spec", "containers"))
    ports = [each for container in containers for each in items(container.get("ports")) if each.get("hostPort")]
    if ports:
        yield (node.name, "pod", "host ports"), Fact(sorted(_number(each, side) for each in ports), ports[0].place())


def _number(port: MarkedTree, side: JobContext) -> str:
    number = str(port.value["hostPort"].value)
    return THE_PORT if number == known_port(side.operator) else number


def _is_operators(port: MarkedTree) -> bool:
    name = port.get("name")
    return name is not None and name.value == "pytorchjob-port"


# What the label selectors of a pod's placement choose among the pods of its own job.
#
# Operators label their pods in words of their own, so that the same selector may choose other pods after a migration.


#: The label with the name of the job, by who writes it.
OLD_NAME, NEW_NAME = "training.kubeflow.org/job-name", "jobset.sigs.k8s.io/jobset-name"
_THE_NAME = "<label with the job's name>"
_FIELDS = ("affinity", "topologySpreadConstraints")


def selector_facts(node: JobNode, nodes: Sequence[JobNode]) -> Iterator[tuple[Key, Fact]]:
    """For each label selector that places a pod, the nodes of its own job that it chooses."""
    spec = node.pod.tree.value["spec"]
    found = [each for field in _FIELDS if field in spec.value for each in _selectors(spec.value[field])]
    for number, selector in enumerate(found):
        chosen = [each.name for each in nodes if _matches(selector, _labels(each))]
        yield (node.name, "pod", f"labelSelector {number}"), Fact(chosen, selector.place())


def _selectors(tree: MarkedTree) -> Iterator[MarkedTree]:
    for name, child in tree.value.items() if isinstance(tree.value, dict) else ():
        if name == "labelSelector":
            yield child
        else:
            yield from _selectors(child)
    for child in items(tree):
        yield from _selectors(child)


def _labels(node: JobNode) -> dict[str, str]:
    return {name: str(each.value) for name, each in node.pod.tree.value["metadata"].entries("labels")}


def _matches(selector: MarkedTree, labels: Mapping[str, str]) -> bool:
    wanted = all(labels.get(name) == str(each.value) for name, each in selector.entries("matchLabels"))
    return wanted and all(_fits(each.data(), labels) for each in items(selector.get("matchExpressions")))


def _fits(expression: dict[str, object], labels: Mapping[str, str]) -> bool:
    key, operator, values = str(expression["key"]), expression["operator"], expression.get("values") or []
    assert isinstance(values, list)
    if operator in ("Exists", "DoesNotExist"):
        return (key in labels) == (operator == "Exists")
    return (labels.get(key) in values) == (operator == "In")


def with_new_names(tree: MarkedTree) -> MarkedTree:
    """A pod's spec in which selectors use JobSet's label for the job's name in place of training-operator's."""
    return _renamed(tree, {OLD_NAME: NEW_NAME})


def _renamed(tree: MarkedTree, names: Mapping[str, str]) -> MarkedTree:
    if isinstance(tree.value, list):
        return tree.with_value([_renamed(each, names) for each in tree.value])
    if not isinstance(tree.value, dict):
        return tree
    return tree.with_value({name: _in_field(name, each, names) for name, each in tree.value.items()})


def _in_field(name: str, tree: MarkedTree, names: Mapping[str, str]) -> MarkedTree:
    if name == "matchLabels":
        return tree.with_value({names.get(key, key): each for key, each in tree.value.items()})
    if name == "matchExpressions":
        return tree.with_value([_expression(each, names) for each in items(tree)])
    return _renamed(tree, names)


def _expression(tree: MarkedTree, names: Mapping[str, str]) -> MarkedTree:
    key = tree.value["key"]
    return tree.with_value({**tree.value, "key": key.with_value(names.get(key.value, key.value))})


# What the program of a container sees: its command line, and its variables after a launcher has set its own.
#
# torchrun takes the `PET_*` variables as settings, and sets `RANK`, `WORLD_SIZE` and the others for each process that it starts.
#
# The number of processes follows `determine_local_world_size`, torch/distributed/run.py, 2.7: `auto` is `gpu` where there are GPUs. The
# rank of a node follows `config_from_args` there: it counts where nodes do not agree on their ranks as they meet.


_OF_JOBS = "JOB_COMPLETION_INDEX"  # which Kubernetes adds to the pods of every Job
THE_PORT = "<the operator's port>"
#: GPUs that torch counts as such.
_GPUS = ("nvidia.com/gpu", "amd.com/gpu")


@dataclass(frozen=True, slots=True)
class JobContext:
    """One of two jobs: where its nodes are, and who runs it."""

    hosts: Hosts
    operator: str
    """The beginning of the places of what the operator sets itself: `training-operator` or `trainer`."""
    size: int
    """How many nodes there are."""
    groups: Collection[str]
    """The names of its pod groups."""


def program_facts(node: JobNode, container: MarkedTree, side: JobContext, key: Key) -> Iterator[tuple[Key, Fact]]:
    """The facts of a container's program, by the beginning *key*."""
    variables, values = _variables(node, container, side)
    known = {**values, **{name: fact.value for name, fact in variables.items() if name in PORTS}}
    command, arguments = (_words(container, field, known, side) for field in ("command", "args"))
    line = command_line(command, arguments)
    mark = _place(container)
    yield (*key, "program", "how"), Fact("at once" if line.how == PROGRAM else line.how, mark)
    yield (*key, "program", "words"), Fact(line.program, mark)
    if line.how == LAUNCHER:
        has_gpus = any(container.get("resources", "limits", each) for each in _GPUS)
        yield from _launcher_facts(line, variables, side, (*key, "launcher"), mark, has_gpus=has_gpus)
    for name, fact in variables.items():
        if name != _OF_JOBS and (line.how != LAUNCHER or (name not in OF_PROCESSES and not _steers(name))):
            yield (*key, "env", name), fact
    for number, source in enumerate(items(container.get("envFrom"))):
        yield (*key, "envFrom", str(number)), Fact(source.data(), source.place())


def _steers(name: str) -> bool:
    return name.startswith("PET_") and name[4:].lower() in SETTINGS


def _variables(node: JobNode, container: MarkedTree, side: JobContext) -> tuple[dict[str, Fact], dict[str, str]]:
    """The variables as facts, and with their values as the kubelet has them; the last of a name counts."""
    found: dict[str, Fact] = {}
    known: dict[str, str] = {}
    for variable in items(container.get("env")):
        name = str(variable.value["name"].value)
        given = variable.get("value") or variable.get("valueFrom") or variable
        value = expand_references(value_of(variable, node.pod.tree), known) + _if_any(variable)
        known[name] = value
        found.pop(name, None)
        found[name] = Fact(_seen(name, value, side), given.place())
    return found, known


def _if_any(variable: MarkedTree) -> str:
    """Whether a pod starts without that which a variable is taken from."""
    source = variable.get("valueFrom")
    optional = any(each.get("optional") and each.value["optional"].value for each in (source.value.values() if source else ()))
    return " (if there is one)" if optional else ""


def _seen(name: str, value: str, side: JobContext) -> str:
    """A value with nodes in place of host names; the port of the operator, where nobody chose another one, is the same on both sides."""
    if name == NAME:
        return "<the job's name>"
    if name in PORTS and value == known_port(side.operator):
        return THE_PORT
    return side.hosts.in_text(value)


def known_port(operator: str) -> str:
    """The port at which an operator has processes meet, unless the job says another one."""
    return "29500" if operator == "trainer" else "23456"


def _words(container: MarkedTree, field: str, known: dict[str, str], side: JobContext) -> list[str]:
    return [side.hosts.in_text(expand_references(str(each.value), known)) for each in items(container.get(field))]


def _place(container: MarkedTree) -> Mark:
    return (container.get("command") or container.get("args") or container.get("image") or container).place()


def _launcher_facts(
    line: CommandLine, variables: dict[str, Fact], side: JobContext, key: Key, mark: Mark, *, has_gpus: bool
) -> Iterator[tuple[Key, Fact]]:
    """What the launcher goes by, and so the ranks and the world of the program."""
    known = {name: fact.value for name, fact in variables.items()}
    for name in SETTINGS:
        value = _as_torchrun_reads(name, line.setting(name, known), line, known, side)
        if name == "nproc_per_node" and has_gpus and value in ("auto", "gpu"):
            value = "one for each GPU"
        variable = variables.get(f"PET_{name.upper()}")
        yield (*key, name), Fact(value, variable.mark if variable and name not in line.options else mark)
    for name in line.options.keys() - SETTINGS.keys():
        yield (*key, name), Fact(line.options[name], mark)


def _as_torchrun_reads(name: str, value: str, line: CommandLine, known: dict[str, str], side: JobContext) -> str:
    is_alone = line.setting("nnodes", known) in ("1", "1:1") or "standalone" in line.options or "PET_STANDALONE" in known
    if name == "nnodes":
        least, _, most = value.partition(":")
        return least if least == (most or least) else value
    meets = line.setting("rdzv_backend", known) != "static"
    if name in ("master_addr", "master_port") and (is_alone or meets):
        return "the node's own"
    if name == "node_rank" and meets:
        return "as the nodes agree"
    if name == "master_port" and value == SETTINGS[name]:
        return THE_PORT
    if name == "master_addr" and side.size == 1 and value == "127.0.0.1":
        return "<node 0>"
    return value
