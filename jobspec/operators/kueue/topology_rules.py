"""The rules of Kueue's webhooks for topology requests, by annotations of pod templates.

Follows `tas_validation.go`, sigs.k8s.io/kueue pkg/controller/jobframework, 0.18.2 and 0.19.2.
"""

from __future__ import annotations

from jobspec.apis.kinds import JOB, JOBSET, LEADER_WORKER_SET, MPIJOB, POD, QUEUED_TRAINING_JOBS, RAY_JOB, TRAINJOB
from jobspec.apis.kinds import QUEUE_GROUP as GROUP
from jobspec.apis.releases import Target
from jobspec.diagnostics.grouping import grouped
from jobspec.diagnostics.places import Key, Path, items_at, value_at
from jobspec.diagnostics.record import Record
from jobspec.diagnostics.rules import Finding
from jobspec.diagnostics.wording import counted
from jobspec.go.values import integer, mapping, string_map, structs, without_nulls
from jobspec.kubernetes.metadata import bad_qualified_name
from jobspec.operators.kueue import ray
from jobspec.operators.kueue.job_rules import BOOLEANS, one_if_absent, pods_at_once
from jobspec.operators.kueue.keys import ANYWHERE, LAYERS, PLACED_TOGETHER, SIZE
from jobspec.operators.kueue.workload_rules import is_later_release
from jobspec.operators.mpi_operator import LAUNCHER, WORKER
from jobspec.operators.trainer.merged_pods import PATCHES
from jobspec.operators.trainer.runtimes import ancestor, nodes_of
from jobspec.operators.workloads import LEADER, PATCHED_JOBS, PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY, SLICE_TOPOLOGY, TEMPLATE, Workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_ANY_NUMBER = 2**31
"""More pods than any slice has: the webhook does not compare the slices of a plain pod with the number of pods."""


class _Pods(Record):
    """The pods of one template: what it is annotated with, where that is written, and how many they are."""

    annotations: Mapping[str, str]
    path: Path
    """The path of the annotations; of a TrainJob's runtime, that of the reference."""
    count: int
    field: str = ""
    """The field as the webhook spells it, where that is not the path."""

    def finding(self, name: str, message: str, hint: str = "") -> Finding:
        """What is wrong with an annotation."""
        return Finding(self.path if self.field else (*self.path, Key(name)), message, hint, field=self.field and f"{self.field}[{name}]")


def _annotated_pods(workload: Workload) -> list[_Pods]:
    """The pods of a job that have annotations of Kueue's for their topology."""
    data, kind = workload.document.data, workload.document.group_kind
    if kind == JOB:
        at: Path = ("spec", "template", "metadata", "annotations")
        found = [_Pods(string_map(mapping(value_at(data, at[:-1])), "annotations"), at, pods_at_once(mapping(data, "spec")))]
    elif kind == POD:
        found = [_Pods(string_map(mapping(data, "metadata"), "annotations"), ("metadata", "annotations"), _ANY_NUMBER)]
    elif kind == TRAINJOB:
        found = list(_pods_of_trainjob(workload))
    elif kind == LEADER_WORKER_SET:
        found = list(_pods_of_group(workload))
    elif kind in ray.KINDS:
        found = list(_pods_of_ray(workload))
    else:
        found = []
        counted_roles = [each for each in workload.roles if kind != MPIJOB or each.name in (LAUNCHER, WORKER)]
        for role in counted_roles:
            at = (*role.path, *role.template, "metadata", "annotations")
            alone = 1 if kind in (MPIJOB, *QUEUED_TRAINING_JOBS) else pods_at_once(mapping(role.data, "template", "spec"))
            annotations = without_nulls(mapping(value_at(data, at)))  # as a server stores a custom resource
            found.append(_Pods(annotations, at, one_if_absent(role.data, "replicas") * alone))
    return [each for each in found if any(name.startswith(f"{GROUP}/podset-") for name in each.annotations)]


def _pods_of_group(workload: Workload) -> Iterator[_Pods]:
    """The leader and the workers of a group of a LeaderWorkerSet, or all of its pods if the leader has no template of its own."""
    size = one_if_absent(mapping(workload.document.data, "spec", "leaderWorkerTemplate"), "size")
    has_leader = any(role.name == LEADER for role in workload.roles)
    for role in workload.roles:
        annotations = without_nulls(mapping(role.data, "metadata", "annotations"))
        yield _Pods(annotations, (*role.path, "metadata", "annotations"), 1 if role.name == LEADER else size - has_leader)


