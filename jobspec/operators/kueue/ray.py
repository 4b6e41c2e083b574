"""Ray clusters, jobs and services in queues: their pods as Kueue counts them, what its webhooks refuse, and how it starts them.

Follows `BuildPodSets`, `ValidateCreate` and `UpdateRayClusterSpecToRunWithPodSetsInfo`, sigs.k8s.io/kueue pkg/controller/jobs/raycluster,
`PodSets`, `RunWithPodSetsInfo` and `validateCreate`, pkg/controller/jobs/rayjob and rayservice, 0.19.2.
"""

from __future__ import annotations

from jobspec.apis.kinds import RAY_CLUSTER, RAY_JOB, RAY_SERVICE
from jobspec.apis.releases import is_at_least
from jobspec.diagnostics.places import Path, value_at
from jobspec.diagnostics.rules import Finding
from jobspec.documents.marked_tree import MarkedTree, changed, each_item, marked, set_by, with_missing
from jobspec.documents.marked_tree import text as tree_text
from jobspec.go.quantities import quantity_of
from jobspec.go.values import mapping, number, string_map, structs, text
from jobspec.operators.kuberay import AUTOSCALER, CLUSTER_SPECS, FAULT_TOLERANT, HEAD, JOB_MODE, SIDECAR_MODE, SUBMITTER
from jobspec.operators.kuberay.pods import OF_AUTOSCALER, SMALL
from jobspec.operators.kuberay.submitter import RESOURCES
from jobspec.operators.kueue.keys import ELASTIC
from jobspec.operators.workloads import QUEUE, suspend_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from jobspec.apis.kinds import GroupKind
    from jobspec.apis.releases import Target
    from jobspec.diagnostics.places import Data
    from jobspec.documents.document import Document
    from jobspec.operators.workloads import Workload

KINDS: tuple[GroupKind, ...] = (RAY_CLUSTER, RAY_JOB, RAY_SERVICE)
#: The name of the pod set of the Job that submits a RayJob's program.
SUBMITTER_PODS = "submitter"
_MOST = 18
"""The pod sets that a Workload can have."""


def cluster_of(job: Document) -> tuple[tuple[str, ...], Data]:
    """The path and the spec of the cluster of a Ray object; an empty spec where it has none."""
    path = CLUSTER_SPECS[job.kind]
    return path, mapping(job.data, *path)


def group_count(group: Data) -> int:
    """The number of pods of a group of workers that Kueue counts: what is asked for, which KubeRay may raise or lower."""
    replicas, hosts = number(group, "replicas") or 0, number(group, "numOfHosts")
    return replicas * max(1, 1 if hosts is None else hosts)


def ray_pods(job: Document) -> Iterator[tuple[str, int, Data]]:
    """The pod sets of a Ray object: name, number of pods and template of each."""
    _, cluster = cluster_of(job)
    spec = mapping(job.data, "spec")
    mode = _mode(spec) if job.group_kind == RAY_JOB else ""
    yield HEAD, 1, _head_template(job, cluster, mode)
    for group in structs(cluster, "workerGroupSpecs"):
        yield text(group, "groupName").lower(), group_count(group), mapping(group, "template")
    if mode == JOB_MODE:
        yield SUBMITTER_PODS, 1, submitter_template(spec, cluster)


def _mode(spec: Data) -> str:
    return text(spec, "submissionMode") or JOB_MODE


def has_submitter(spec: Data) -> bool:
    """True if a Job submits the program of a RayJob with this *spec*."""
    return _mode(spec) == JOB_MODE


def submitter_template(spec: Data, cluster: Data) -> Data:
    """The pod template of the Job that submits a RayJob's program, before it has a command."""
    own = spec.get("submitterPodTemplate")
    if isinstance(own, dict):
        return own
    first = next(iter(structs(cluster, "headGroupSpec", "template", "spec", "containers")), {})
    container = {"name": SUBMITTER, **({"image": first["image"]} if first.get("image") else {}), "resources": RESOURCES}
    return {"spec": {"containers": [container], "restartPolicy": "Never"}}


def _head_template(job: Document, cluster: Data, mode: str) -> Data:
    """The template of the head, with the containers that KubeRay adds to it."""
    template = mapping(cluster, "headGroupSpec", "template")
    containers = structs(template, "spec", "containers")
    if containers and _is_fault_tolerant(job, cluster):  # whose storage a Job cleans up in the end
        containers = [_with_least_requests(containers[0]), *containers[1:]]
    if cluster.get("enableInTreeAutoscaling") is True:
        own = mapping(cluster, "autoscalerOptions").get("resources")
        resources = own if isinstance(own, dict) else {"limits": OF_AUTOSCALER, "requests": OF_AUTOSCALER}
        containers = [*containers, {"name": AUTOSCALER, "resources": resources}]
    if mode == SIDECAR_MODE:
        containers = [*containers, {"name": SUBMITTER, "resources": RESOURCES}]
    return {**template, "spec": {**mapping(template, "spec"), "containers": containers}}


