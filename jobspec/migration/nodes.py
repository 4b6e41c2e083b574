"""The pods of a job in the order of their ranks, and the names by which they reach each other, which differ from operator to operator."""

from __future__ import annotations

import re

from jobspec.operators.expansion import pods_among
from jobspec.workloads import CONTAINERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.kinds import GroupKind
    from jobspec.operators.expansion import Pod

_DOMAIN = r"(?:\.[a-z0-9-]+(?:\.svc(?:\.[a-z0-9.-]+)?)?)?"


class JobNode:
    """A pod of a job: one that trains, with its rank, or another one."""

    __slots__ = ("name", "pod", "training")

    def __init__(self, name: str, pod: Pod, training: MarkedTree | None) -> None:
        self.name = name
        """`node 0` and so on for pods that train, in the order of their ranks; for others their role and number."""
        self.pod = pod
        self.training = training
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
