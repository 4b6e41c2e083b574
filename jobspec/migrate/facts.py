"""The facts of a job by which two jobs are compared: programs, scheduling, pods, life cycle.

Operators call pods, ports and hosts by different names; facts have one name for each, so that those of two jobs can be compared.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from jobspec.apis import kinds
from jobspec.apis.kinds import GroupKind
from jobspec.apis.releases import Target
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Mark
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, is_true, items, of_kind, text, walk, with_marks
from jobspec.kubernetes.label_selectors import selects
from jobspec.kubernetes.metadata import LAST_APPLIED
from jobspec.operators.accelerators import SEEN_BY_TORCH
from jobspec.operators.api_defaults import with_api_defaults
from jobspec.operators.batch import RETRIES, UNLIMITED
from jobspec.operators.expansion import ExpandedPod, expand, pods_among, value_of
from jobspec.operators.life import RETRYABLE
from jobspec.operators.made import as_sent, stored
from jobspec.operators.trainer import train_job
from jobspec.operators.training_operator import PORT, PORT_NUMBER, WAITING_CONTAINER, life
from jobspec.operators.workloads import CONTAINERS, released
from jobspec.programs.command_lines import (
    INDEX,
    LAUNCHER,
    OF_PROCESSES,
    PORTS,
    PROGRAM,
    SETTINGS,
    CommandLine,
    command_line,
    expand_references,
)

#: The subject, such as `node 0` or `job`, the area, such as `env` or `life`, and what it is about.
Key = tuple[str, ...]
#: The lists of a pod in which an item is known by a field; the items of all others count as one value together.
NAMED = {
    **dict.fromkeys(("containers", "initContainers", "env", "volumes", "imagePullSecrets", "schedulingGates"), "name"),
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "ports": "containerPort",
    "hostAliases": "ip",
}
#: The same for lists that are compared item by item, and merged as a whole.
_LABELLED = {**NAMED, "items": "key"}


@dataclass(frozen=True, slots=True)
class Fact:
    """A value and its source: a line of the job or of its runtime, or the operator."""

    value: Any
    mark: Mark


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact with another value after the migration, or that only one side has."""

    key: Key
    before: Fact | None
    after: Fact | None

    def __repr__(self) -> str:
        return f"<{' '.join(self.key)}: {self.before and self.before.value!r} -> {self.after and self.after.value!r}>"


def differences(before: Mapping[Key, Fact], after: Mapping[Key, Fact]) -> list[Difference]:
    """Return what differs, in the order of the first job, then what only the second job has.

    Of an empty mapping that has fields in the other job, the fields alone differ.
    """
    found = [Difference(key, fact, after.get(key)) for key, fact in before.items() if key not in after or after[key].value != fact.value]
    found += [Difference(key, None, fact) for key, fact in after.items() if key not in before]
    filled = {each.key[:end] for each in found for end in range(len(each.key))}
    return [each for each in found if each.key not in filled or not _is_empty(each)]


def _is_empty(difference: Difference) -> bool:
    return all(each is None or each.value == {} for each in (difference.before, difference.after))


def with_whole_items(found: Sequence[Difference], before: JobFacts, after: JobFacts) -> list[Difference]:
    """Join the differences of a list item that is new, or gone, to one.

    The item's fields are the value of that difference.
    """
    there = [{key[:end] for key in side.facts for end in _ends_of_items(key)} for side in (before, after)]
    made: dict[Key, list[Difference]] = {}
    for each in found:
        other = there[0] if each.before is None else there[1]
        is_whole = (each.before is None) != (each.after is None)
        item = next((each.key[:end] for end in _ends_of_items(each.key) if is_whole and each.key[:end] not in other), each.key)
        made.setdefault(item, []).append(each)
    return [_as_one(key, several) for key, several in made.items()]


def _ends_of_items(key: Key) -> Iterator[int]:
    """The lengths of the beginnings of a key that name an item of a list, the outermost first."""
    return (end for end, part in enumerate(key, 1) if part.endswith("]"))


