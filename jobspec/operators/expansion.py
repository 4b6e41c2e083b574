"""Expand a job: the objects that its operator will create, whose every value has the place that caused it, and the job with these.

Rules and reports look at the job by role, with the container that trains.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from jobspec.apis import kinds
from jobspec.apis.releases import Target
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.grouping import grouped
from jobspec.diagnostics.record import Record
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, items, of_kind, text
from jobspec.operators.made import Expansion
from jobspec.operators.workloads import CONTAINERS, JOB_INDEX, REPLICATED_JOB
from jobspec.programs.command_lines import RANKS

#: Group of a job's kind -> its operator.
_OPERATORS = {"kubeflow.org": "training-operator", "trainer.kubeflow.org": "trainer"}


def expand(
    job: Document,
    context: Sequence[Document],
    target: Target,
    *,
    gang_scheduler: str = "",
    first_and_last_only: bool = False,
    skip_server_checks: bool = False,
) -> Expansion:
    """The objects that an operator creates for an accepted job.

    *gang_scheduler*: what training-operator was started with as `--gang-scheduler-name`.
    *context*: the documents that the job may refer to, such as runtimes. *first_and_last_only*: of pods that differ in numbers alone, the
    first and the last one are made, for all between. *skip_server_checks*: a server is known to accept all that is made.
    Raises JobspecError for a kind that is not expanded.
    """
    how = {"first_and_last_only": first_and_last_only, "skip_server_checks": skip_server_checks}
    if job.group_kind == kinds.PYTORCHJOB:
        from jobspec.operators.training_operator.objects import expand_pytorchjob

        return expand_pytorchjob(job, target, context=context, gang_scheduler=gang_scheduler, **how)
    if job.group_kind == kinds.TRAINJOB:
        from jobspec.operators.trainer.objects import expand_trainjob
        from jobspec.operators.trainer.runtimes import runtime_of

        return expand_trainjob(job, runtime_of(job, context, target), target, context=context, **how)
    raise JobspecError(f"{job.file}: jobspec expands training jobs alone, no {job.kind}")


class ExpandedRole:
    """The pods of one role, which differ in nothing but names, ranks and values of variables."""

    __slots__ = ("count", "name", "pod_tree", "pods", "training")

    def __init__(self, name: str, pods: Sequence[ExpandedPod], training: str, count: int) -> None:
        self.name = name
        """As people write it: `Master` or `Worker`, or the name of the replicated job."""
        self.pods = pods
        """At least one; where the ends stand for all, the first and the last."""
        self.pod_tree = pods[0].tree
        """The first one, which stands for all where names, ranks and values of variables do not matter."""
        self.count = count
        """How many pods the role has."""
        self.training = training
        """The name of the container that trains; empty where the role does not train, such as an initializer."""

    def training_container(self) -> MarkedTree | None:
        """The container that trains, in the first pod; None where there is none."""
        return self.pods[0].container(self.training) if self.training else None

    def sets_own_priority(self) -> bool:
        """Whether the pods have a priority or a preemption policy, and name no class that gives it."""
        spec = self.pod_tree.get("spec")
        return spec is not None and not text(spec, "priorityClassName") and any(spec.get(name) for name in ("priority", "preemptionPolicy"))


class ExpandedJob:
    """One job, its objects, and who makes them."""

    __slots__ = ("_by_kind", "counts", "job", "objects", "operator", "roles", "target")

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
        self._by_kind = grouped(objects, lambda each: text(each, "kind"))
        self.roles = self._found_roles()
        """The roles that have pods, in the order of these."""

    def of_kind(self, kind: str) -> list[MarkedTree]:
        """The objects of a kind, such as `Service`."""
        return self._by_kind.get(kind, [])

    def creator_of(self, made: MarkedTree) -> str:
        """The account that creates an object of the job, as the operators' own manifests name it."""
        kind, operator = made.value["kind"].value, self.operator.partition(" ")[0]
        if operator != "trainer" or kind == "JobSet":
            return _ACCOUNTS[operator]
        return _ACCOUNTS["Job" if kind == "Pod" else "jobset"]

    def _found_roles(self) -> list[ExpandedRole]:
        """The roles of all pods, with the container that trains where the role does."""
        by_role = grouped(pods_among(self.objects), lambda each: each.role)
        is_pytorchjob, container = self.job.group_kind == kinds.PYTORCHJOB, CONTAINERS[self.job.group_kind]
        training = by_role.keys() if is_pytorchjob else {container, *self._labelled()}
        return [
            ExpandedRole(
                name.capitalize() if is_pytorchjob else name, pods, container if name in training else "", self.counts.get(name, len(pods))
            )
            for name, pods in by_role.items()
        ]

    def _labelled(self) -> list[str]:
        """The replicated jobs that are labelled as the trainer's."""
        from jobspec.operators.trainer.runtimes import ANCESTOR, TRAINER

        jobs = [each for each in self.of_kind("Job") if text(each, "metadata", "labels", ANCESTOR) == TRAINER]
        return [text(each, "metadata", "labels", REPLICATED_JOB) for each in jobs]


