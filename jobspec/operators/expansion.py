"""Expand a job: the objects that its operator will create, whose every value has the place that caused it, and the job with these.

Rules and reports look at the job by role, with the container that trains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from jobspec.apis import kinds
from jobspec.apis.kinds import POD_TEMPLATES
from jobspec.apis.releases import Target
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.grouping import grouped
from jobspec.diagnostics.places import value_at
from jobspec.diagnostics.record import Record
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, items, of_kind, text
from jobspec.go.values import structs
from jobspec.operators.made import RANDOM, Expansion
from jobspec.operators.workloads import CONTAINERS, GROUP_MEMBER, JOB_INDEX, LEADER, REPLICATED_JOB, WORKER, queue_of
from jobspec.programs.command_lines import RANKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.operators.training_operator.frameworks import Framework


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

    *gang_scheduler*: what training-operator was started with as `--gang-scheduler-name`, and mpi-operator as `--gang-scheduling`.
    *context*: the documents that the job may refer to, such as runtimes. *first_and_last_only*: of pods that differ in numbers alone, the
    first and the last one are made, for all between. *skip_server_checks*: a server is known to accept all that is made.
    Raises JobspecError for a kind that is not expanded.
    """
    if (job.api_version, job.kind) not in MAKERS:
        raise JobspecError(f"{job.file}: jobspec does not know the pods of a {job.kind}")
    how = ExpansionOptions(context, gang_scheduler, first_and_last_only, skip_server_checks)
    return MAKERS[job.api_version, job.kind].expand(job, target, how)


class ExpansionOptions(Record):
    """The further arguments of `expand`."""

    context: Sequence[Document]
    gang_scheduler: str
    first_and_last_only: bool
    skip_server_checks: bool


# Who makes the pods of each kind: one row a kind, and one function that asks the module of its operator.


def _expand_training_job(job: Document, target: Target, how: ExpansionOptions) -> Expansion:
    from jobspec.operators.training_operator.objects import expand_training_job

    return expand_training_job(
        job,
        target,
        context=how.context,
        gang_scheduler=how.gang_scheduler,
        first_and_last_only=how.first_and_last_only,
        skip_server_checks=how.skip_server_checks,
    )


def _expand_trainjob(job: Document, target: Target, how: ExpansionOptions) -> Expansion:
    from jobspec.operators.trainer.objects import expand_trainjob
    from jobspec.operators.trainer.runtimes import runtime_of

    return expand_trainjob(
        job,
        runtime_of(job, how.context, target),
        target,
        context=how.context,
        first_and_last_only=how.first_and_last_only,
        skip_server_checks=how.skip_server_checks,
    )


def _expand_jobset(job: Document, target: Target, how: ExpansionOptions) -> Expansion:
    from jobspec.operators.jobset.pods import expand_jobset

    return expand_jobset(job, target, context=how.context, first_and_last_only=how.first_and_last_only)


def _expand_job(job: Document, target: Target, how: ExpansionOptions) -> Expansion:
    from jobspec.operators.batch import expand_job

    return expand_job(job, target, first_and_last_only=how.first_and_last_only)


def _expand_cron_job(job: Document, target: Target, how: ExpansionOptions) -> Expansion:
    from jobspec.operators.batch import expand_cron_job

    return expand_cron_job(job, target, first_and_last_only=how.first_and_last_only)


def _expand_mpijob(job: Document, target: Target, how: ExpansionOptions) -> Expansion:
    from jobspec.operators.mpi_operator.objects import expand_mpijob

    return expand_mpijob(job, target, context=how.context, gang_scheduler=how.gang_scheduler, first_and_last_only=how.first_and_last_only)


def _expand_leader_worker_set(job: Document, target: Target, how: ExpansionOptions) -> Expansion:
    from jobspec.operators.lws.pods import expand_lws

    return expand_lws(job, target, first_and_last_only=how.first_and_last_only)


def _expand_ray_object(job: Document, target: Target, how: ExpansionOptions) -> Expansion:
    from jobspec.operators.kuberay.objects import expand_ray_object

    return expand_ray_object(job, target, context=how.context, first_and_last_only=how.first_and_last_only)


class Maker(Record):
    """What makes the pods of a kind."""

    operator: str
    component: str
    """Whose release decides, which is Kubernetes for its own controllers."""
    expand: Callable[[Document, Target, ExpansionOptions], Expansion]