def _is_fault_tolerant(job: Document, cluster: Data) -> bool:
    noted = string_map(mapping(job.data, "metadata"), "annotations").get(FAULT_TOLERANT, "")
    return noted.lower() == "true" or cluster.get("gcsFaultToleranceOptions") is not None


def _with_least_requests(container: Data) -> Data:
    """A container that requests as much as the Job that cleans up its storage."""
    resources = mapping(container, "resources")
    requests = dict(mapping(resources, "requests"))
    for name, least in SMALL.items():
        if not quantity_of(requests.get(name, "0")) > quantity_of(least):
            requests[name] = least
    return {**container, "resources": {**resources, "requests": requests}}


# What Kueue's webhooks refuse of Ray objects in a queue.


def _in_queue(workload: Workload) -> bool:
    return bool(string_map(mapping(workload.document.data, "metadata"), "labels").get(QUEUE))


def _counted_cluster(workload: Workload) -> tuple[tuple[str, ...], Data]:
    """The path and the spec of the cluster that is in a queue; an empty spec where that is another object's, or none."""
    job = workload.document
    if not _in_queue(workload) or (job.group_kind == RAY_JOB and _selects(workload.spec)):
        return (), {}
    return cluster_of(job)


def _selects(spec: Data) -> bool:
    """True if a RayJob selects another object's cluster; the server drops labels without a value."""
    return any(each is not None for each in mapping(spec, "clusterSelector").values())


def is_left_alone(workload: Workload) -> bool:
    """True if Kueue leaves a RayJob in a queue alone, since it runs in another object's cluster."""
    is_alone = workload.document.group_kind == RAY_JOB and workload.spec.get("rayClusterSpec") is None
    return is_alone and _in_queue(workload) and _selects(workload.spec)


def is_in_no_queue(workload: Workload, release: str) -> bool:
    """True if the object of an update is in no queue, so that Kueue does not validate the update.

    From Kueue 0.19.2 on it validates that of an object that leaves its queue.
    """
    if workload.old is None or workload.document.group_kind not in KINDS:
        return False
    states = [workload.document, *([workload.old] if is_at_least(release, "0.19.2") else [])]
    return not any(string_map(mapping(each.data, "metadata"), "labels").get(QUEUE) for each in states)


def ray_cluster_needed(workload: Workload, target: Target) -> Iterator[Finding]:
    """A RayJob in a queue makes its own cluster: it has a `rayClusterSpec`, and no `clusterSelector` beside it."""
    if workload.document.group_kind != RAY_JOB or not _in_queue(workload):
        return
    selects, makes = _selects(workload.spec), workload.spec.get("rayClusterSpec") is not None
    if selects and makes:
        yield Finding(("spec", "clusterSelector"), "a RayJob in a queue cannot use an existing cluster", "remove `clusterSelector`")
    elif not selects and not makes:
        yield Finding(("spec", "rayClusterSpec"), "a RayJob in a queue needs a `rayClusterSpec`")


def ray_shutdown(workload: Workload, target: Target) -> Iterator[Finding]:
    """A RayJob in a queue needs `shutdownAfterJobFinishes: true`; a `deletionStrategy` does not replace it."""
    _, cluster = _counted_cluster(workload)
    if workload.document.group_kind == RAY_JOB and cluster and workload.spec.get("shutdownAfterJobFinishes") is not True:
        place = ("spec", "shutdownAfterJobFinishes")
        yield Finding(place, "a RayJob in a queue has to delete its cluster at the end", "write `shutdownAfterJobFinishes: true`")


def ray_autoscaling(workload: Workload, target: Target) -> Iterator[Finding]:
    """A Ray cluster in a queue has an autoscaler only as an elastic job, by the annotation `kueue.x-k8s.io/elastic-job: "true"`."""
    path, cluster = _counted_cluster(workload)
    is_elastic = string_map(mapping(workload.document.data, "metadata"), "annotations").get(ELASTIC) == "true"
    if cluster.get("enableInTreeAutoscaling") is True and not is_elastic:
        message = "a Ray cluster in a queue cannot have an autoscaler unless the job is elastic"
        yield Finding((*path, "enableInTreeAutoscaling"), message, f'annotate the object with `{ELASTIC}: "true"`, or remove it')