def _as_one(key: Key, fields: Sequence[Difference]) -> Difference:
    first = fields[0]
    if first.key == key:
        return first
    values = {".".join(each.key[len(key) :]): (each.before or each.after) for each in fields}
    fact = first.before or first.after
    assert fact
    whole = Fact({name: each.value for name, each in values.items() if each}, fact.mark)
    return Difference(key, whole if first.before else None, whole if first.after else None)


def flat(tree: MarkedTree, key: Key) -> Iterator[tuple[Key, Fact]]:
    """Every scalar of a tree by its path, in which items of lists stand under their names."""
    if isinstance(tree.value, dict) and tree.value:
        for name, child in tree.value.items():
            yield from flat_field(name, child, key)
    else:
        yield key, Fact(tree.data(), tree.place())


def flat_field(name: str, tree: MarkedTree, key: Key) -> Iterator[tuple[Key, Fact]]:
    """Yield the same for one field, whose value may be a list."""
    named = _LABELLED.get(name)
    if named is None or not all(each.get(named) for each in items(tree)):
        yield from flat(tree, (*key, name))
        return
    for each in items(tree):
        label = str(each.value[named].value)
        yield from flat(each, (*key, f"{name}[{label}]"))


# All facts of a job, and what differs between two jobs.


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
    """Return the facts of a job that a server accepts.

    *context*: the objects that the job may refer to, such as runtimes and priority classes.
    """
    expansion = expand(released(job), context, target, gang_scheduler=gang_scheduler)
    itself = [as_sent(job, target)] if job.group_kind == kinds.JOB else [stored(job, target)] if job.group_kind == kinds.JOBSET else []
    objects = with_api_defaults([*itself, *expansion.objects], context, target)
    nodes = nodes_of(objects, job.group_kind, main_container(job))
    training = sum(each.training is not None for each in nodes)
    operator = operator_of(job)
    groups = [text(each, "metadata", "name") for each in of_kind(objects, "PodGroup")]
    named = [each for each in nodes if each.pod.host_name]
    hosts = {each.pod.host_name: f"<{each.name}>" for each in named}
    if operator == "mpi-operator":  # whose pods find each other by their names alone, too
        hosts |= {each.pod.host_name.partition(".")[0]: f"<{each.name}>" for each in named}
    own = JobContext(with_other_hosts(hosts, DOMAIN), operator, training, groups)
    facts = dict(fact for node in nodes for fact in pod_facts(node, own))
    facts |= dict(fact for node in nodes for fact in selector_facts(node, nodes))
    facts |= dict(life_facts(job, objects, nodes))
    facts |= dict(_facts_beside_pods(objects, nodes, own))
    return JobFacts(facts, expansion.objects, expansion.diagnostics, training)


def operator_of(job: Document) -> str:
    """Return the operator whose pods a job has, `trainer` for those of Jobs and JobSets, too."""
    component = kinds.COMPONENTS.get((job.api_version, job.kind), "")
    return component if component in ("training-operator", "mpi-operator") else "trainer"


def compared(before: JobFacts, after: JobFacts) -> list[Difference]:
    """Return the differences between two jobs; facts of the JobSet only between two TrainJobs."""
    found = differences(before.facts, after.facts)
    has_jobset = bool(of_kind(before.objects, "JobSet"))
    return [each for each in found if has_jobset or each.key[0] != JOBSET]


def _facts_beside_pods(objects: Sequence[MarkedTree], nodes: Sequence[JobNode], job: JobContext) -> Iterator[tuple[Key, Fact]]:
    """Yield the metadata of the JobSet, and the files that the operator makes for the pods.

    Queues and others find the JobSet by its metadata.
    """
    volumes = [each for node in nodes for each in items(node.pod.tree.get("spec", "volumes"))]
    mounted = {text(each, "configMap", "name") for each in volumes}
    files = [each for each in of_kind(objects, "ConfigMap") if text(each, "metadata", "name") in mounted]
    for name, value in (entry for each in files for entry in each.entries("data")):
        yield ("job", "files", name), Fact(job.in_nodes(str(value.value)), value.place())
    for field, name, value in (each for jobset in of_kind(objects, "JobSet") for each in _metadata_facts(jobset)):
        yield (JOBSET, field, name), Fact(value.value, value.place())


