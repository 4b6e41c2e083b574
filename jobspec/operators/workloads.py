"""One view of jobs and runtimes of all kinds: roles, pod templates, containers, and whether a job is held back.

Only this module knows where manifests of each kind say it. `expansion` knows who makes the pods of each.
"""

from __future__ import annotations

from jobspec.apis import kinds
from jobspec.apis.sibling_kinds import API_VERSION, SIBLINGS
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Data, Key, Path, value_at
from jobspec.diagnostics.record import Record
from jobspec.diagnostics.results import DocumentResult
from jobspec.documents.document import with_value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Any

    from jobspec.apis.kinds import GroupKind
    from jobspec.documents.document import Document


class Role(Record):
    """The pods of one role: of a replica type of a PyTorchJob or MPIJob, or of a replicated job of a JobSet or a runtime."""

    name: str
    """The key of the replica type, or the name of the replicated job."""
    path: Path
    """The path of the role in its manifest."""
    data: dict[str, Any]
    """The value at that path."""
    template: Path
    """The path of the pod template below it."""

    def at(self, *steps: str) -> Path:
        """The path of a field of the pod spec in the manifest."""
        return *self.path, *self.template, "spec", *steps

    def in_pod(self, *steps: str) -> Any:
        """The value of a field of the pod spec, None where there is none."""
        return value_at(self.data, (*self.template, "spec", *steps))

    def items(self, field: str) -> list[tuple[Path, Any]]:
        """The items of a list of the pod spec, such as `containers`, with the path of each in the manifest."""
        return [((*self.at(field), index), item) for index, item in enumerate(self.in_pod(field) or ())]


class TrainingRole(Record):
    """A role of a training job, as overlays name it."""

    name: str
    path: Path
    """The path of the pod template in the manifest; empty where the template is in a runtime."""
    container: str
    """The name of the container that the operator requires, or else of the one that trains."""
    also: tuple[str, ...] = ()
    """Other names of the role: `master`, `worker` or both; none of them where its pods do not train, as a launcher."""
    count: int = 1
    """The number of its pods, where each of them is master and worker."""
    why_no_flags: str = ""
    """Where the flags of the training program are, if they are not in a container of its pods."""

    def matches(self, wanted: Collection[str]) -> bool:
        """Whether this role is one of the *wanted* ones, or they are empty; nodes of a TrainJob are masters and workers at once."""
        return not wanted or self.name in wanted or not self.path or any(each in wanted for each in self.also)


class Workload:
    """A job or runtime; with the runtime of a TrainJob, and on an update with the stored object."""

    __slots__ = ("document", "given", "old", "roles", "runtime", "spec")

    def __init__(
        self,
        document: Document,
        *,
        runtime: Document | None = None,
        old: Document | None = None,
        given: tuple[Document, Document | None] | None = None,
    ) -> None:
        self.document = document
        self.given = given or (document, old)
        """The document and the stored object before webhooks have decoded and written them."""
        self.runtime = runtime
        """Of a TrainJob: its runtime; None where that was not found."""
        self.old = old
        """On an update: the stored object; None on a create."""
        self.spec: dict[str, Any] = document.data.get("spec") or {}
        self.roles = roles_in(runtime or document)
        """A TrainJob has those of its runtime, and none where that was not found."""


#: Of a PyTorchJob: the path of its replica types. Of a runtime, and of what a TrainJob sets in one: that of its replicated jobs.
REPLICA_SPECS: Path = ("spec", "pytorchReplicaSpecs")
REPLICATED_JOBS = ("spec", "template", "spec", "replicatedJobs")
PATCHED_JOBS = ("trainingRuntimeSpec", "template", "spec", "replicatedJobs")
#: Of a replicated job: the path of its pod template.
TEMPLATE = ("template", "spec", "template")

#: The label of a job that names its queue, a LocalQueue of Kueue.
QUEUE = f"{kinds.QUEUE_GROUP}/queue-name"
MAXIMUM_TIME = f"{kinds.QUEUE_GROUP}/max-exec-time-seconds"
#: The annotations of a pod template that name the level of a topology of which one place is to hold all its pods, or a slice of them.
REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY, SLICE_TOPOLOGY = (
    f"{kinds.QUEUE_GROUP}/podset-{name}-topology" for name in ("required", "preferred", "slice-required")
)
#: The label of a node with its own name: the lowest level of a topology.
HOSTNAME = "kubernetes.io/hostname"
#: The container that trains, which the operator requires, by the kind of the job.
CONTAINERS: dict[GroupKind, str] = {
    kinds.PYTORCHJOB: "pytorch",
    **{kind: SIBLINGS[kind[1]].container for kind in kinds.TRAINING_JOBS if kind not in (kinds.PYTORCHJOB, kinds.MPIJOB)},
    kinds.TRAINJOB: "node",
}