_KUBERAY = Maker("kuberay", "kuberay", _expand_ray_object)
#: (apiVersion, kind) -> what makes the pods of its jobs.
MAKERS: Mapping[tuple[str, str], Maker] = {
    **{("kubeflow.org/v1", kind): Maker("training-operator", "training-operator", _expand_training_job) for _, kind in kinds.TRAINING_JOBS},
    ("kubeflow.org/v2beta1", "MPIJob"): Maker("mpi-operator", "mpi-operator", _expand_mpijob),
    ("trainer.kubeflow.org/v1alpha1", "TrainJob"): Maker("trainer", "trainer", _expand_trainjob),
    ("jobset.x-k8s.io/v1alpha2", "JobSet"): Maker("jobset", "jobset", _expand_jobset),
    ("batch/v1", "Job"): Maker("kube-controller-manager", "kubernetes", _expand_job),
    ("batch/v1", "CronJob"): Maker("kube-controller-manager", "kubernetes", _expand_cron_job),
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"): Maker("lws", "lws", _expand_leader_worker_set),
    ("ray.io/v1", "RayCluster"): _KUBERAY,
    ("ray.io/v1", "RayJob"): _KUBERAY,
    ("ray.io/v1", "RayService"): _KUBERAY,
    ("ray.io/v1", "RayCronJob"): _KUBERAY,
    ("ray.io/v1alpha1", "RayCluster"): _KUBERAY,
    ("ray.io/v1alpha1", "RayJob"): _KUBERAY,
    ("ray.io/v1alpha1", "RayService"): _KUBERAY,
}


class ExpandedRole:
    """The pods of one role, which differ in nothing but names, ranks and values of variables."""

    __slots__ = ("count", "may_be_apart", "meeting", "name", "pod_tree", "pods", "starts_later", "together", "training")

    def __init__(
        self,
        name: str,
        pods: Sequence[ExpandedPod],
        training: str,
        count: int,
        *,
        groups: int = 1,
        together: bool = True,
        starts_later: bool = False,
        may_be_apart: bool = False,
    ) -> None:
        self.name = name
        """As people write it: `Master` or `Worker`, or the name of the replicated job; of a Job, its own name."""
        self.pods = pods
        """At least one; where the ends stand for all, the first and the last."""
        self.pod_tree = pods[0].tree
        """The first one, which stands for all where names, ranks and values of variables do not matter."""
        self.count = count
        """How many pods the role has."""
        self.meeting = count // groups
        """How many of these pods meet each other: those of one group of a LeaderWorkerSet, else all."""
        self.training = training
        """The name of the container that trains; empty where the role does not train, such as an initializer."""
        self.together = together
        """Whether its pods wait for each other, and for those of other such roles; else one may run after the other."""
        self.starts_later = starts_later
        """Whether its pods come when those of other roles have ended."""
        self.may_be_apart = may_be_apart
        """Whether nothing is known of when its pods run beside those of other roles; those of the role run at the same time."""

    def training_container(self) -> MarkedTree | None:
        """The container that trains, in the first pod; None where there is none."""
        return self.pods[0].container(self.training) if self.training else None

    def follows_another(self) -> bool:
        """Whether the pods run where another pod is: the node is chosen by a value that only a cluster knows."""
        selector = self.pod_tree.get("spec", "nodeSelector")
        return selector is not None and any(each.value == RANDOM for each in selector.value.values())

    def sets_own_priority(self) -> bool:
        """Whether the pods have a priority or a preemption policy, and name no class that gives it."""
        spec = self.pod_tree.get("spec")
        return spec is not None and not text(spec, "priorityClassName") and any(spec.get(name) for name in ("priority", "preemptionPolicy"))