def _metadata_facts(tree: MarkedTree) -> Iterator[tuple[str, str, MarkedTree]]:
    """The labels and annotations of an object: the field, the name and the value of each."""
    for field in ("labels", "annotations"):
        yield from ((field, name, each) for name, each in tree.entries("metadata", field))


# The pods of a job in the order of their ranks, and the names by which they reach each other, which differ from operator to operator.


DOMAIN = r"(?:\.[a-z0-9-]+(?:\.svc(?:\.[a-z0-9.-]+)?)?)?"


@dataclass(frozen=True, slots=True)
class JobNode:
    """A pod of a job: one that trains, with its rank, or another one."""

    name: str
    """`node 0` and so on for pods that train, in the order of their ranks; for others their role and number."""
    pod: ExpandedPod
    training: MarkedTree | None
    """The container that trains, None in a pod that does not."""


def main_container(job: Document) -> str:
    """Return the container of a worker that an MPIJob of training-operator names; empty for the first one."""
    return text(with_marks(job.data, job.marks), "spec", "mainContainer") if job.group_kind == kinds.MPIJOB else ""


def nodes_of(objects: Sequence[MarkedTree], kind: GroupKind, main: str = "") -> list[JobNode]:
    """Return the pods among a job's objects, as numbered nodes. *main*: the container that trains, where the job names it.

    Node 0 is the launcher, the Master, or the first pod of the first replicated job that trains.
    """
    found = []
    numbers: defaultdict[tuple[str, bool], Iterator[int]] = defaultdict(count)
    for pod in sorted(pods_among(objects), key=lambda each: each.role != "launcher"):
        training = None if pod.role.endswith("-initializer") else (main and pod.container(main)) or _main_container(pod, kind)
        name = "node" if training else pod.role
        found.append(JobNode(f"{name} {next(numbers[name, training is None])}", pod, training))
    return found


def _main_container(pod: ExpandedPod, kind: GroupKind) -> MarkedTree | None:
    """The container that the operator requires; of a kind whose operator requires none, the first."""
    return pod.container(CONTAINERS[kind]) if kind in CONTAINERS else next(iter(items(pod.tree.get("spec", "containers"))), None)


NAME = "TRAINJOB_NAME"
"""The variable that has the name of the job, from its pods' metadata."""


def with_other_hosts(names: Mapping[str, str], domain: str = "") -> Callable[[str], str]:
    """Return a function to replace each host name in a text by another one.

    *domain*: a pattern of the text that goes with the name.
    """
    longest_first = "|".join(re.escape(each) for each in sorted(names, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w.-])({longest_first}){domain}(?![\w-])")
    return lambda text: pattern.sub(lambda found: names[found[1]], text) if names else text


# The facts of a pod for scheduler and kubelet: its spec and metadata, but for names that differ between operators.


TRAINING = "container that trains"
#: Fields that name a pod's host; JobSet sets them, users seldom.
_NAMES = ("hostname", "subdomain")
#: Fields of a pod that are compared on their own; the restart policy is a part of how the job lives.
_OWN = frozenset((*_NAMES, "restartPolicy", "containers", "initContainers"))
#: Fields of a container that are compared as its program, or say what it is called.
_PROGRAM = frozenset(("name", "command", "args", "env", "envFrom", "ports"))
#: What operators write on pods to find them again.
_OPERATORS = {
    **dict.fromkeys(("training-operator", "mpi-operator"), ("training.kubeflow.org/",)),
    "trainer": ("jobset.sigs.k8s.io/", "alpha.jobset.sigs.k8s.io/"),
}