#: The container and the replicated job of a TrainJob that train.
NODE = CONTAINERS[kinds.TRAINJOB]
#: The fields of a TrainJob's `spec.trainer` that are those of the training container.
OF_CONTAINER = ("image", "command", "args", "env")


class JobFields(Record):
    """Paths in manifests of one kind to fields that jobs of every kind have.

    The fields say by whom a job is held back, and how the job ends.
    """

    policy: tuple[str, ...] = ("spec",)
    """The path of the mapping with `suspend`, `managedBy` and `ttlSecondsAfterFinished`."""
    queued: tuple[str, ...] = ()
    """The path of what Kueue queues, whose label names the queue; empty where that is the object itself."""

    @property
    def queue(self) -> tuple[str, ...]:
        """The path of the label that names the queue."""
        return *self.queued, "metadata", "labels", Key(QUEUE)


#: The kinds whose pods jobspec knows, each with where its manifests say what all jobs say.
JOBS: dict[GroupKind, JobFields] = {
    **dict.fromkeys(kinds.TRAINING_JOBS, JobFields(("spec", "runPolicy"))),
    kinds.TRAINJOB: JobFields(),
    kinds.JOBSET: JobFields(),
    kinds.JOB: JobFields(),
    kinds.CRON_JOB: JobFields(("spec", "jobTemplate", "spec"), queued=("spec", "jobTemplate")),
    kinds.LEADER_WORKER_SET: JobFields(),
    kinds.RAY_CLUSTER: JobFields(),
    kinds.RAY_JOB: JobFields(),
    kinds.RAY_SERVICE: JobFields(("spec", "rayClusterConfig")),
    kinds.RAY_CRON_JOB: JobFields(("spec", "jobTemplate")),
}

#: (apiVersion, kind) of jobs of other operators than that of the kind's other versions, which is the one that Kueue knows.
_OTHER_OPERATORS = (("kubeflow.org/v1", "MPIJob"),)

#: Kind -> the path of its roles, and the path of the pod template in each.
_ROLES: dict[GroupKind, tuple[Path, Path]] = {
    kinds.PYTORCHJOB: (REPLICA_SPECS, ("template",)),
    **{kind: (("spec", SIBLINGS[kind[1]].replicas), ("template",)) for kind in kinds.TRAINING_JOBS if kind != kinds.PYTORCHJOB},
    kinds.JOBSET: (("spec", "replicatedJobs"), TEMPLATE),
    **dict.fromkeys(kinds.RUNTIMES, (REPLICATED_JOBS, TEMPLATE)),
}

#: Kind -> its roles, each with the path of its pod template, where that is no field of a role.
_TEMPLATES: dict[GroupKind, tuple[tuple[str, Path], ...]] = {
    kinds.LEADER_WORKER_SET: tuple((role, ("spec", "leaderWorkerTemplate", f"{role}Template")) for role in ("leader", "worker")),
}

#: (apiVersion, kind) -> the roles of the kinds that overlays can be applied to, in the order in which the operator ranks them.
KINDS: dict[tuple[str, str], tuple[TrainingRole, ...]] = {
    ("kubeflow.org/v1", "PyTorchJob"): (
        TrainingRole("master", (*REPLICA_SPECS, Key("Master"), "template"), CONTAINERS[kinds.PYTORCHJOB]),
        TrainingRole("worker", (*REPLICA_SPECS, Key("Worker"), "template"), CONTAINERS[kinds.PYTORCHJOB]),
    ),
    ("trainer.kubeflow.org/v1alpha1", "TrainJob"): (TrainingRole("node", (), CONTAINERS[kinds.TRAINJOB]),),
}


#: (apiVersion, kind) of the kinds whose objects train by their kind, so that overlays are applied to them whatever else is there.
TRAINING_KINDS = (
    *KINDS,
    *((API_VERSION, kind) for kind in SIBLINGS),
    ("kubeflow.org/v2beta1", "MPIJob"),
    ("jobset.x-k8s.io/v1alpha2", "JobSet"),
    *(("ray.io/v1", kind) for kind in ("RayCluster", "RayJob", "RayService", "RayCronJob")),
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
)
#: (apiVersion, kind) of all kinds that overlays can be applied to.
OVERLAID_KINDS = (*TRAINING_KINDS, ("batch/v1", "Job"), ("batch/v1", "CronJob"))