def ray_groups(workload: Workload, target: Target) -> Iterator[Finding]:
    """A Ray cluster in a queue has at most 17 groups of workers, and none is named `head`."""
    path, cluster = _counted_cluster(workload)
    groups = structs(cluster, "workerGroupSpecs")
    if len(groups) >= _MOST:
        message = f"{len(groups)} groups of workers and the head are more than the {_MOST} pod sets of a Workload"
        yield Finding((*path, "workerGroupSpecs"), message)
    for index, group in enumerate(groups):
        if group.get("groupName") == HEAD:
            yield Finding((*path, "workerGroupSpecs", index, "groupName"), "`head` is the name of the head's pod set", "rename it")


def ray_parameters(workload: Workload, target: Target) -> Iterator[Finding]:
    """Kueue's webhook suspends a Ray object, and writes `rayStartParams: null` where a group has none, which the server refuses."""
    path = CLUSTER_SPECS[workload.document.kind]
    data = workload.document.data
    cluster = value_at(data, path)
    if cluster is None and workload.document.group_kind != RAY_JOB:  # Go writes an empty one, and keeps that of a RayJob absent
        cluster = {}
    is_suspended = value_at(data, suspend_of(workload.document.group_kind)) is True
    if workload.old or is_suspended or not _in_queue(workload) or not isinstance(cluster, dict):
        return
    groups: list[tuple[Path, Data]] = [((*path, "headGroupSpec"), mapping(cluster, "headGroupSpec"))]
    groups += [((*path, "workerGroupSpecs", index), each) for index, each in enumerate(structs(cluster, "workerGroupSpecs"))]
    for at, group in groups:
        if group.get("rayStartParams") is None:
            message = "Kueue's webhook turns missing `rayStartParams` into null, which the server refuses"
            yield Finding((*at, "rayStartParams"), message, "write `rayStartParams: {}`")


def ray_head(workload: Workload, target: Target) -> Iterator[Finding]:
    """Kueue's webhook needs the head's first container if the cluster is fault-tolerant, and for the Job that submits a RayJob's program.

    With the container it counts the Job that cleans up the storage in the end; the other Job runs the container's image.
    """
    job = workload.document
    path, cluster = cluster_of(job)
    place = (*path, "headGroupSpec", "template", "spec", "containers")
    if (not cluster and job.group_kind == RAY_JOB) or value_at(job.data, place):
        return
    if _is_fault_tolerant(job, cluster):
        message = "the head has no container: Kueue cannot count the Job that cleans up the storage of a fault-tolerant cluster"
        yield Finding(place, message, "add the container in which Ray runs")
    elif _is_submitted_by_job(job) and not isinstance(workload.spec.get("submitterPodTemplate"), dict):
        yield Finding(place, "the head has no container: Kueue cannot count the Job that submits the program", "add the container")


def _is_submitted_by_job(job: Document) -> bool:
    return job.group_kind == RAY_JOB and (text(mapping(job.data, "spec"), "submissionMode") or JOB_MODE) == JOB_MODE


# How Kueue starts a Ray object.


def started(job: Document, changes: Mapping[str, Data], merge: Callable[[MarkedTree | None, Any], MarkedTree]) -> MarkedTree:
    """A Ray object that Kueue has started, with *changes* of the templates of its pod sets. *merge*: puts changes into a tree."""
    path, cluster = cluster_of(job)
    tree = marked(job)

    def group(each: MarkedTree, name: str) -> MarkedTree:
        change = changes.get(name)
        return merge(each, {"template": change}) if change is not None else each

    def workers(each: MarkedTree) -> MarkedTree:
        return group(each, tree_text(each, "groupName").lower())

    tree = changed(tree, (*path, "headGroupSpec"), lambda each: group(each, HEAD))
    tree = changed(
        tree, path, lambda spec: each_item(spec, "workerGroupSpecs", lambda each: group(each, tree_text(each, "groupName").lower()))
    )
    if SUBMITTER_PODS in changes:
        whole = merge(set_by(tree.mark, submitter_template(mapping(job.data, "spec"), cluster)), changes[SUBMITTER_PODS])
        tree = changed(tree, ("spec",), lambda spec: with_missing(spec, {"submitterPodTemplate": whole}, tree.mark))
    return changed(tree, suspend_of(job.group_kind)[:-1], lambda each: merge(each, {"suspend": False}))