def pod_facts(node: JobNode, job: JobContext) -> Iterator[tuple[Key, Fact]]:
    """Yield all facts of a pod."""
    key = (node.name,)
    spec = node.pod.tree.value["spec"]
    by_operator = node.pod.host_name.split(".") if job.operator in ("trainer", "mpi-operator") else ()
    for name, child in _renamed(spec, dict.fromkeys((OLD_NAME, NEW_NAME), _THE_NAME)).value.items():
        if name not in _OWN or (name in _NAMES and text(child) not in by_operator):
            yield from flat_field(name, child, (*key, "pod"))
    yield from _host_ports(node, job)
    for field in ("initContainers", "containers"):
        for container in items(spec.get(field)):
            yield from _container_facts(node, container, field, job)
    for field, name, each in _metadata_facts(node.pod.tree):
        is_operators = name.startswith(_OPERATORS[job.operator]) or str(each.mark).startswith(job.operator)
        names_group = name.startswith("scheduling.") and each.value in job.groups
        if not is_operators and not (job.operator == "trainer" and is_of_job(name)):
            yield (*key, field, name), Fact("<its pod group>" if names_group else each.value, each.place())


def is_of_job(label: str) -> bool:
    """True if Jobs write the label on their pods.

    A template that has such a label already is refused.
    """
    return label.startswith("batch.kubernetes.io/") or label in ("job-name", "controller-uid")


def _container_facts(node: JobNode, container: MarkedTree, field: str, job: JobContext) -> Iterator[tuple[Key, Fact]]:
    name = text(container, "name")
    if name == WAITING_CONTAINER and job.operator in str(container.mark):
        return
    is_training = node.training is not None and field == "containers" and name == text(node.training, "name")
    label = TRAINING if is_training else f"{'init container' if field == 'initContainers' else 'container'} {name}"
    for child_name, child in container.value.items():
        if child_name == "ports":
            yield from _ports(child, job, (node.name, label))
        elif child_name not in _PROGRAM:
            yield from flat_field(child_name, child, (node.name, label))
    yield from program_facts(node, container, job, (node.name, label))


def _ports(ports: MarkedTree, job: JobContext, key: Key) -> Iterator[tuple[Key, Fact]]:
    """Yield the ports, except the operator's port at which the processes meet."""
    own = [each for each in items(ports) if not str(each.mark).startswith(job.operator) and text(each, "name") != PORT]
    yield from flat_field("ports", ports.with_value(own), key) if own else ()


def _host_ports(node: JobNode, job: JobContext) -> Iterator[tuple[Key, Fact]]:
    """The ports that a pod takes from its machine, where no other pod with one of them can run."""
    containers = items(node.pod.tree.get("spec", "containers"))
    ports = [each for container in containers for each in items(container.get("ports")) if each.get("hostPort")]
    if ports:
        numbers = sorted(THE_PORT if each == known_port(job.operator) else each for each in (text(port, "hostPort") for port in ports))
        yield (node.name, "pod", "host ports"), Fact(numbers, ports[0].place())


# Which pods of their own job the label selectors for a pod's placement select.
#
# Operators label their pods in words of their own, so that the same selector may choose other pods after a migration.


#: The label with the name of the job, by who writes it.
OLD_NAME, NEW_NAME = "training.kubeflow.org/job-name", "jobset.sigs.k8s.io/jobset-name"
_THE_NAME = "<label with the job's name>"
_FIELDS = ("affinity", "topologySpreadConstraints")


def selector_facts(node: JobNode, nodes: Sequence[JobNode]) -> Iterator[tuple[Key, Fact]]:
    """Yield, for each label selector that places a pod, the chosen nodes of the pod's own job."""
    spec = node.pod.tree.value["spec"]
    inside = [found for field in _FIELDS if field in spec.value for found in walk(spec.value[field])]
    selectors = [each for path, each in inside if "labelSelector" in path and path.index("labelSelector") == len(path) - 1]
    for number, selector in enumerate(selectors):
        chosen = [each.name for each in nodes if selects(selector.data(), _labels(each))]
        yield (node.name, "pod", f"labelSelector {number}"), Fact(chosen, selector.place())


def _labels(node: JobNode) -> dict[str, str]:
    return {name: str(each.value) for name, each in node.pod.tree.entries("metadata", "labels")}