def roles_in(document: Document) -> list[Role]:
    """The roles in a manifest; none for a kind without pod templates. A null role is left out."""
    where = _ROLES.get(document.group_kind)
    if where is None:
        given = [(name, path, value_at(document.data, path)) for name, path in _TEMPLATES.get(document.group_kind, ())]
        return [Role(name, path, template, ()) for name, path, template in given if template is not None]
    place, template = where
    found = value_at(document.data, place) or {}
    if isinstance(found, list):
        return [Role(role["name"], (*place, index), role, template) for index, role in enumerate(found)]
    return [Role(name, (*place, Key(name)), role, template) for name, role in found.items() if role is not None]


def written_pod_specs(document: Document) -> list[tuple[Path, Data]]:
    """Return the pod specs that a manifest of any kind writes, with their paths.

    The pod specs are those of templates, of patches of templates, and of a Pod itself.
    """
    data = document.data
    if document.group_kind == kinds.POD:
        return [(("spec",), data["spec"])] if isinstance(value_at(data, ("spec",)), dict) else []
    if document.group_kind == kinds.CUSTOM_RESOURCE_DEFINITION or not isinstance(data, dict):
        return []
    return list(_pod_specs_in(data, (), _DEEPEST))


_DEEPEST = 16  # steps on the way to a pod spec


def _pod_specs_in(value: Any, path: Path, depth: int) -> Iterator[tuple[Path, Data]]:
    if path[-1:] == ("spec",) and isinstance(value, dict) and _is_pod_spec(value, path[:-1]):
        yield path, value
    elif depth:
        inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for step, child in inside:
            yield from _pod_specs_in(child, (*path, step), depth - 1)


def _is_pod_spec(spec: Data, around: Path) -> bool:
    """True if a spec is that of a pod template, or of a patch of one.

    Fields such as the `workerTemplate` of a LeaderWorkerSet hold templates with containers, and `volumeClaimTemplate` does not.
    """
    if around[-1:] == ("template",) or "podTemplateOverrides" in around:
        return not {"template", "replicatedJobs"} & spec.keys()
    return bool(around) and str(around[-1]).endswith("Template") and "containers" in spec


def is_workload(document: Document | DocumentResult) -> bool:
    """Whether a document is a job of a kind whose pods jobspec knows."""
    known = kinds.find(document.api_version, document.kind)
    return known is not None and (known.group, known.name) in JOBS


def is_of_other_operator(document: Document | DocumentResult) -> bool:
    """Whether another operator has this version of the kind than its other versions: MPIJob of v1 is training-operator's."""
    return (document.api_version, document.kind) in _OTHER_OPERATORS


#: The groups of kinds that hold patterns and values of objects, or what installs other objects.
_OF_PATTERNS = (
    *("constraints.gatekeeper.sh", "templates.gatekeeper.sh", "kyverno.io", "policies.kyverno.io"),
    *("helm.toolkit.fluxcd.io", "operators.coreos.com", "jobspec.dev"),
)


def holds_patterns(document: Document) -> bool:
    """True if a document holds patterns or values of other objects.

    In these null may mean to remove a field.
    """
    return document.group_kind[0] in _OF_PATTERNS


def may_have_templates(document: Document) -> bool:
    """True if a document may have pod templates, and no room of an operator knows its pods."""
    kind = document.group_kind
    if kind in kinds.POD_TEMPLATES or kind == kinds.POD:
        return kind not in JOBS
    known = kinds.of_name(kind)
    if not kind[1] or (known and (known.is_builtin or known.component == "jobspec")):
        return False
    return not is_workload(document) and kind not in kinds.RUNTIMES and not holds_patterns(document) and isinstance(document.data, dict)


def is_known_controller(kind: GroupKind) -> bool:
    """True if the pods of a kind are known from its template.

    Such a kind is a Pod, or a workload of Kubernetes itself.
    """
    return kind == kinds.POD or kind in kinds.POD_TEMPLATES


def may_take_overlays(document: Document | DocumentResult) -> bool:
    """Whether overlays can be applied to a document of its kind."""
    return (document.api_version, document.kind) in OVERLAID_KINDS


def takes_overlays(document: Document | DocumentResult) -> bool:
    """True if overlays are applied to the document whatever else is there.

    That is so for every kind for training.
    """
    return (document.api_version, document.kind) in KINDS


def trains_by_kind(document: Document) -> bool:
    """Whether a document is a job that trains by its kind: overlays leave other Jobs of its file alone."""
    return (document.api_version, document.kind) in TRAINING_KINDS