_ACCOUNTS = {
    "training-operator": "system:serviceaccount:kubeflow:training-operator",
    "trainer": "system:serviceaccount:kubeflow-system:kubeflow-trainer-controller-manager",
    "jobset": "system:serviceaccount:jobset-system:jobset-controller-manager",
    "Job": "system:serviceaccount:kube-system:job-controller",
}


# A pod that an operator makes, as rules and reports look at it: its role and rank, by which name others reach it, its containers.


_ROLES = ("training.kubeflow.org/replica-type", REPLICATED_JOB)


class ExpandedPod(Record):
    """A pod among the objects that are made with it."""

    tree: MarkedTree
    name: str
    role: str
    """The replica type of a PyTorchJob in small letters, or the name of the replicated job."""
    rank: str
    """Empty where the pods agree on ranks when they meet, and for pods that have none."""
    services: Mapping[str, MarkedTree]
    """All services that are made with it, by name."""

    @property
    def host_name(self) -> str:
        """The name by which the namespace's pods reach it: below its subdomain, or that of a service which finds this pod alone."""
        own = text(self.tree, "spec", "hostname") or self.name
        subdomain = text(self.tree, "spec", "subdomain")
        if subdomain:
            return f"{own}.{subdomain}"
        labels = {name: each.value for name, each in self.tree.value["metadata"].entries("labels")}
        for service in (*filter(None, [self.services.get(own)]), *self.services.values()):  # that of most has the pod's name
            selector = {name: each.value for name, each in service.value["spec"].entries("selector")}
            if selector and selector.items() <= labels.items():
                return text(service, "metadata", "name")
        return own

    def containers(self) -> Iterator[tuple[MarkedTree, bool]]:
        """Its containers in the order in which they start, and whether each is an init container."""
        for field in ("initContainers", "containers"):
            yield from ((each, field == "initContainers") for each in items(self.tree.get("spec", field)))

    def container(self, name: str) -> MarkedTree | None:
        """The container of a name that is no init container, None where there is none."""
        return next((each for each in items(self.tree.get("spec", "containers")) if text(each, "name") == name), None)


def pods_among(objects: Sequence[MarkedTree]) -> list[ExpandedPod]:
    """The pods among objects."""
    pods = of_kind(objects, "Pod")
    services = {text(each, "metadata", "name"): each for each in of_kind(objects, "Service")}
    ranks = list(map(_rank, pods))
    if not any(ranks):
        ranks = [text(each, "metadata", "annotations", JOB_INDEX) for each in pods]
    names = [text(each, "metadata", "name") for each in pods]
    roles = [next(filter(None, (text(each, "metadata", "labels", label) for label in _ROLES)), "") for each in pods]
    return [ExpandedPod(*pod, services) for pod in zip(pods, names, roles, ranks, strict=True)]


def value_of(variable: MarkedTree, pod: MarkedTree) -> str:
    """The value that a variable will have in a pod; in `<>` what it is taken from, where that is not known yet."""
    source = variable.get("valueFrom")
    if source is None or not source.value:  # an empty source is one that the server refuses in pods, and takes in a TrainJob
        return text(variable, "value")
    field = text(source, "fieldRef", "fieldPath")
    path, bracket, key = field.removesuffix("']").partition("['")
    known = text(pod, *path.split("."), *([key] if bracket else []))
    if known:
        return known
    kind, reference = next(iter(source.value.items()))
    parts = [text(reference, name) for name in ("name", "key", "fieldPath", "resource", "path")]
    return f"<{kind.removesuffix('Ref')} {' '.join(part for part in parts if part)}>"


def _rank(pod: MarkedTree) -> str:
    """The rank that the operator gives to a pod, empty where it gives none."""
    for container in items(pod.get("spec", "containers")):
        variables = {text(each, "name"): each for each in items(container.get("env"))}
        known = next((value_of(variables[name], pod) for name in RANKS if name in variables), "")
        if known:
            return known
    return ""