def with_new_names(tree: MarkedTree) -> MarkedTree:
    """Replace training-operator's label for the job's name by JobSet's in a pod's selectors."""
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


THE_PORT = "<the operator's port>"


@dataclass(frozen=True, slots=True)
class JobContext:
    """The host names and the operator of one of the two jobs, as facts need them."""

    in_nodes: Callable[[str], str]
    """Replaces the names of hosts in a text by those of nodes: `train-master-0` and `train-node-0-0.train` both are `<node 0>`."""
    operator: str
    """The beginning of the places of what the operator sets itself: `training-operator` or `trainer`."""
    size: int
    """How many nodes there are."""
    groups: Collection[str]
    """The names of its pod groups."""


def program_facts(node: JobNode, container: MarkedTree, job: JobContext, key: Key) -> Iterator[tuple[Key, Fact]]:
    """Yield the facts of a container's program, by the beginning *key*."""
    variables, values = _variables(node, container, job)
    known = {**values, **{name: fact.value for name, fact in variables.items() if name in PORTS}}
    words = ([expand_references(str(each.value), known) for each in items(container.get(field))] for field in ("command", "args"))
    line = command_line(*(list(map(job.in_nodes, each)) for each in words))
    mark = (container.get("command") or container.get("args") or container.get("image") or container).place()
    yield (*key, "program", "how"), Fact("at once" if line.how == PROGRAM else line.how, mark)
    yield (*key, "program", "words"), Fact(line.program, mark)
    if line.how == LAUNCHER:
        has_gpus = any(container.get("resources", "limits", each) for each in SEEN_BY_TORCH)
        yield from _launcher_facts(line, variables, job, (*key, "launcher"), mark, has_gpus=has_gpus)
    for name, fact in variables.items():
        steers = name.startswith("PET_") and name[4:].lower() in SETTINGS
        if name != INDEX and (line.how != LAUNCHER or (name not in OF_PROCESSES and not steers)):
            yield (*key, "env", name), fact
    for number, source in enumerate(items(container.get("envFrom"))):
        yield (*key, "envFrom", str(number)), Fact(source.data(), source.place())


def _variables(node: JobNode, container: MarkedTree, job: JobContext) -> tuple[dict[str, Fact], dict[str, str]]:
    """Return the variables as facts, and with their values as the kubelet has them.

    If several have one name, the last counts.
    """
    found: dict[str, Fact] = {}
    known: dict[str, str] = {}
    for variable in items(container.get("env")):
        name = str(variable.value["name"].value)
        given = variable.get("value") or variable.get("valueFrom") or variable
        value = expand_references(value_of(variable, node.pod.tree), known) + _if_any(variable)
        known[name] = value
        found.pop(name, None)
        found[name] = Fact(_seen(name, value, job), given.place())
    return found, known


def _if_any(variable: MarkedTree) -> str:
    """A note that the source of a variable is optional; else empty."""
    source = variable.get("valueFrom")
    optional = any(is_true(each, "optional") for each in (source.value.values() if source else ()))
    return " (if there is one)" if optional else ""


def _seen(name: str, value: str, job: JobContext) -> str:
    """Replace host names in a value by `<node N>`, and either operator's default port.

    The ports of both operators get one placeholder.
    """
    if name == NAME:
        return "<the job's name>"
    if name in PORTS and value == known_port(job.operator):
        return THE_PORT
    return job.in_nodes(value)


def known_port(operator: str) -> str:
    """Return the port at which an operator has processes meet, unless the job says another one."""
    return str(train_job.PORT if operator == "trainer" else PORT_NUMBER)


def _launcher_facts(
    line: CommandLine, variables: dict[str, Fact], job: JobContext, key: Key, mark: Mark, *, has_gpus: bool
) -> Iterator[tuple[Key, Fact]]:
    """The settings of the launcher, and the ranks and world size that the program gets."""
    known = {name: fact.value for name, fact in variables.items()}
    for name in SETTINGS:
        value = _as_torchrun_reads(name, line.setting(name, known), line, known, job)
        if name == "nproc_per_node" and has_gpus and value in ("auto", "gpu"):
            value = "one for each GPU"
        variable = variables.get(f"PET_{name.upper()}")
        yield (*key, name), Fact(value, variable.mark if variable and name not in line.options else mark)
    for name in line.options.keys() - SETTINGS.keys():
        yield (*key, name), Fact(line.options[name], mark)