def training_roles(document: Document) -> list[TrainingRole]:
    """The roles of a job that overlays can name."""
    return [role for role in KINDS[document.api_version, document.kind] if isinstance(value_at(document.data, role.path), dict)]


def suspend_of(job: GroupKind) -> tuple[str, ...]:
    """The path of the field by which a job of a kind is suspended."""
    return *JOBS[job].policy, "suspend"


def queue_of(job: Document) -> Any:
    """Return the queue label of a job, as it is written.

    If the job has no queue label, return None.
    """
    return value_at(job.data, queue_place(job))


def queue_place(job: Document) -> Path:
    """Return the path of the label of a job for its queue, whether the job has it or not.

    A Job without labels gets those of its pod template from the server, and so does the Job of a CronJob.
    """
    path = queue_path(job.group_kind)
    of_pods = labels_of_pods(job)
    return (*of_pods, Key(QUEUE)) if of_pods and QUEUE in value_at(job.data, of_pods) else path


def labels_of_pods(job: Document) -> Path:
    """Return the path of the labels of pods that are also those of a Job, since it has none; empty if there are none.

    Follows `SetDefaults_Job`, k8s.io/kubernetes pkg/apis/batch/v1, 1.36.
    """
    if job.group_kind not in (kinds.JOB, kinds.CRON_JOB):
        return ()
    made = JOBS[job.group_kind].queued
    path = (*made, "spec", "template", "metadata", "labels")
    labels = value_at(job.data, path)
    return path if isinstance(labels, dict) and labels and not value_at(job.data, (*made, "metadata", "labels")) else ()


def with_labels_of_pods(job: Document) -> Document:
    """Return a Job with the labels that it gets from its pod template. If it has its own, it stays as it is."""
    labels = labels_of_pods(job)
    return job.changed(with_value_at(job.data, ("metadata", "labels"), value_at(job.data, labels))) if labels else job


def queue_path(job: GroupKind) -> Path:
    """Return the path of the label that names the queue of a job of a kind."""
    return JOBS.get(job, JobFields()).queue


def queued_object(job: Document) -> Document:
    """Return the object that Kueue queues of a job.

    For a CronJob, the object is its next Job, under the name of the CronJob. For other kinds, the object is the job itself.
    """
    place = JOBS.get(job.group_kind, JobFields()).queued
    if not place:
        return with_labels_of_pods(job) if job.group_kind == kinds.JOB else job
    made = value_at(job.data, place) or {}
    own = {"name": job.name, **({"namespace": job.namespace} if job.namespace else {})}
    metadata = {**(made.get("metadata") or {}), **own}
    return with_labels_of_pods(
        job.part({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": made.get("spec") or {}}, place)
    )


def is_suspended(job: Document) -> bool:
    """Whether a job says that it is suspended."""
    return value_at(job.data, suspend_of(job.group_kind)) is True


def suspension(job: Document) -> list[Diagnostic]:
    """The finding that a suspended job has no pods; none for another job."""
    if not is_suspended(job):
        return []
    message = "the job is suspended: it has no pods until `suspend` is false"
    return [job.problem("no-pods-created", message, suspend_of(job.group_kind), severity="info")]


def suspended(job: Document) -> Document:
    """The job once it is suspended; what is no job stays as it is."""
    fields = JOBS.get(job.group_kind)
    return job if fields is None else job.changed(with_value_at(job.data, (*fields.policy, "suspend"), True))


def resumed(job: Document) -> Document:
    """The job once it is resumed."""
    return _held_without(job, "suspend")


def released(job: Document) -> Document:
    """The job once nobody holds it back: not suspended, and managed by its own operator."""
    return _held_without(job, "suspend", "managedBy")


def _held_without(job: Document, *fields: str) -> Document:
    """The job without some fields that hold it back."""
    place = JOBS[job.group_kind].policy
    held = value_at(job.data, place) or {}
    kept = {name: value for name, value in held.items() if name not in fields}
    return job.changed(with_value_at(job.data, place, kept)) if len(kept) < len(held) else job


#: The label of a JobSet's Job and its pods that names their replicated job.
REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"
#: The label of a LeaderWorkerSet's pod that holds its number in its group; that of the leader is 0.
GROUP_MEMBER = "leaderworkerset.sigs.k8s.io/worker-index"
LEADER, WORKER = "leader", "worker"
"""The roles of a LeaderWorkerSet's pods: the first of each group, and all others."""
#: The label and annotation of a pod of an indexed Job that holds its number.
JOB_INDEX = "batch.kubernetes.io/job-completion-index"
