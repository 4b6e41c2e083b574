"""The Workload that Kueue makes of a job: its pod sets, what they request, its priority and its name.

Follows `constructWorkload` and `NewPodSetTopologyRequest`, sigs.k8s.io/kueue pkg/controller/jobframework, the `PodSets` of
pkg/controller/jobs, and `AdjustResources`, pkg/workload, 0.19.2.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from jobspec.apis import kinds
from jobspec.apis.kinds import QUEUE_GROUP as GROUP
from jobspec.apis.kinds import GroupKind
from jobspec.apis.releases import Target
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import Data, Mark
from jobspec.documents.document import Document
from jobspec.documents.manifest import document_of
from jobspec.documents.marked_tree import MarkedTree, as_document, changed, each_item, marked, of_kind, set_by
from jobspec.go.values import TRUE_WORDS, integer, mapping, number, string_map, structs, text, texts
from jobspec.kubernetes.admission.classes import priority_of
from jobspec.kubernetes.pods.amounts import pod_requests
from jobspec.kubernetes.verdict import verdict
from jobspec.operators import mpi_operator
from jobspec.operators.kueue import webhook
from jobspec.operators.kueue.job_rules import pods_at_once
from jobspec.operators.kueue.keys import ANYWHERE, FEWEST, LAYERS, PLACED_TOGETHER, PRIORITY, SIZE
from jobspec.operators.kueue.management import default_queue, is_queued_kind, suspends_without_queue
from jobspec.operators.kueue.ray import KINDS as RAY_KINDS
from jobspec.operators.kueue.ray import ray_pods, started
from jobspec.operators.kueue.topology_rules import layers_in
from jobspec.operators.kueue.versions import FRAMEWORK_OF_GROUPS, RELEASE, queued_by_holder
from jobspec.operators.kueue.world import Flavor, World, amount, plus
from jobspec.operators.made import MOST
from jobspec.operators.training_operator.frameworks import FRAMEWORKS
from jobspec.operators.webhooks import Objects
from jobspec.operators.workloads import (
    GROUP_MEMBER,
    JOB_INDEX,
    LEADER,
    PREFERRED_TOPOLOGY,
    QUEUE,
    REQUIRED_TOPOLOGY,
    SLICE_TOPOLOGY,
    WORKER,
    with_labels_of_pods,
)

_CLAIM_TEMPLATE: GroupKind = ("resource.k8s.io", "ResourceClaimTemplate")


@dataclass(frozen=True, slots=True)
class TopologyRequest:
    """The topology request of a pod set; at most one of the first three fields is set."""

    required: str | None = None
    preferred: str | None = None
    unconstrained: bool | None = None
    slices: tuple[tuple[str, int], ...] = ()
    """The levels that hold slices of the pod set, and their sizes, the widest first."""
    group: str = ""

    @property
    def is_explicit(self) -> bool:
        """Whether a level or `unconstrained` is asked for."""
        return (self.required, self.preferred, self.unconstrained) != (None, None, None) or bool(self.slices)


GROUP_INDEX = f"{GROUP}/component-workload-index"
"""The annotation of a Workload with the number of the group of a LeaderWorkerSet that it is of."""


@dataclass(frozen=True, slots=True)
class QueuedPodSet:
    """Pods of a job that are alike."""

    name: str
    count: int
    template: Data
    """The pod template, with the requests that Kueue fills in."""
    written: Data = field(default_factory=dict)
    """The pod spec as the job has it, without these requests."""
    least: int | None = None
    """With how many pods the job starts, too."""
    topology: TopologyRequest = TopologyRequest()
    index_label: str = ""
    group_label: str = ""
    group_count: int = 0

    @property
    def spec(self) -> Data:
        """The pod spec."""
        return mapping(self.template, "spec")

    @property
    def requests(self) -> dict[str, int]:
        """What one pod requests."""
        return {name: max(0, amount(name, each)) for name, each in pod_requests(self.spec).items()}


@dataclass(frozen=True)
class QueuedWorkload:
    """The Workload that Kueue makes of a job."""

    job: Data
    kind: GroupKind
    namespace: str
    queue: str
    pod_sets: Sequence[QueuedPodSet]
    priority: int | None
    """None where the priority class is not at hand."""
    problem: str = ""
    """Why there is none."""
    target: Target = field(default_factory=dict)
    group: int | None = None
    """The number of the group of a LeaderWorkerSet, each of which has a Workload of its own; None for other jobs."""

    @property
    def priority_class(self) -> tuple[str, str]:
        """The kind and name of the class that gives it its priority; the name is empty if none does."""
        name, kind = priority_class(self.job, self.kind, self.pod_sets)
        return kind, name

    @cached_property
    def refusal(self) -> str:
        """Why the server or Kueue's webhook refuses the Workload, as of pods with labels that are none; empty where they do not."""
        data = self.as_object() | {"metadata": {"name": "any", "namespace": self.namespace}}
        if self.priority is None:  # a class that is not given gives some priority
            data["spec"] = {name: each for name, each in data["spec"].items() if name != "priorityClassRef"}
        made = document_of(data, "<workload>")
        found = verdict(made, self.target).diagnostics or webhook.objections(made, self.target, Objects(), old=None)
        return next((f"{each.message} ({each.field})" for each in found if each.severity == "error"), "")

    @property
    def job_name(self) -> str:
        """The name of the job."""
        return job_name(self.job)

    @property
    def name(self) -> str:
        """The name of the Workload; it ends with a hash of the job's uid, which is known once the job is there."""
        uid = text(mapping(self.job, "metadata"), "uid")
        own = self.job_name if self.group is None else f"{self.job_name}-{self.group}"
        hashed = "\n".join((self.kind[1], self.kind[0], own, uid))
        end = hashlib.sha1(hashed.encode(), usedforsecurity=False).hexdigest()[:5] if uid else "<hash>"
        return f"{f'{self.kind[1].lower()}-{own}'[:247]}-{end}"

    def as_object(self) -> Data:
        """The Workload as a manifest."""
        uid = text(mapping(self.job, "metadata"), "uid")
        made = {"name": self.name, "namespace": self.namespace, **({"labels": {f"{GROUP}/job-uid": uid}} if uid else {})}
        owner = {"apiVersion": self.job["apiVersion"], "kind": self.kind[1], "name": self.job_name, "uid": uid or "<uid>"}
        metadata = {**made, "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}]}
        if self.group is not None:
            metadata = {**made, "annotations": self._annotations_of_group(), "ownerReferences": [owner]}
        spec = {"queueName": self.queue, "podSets": [_pod_set(each) for each in self.pod_sets], **self._priority(), "active": True}
        return {"apiVersion": f"{GROUP}/v1beta2", "kind": "Workload", "metadata": metadata, "spec": spec}

    def _annotations_of_group(self) -> Data:
        owner = f"{self.job['apiVersion']}, Kind={self.kind[1]}"
        found = {"is-group-workload": "true", "job-owner-gvk": owner, "job-owner-name": self.job_name}
        return {GROUP_INDEX: str(self.group), **{f"{GROUP}/{name}": each for name, each in found.items()}}

    def _priority(self) -> Data:
        name, kind = priority_class(self.job, self.kind, self.pod_sets)
        group = GROUP if kind == "WorkloadPriorityClass" else kinds.PRIORITY_CLASS[0]
        given = {} if self.priority is None else {"priority": self.priority}
        return {**({"priorityClassRef": {"group": group, "kind": kind, "name": name}} if name else {}), **given}


def job_name(job: Data) -> str:
    """Return the name of a job.

    If the server will name the job, return the beginning of the name and `<random>`.
    """
    metadata = mapping(job, "metadata")
    return text(metadata, "name") or f"{text(metadata, 'generateName')}<random>"


def _pod_set(pods: QueuedPodSet) -> Data:
    """A pod set as a Workload has it."""
    topology = pods.topology
    request: Data = {
        "required": topology.required,
        "preferred": topology.preferred,
        "unconstrained": topology.unconstrained,
        "podIndexLabel": pods.index_label or None,
        "subGroupIndexLabel": pods.group_label or None,
        "subGroupCount": pods.group_count or None,
        "podSetGroupName": topology.group or None,
    }
    if len(topology.slices) == 1:
        request |= {"podSetSliceRequiredTopology": topology.slices[0][0], "podSetSliceSize": topology.slices[0][1]}
    elif topology.slices:
        request["podsetSliceRequiredTopologyConstraints"] = [{"topology": level, "size": size} for level, size in topology.slices]
    given = {name: each for name, each in request.items() if each is not None}
    least = {} if pods.least is None else {"minCount": pods.least}
    return {"name": pods.name, "count": pods.count, **least, "template": pods.template, **({"topologyRequest": given} if given else {})}


def queue_name(job: Document, target: Target, world: World) -> str:
    """Return the queue of a job.

    The queue is the label of the job. If there is no label, the queue is `default` if Kueue queues the kind, the namespace of the job has a
    LocalQueue of that name, and Kueue gives it to jobs there. A component of an AppWrapper has none by default.
    """
    if said := string_map(mapping(with_labels_of_pods(job).data, "metadata"), "labels").get(QUEUE):
        return said
    if queued_by_holder(job, world.configuration):
        return ""
    return default_queue(job.namespace, target, world) if is_queued_kind(job.group_kind, target, world) else ""


def is_managed(job: Document, target: Target, world: World) -> bool:
    """True if a job is in a queue, or may be suspended because it names none."""
    if queue_name(job, target, world):
        return True
    if queued_by_holder(job, world.configuration):
        return False
    return suspends_without_queue(job.group_kind, job.namespace or "default", target, world) is not False


def flavors_for(job: Document, target: Target, world: World) -> list[Flavor]:
    """Return the given flavors that a job can get in its queue.

    If the queue is not given, return all flavors. If the job names no queue, return none.
    """
    name = queue_name(job, target, world)
    local = world.local_queue(job.namespace, name) if name else None
    queue = world.queues.get(text(mapping(local, "spec"), "clusterQueue"))
    names = queue.flavors if queue else world.flavors if name else ()
    return [world.flavors[each] for each in dict.fromkeys(names) if each in world.flavors]


def workload_of(job: Document, context: Sequence[Document], target: Target, world: World) -> QueuedWorkload:
    """Return the Workload that Kueue makes of a job.

    *context*: the documents that the job may refer to, such as runtimes.
    """
    job = with_labels_of_pods(job)
    queue = queue_name(job, target, world)
    there = world.namespaces_of(queue)
    namespace = job.namespace or (there[0] if len(there) == 1 and there[0] else "default")
    try:
        found = [adjusted(each, namespace, world) for each in _pod_sets(job, context, target)]
    except _NoPodSets as why:
        return QueuedWorkload(job.data, job.group_kind, namespace, queue, [], None, str(why), target)
    priority = _priority_of(*priority_class(job.data, job.group_kind, found), world)
    group = 0 if job.group_kind == kinds.LEADER_WORKER_SET else None
    return QueuedWorkload(job.data, job.group_kind, namespace, queue, found, priority, target=target, group=group)


def workloads_of(job: Document, context: Sequence[Document], target: Target, world: World) -> list[QueuedWorkload]:
    """All Workloads that Kueue makes of a job: one, or one for each group of a LeaderWorkerSet."""
    first = workload_of(job, context, target, world)
    return [first] if first.group is None else [replace(first, group=index) for index in range(groups_of(job))]


def groups_of(job: Document) -> int:
    """The number of groups of a LeaderWorkerSet; 1 for another job."""
    replicas = number(mapping(job.data, "spec"), "replicas") if job.group_kind == kinds.LEADER_WORKER_SET else None
    return 1 if replicas is None else min(max(replicas, 0), MOST)


def priority_class(job: Data, kind: GroupKind, pod_sets: Sequence[QueuedPodSet]) -> tuple[str, str]:
    """The name of the class that gives a Workload its priority, empty for none, and that class's kind."""
    if named := string_map(mapping(job, "metadata"), "labels").get(PRIORITY):
        return named, "WorkloadPriorityClass"
    of_policy = text(mapping(job, "spec", "runPolicy", "schedulingPolicy"), "priorityClass") if kind in _REPLICAS else ""
    named = of_policy or next((name for each in pod_sets if (name := text(each.spec, "priorityClassName"))), "")
    return named, "PriorityClass"


def _priority_of(name: str, kind: str, world: World) -> int | None:
    """The priority that a class gives; None where the class is not at hand."""
    if kind == "WorkloadPriorityClass":
        found = world.object(kind, name)
        return None if found is None else number(found, "value") or 0
    given = priority_of(name, world.others)
    return None if given is None else given["priority"]


class _NoPodSets(Exception):
    """Why a job has no Workload."""


def admitted(job: Document, changes: Mapping[str, Data]) -> Document:
    """Return a job as Kueue starts it.

    *changes*: what Kueue changes in the pod template of each pod set, with metadata and spec.

    Follows `Merge`, pkg/podset, and the `RunWithPodSetsInfo` of pkg/controller/jobs, 0.19.2.
    """
    if job.group_kind == kinds.LEADER_WORKER_SET:  # whose pods Kueue changes one by one
        return job
    kueue = Mark(f"kueue {RELEASE}")
    if job.group_kind in RAY_KINDS:
        return as_document(started(job, changes, lambda tree, change: _with_changes(tree, change, kueue)), job)
    if job.group_kind in (kinds.JOB, kinds.JOBSET):
        return as_document(_started(marked(job), changes, kueue), job)
    if job.group_kind in _REPLICAS:
        place, _ = _REPLICAS[job.group_kind]
        roles = [role for role in mapping(job.data, "spec", place) if role.lower() in changes]
        replicas = {role: {"template": changes[role.lower()]} for role in roles}
        change: Data = {place: replicas, "runPolicy": {"suspend": False}}
    else:
        patches = [{"name": name, "template": {"spec": {"template": each}}} for name, each in changes.items()]
        own = {"manager": f"{GROUP}/manager", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": patches}}}}
        change = {"suspend": False, "runtimePatches": [own]}
    return as_document(_with_changes(marked(job), {"spec": change}, kueue), job)


def _started(job: MarkedTree, changes: Mapping[str, Data], kueue: Mark) -> MarkedTree:
    """A Job or JobSet that Kueue has resumed, with the changes of its templates."""
    resumed = _with_changes(job, {"spec": {"suspend": False}}, kueue)
    if text(job.data(), "kind") == kinds.JOB[1]:
        return _with_changes(resumed, {"spec": {"template": changes["main"]}}, kueue) if "main" in changes else resumed

    def replicated(each: MarkedTree) -> MarkedTree:
        change = changes.get(text(each.data(), "name").lower())
        return each if change is None else _with_changes(each, {"template": {"spec": {"template": change}}}, kueue)

    return changed(resumed, ("spec",), lambda spec: each_item(spec, "replicatedJobs", replicated))


def _with_changes(tree: MarkedTree | None, change: Any, kueue: Mark) -> MarkedTree:
    """A tree with what Kueue sets in it, and with the items that it adds to lists."""
    if tree and isinstance(change, dict) and isinstance(tree.value, dict):
        return tree.with_value({**tree.value, **{name: _with_changes(tree.get(name), each, kueue) for name, each in change.items()}})
    if tree and isinstance(change, list) and isinstance(tree.value, list):
        return tree.with_value([*tree.value, *(set_by(kueue, each) for each in change if each not in tree.data())])
    return set_by(kueue, change)


# The pod sets of a job, by its kind.


#: The kinds with replica types: the field that has them, and their order; Kueue knows the types in this spelling alone.
_REPLICAS: dict[GroupKind, tuple[str, Sequence[str]]] = {
    **{kind: (FRAMEWORKS[kind].replicas[1], FRAMEWORKS[kind].types) for kind in kinds.QUEUED_TRAINING_JOBS},
    kinds.MPIJOB: ("mpiReplicaSpecs", (mpi_operator.LAUNCHER, mpi_operator.WORKER)),
}


def _pod_sets(job: Document, context: Sequence[Document], target: Target) -> Iterator[QueuedPodSet]:
    """The pod sets of a job, by its kind."""
    spec = mapping(job.data, "spec")
    if job.group_kind in _REPLICAS:
        place, names = _REPLICAS[job.group_kind]
        label, replicas = "training.kubeflow.org/replica-index", mapping(spec, place)
        for name in names:
            if isinstance(each := replicas.get(name), dict):
                count, template = number(each, "replicas"), mapping(each, "template")
                yield _with_topology(QueuedPodSet(name.lower(), 1 if count is None else count, template, index_label=label))
    elif job.group_kind == kinds.JOB:
        least = string_map(mapping(job.data, "metadata"), "annotations").get(FEWEST, "")
        yield _with_topology(
            QueuedPodSet("main", pods_at_once(spec), mapping(spec, "template"), least=integer(least), index_label=JOB_INDEX)
        )
    elif job.group_kind == kinds.LEADER_WORKER_SET:
        yield from _of_group(job)
    elif job.group_kind in RAY_KINDS:
        if job.group_kind == kinds.RAY_JOB and spec.get("clusterSelector"):
            raise _NoPodSets("the RayJob uses a cluster of others: Kueue makes no Workload of it")
        yield from (_with_topology(QueuedPodSet(*each)) for each in ray_pods(job))
    else:
        jobset = _jobset(job, context, target) if job.group_kind == kinds.TRAINJOB else spec
        yield from map(_of_replicated_job, structs(jobset, "replicatedJobs"))


_TRAINER = "2.2.1"
"""The trainer that Kueue has inside, with which it counts what a TrainJob requests, whatever trainer is on the cluster."""


def _jobset(job: Document, context: Sequence[Document], target: Target) -> Data:
    """The spec of the JobSet that the trainer inside of Kueue makes of a TrainJob."""
    from jobspec.operators.expansion import expand

    try:
        expansion = expand(job, context, {**target, "trainer": _TRAINER}, first_and_last_only=True, skip_server_checks=True)
    except JobspecError as error:
        raise _NoPodSets(str(error)) from None
    for made in of_kind(expansion.objects, "JobSet"):
        return mapping(made.data(), "spec")
    raise _NoPodSets(next((each.message for each in expansion.diagnostics), "the trainer makes no JobSet of it"))


def _of_replicated_job(each: Data) -> QueuedPodSet:
    replicas, spec = number(each, "replicas"), mapping(each, "template", "spec")
    replicas = 1 if replicas is None else replicas
    found = QueuedPodSet(text(each, "name").lower(), replicas * pods_at_once(spec), mapping(spec, "template"), index_label=JOB_INDEX)
    return _with_topology(replace(found, group_label="jobset.sigs.k8s.io/job-index", group_count=replicas))


def _of_group(job: Document) -> Iterator[QueuedPodSet]:
    """The pod sets of one group of a LeaderWorkerSet, whose templates Kueue's webhook has marked."""
    template = mapping(job.data, "spec", "leaderWorkerTemplate")
    size = number(template, "size")
    size, leader = 1 if size is None else size, template.get("leaderTemplate")
    worker = marked_template(job.data, "workerTemplate")
    if not isinstance(leader, dict):
        yield _of_member("main", size, worker, GROUP_MEMBER)
        return
    yield _of_member(LEADER, 1, marked_template(job.data, "leaderTemplate"), "")
    yield _of_member(WORKER, size - 1, worker, GROUP_MEMBER)


def _of_member(name: str, count: int, template: Data, index_label: str) -> QueuedPodSet:
    """A pod set of a group, without the labels and annotations of LeaderWorkerSet but that with its name."""
    found = _with_topology(QueuedPodSet(name, count, template, index_label=index_label))
    metadata = mapping(template, "metadata")
    own = {field: _without_own(mapping(metadata, field)) for field in ("labels", "annotations")}
    kept = {**{key: each for key, each in metadata.items() if key not in own}, **{key: each for key, each in own.items() if each}}
    return replace(found, template={**template, "metadata": kept})


def _without_own(names: Data) -> Data:
    prefix = GROUP_MEMBER.partition("/")[0]
    return {name: each for name, each in names.items() if not name.startswith(prefix) or name == f"{prefix}/name"}


def marked_template(job: Data, role: str) -> Data:
    """A pod template of a LeaderWorkerSet in a queue as Kueue's webhook writes it.

    Follows `podTemplateSpecDefault`, sigs.k8s.io/kueue pkg/controller/jobs/leaderworkerset, 0.19.2.
    """
    templates = mapping(job, "spec", "leaderWorkerTemplate")
    template, said = mapping(templates, role), string_map(mapping(job, "metadata"), "labels")
    metadata = mapping(template, "metadata")
    labels = {**mapping(metadata, "labels"), **{name: said[name] for name in (QUEUE, PRIORITY) if said.get(name)}}
    annotations = {
        **mapping(metadata, "annotations"),
        f"{GROUP}/pod-suspending-parent": FRAMEWORK_OF_GROUPS,
        f"{GROUP}/pod-group-serving": "true",
    }
    follows = role == "workerTemplate" and isinstance(templates.get("leaderTemplate"), dict)
    if follows and PLACED_TOGETHER not in annotations:
        annotations[f"{GROUP}/pod-index-offset"] = "1"
    return {**template, "metadata": {**metadata, "labels": labels, "annotations": annotations}}


# The topology annotations of a pod template.


def _with_topology(pods: QueuedPodSet) -> QueuedPodSet:
    """A pod set with the topology that its template asks for by annotations."""
    said = {name: each for name, each in mapping(pods.template, "metadata", "annotations").items() if each is not None}
    required = said.get(REQUIRED_TOPOLOGY)
    preferred = said.get(PREFERRED_TOPOLOGY) if required is None else None
    unconstrained = said.get(ANYWHERE) if required is None and preferred is None else None
    slices: list[tuple[str, int]] | None = []
    if LAYERS in said:
        slices = layers_in(said[LAYERS])
    elif SLICE_TOPOLOGY in said and SIZE in said:
        size = integer(said[SIZE], 32)
        slices = None if size is None else [(said[SLICE_TOPOLOGY], size)]
    if slices is None:
        raise _NoPodSets(f"the topology annotations of pod set `{pods.name}` cannot be read")
    group = said.get(PLACED_TOGETHER, "") if required is not None or preferred is not None else ""
    is_free = None if unconstrained is None else unconstrained in TRUE_WORDS
    return replace(pods, topology=TopologyRequest(required, preferred, is_free, tuple(slices), group))


# The requests of pods, with the overhead of the runtime class, the namespace's LimitRanges, and limits for missing requests.


def adjusted(pods: QueuedPodSet, namespace: str, world: World) -> QueuedPodSet:
    """A pod set with what Kueue counts besides its own requests; it keeps that in memory, so that stored Workloads lack it."""
    spec = dict(pods.spec)
    runtime_class = world.others.find(kinds.RUNTIME_CLASS, "", text(spec, "runtimeClassName"))
    if runtime_class and not spec.get("overhead") and (overhead := mapping(runtime_class, "overhead", "podFixed")):
        spec["overhead"] = overhead
    bounds = bounds_of(namespace, world)
    filled = bounds["Container"]["default"], bounds["Container"]["defaultRequest"]
    for kind in ("initContainers", "containers"):
        if kind in spec:
            spec[kind] = [_with_requests(each, *filled) for each in structs(spec, kind)]
    if isinstance(spec.get("resources"), dict):
        spec = _with_requests(spec, bounds["Pod"]["default"], bounds["Pod"]["defaultRequest"])
    return replace(pods, template={**pods.template, "spec": spec}, written=pods.spec)


@dataclass(frozen=True, slots=True)
class ClaimedDevices:
    """The devices that a pod claims, as quotas count them, or why they cannot be counted."""

    devices: Mapping[str, int] = field(default_factory=dict)
    problem: str = ""
    is_certain: bool = True
    """Whether Kueue admits no such pods; else what it looks at is not at hand."""


_MAPPINGS = "`resources.deviceClassMappings` of Kueue's configuration"


def claimed(pods: QueuedPodSet, namespace: str, world: World) -> ClaimedDevices:
    """The devices that each pod claims by templates, under the names that Kueue's configuration gives their classes in quotas.

    Follows `GetResourceRequestsForResourceClaimTemplates`, sigs.k8s.io/kueue pkg/dra, 0.19.2, with the default feature gates.
    """
    found: dict[str, int] = {}
    mappings = structs(mapping(world.configuration, "resources"), "deviceClassMappings")
    by_class = {name: each for each in reversed(mappings) for name in texts(each, "deviceClassNames")}
    for claim in structs(pods.spec, "resourceClaims"):
        name = text(claim, "resourceClaimTemplateName")
        if own := text(claim, "resourceClaimName"):
            return ClaimedDevices(problem=f"Kueue supports no `resourceClaimName`, here `{own}`, only templates of claims")
        template = world.others.find(_CLAIM_TEMPLATE, namespace, name)
        if name and not (template and world.configuration):
            missing = "Kueue's configuration" if template else f"the ResourceClaimTemplate `{name}`"
            return ClaimedDevices({}, f"claims of devices count by {_MAPPINGS}: {missing} is not among the files", is_certain=False)
        for request in structs(template or {}, "spec", "spec", "devices", "requests"):
            asked = mapping(request, "exactly") or request  # older versions of the API have its fields in the request
            mapped, count = by_class.get(text(asked, "deviceClassName")), number(asked, "count")
            if wrong := _uncountable(request, asked):
                return ClaimedDevices(problem=f"Kueue counts no claims with `{wrong}`, as the ResourceClaimTemplate `{name}` has")
            if mapped is None:
                return ClaimedDevices(problem=f"the DeviceClass `{text(asked, 'deviceClassName')}` is not among {_MAPPINGS}")
            if structs(asked, "selectors") or structs(mapped, "sources"):
                why = f"the claim `{name}` counts by the devices of ResourceSlices, which are not read"
                return ClaimedDevices({}, why, is_certain=False)
            found = added(found, {text(mapped, "name"): amount(text(mapped, "name"), 1 if count is None else count)})
    return ClaimedDevices(found)


def _uncountable(request: Data, asked: Data) -> str:
    """The field of a request for devices that Kueue does not support; empty for one that it counts."""
    if request.get("firstAvailable"):
        return "firstAvailable"
    mode = text(asked, "allocationMode") or "ExactCount"
    return "adminAccess" if asked.get("adminAccess") is True else f"allocationMode: {mode}" if mode != "ExactCount" else ""


def added(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """The amounts of both together."""
    return {name: plus(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}


def _with_requests(holder: Data, limits: Data, requests: Data) -> Data:
    """A container, or a pod spec with resources, whose missing limits and requests are filled in, the requests from limits at last."""
    own = mapping(holder, "resources")
    of_limits = {**limits, **mapping(own, "limits")}
    of_requests = {**of_limits, **requests, **mapping(own, "requests")}
    given = {name: each for name, each in (("limits", of_limits), ("requests", of_requests)) if each}
    return {**holder, "resources": {**own, **given}} if given else holder


def bounds_of(namespace: str, world: World) -> dict[str, dict[str, Data]]:
    """The LimitRanges of a namespace merged by type: the greatest `min`, the least `max`, the first defaults."""
    found: dict[str, dict[str, Data]] = {
        kind: {name: {} for name in ("min", "max", "default", "defaultRequest")} for kind in ("Container", "Pod")
    }
    for _, data in world.others.in_namespace(kinds.LIMIT_RANGE, namespace):
        for item in structs(data, "spec", "limits"):
            bounds = found.get(text(item, "type"))
            if bounds is None:
                continue
            given = {name: mapping(item, name) for name in bounds}
            if text(item, "type") == "Container":  # as the server stores it
                given["default"] = {**given["max"], **given["default"]}
                given["defaultRequest"] = {**given["min"], **given["default"], **given["defaultRequest"]}
            for name in ("default", "defaultRequest"):
                bounds[name] = {**given[name], **bounds[name]}
            bounds["max"] = {**given["max"], **bounds["max"], **_chosen(min, bounds["max"], given["max"])}
            bounds["min"] = {**given["min"], **bounds["min"], **_chosen(max, bounds["min"], given["min"])}
    return found


def undercounted(pods: QueuedPodSet, namespace: str, world: World) -> dict[str, tuple[int, int, str]]:
    """Return the resources of which Kueue counts less than the pods request.

    Each resource comes with the counted amount, the requested amount, and the LimitRange. Kueue takes a LimitRange's default request for a
    missing one, and the server the container's limit.
    """
    found: dict[str, tuple[int, int, str]] = {}
    containers = [mapping(each, "resources") for each in structs(pods.written, "containers")]
    for name, default in bounds_of(namespace, world)["Container"]["defaultRequest"].items():
        limits = [own["limits"][name] for own in containers if name in mapping(own, "limits") and name not in mapping(own, "requests")]
        missed = sum(max(0, amount(name, limit) - amount(name, default)) for limit in limits)
        if missed:
            counted = pods.requests.get(name, 0)
            sides = ("defaultRequest", "default", "max", "min")
            found[name] = counted, counted + missed, _limit_range(namespace, world, "Container", sides, name)
    return found


def _limit_range(namespace: str, world: World, of: str, sides: Sequence[str], resource: str, bound: Any = None) -> str:
    """Return the LimitRange in words that says the amount of a resource, or any amount, in one of some fields for the type *of*."""
    for name, data in world.others.in_namespace(kinds.LIMIT_RANGE, namespace):
        items = [each for each in structs(data, "spec", "limits") if text(each, "type") == of]
        said = [mapping(each, side)[resource] for each in items for side in sides if resource in mapping(each, side)]
        if said if bound is None else bound in said:
            return world.others.named(kinds.LIMIT_RANGE, namespace, name)
    return "a LimitRange"


def _chosen(choose: Any, one: Data, other: Data) -> Data:
    return {name: choose(one[name], other[name], key=lambda each: amount("cpu", each)) for name in one.keys() & other.keys()}


def inadmissible(workload: QueuedWorkload, world: World) -> str:
    """Why Kueue admits no workload with these requests, whatever is free; empty where nothing is against them."""
    bounds = bounds_of(workload.namespace, world)
    for pods in workload.pod_sets:
        spec = pods.spec
        for each in (*structs(spec, "initContainers"), *structs(spec, "containers")):
            own = mapping(each, "resources")
            requests, limits = ({name: amount(name, it) for name, it in mapping(own, field).items()} for field in ("requests", "limits"))
            if over := sorted(name for name in requests.keys() & limits.keys() if requests[name] > limits[name]):
                return f"requests of {', '.join(over)} are above the limits"
            what = f"container `{text(each, 'name')}`"
            says = partial(_limit_range, workload.namespace, world, "Container")
            if why := _beyond({**requests, **limits}, {**limits, **requests}, bounds["Container"], what, says):  # limits are no less
                return why
        says = partial(_limit_range, workload.namespace, world, "Pod")
        if why := _beyond(pods.requests, pods.requests, bounds["Pod"], f"pod of `{pods.name}`", says):
            return why
    return ""


def _beyond(most: Mapping[str, int], least: Mapping[str, int], bounds: dict[str, Data], what: str, says: Callable[..., str]) -> str:
    """Return which bound of a LimitRange is broken, in words; empty if none is. *says* finds the LimitRange with a bound."""
    for name, each in bounds["max"].items():
        if most.get(name, 0) > amount(name, each):
            return f"{says(['max'], name, each)} allows the {what} {each} {name} at most"
    for name, each in bounds["min"].items():
        if name in least and least[name] < amount(name, each):
            return f"{says(['min'], name, each)} requires the {what} to have {each} {name} at least"
    return ""