def _as_torchrun_reads(name: str, value: str, line: CommandLine, known: dict[str, str], job: JobContext) -> str:
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
    if name == "master_addr" and job.size == 1 and value == "127.0.0.1":
        return "<node 0>"
    return value


# The life cycle of a job: restarts of failed containers, when the job succeeds or fails, and what stays afterwards.
#
# Follows `JobController.ReconcileJobs`, `ReconcilePods` and `PastBackoffLimit`, github.com/kubeflow/training-operator
# pkg/controller.v1/common, and `UpdateJobStatus`, pkg/controller.v1/pytorch, 1.7.0 to 1.9.4; `syncJob` and `pastBackoffLimitOnFailure`,
# k8s.io/kubernetes pkg/controller/job, 1.36; and `executeFailurePolicy`, sigs.k8s.io/jobset pkg/controllers, 0.8.2 to 0.12.0.


#: The kinds whose pods Jobs make: what restarts and ends them is a matter of these Jobs and their JobSet.
_OF_BATCH_JOBS = (kinds.TRAINJOB, kinds.JOBSET, kinds.JOB, kinds.CRON_JOB)
OWN_MANAGERS = ("kubeflow.org/training-operator", "trainer.kubeflow.org/trainjob-controller")


def life_facts(job: Document, objects: Sequence[MarkedTree], nodes: Sequence[JobNode]) -> Iterator[tuple[Key, Fact]]:
    """Yield the facts of a job's life, those of the job and those of each node."""
    tree = with_marks(job.data, job.marks)
    training = [each for each in nodes if each.training]
    if job.group_kind == kinds.PYTORCHJOB:
        yield from _of_pytorchjob(tree, training)
    elif job.group_kind == kinds.MPIJOB:
        yield from _of_mpijob(tree, objects, training)
    elif job.group_kind in _OF_BATCH_JOBS:
        yield from _of_batch_jobs(tree, objects, training)
    for field, name, each in _metadata_facts(tree):
        if name != LAST_APPLIED:
            yield ("job", field, name), Fact(each.value, each.place())
    scheduling, groups = tree.get("spec", "runPolicy", "schedulingPolicy"), of_kind(objects, "PodGroup")
    if scheduling and scheduling.value and not groups:
        yield from flat(scheduling, ("job", "schedulingPolicy"))  # which others than the operator may read
    for each in of_kind(objects, "HorizontalPodAutoscaler"):
        yield from flat(each.value["spec"].value["metrics"], ("job", "autoscaler"))
    for each in groups:
        yield from flat(each.value["spec"], ("job", "gang"))


def _fact(name: str, value: Any, tree: MarkedTree) -> tuple[Key, Fact]:
    return ("job", "life", name), Fact(value, tree.place())


def _of_pytorchjob(job: MarkedTree, nodes: Sequence[JobNode]) -> Iterator[tuple[Key, Fact]]:
    spec = job.value["spec"]
    policy = spec.get("runPolicy") or spec.with_value({})
    for node in nodes:
        yield from _restarts_of_replica(node, spec, policy)
    yield from _said(policy)
    replicas = dict(spec.entries("pytorchReplicaSpecs"))
    clean = policy.get("cleanPodPolicy")
    cleaning = clean.value if clean else None
    mark = clean or spec.value["pytorchReplicaSpecs"]
    others = "keep running" if life.leaves_running_pods(cleaning) else "are stopped"
    decisive = life.decisive_role([name.lower() for name in replicas], elastic=bool(spec.get("elasticPolicy")))
    if len(nodes) > 1 and decisive:
        who = "node 0 has" if decisive == "master" else "any node has"
        yield _fact("succeeds", f"when {who}; the others {others}", mark)
    else:
        yield _fact("succeeds", "when all nodes have", mark)
    ttl = policy.get("ttlSecondsAfterFinished")
    if ttl is not None and ttl.value is not None:
        yield _fact("ttlSecondsAfterFinished", f"{ttl.value} seconds after the end, with the job", ttl)
    if len(nodes) > 1:
        yield _fact("others after a failure", others, mark)
    yield _fact("finished pods", "stay" if life.leaves_finished_pods(cleaning) else "are deleted", mark)