def _pods_of_trainjob(workload: Workload) -> Iterator[_Pods]:
    """The pods of the runtime, with what the job's patches annotate."""
    data = workload.document.data
    for role in workload.roles:
        annotations = dict(mapping(role.data, *TEMPLATE, "metadata", "annotations"))
        path: Path = ("spec", "runtimeRef")
        for patch, _ in items_at(data, PATCHES):
            for job, change in items_at(data, (*patch, *PATCHED_JOBS)):
                own = mapping(change, *TEMPLATE, "metadata", "annotations") if change.get("name") == role.name else {}
                annotations |= own
                path = (*job, *TEMPLATE, "metadata", "annotations") if own else path
        trains = ancestor(role) == "trainer"
        of_role = one_if_absent(role.data, "replicas") * pods_at_once(mapping(role.data, "template", "spec"))
        count = nodes_of(data, workload.runtime) if trains else of_role
        yield _Pods(without_nulls(annotations), path, count, field=f"job[{role.name}].annotations")


def _pods_of_ray(workload: Workload) -> Iterator[_Pods]:
    """The pods of the head and of each group of workers of a Ray object."""
    path, cluster = ray.cluster_of(workload.document)
    groups: list[tuple[Path, int]] = [(("headGroupSpec",), 1)]
    groups += [(("workerGroupSpecs", n), ray.group_count(each)) for n, each in enumerate(structs(cluster, "workerGroupSpecs"))]
    for group, count in groups:
        at = (*path, *group, "template", "metadata", "annotations")
        yield _Pods(without_nulls(mapping(value_at(workload.document.data, at))), at, count)


def topology_request(workload: Workload, target: Target) -> Iterator[Finding]:
    """Only one of a required, a preferred and an unconstrained topology, whose level must be a valid label of nodes."""
    for pods in _annotated_pods(workload):
        said = pods.annotations
        asked = [name for name in (REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY, ANYWHERE) if name in said]
        if len(asked) > 1:
            yield pods.finding(asked[1], f"`{asked[0]}` and `{asked[1]}` are mutually exclusive", "keep one of them")
        for name in (REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY, SLICE_TOPOLOGY):
            if why := bad_qualified_name(said[name]) if name in said else "":
                yield pods.finding(name, f"`{said[name]}` cannot be a level of a topology: {why}", "name the label of the level")
        if said.get(ANYWHERE, "true") not in BOOLEANS:
            yield pods.finding(ANYWHERE, f"`{said[ANYWHERE]}` is not a boolean", "write `true`")


def topology_slices(workload: Workload, target: Target) -> Iterator[Finding]:
    """Slices need a topology level and a size, from 1 to the number of pods; a `podset-group-name` excludes slices."""
    for pods in _annotated_pods(workload):
        said = pods.annotations
        if (SLICE_TOPOLOGY in said) != (SIZE in said):
            there, missing = (SLICE_TOPOLOGY, SIZE) if SLICE_TOPOLOGY in said else (SIZE, SLICE_TOPOLOGY)
            yield pods.finding(there, f"`{there}` needs `{missing}`")
        size = integer(said[SIZE], 32) if SIZE in said else 1
        if size is None or size < 1:
            yield pods.finding(SIZE, f"`{said[SIZE]}` is not a number of pods above 0")
        elif SIZE in said and size > pods.count:
            yield pods.finding(SIZE, f"slices of {size} pods are larger than the number of pods, {pods.count}")
        if PLACED_TOGETHER in said:
            if said[PLACED_TOGETHER].isascii() and said[PLACED_TOGETHER].isdigit() and int(said[PLACED_TOGETHER]) < 2**64:
                yield pods.finding(PLACED_TOGETHER, f"the name of a group, `{said[PLACED_TOGETHER]}`, is a number")
            for name in (SIZE, SLICE_TOPOLOGY, LAYERS):
                if name in said:
                    yield pods.finding(PLACED_TOGETHER, f"pods of a group have no `{name}`")
            if REQUIRED_TOPOLOGY not in said and PREFERRED_TOPOLOGY not in said:
                yield pods.finding(PLACED_TOGETHER, "pods of a group ask for a required or a preferred topology")


def topology_layers(workload: Workload, target: Target) -> Iterator[Finding]:
    """Slice layers are a JSON list of one to three levels and sizes: different levels, each size dividing the one before."""
    for pods in _annotated_pods(workload):
        if LAYERS not in pods.annotations:
            continue
        if not is_later_release(target):
            yield pods.finding(LAYERS, "slice layers need Kueue 0.19, or a feature gate")
            continue
        for name in (SLICE_TOPOLOGY, SIZE):
            if name in pods.annotations:
                yield pods.finding(LAYERS, f"`{LAYERS}` and `{name}` are mutually exclusive")
        layers = layers_in(pods.annotations[LAYERS])
        if layers is None or not 1 <= len(layers) <= 3:
            yield pods.finding(LAYERS, _NO_LAYERS)
            continue
        for message in _bad_layers(layers):
            yield pods.finding(LAYERS, message)
        if layers[0][1] > pods.count:
            yield pods.finding(LAYERS, f"slices of {layers[0][1]} pods are larger than the number of pods, {pods.count}")