class ExpandedJob:
    """One job, its objects, and who makes them."""

    __slots__ = ("_by_kind", "counts", "framework", "job", "objects", "operator", "roles", "target")

    def __init__(
        self,
        job: Document,
        objects: Sequence[MarkedTree],
        target: Target,
        counts: Mapping[str, int],
        *,
        roles: Sequence[ExpandedRole] | None = None,
    ) -> None:
        """*counts*: of an expansion; the pods of a role that it does not count are counted among the objects.

        *roles*: those of a kind that no operator's room knows; None if they are found among the objects.
        """
        self.job = job
        self.objects = objects
        """Whole objects, in the order in which they come."""
        self.target = target
        maker = MAKERS.get((job.api_version, job.kind))
        self.operator = f"{maker.operator} {target[maker.component]}" if maker else ""
        """Name and release, such as `training-operator 1.9.4`; empty for a kind that no room knows."""
        self.counts = counts
        self.framework = _framework_of(job)
        """What training-operator knows of the kind; None for a job of another operator."""
        self._by_kind = grouped(objects, lambda each: text(each, "kind"))
        self.roles = self._found_roles() if roles is None else list(roles)
        """The roles that have pods, in the order of these."""

    @property
    def is_one_cluster(self) -> bool:
        """Whether all pods stay as long as the object does, also those that do not train together: a cluster's, as Ray's."""
        return self.job.group_kind[0] == kinds.RAY_CLUSTER[0]

    def of_kind(self, kind: str) -> list[MarkedTree]:
        """The objects of a kind, such as `Service`."""
        return self._by_kind.get(kind, [])

    def creator_of(self, made: MarkedTree) -> str:
        """The account that creates an object of the job, as the operators' own manifests name it; empty if it is not known."""
        maker = MAKERS.get((self.job.api_version, self.job.kind))
        if maker is None:
            return _ACCOUNTS.get(self.job.kind, "") if self.job.group_kind in POD_TEMPLATES else ""
        kind, operator = made.value["kind"].value, maker.operator
        if operator == "lws" and kind in ("Pod", "PersistentVolumeClaim"):
            return _ACCOUNTS["StatefulSet"]
        if kind == "Pod" and _controller_of(made) == "Job":
            return _ACCOUNTS["Job"]
        return _ACCOUNTS["jobset" if operator == "trainer" and kind != "JobSet" else operator]

    def _found_roles(self) -> list[ExpandedRole]:
        """The roles of all pods, with the container that trains where the role does."""
        by_role = grouped(pods_among(self.objects), lambda each: each.role)
        training, following = self._training_containers(by_role), self._following()
        serves = self.job.group_kind == kinds.LEADER_WORKER_SET
        groups = self.counts.get(LEADER, 1) if serves else 1
        meets = serves or self.job.group_kind in CONTAINERS or self.framework is not None
        return [
            ExpandedRole(
                self._title(name),
                pods,
                training.get(name, ""),
                self.counts.get(name, len(pods)),
                groups=groups,
                together=meets or (name in training and name not in following and _meet(pods[0])),
                starts_later=name in following,
            )
            for name, pods in by_role.items()
        ]

    def _title(self, role: str) -> str:
        """The name of a role as people write it."""
        if self.framework:
            return self.framework.title(role)
        return role.capitalize() if self.job.group_kind == kinds.MPIJOB else role or self.job.name or "pods"

    def _following(self) -> set[str]:
        """The replicated jobs of a JobSet, or of the one that a TrainJob makes, that start when others have ended."""
        made = [each.data() for each in self.of_kind("JobSet")] or [self.job.data] * (self.job.group_kind == kinds.JOBSET)
        jobs = [each for one in made for each in structs(one, "spec", "replicatedJobs")]
        return {str(each.get("name")) for each in jobs if any(one.get("status") == "Complete" for one in structs(each, "dependsOn"))}

    def _training_containers(self, by_role: Mapping[str, Sequence[ExpandedPod]]) -> Mapping[str, str]:
        """The roles that train, each with the name of its container that does."""
        if self.job.group_kind in CONTAINERS:
            container = CONTAINERS[self.job.group_kind]
            is_trainjob = self.job.group_kind == kinds.TRAINJOB
            return dict.fromkeys((container, *self._labelled()) if is_trainjob else by_role, container)
        from jobspec.operators.training_signs import training_containers

        if self.framework and self.job.group_kind == kinds.MPIJOB:
            return {role: self._container_with_mpi(role, pods[0]) for role, pods in by_role.items()}
        serves = self.job.group_kind == kinds.LEADER_WORKER_SET  # pods of any program have host names, and wait in queues
        trees = {name: (pods[0].tree, 1 if serves else self.counts.get(name, len(pods))) for name, pods in by_role.items()}
        return training_containers(trees, is_queued=bool(queue_of(self.job)) and not serves)

    def _container_with_mpi(self, role: str, pod: ExpandedPod) -> str:
        """The container in which MPI runs: that of `mainContainer` in workers, the one that starts a launcher, or the first one."""
        main = value_at(self.job.data, ("spec", "mainContainer"))
        if main and role == "worker" and pod.container(str(main)):
            return str(main)
        from jobspec.operators.training_signs import training_containers

        first = text(items(pod.tree.get("spec", "containers"))[0], "name")
        return training_containers({role: (pod.tree, 1)}, is_queued=False).get(role, first) if role == "launcher" else first

    def _labelled(self) -> list[str]:
        """The replicated jobs that are labelled as the trainer's."""
        from jobspec.operators.trainer.runtimes import ANCESTOR, TRAINER

        jobs = [each for each in self.of_kind("Job") if text(each, "metadata", "labels", ANCESTOR) == TRAINER]
        return [text(each, "metadata", "labels", REPLICATED_JOB) for each in jobs]