def _of_mpijob(job: MarkedTree, objects: Sequence[MarkedTree], nodes: Sequence[JobNode]) -> Iterator[tuple[Key, Fact]]:
    """Yield the facts of an MPIJob's life, which is that of its launcher: mpi-operator makes a Job of it, training-operator a pod."""
    spec = job.get("spec") or job  # which an MPIJob without roles may lack
    policy = spec.get("runPolicy") or spec.with_value({})
    jobs = {text(each, "metadata", "name"): each for each in of_kind(objects, "Job")}
    for node in nodes:
        if node.pod.role != "launcher":
            continue
        if jobs:
            yield from _restarts_of_job(node, jobs[_job_of(node)])
        else:
            yield from _restarts_of_replica(node, spec.with_value({"pytorchReplicaSpecs": spec.value["mpiReplicaSpecs"]}), policy, "Never")
    yield from _said(policy)
    clean = policy.get("cleanPodPolicy") or spec.get("cleanPodPolicy")
    word, mark = (clean.value if clean else "") or "None", clean or spec.get("mpiReplicaSpecs") or spec
    others = "keep running" if word == "None" else "are stopped"
    yield _fact("succeeds", f"when node 0 has; the others {others}", mark)
    yield _fact("others after a failure", others, mark)
    yield _fact("finished pods", "are deleted" if word == "All" else "stay", mark)
    ttl = policy.get("ttlSecondsAfterFinished")
    if ttl is not None and ttl.value is not None:
        yield _fact("ttlSecondsAfterFinished", f"{ttl.value} seconds after the end, with the job", ttl)


def _restarts_of_replica(
    node: JobNode, spec: MarkedTree, policy: MarkedTree, default: str = life.RESTART_POLICY
) -> Iterator[tuple[Key, Fact]]:
    replica = spec.value["pytorchReplicaSpecs"].value[node.pod.role.capitalize()]
    given = replica.get("restartPolicy")
    word = given.value if given else default
    place = (given or replica).place()
    how = {"Never": "the job fails", "ExitCode": "a new pod from exit code 128 on", "OnFailure": "in place"}.get(word, "always, in place")
    yield (node.name, "life", "restart"), Fact(how, place)
    if word == "Never":
        return
    limit = policy.get("backoffLimit")
    counted = limit is not None and life.counts_restarts(word)
    value = limit.value if limit is not None and counted else "any number"
    yield (node.name, "life", "restarts"), Fact(value, limit.place() if limit is not None and counted else place)


def _said(policy: MarkedTree) -> Iterator[tuple[Key, Fact]]:
    for name in ("activeDeadlineSeconds", "suspend", "managedBy"):
        each = policy.get(name)
        if each is not None and each.value not in (None, False, *OWN_MANAGERS):
            yield _fact(name, each.value, each)


def _of_batch_jobs(job: MarkedTree, objects: Sequence[MarkedTree], nodes: Sequence[JobNode]) -> Iterator[tuple[Key, Fact]]:
    spec = job.value["spec"]
    jobs = {text(each, "metadata", "name"): each for each in of_kind(objects, "Job")}
    for node in nodes:
        yield from _restarts_of_job(node, jobs[_job_of(node)])
    yield from _said(spec)
    for each in jobs.values():
        deadline = each.get("spec", "activeDeadlineSeconds")
        if deadline:
            yield _fact("activeDeadlineSeconds", deadline.value, deadline)
    for each in of_kind(objects, "JobSet"):
        yield from _of_jobset(each, list(jobs.values()), nodes)
    if not of_kind(objects, "JobSet") and len(nodes) > 1:
        yield _fact("succeeds", _success(spec, list(jobs.values())), spec.get("successPolicy") or spec)
    limits = [jobs[name].get("spec", "backoffLimit") for name in dict.fromkeys(map(_job_of, nodes))]
    if len(limits) > 1 and any(each and 0 < each.value < UNLIMITED for each in limits):
        yield _fact("restarts are counted", "for each Job separately", spec)
    if len(nodes) > 1:
        yield _fact("others after a failure", "are stopped", spec)
    yield _fact("finished pods", "stay", spec)