def submitter_topology(workload: Workload, target: Target) -> Iterator[Finding]:
    """The annotations for the topology of the pod that submits a RayJob's program must be readable, and fit the other one of its group.

    Follows `podSetTopologyRequestBuilder.Build`, pkg/controller/jobframework, 0.19.2.
    """
    for pods in _submitters(workload):
        said = pods.annotations
        asks = REQUIRED_TOPOLOGY in said or PREFERRED_TOPOLOGY in said
        if not asks and said.get(ANYWHERE, "true") not in BOOLEANS:
            yield pods.finding(ANYWHERE, f"`{said[ANYWHERE]}` is not a boolean", "write `true`")
        if LAYERS in said and is_later_release(target):
            layers = layers_in(said[LAYERS])
            if layers is None or not 1 <= len(layers) <= 3:
                yield pods.finding(LAYERS, _NO_LAYERS)
        elif SLICE_TOPOLOGY in said and SIZE in said and integer(said[SIZE], 32) is None:
            yield pods.finding(SIZE, f"`{said[SIZE]}` is not a number of pods")


def _submitters(workload: Workload) -> list[_Pods]:
    """The pod that submits the program of a RayJob, which Kueue counts beside those of the cluster; none of other objects."""
    spec = workload.spec
    if workload.document.group_kind != RAY_JOB or not ray.has_submitter(spec) or not isinstance(spec.get("rayClusterSpec"), dict):
        return []
    path: Path = ("spec", "submitterPodTemplate", "metadata", "annotations")
    return [_Pods(without_nulls(mapping(value_at(workload.document.data, path))), path, 1)]


_NO_LAYERS = "slice layers are a JSON list of one to three objects with `topology` and `size`"


def _bad_layers(layers: list[tuple[str, int]]) -> Iterator[str]:
    """What is wrong with each layer."""
    for index, (level, size) in enumerate(layers):
        if why := bad_qualified_name(level):
            yield f"`{level}` cannot be a level of a topology: {why}"
        if size < 1:
            yield f"the size {size} of a layer is not above 0"
        if level in [other for other, _ in layers[:index]]:
            yield f"two layers have the level `{level}`"
        if index and size > 0 and layers[index - 1][1] % size:
            yield f"the size {size} of a layer does not divide the one before, {layers[index - 1][1]}"


def layers_in(text: str) -> list[tuple[str, int]] | None:
    """The levels and sizes of layers as Go reads them; None where it cannot."""
    import json

    try:
        data = json.loads(text, parse_constant=int)
    except (ValueError, RecursionError):
        return None
    if data is None:
        return []
    if not isinstance(data, list):
        return None
    found = []
    for each in data:
        if not isinstance(each, dict) and each is not None:
            return None
        fields = {key.lower(): value for key, value in (each or {}).items() if value is not None}
        level, size = fields.get("topology", ""), fields.get("size", 0)
        if not isinstance(level, str) or type(size) is not int or integer(str(size), 32) is None:
            return None
        found.append((level, size))
    return found


#: What the pods of a kind belong to, where that is not called a pod template.
_ROLES = {JOBSET: "replicated job", MPIJOB: "replica type"}


def topology_groups(workload: Workload, target: Target) -> Iterator[Finding]:
    """A `podset-group-name` joins two replicated jobs, or roles, one of them with a single pod, that ask for the same topology."""
    role = _ROLES.get(workload.document.group_kind, "pod template")
    counted_pods = [*_annotated_pods(workload), *_submitters(workload)]
    together = [each for each in counted_pods if PLACED_TOGETHER in each.annotations]
    asking = [each for each in together if REQUIRED_TOPOLOGY in each.annotations or PREFERRED_TOPOLOGY in each.annotations]
    for name, members in grouped(asking, lambda each: each.annotations[PLACED_TOGETHER]).items():
        if len(members) != 2:
            for pods in members:
                yield pods.finding(PLACED_TOGETHER, f"the group `{name}` has {counted(len(members), role)}, and needs two")
            continue
        if all(pods.count != 1 for pods in members):
            yield members[0].finding(PLACED_TOGETHER, f"none of the {role}s of the group `{name}` has a single pod")
        one, other = (_level(pods) for pods in members)
        if one != other:
            yield members[1].finding(PLACED_TOGETHER, f"the {role}s of the group `{name}` ask for different topologies")


def _level(pods: _Pods) -> tuple[str, str]:
    """What a topology is asked for: a required one counts for more than a preferred one."""
    name = REQUIRED_TOPOLOGY if REQUIRED_TOPOLOGY in pods.annotations else PREFERRED_TOPOLOGY
    return name, pods.annotations[name]
