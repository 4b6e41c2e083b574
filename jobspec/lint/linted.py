"""What rules look at: a document among all others of the run, and a job or runtime with the pods that its operator creates."""

from __future__ import annotations

from functools import cached_property

from jobspec.apis import kinds
from jobspec.apis.kinds import JOB, JOBSET, LEADER_WORKER_SET, MPIJOB, PYTORCHJOB, RAY_CLUSTER, RAY_CRON_JOB, RAY_JOB, RAY_SERVICE, TRAINJOB
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import marks_at, value_at
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, items, text, with_marks
from jobspec.go.values import structs
from jobspec.lint.container import LintedContainer
from jobspec.operators import mpi_operator
from jobspec.operators.accelerators import is_accelerator, is_fabric
from jobspec.operators.expansion import ExpandedJob, ExpandedRole, expand
from jobspec.operators.kueue.versions import QUEUED_KINDS
from jobspec.operators.lasting_pods import runs_until_deleted
from jobspec.operators.mounted_scripts import with_mounted_scripts
from jobspec.operators.trainer.runtimes import runtime_of
from jobspec.operators.workloads import (
    CONTAINERS,
    JOBS,
    JobFields,
    is_known_controller,
    is_workload,
    may_have_templates,
    queue_place,
    released,
    resumed,
    roles_in,
    written_pod_specs,
)
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from jobspec.apis.kinds import GroupKind
    from jobspec.apis.releases import Target
    from jobspec.diagnostics.places import Data, Path
    from jobspec.diagnostics.rules import Place, Sees
    from jobspec.lint.documents import Documents
    from jobspec.world.world import Cluster

#: The annotations of objects that are created before or after others are applied, such as `PreSync` or `post-install`.
HOOKS = ("argocd.argoproj.io/hook", "helm.sh/hook")


#: The name of the kinds of which each node has a pod, in whatever group.
_OF_NODES = "DaemonSet"
#: Kinds that Kueue queues and that rules see without the pods that an operator creates.
_QUEUED_ALONE = QUEUED_KINDS - JOBS.keys()
#: The kinds with replica types, and where these are.
_REPLICAS: dict[GroupKind, tuple[str, ...]] = {MPIJOB: mpi_operator.REPLICAS}


class LintedDocument:
    """A document, and all others of the run."""

    __slots__ = ("_pod_specs", "all_text", "documents", "given", "runtime", "seen_as")

    def __init__(self, given: Document, documents: Documents) -> None:
        self.given = given
        self.documents = documents
        self.seen_as: tuple[Sees, ...] = ("document", "runtime") if given.group_kind in kinds.RUNTIMES else ("document",)
        """What it is to rules."""
        self.all_text = ""
        """Of a job: all keys and texts of it and its runtime, in small letters."""
        if given.group_kind in _QUEUED_ALONE:
            self.seen_as = (*self.seen_as, "queued")
            self.all_text = _keys_and_texts(given.data)
        self.runtime: Document | None = None
        """Of a TrainJob, and of a runtime that is looked at alone with its pods."""
        self._pod_specs: list[tuple[Path, Data]] | None = None

    @property
    def pod_specs(self) -> list[tuple[Path, Data]]:
        """The pod specs that the document writes, with their paths."""
        if self._pod_specs is None:
            self._pod_specs = written_pod_specs(self.given)
        return self._pod_specs

    @property
    def cluster(self) -> Cluster:
        """The cluster that the documents meet."""
        return self.documents.cluster

    @property
    def target(self) -> Target:
        """The release of each component."""
        return self.documents.target

    def get(self, *path: str | int) -> Any:
        """The value at a path, None where there is none."""
        return value_at(self.given.data, path)

    def pod_labels(self, _label: str) -> list[tuple[Place, str]]:
        """Return the places at which pods get a label, and its value at each: none of a kind whose pods jobspec does not know."""
        return []

    @property
    def is_used_runtime(self) -> bool:
        """True if the document is a runtime that TrainJobs among the documents use, so that findings about its pods are made there."""
        return (self.given.kind, self.given.name) in self.documents.used_runtimes

    @property
    def is_hook(self) -> bool:
        """Whether Argo CD or Helm creates the object as a hook, anew each time."""
        return any(self.get("metadata", "annotations", each) is not None for each in HOOKS)

    @property
    def can_be_synced(self) -> bool:
        """Whether an engine can sync the object from Git again and again: it has a name, and is no hook."""
        return bool(self.given.name) and not self.is_hook