def _job_of(node: JobNode) -> str:
    """The name of a pod's Job."""
    return text(items(node.pod.tree.get("metadata", "ownerReferences"))[0], "name")


def _restarts_of_job(node: JobNode, job: MarkedTree) -> Iterator[tuple[Key, Fact]]:
    limit = job.get("spec", "backoffLimit")
    allowed = limit.value if limit else RETRIES
    policy = node.pod.tree.value["spec"].get("restartPolicy")
    place = (policy or job).place()
    rules = [each.data().items() for each in items(job.get("spec", "podFailurePolicy", "rules"))]
    failing = [{name: value for name, value in each if value not in ([], None)} for each in rules]
    how = "in place" if policy and policy.value == "OnFailure" else "a new pod"
    if how == "a new pod" and failing == [exit_code_rule()]:
        how = "a new pod from exit code 128 on"
    elif how == "a new pod" and not failing and allowed == 0:
        yield (node.name, "life", "restart"), Fact("the job fails", place)
        return
    elif failing:
        yield (node.name, "life", "podFailurePolicy"), Fact(failing, job.value["spec"].value["podFailurePolicy"].place())
    yield (node.name, "life", "restart"), Fact(how, place)
    yield (node.name, "life", "restarts"), Fact("any number" if allowed == UNLIMITED else allowed, (limit or job).place())


def exit_code_rule() -> dict[str, Any]:
    """Return the rule of a Job's `podFailurePolicy` for exit codes below 128.

    Such a code of the training container fails the job.
    """
    codes = list(range(1, RETRYABLE))
    return {"action": "FailJob", "onExitCodes": {"containerName": CONTAINERS[kinds.TRAINJOB], "operator": "In", "values": codes}}


def _of_jobset(jobset: MarkedTree, jobs: Sequence[MarkedTree], nodes: Sequence[JobNode]) -> Iterator[tuple[Key, Fact]]:
    spec = jobset.value["spec"]
    ttl = spec.get("ttlSecondsAfterFinished")
    if ttl:
        yield _fact("ttlSecondsAfterFinished", f"{ttl.value} seconds after the end, and the job stays", ttl)
    restarts = spec.get("failurePolicy", "maxRestarts")
    if restarts and restarts.value:
        yield _fact("restarts of all pods", restarts.value, restarts)
    found = _success(spec, jobs) if len(nodes) > 1 else "when all nodes have"
    yield _fact("succeeds", found, spec.get("successPolicy") or spec)


def _success(spec: MarkedTree, jobs: Sequence[MarkedTree]) -> str:
    rules = [each for job in jobs for each in items(job.get("spec", "successPolicy", "rules"))]
    if len(rules) == 1 and text(rules[0], "succeededIndexes") == "0" and rules[0].get("succeededCount") is None:
        return "when node 0 has; the others are stopped"
    count = rules[0].get("succeededCount") if len(rules) == 1 else None
    if count and count.value == 1 and rules[0].get("succeededIndexes") is None:
        return "when any node has; the others are stopped"
    targets = [each.value for each in items(spec.get("successPolicy", "targetReplicatedJobs"))]
    names = [text(each, "name") for each in items(spec.get("replicatedJobs"))]
    is_first = targets == names[:1] or (targets == ["launcher"] and "launcher" in names)  # a launcher is node 0
    if not rules and targets and is_first and len(names) > 1:
        return "when node 0 has; the others are stopped"
    return "when all nodes have" if not rules and not targets else "as its own success policy says"
