"""Expand a job: the objects that its operator will create, whose every value has the place that caused it, and the job with these.

Rules and reports look at the job by role, with the container that trains.
"""

from __future__ import annotations

from jobspec import kinds
from jobspec.diagnostics import JobspecError
from jobspec.documents.marked_tree import text
from jobspec.operators.pods import ROLE, pods_among
from jobspec.workloads import CONTAINERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobspec.documents.document import Document
    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.operators.objects import Expansion
    from jobspec.operators.pods import Pod
    from jobspec.targets import Target

#: Group of a job's kind -> its operator.
_OPERATORS = {"kubeflow.org": "training-operator", "trainer.kubeflow.org": "trainer"}


def expand(
    job: Document,
    beside: Sequence[Document],
    target: Target,
    *,
    gang_scheduler: str = "",
    ends: bool = False,
    accepted: bool = False,
) -> Expansion:
    """What the operator of a job that a server accepts makes of it.

    *gang_scheduler*: what training-operator was started with as `--gang-scheduler-name`.
    *beside*: the documents that the job may refer to, such as runtimes. *ends*: of pods that differ in numbers alone, the first and the
    last one are made, and stand for all between. *accepted*: a server is known to accept all that is made, and nothing is said of that.
    Raises JobspecError for a kind that is not expanded.
    """
    if job.group_kind == kinds.PYTORCHJOB:
        from jobspec.operators.training_operator.pytorchjob import expand_pytorchjob

        return expand_pytorchjob(job, target, beside=beside, gang_scheduler=gang_scheduler, ends=ends)
    if job.group_kind == kinds.TRAINJOB:
        from jobspec.operators.trainjob import expand_trainjob
        from jobspec.runtimes.runtime import runtime_of

        return expand_trainjob(job, runtime_of(job, beside, target), target, beside=beside, ends=ends, accepted=accepted)
    raise JobspecError(f"{job.file}: jobspec expands training jobs alone, no {job.kind}")


class ExpandedRole:
    """The pods of one role, which differ in nothing but names, ranks and values of variables."""

    __slots__ = ("count", "name", "pods", "training")

    def __init__(self, name: str, pods: Sequence[Pod], training: str, count: int) -> None:
        self.name = name
        """As people write it: `Master` or `Worker`, or the name of the replicated job."""
        self.pods = pods
        """At least one; where the ends stand for all, the first and the last."""
        self.count = count
        """How many pods the role has."""
        self.training = training
        """The name of the container that trains; empty where the role does not train, such as an initializer."""

    def training_container(self) -> MarkedTree | None:
        """The container that trains, in the first pod; None where there is none."""
        return self.pods[0].container(self.training) if self.training else None

    def ranks_itself(self) -> bool:
        """Whether the pods have a priority or a preemption policy, and name no class that gives it."""
        spec = self.pods[0].tree.get("spec")
        return spec is not None and not text(spec, "priorityClassName") and any(spec.get(name) for name in ("priority", "preemptionPolicy"))


class ExpandedJob:
    """One job, its objects, and who makes them."""

    __slots__ = ("_by_kind", "_roles", "counts", "job", "objects", "operator", "target")

    def __init__(self, job: Document, objects: Sequence[MarkedTree], target: Target, counts: Mapping[str, int]) -> None:
        """*counts*: of an expansion; the pods of a role that it does not count are counted among the objects."""
        self.job = job
        self.objects = objects
        """Whole objects, in the order in which they come."""
        self.target = target
        operator = _OPERATORS[job.group_kind[0]]
        self.operator = f"{operator} {target[operator]}"
        """Name and release, such as `training-operator 1.9.4`."""
        self.counts = counts
        self._by_kind: dict[str, list[MarkedTree]] = {}
        for each in objects:
            self._by_kind.setdefault(text(each, "kind"), []).append(each)
        self._roles = self._found_roles()

    def of_kind(self, kind: str) -> list[MarkedTree]:
        """The objects of a kind, such as `Service`."""
        return self._by_kind.get(kind, [])

    def roles(self) -> list[ExpandedRole]:
        """The roles that have pods, in the order of these."""
        return self._roles

    def _found_roles(self) -> list[ExpandedRole]:
        by_role: dict[str, list[Pod]] = {}
        for pod in pods_among(self.objects):
            by_role.setdefault(pod.role, []).append(pod)
        return [
            ExpandedRole(self._spelt(name), pods, self._training(name), self.counts.get(name, len(pods))) for name, pods in by_role.items()
        ]

    def _spelt(self, role: str) -> str:
        return role.capitalize() if self.job.group_kind == kinds.PYTORCHJOB else role

    def _training(self, role: str) -> str:
        container = CONTAINERS[self.job.group_kind]
        return container if self.job.group_kind == kinds.PYTORCHJOB or role == container or role in self._labelled() else ""

    def _labelled(self) -> list[str]:
        """The replicated jobs that are labelled as the trainer's."""
        from jobspec.runtimes.runtime import ANCESTOR, TRAINER

        jobs = [each for each in self.of_kind("Job") if text(each, "metadata", "labels", ANCESTOR) == TRAINER]
        return [text(each, "metadata", "labels", ROLE) for each in jobs]