class LintedJob(LintedDocument):
    """An object as rules look at it: a job, a runtime or a template, and its pods.

    The pods of a runtime are those of a job with nothing but a name.
    """

    def __init__(
        self,
        given: Document,
        documents: Documents,
        expanded: ExpandedJob,
        runtime: Document | None,
        refused: Sequence[Diagnostic],
        mounted: Sequence[str],
    ) -> None:
        """*mounted*: the texts of the ConfigMaps whose scripts its pods may start."""
        super().__init__(given, documents)
        self.runtime = runtime
        self.expanded = expanded
        self.refused = refused
        """Of a runtime that is looked at alone: errors for which the operator, or the server behind it, makes nothing of a job."""
        self.is_pytorchjob = given.group_kind == PYTORCHJOB
        self.framework = expanded.framework if given.group_kind == expanded.job.group_kind else None
        """What training-operator knows of the kind; None for a job of another operator."""
        self.is_job = is_workload(given)
        self.seen_as = _seen_as(given, expanded)
        self.all_text = _keys_and_texts(given.data, runtime.data if runtime else None, mounted)
        self.tree = with_marks(given.data, given.marks)
        """The given document with its marks."""
        self.roles: Sequence[ExpandedRole] = expanded.roles
        """The roles that have pods."""
        self.objects: Sequence[MarkedTree] = expanded.objects
        """All that the operator makes of the job."""
        self.pods = [each.pod_tree for each in self.roles]
        """A pod of each role."""
        self.training = [each for each in self.roles if each.training]
        """The roles that train."""
        self.training_pods = sum([each.meeting for each in self.training if each.together])
        """How many pods train together."""
        self.containers = [
            LintedContainer(each, role, is_init=field == "initContainers")
            for role in self.roles
            for field in ("initContainers", "containers")
            for each in items(role.pod_tree.get("spec", field))
        ]
        """The containers of each role, in the order in which they start."""
        self.training_containers = [each for each in self.containers if each.trains]
        """The container that trains, of each role that has one."""
        self.gpus = sum([each.gpus * each.role.count for each in self.containers])
        """The number of whole GPUs of all pods together."""
        place = self.framework.replicas if self.framework else _REPLICAS.get(given.group_kind, ())
        specs = dict(self.tree.entries(*place)) if place else {}
        by_role = {self.framework.title(name.lower()) if self.framework else name: spec for name, spec in specs.items()}
        found = [(role, by_role.get(role.name)) for role in self.roles]
        self.role_specs = [(role, spec) for role, spec in found if spec and isinstance(spec.value, dict)]
        """Of a job with replica types: its roles, each with what the job says of it."""
        self.replica_specs = self.role_specs if self.framework else []
        """The same of a job of training-operator alone."""

    def replica_spec(self, role: ExpandedRole) -> MarkedTree | None:
        """Return what a job with replica types says of a role; None for another job."""
        return next((spec for each, spec in self.role_specs if each is role), None)

    def pod_labels(self, label: str) -> list[tuple[Place, str]]:
        """The places at which pods get a label, and its value at each."""
        found = [role.pod_tree.get("metadata", "labels", label) for role in self.roles]
        return [(each, text(each)) for each in found if each]

    def in_runtime(self, *path: str) -> Any:
        """The value at a path of the runtime, None where there is none."""
        return value_at(self.runtime.data, path) if self.runtime else None

    @property
    def connected_pods(self) -> int:
        """How many pods exchange data: those that train together, and those of a cluster that train whatever its programs ask of them."""
        of_cluster = [each for each in self.training if self.expanded.is_one_cluster and runs_until_deleted(self.given, each.name)]
        return self.training_pods or sum([each.meeting for each in of_cluster])

    @property
    def trains(self) -> bool:
        """Whether it is of a kind for training, or has a role that trains."""
        return self.given.group_kind in CONTAINERS or self.framework is not None or bool(self.training)

    @property
    def trains_or_has_devices(self) -> bool:
        """Whether it trains, or a container requests accelerators or devices of a fast network, as servers of models do."""
        return self.trains or any(is_accelerator(name) or is_fabric(name) for each in self.containers for name in each.resources)

    @property
    def called(self) -> str:
        """What messages call it: the job, or by its kind what is no job."""
        return "the job" if self.is_job or self.given.group_kind in kinds.RUNTIMES else f"the {self.given.kind}"

    @property
    def has_unknown_operator(self) -> bool:
        """Whether its operator is not known, which may add variables to its pods, or make another number of them."""
        return not (self.is_job or self.given.group_kind in kinds.RUNTIMES or is_known_controller(self.given.group_kind))

    @property
    def serves_nodes(self) -> bool:
        """Whether its pods work for the nodes that they run on, as those of a DaemonSet do."""
        return self.given.kind == _OF_NODES

    def data_of_config_map(self, name: str) -> Mapping[str, MarkedTree]:
        """Return the data of the ConfigMap of a name in the namespace of the document, by key."""
        return self.documents.data_of_config_map(self.given, name)

    @property
    def policy(self) -> tuple[str, ...]:
        """The path of the mapping that says when the job is suspended, and how long it may take."""
        return JOBS[self.given.group_kind].policy

    @property
    def queue_name(self) -> MarkedTree | None:
        """The label that names the queue, None without one."""
        return self.tree.get(*map(str, queue_place(self.given)))

    @property
    def queue_path(self) -> tuple[str, ...]:
        """The path of the label that names the queue."""
        return JOBS[self.given.group_kind].queue

    @property
    def metadata(self) -> Sequence[MarkedTree]:
        """The metadata of the job and, where Kueue queues a part of it, of that part."""
        found = (self.tree.get(*path[:-2]) for path in dict.fromkeys((JobFields().queue, self.queue_path)))
        return [each for each in found if each]

    @property
    def batch_jobs(self) -> Sequence[MarkedTree]:
        """The Jobs that make the pods: those that operators create, or the job itself."""
        if self.given.group_kind != JOB:
            return self.expanded.of_kind("Job")
        return with_mounted_scripts([self.tree], _MountedScripts(self.given, self.documents).of)

    @cached_property
    def jobset(self) -> MarkedTree:
        """The JobSet with the defaults of its CRD and its webhook: the document itself, or the one that the trainer makes."""
        from jobspec.operators.jobset.mutation import stored_jobset
        from jobspec.operators.made import stored

        target = self.target
        made = self.expanded.of_kind("JobSet")
        return stored_jobset(made[0] if made else stored(resumed(self.given), target), target)


