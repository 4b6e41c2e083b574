"""A PyTorchJob as its migration looks at it: its replica types, its policies, and what the operator makes of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobspec.diagnostics import Mark
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, items, text, with_marks
from jobspec.kinds import GroupKind
from jobspec.operators.expansion import ExpandedPod, pods_among
from jobspec.targets import Target
from jobspec.workloads import CONTAINERS


class SourceJob:
    """One PyTorchJob, and the release that it goes to."""

    __slots__ = ("document", "gang_scheduler", "nodes", "release", "replicas", "spec", "tree")

    def __init__(self, document: Document, objects: Sequence[MarkedTree], target: Target, *, gang_scheduler: str) -> None:
        """*objects*: what training-operator makes of it."""
        self.document = document
        self.release = target["trainer"]
        self.gang_scheduler = gang_scheduler
        """What schedules its pods all at once; empty where nothing does."""
        self.tree = _without_nulls(with_marks(document.data, document.marks))
        self.spec: MarkedTree = self.tree.value["spec"]
        self.replicas = dict(sorted(self.spec.entries("pytorchReplicaSpecs")))
        """Master first."""
        self.nodes: list[JobNode] = [each for each in nodes_of(objects, document.group_kind) if each.training]

    @property
    def name(self) -> str:
        """The name of the job."""
        return self.document.name

    @property
    def is_of_volcano(self) -> bool:
        """Whether Volcano schedules its pods all at once."""
        return self.gang_scheduler.lower() == "volcano"

    @property
    def lead(self) -> MarkedTree:
        """The replica type of node 0."""
        lead: MarkedTree = next(iter(self.replicas.values()))
        return lead

    @property
    def count(self) -> int:
        """How many pods it has."""
        return sum(self.count_of(name) for name in self.replicas)

    def count_of(self, name: str) -> int:
        """How many pods a replica type has."""
        given = self.replicas[name].get("replicas")
        return int(given.value) if given else 1

    def policy(self, *path: str) -> MarkedTree | None:
        """A field of the run policy."""
        return self.spec.get("runPolicy", *path)

    def restart(self, replica: MarkedTree) -> str:
        """The restart policy of a replica type, with the operator's default."""
        return text(replica, "restartPolicy") or "OnFailure"

    def is_uniform(self) -> bool:
        """Whether the pods of all replica types are the same."""
        seen = [(self.restart(each), each.value["template"].data()) for each in self.replicas.values()]
        return all(each == seen[0] for each in seen)


def _without_nulls(tree: MarkedTree) -> MarkedTree:
    """The tree without null values, which the server drops."""
    if isinstance(tree.value, dict):
        return tree.with_value({name: _without_nulls(each) for name, each in tree.value.items() if each.value is not None})
    return tree.with_value([_without_nulls(each) for each in tree.value]) if isinstance(tree.value, list) else tree


# Values that a migration writes, and parts of a job that it moves: each points to the place in the source that caused it.


MIGRATION = Mark("jobspec migrate")
"""The place of what no line of the source says."""


def by_migration(data: Any, cause: MarkedTree | None = None) -> MarkedTree:
    """Plain data, with trees perhaps inside, as a tree; all that is new stands at the place of its *cause*."""
    mark = cause.mark if cause and cause.mark.line else MIGRATION
    return _marked(data, mark)


def _marked(data: Any, mark: Mark) -> MarkedTree:
    if isinstance(data, MarkedTree):
        return data
    if isinstance(data, dict):
        return MarkedTree({key: _marked(value, mark) for key, value in data.items()}, mark)
    if isinstance(data, list):
        return MarkedTree([_marked(value, mark) for value in data], mark)
    return MarkedTree(data, mark)