def _framework_of(job: Document) -> Framework | None:
    """What training-operator knows of a job's kind; None for a job of another operator."""
    if job.api_version != "kubeflow.org/v1":
        return None
    from jobspec.operators.training_operator.frameworks import FRAMEWORKS

    return FRAMEWORKS.get(job.group_kind)


def _controller_of(made: MarkedTree) -> str:
    """The kind of the object that controls a created one."""
    return next((text(each, "kind") for each in items(made.get("metadata", "ownerReferences"))), "")


_ACCOUNTS = {
    "training-operator": "system:serviceaccount:kubeflow:training-operator",
    "trainer": "system:serviceaccount:kubeflow-system:kubeflow-trainer-controller-manager",
    "kube-controller-manager": "system:serviceaccount:kube-system:cronjob-controller",
    "mpi-operator": "system:serviceaccount:mpi-operator:mpi-operator",
    "jobset": "system:serviceaccount:jobset-system:jobset-controller-manager",
    "lws": "system:serviceaccount:lws-system:lws-controller-manager",
    "kuberay": "system:serviceaccount:ray-system:kuberay-operator",
    "Job": "system:serviceaccount:kube-system:job-controller",
    "Deployment": "system:serviceaccount:kube-system:replicaset-controller",
    "ReplicaSet": "system:serviceaccount:kube-system:replicaset-controller",
    "StatefulSet": "system:serviceaccount:kube-system:statefulset-controller",
    "DaemonSet": "system:serviceaccount:kube-system:daemon-set-controller",
    "ReplicationController": "system:serviceaccount:kube-system:replication-controller",
}


# A pod that an operator makes, as rules and reports look at it: its role and rank, by which name others reach it, its containers.


_ROLES = ("training.kubeflow.org/replica-type", REPLICATED_JOB, "training.kubeflow.org/job-role", "ray.io/group")


class ExpandedPod(Record):
    """A pod among the objects that are made with it."""

    tree: MarkedTree
    name: str
    role: str
    """The replica type in small letters, the name of the replicated job, or `leader` or `worker` of a LeaderWorkerSet.

    Empty for a Job, which has one role.
    """
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

    @property
    def has_address(self) -> bool:
        """Whether other pods find it by a name: it has a subdomain, or there is a Service that is made with it."""
        return bool(text(self.tree, "spec", "subdomain") or self.services)

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
        members = [text(each, "metadata", "labels", GROUP_MEMBER) for each in pods]
        ranks = [number or text(each, "metadata", "annotations", JOB_INDEX) for number, each in zip(members, pods, strict=True)]
    names = [text(each, "metadata", "name") for each in pods]
    roles = list(map(_role, pods))
    return [ExpandedPod(*pod, services) for pod in zip(pods, names, roles, ranks, strict=True)]


def _role(pod: MarkedTree) -> str:
    """The role of a pod by its labels; empty for a pod of a Job."""
    labels = dict(pod.entries("metadata", "labels"))
    if GROUP_MEMBER in labels:
        return LEADER if text(labels[GROUP_MEMBER]) == "0" else WORKER
    return next(filter(None, (text(labels.get(label)) for label in _ROLES)), "")


def value_of(variable: MarkedTree, pod: MarkedTree) -> str:
    """Return the value that a variable will have in a pod.

    If the value is not known yet, return its source in `<>`.
    """
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


def _meet(pod: ExpandedPod) -> bool:
    """Whether the pods of a role that trains wait for each other."""
    from jobspec.operators.training_signs import meet

    return meet(pod.tree)