def _seen_as(given: Document, expanded: ExpandedJob) -> tuple[Sees, ...]:
    """What a job, a runtime or another object with pods is to rules: by its kind, and as a JobSet if it is one or makes one."""
    if given.group_kind in kinds.RUNTIMES:
        found: tuple[Sees, ...] = ("pods", "any pods", "runtime's pods")
    elif not is_workload(given):
        return ("any pods", "any pods in a namespace")
    else:
        own: dict[GroupKind, tuple[Sees, ...]] = {
            PYTORCHJOB: ("PyTorchJob",),
            TRAINJOB: ("TrainJob",),
            LEADER_WORKER_SET: ("LeaderWorkerSet",),
            **dict.fromkeys((RAY_CLUSTER, RAY_CRON_JOB, RAY_JOB, RAY_SERVICE), ("Ray",)),
        }
        if given.group_kind == MPIJOB and given.api_version == mpi_operator.API_VERSION:
            own[MPIJOB] = ("MPIJob", "any MPIJob")
        elif given.group_kind == MPIJOB:
            own[MPIJOB] = ("any MPIJob",)
        of_operator: tuple[Sees, ...] = ("training-operator",) if expanded.framework else ()
        own_pods: tuple[Sees, ...] = ("pods", "any pods", "any pods in a namespace")
        found = (*own_pods, "job", "queued", *own.get(given.group_kind, ()), *of_operator)
    return (*found, "JobSet") if given.group_kind == JOBSET or expanded.of_kind("JobSet") else found