def present(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


# The pods of a job in the order of their ranks, and the names by which they reach each other, which differ from operator to operator.


_DOMAIN = r"(?:\.[a-z0-9-]+(?:\.svc(?:\.[a-z0-9.-]+)?)?)?"


@dataclass(frozen=True, slots=True)
class JobNode:
    """A pod of a job: one that trains, with its rank, or another one."""

    name: str
    """`node 0` and so on for pods that train, in the order of their ranks; for others their role and number."""
    pod: ExpandedPod
    training: MarkedTree | None
    """The container that trains, None in a pod that does not."""


def nodes_of(objects: Sequence[MarkedTree], kind: GroupKind) -> list[JobNode]:
    """The pods among a job's objects: the Master, or the first pod of the first replicated job that trains, is node 0."""
    found = []
    ranks = 0
    others: dict[str, int] = {}
    for pod in pods_among(objects):
        training = None if pod.role.endswith("-initializer") else pod.container(CONTAINERS[kind])
        if training:
            found.append(JobNode(f"node {ranks}", pod, training))
            ranks += 1
        else:
            number = others.get(pod.role, 0)
            others[pod.role] = number + 1
            found.append(JobNode(f"{pod.role} {number}", pod, None))
    return found


class Hosts:
    """Replaces the names of hosts by those of nodes: `train-master-0` and `train-node-0-0.train` both are `<node 0>`."""

    __slots__ = ("_names", "_pattern")

    def __init__(self, nodes: Iterable[JobNode]) -> None:
        self._names = {each.pod.host_name: f"<{each.name}>" for each in nodes if each.pod.host_name}
        names = "|".join(re.escape(each) for each in sorted(self._names, key=len, reverse=True))
        self._pattern = re.compile(rf"(?<![\w.-])({names}){_DOMAIN}(?![\w-])") if names else None

    def in_text(self, text: str) -> str:
        """A text with each name of a host replaced."""
        return self._pattern.sub(lambda found: self._names[found[1]], text) if self._pattern else text


# The names of a PyTorchJob's pods in its texts, replaced by those that the same nodes have as pods of a TrainJob.
#
# They begin with a variable for the job's name, so that they are right in a job of another name, too, such as a variant of a project.


NAME = "TRAINJOB_NAME"
"""The variable that has the name of the job, from its pods' metadata."""
NAME_FIELD = "metadata.labels['jobset.sigs.k8s.io/jobset-name']"


def renaming(source: SourceJob, new_name: Callable[[int], str]) -> Callable[[str], str]:
    """What replaces each pod's name in a text. *new_name*: the name of the host with a rank."""
    names = {node.pod.host_name: new_name(rank) for rank, node in enumerate(source.nodes)}
    longest_first = "|".join(re.escape(each) for each in sorted(names, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w.-])({longest_first})(?![\w-])")
    return lambda text: pattern.sub(lambda found: names[found[1]], text)


def of_one_job(source: SourceJob) -> Callable[[str], str]:
    """The renaming where all nodes are pods of the replicated job `node`."""
    return renaming(source, lambda rank: f"$({NAME})-node-0-{rank}.$({NAME})")


def of_roles(source: SourceJob) -> Callable[[str], str]:
    """The renaming where the Master has a Job `master`, and each Worker one of the Jobs `node`."""
    return renaming(source, lambda rank: f"$({NAME})-{f'node-{rank - 1}' if rank else 'master-0'}-0.$({NAME})")


# What a program or a scheduler can learn of a job, one fact a key; and what differs between two jobs, with the place on both sides.


#: The subject, such as `node 0` or `job`, the area, such as `env` or `life`, and what it is about.
Key = tuple[str, ...]
#: The lists of a pod in which an item is known by a field; the items of all others count as one value together.
NAMED = {
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "ports": "containerPort",
    "imagePullSecrets": "name",
    "schedulingGates": "name",
    "hostAliases": "ip",
}


@dataclass(frozen=True, slots=True)
class Fact:
    """A value, and the place that it comes from: a line of the job or of its runtime, or who sets it."""

    value: Any
    mark: Mark


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact that is another one afterwards, or is there on one side alone."""

    key: Key
    before: Fact | None
    after: Fact | None

    def __repr__(self) -> str:
        return f"<{' '.join(self.key)}: {self.before and self.before.value!r} -> {self.after and self.after.value!r}>"


def differences(before: Mapping[Key, Fact], after: Mapping[Key, Fact]) -> list[Difference]:
    """What differs, in the order of the first side, and then what only the second has."""
    found = [Difference(key, fact, after.get(key)) for key, fact in before.items() if key not in after or after[key].value != fact.value]
    return [*found, *(Difference(key, None, fact) for key, fact in after.items() if key not in before)]


def flat(tree: MarkedTree, key: Key) -> Iterator[tuple[Key, Fact]]:
    """Every value of a tree that holds no further one, by its path; an item of a list by its name."""
    if isinstance(tree.value, dict) and tree.value:
        for name, child in tree.value.items():
            yield from flat_field(name, child, key)
    else:
        yield key, Fact(tree.data(), tree.place())


def flat_field(name: str, tree: MarkedTree, key: Key) -> Iterator[tuple[Key, Fact]]:
    """The same for one field, whose value may be a list."""
    named = NAMED.get(name)
    if named is None or not all(each.get(named) for each in items(tree)):
        yield from flat(tree, (*key, name))
        return
    for each in items(tree):
        label = str(each.value[named].value)
        yield from flat(each, (*key, f"{name}[{label}]"))