def _is_whole(given: Document) -> bool:
    """Whether a job is no patch of one: its pods have containers, and replicated jobs names."""
    jobs = structs(given.data, "spec", "replicatedJobs") if given.group_kind == JOBSET else []
    templates = [(given.data, kinds.POD_TEMPLATES[given.group_kind])] if given.group_kind in kinds.POD_TEMPLATES else []
    templates += [(each, ("template", "spec", "template")) for each in jobs]
    if given.group_kind == LEADER_WORKER_SET:
        templates += [(each.data, ()) for each in roles_in(given)]
    containers = [structs(data, *path, "spec", "containers") for data, path in templates]
    has_containers = all(several and all(each.get("name") for each in several) for several in containers)
    return has_containers and all(each.get("name") for each in jobs)


def linted_job(given: Document, documents: Documents) -> LintedJob | None:
    """Return an accepted job or runtime as rules look at it.

    None for other documents, and for a job that cannot be expanded.
    """
    target = documents.target
    if given.group_kind in kinds.RUNTIMES:
        job = _stand_in(given)
        referred = [given]
    elif is_workload(given) and _is_whole(given) and shapes.load(given.api_version, given.kind, target):
        job = released(given)
        referred = documents.referred(given)
    else:
        return None
    runtime = runtime_of(job, referred, target) if job.group_kind == TRAINJOB else None
    try:
        # what a server refuses of a job is an outcome
        expansion = expand(job, referred, target, first_and_last_only=True, skip_server_checks=given is not runtime)
    except JobspecError:  # too many pods to look at
        return None
    refused = [each for each in expansion.diagnostics if each.severity == "error"]
    seen = _MountedScripts(given, documents)
    objects = with_mounted_scripts(expansion.objects, seen.of)
    return LintedJob(given, documents, ExpandedJob(job, objects, target, expansion.counts), runtime, refused, seen.texts)


class _MountedScripts:
    """The ConfigMaps whose scripts the pods of a document may start."""

    def __init__(self, document: Document, documents: Documents) -> None:
        self._document, self._documents = document, documents
        self._asked: dict[str, Mapping[str, MarkedTree]] = {}

    def of(self, name: str) -> Mapping[str, MarkedTree]:
        """Return the data of a ConfigMap, by key."""
        if name not in self._asked:
            self._asked[name] = self._documents.data_of_config_map(self._document, name)
        return self._asked[name]

    @property
    def texts(self) -> list[str]:
        """The texts of those that have been asked for."""
        return [text(each) for data in self._asked.values() for each in data.values()]


def linted_templates(given: Document, documents: Documents) -> LintedJob | None:
    """An object of a kind that no room knows as rules look at the pods of its templates; None if it has none."""
    if not may_have_templates(given):
        return None
    templates = documents.cluster.templates_in(given)
    if not templates:
        return None
    from jobspec.operators.templates import expanded_templates

    seen = _MountedScripts(given, documents)
    expanded = expanded_templates(given, templates, documents.target, seen.of)
    return LintedJob(given, documents, expanded, None, (), seen.texts)


def _keys_and_texts(*values: Any) -> str:
    """The keys of all mappings in some values, and all texts, in small letters."""
    found: list[str] = []
    left = list(values)
    while left:
        value = left.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            found += value
            left += value.values()
        elif isinstance(value, list):
            left += value
    return "\n".join(found).lower()


def _stand_in(runtime: Document) -> Document:
    """The smallest TrainJob that uses a runtime; all of its values have the place of the runtime's name."""
    metadata = {"name": "job", **({"namespace": runtime.namespace} if runtime.namespace else {})}
    reference = {"apiGroup": runtime.group_kind[0], "kind": runtime.kind, "name": runtime.name}
    data = {"apiVersion": runtime.api_version, "kind": "TrainJob", "metadata": metadata, "spec": {"runtimeRef": reference, "trainer": {}}}
    place = runtime.nearest(("metadata", "name")).place()
    return Document(data, lambda: marks_at(data, place), file=runtime.file, index=runtime.index)
