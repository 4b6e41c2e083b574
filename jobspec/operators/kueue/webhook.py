"""Kueue's webhooks: their rules for its own kinds, and for the jobs that can wait in its queues.

Follows pkg/webhooks, pkg/controller/jobframework (`validation.go`, `tas_validation.go`) and pkg/controller/jobs of batch Jobs, JobSets,
MPIJobs, pods, PyTorchJobs and TrainJobs, sigs.k8s.io/kueue, 0.18.2 and 0.19.2, with the feature gates and the integrations that are on
by default. So concurrent admission, which is off, has no rules here, nor has a PyTorchJob from 0.19 on.

A webhook sees an object in v1beta2, whichever version was sent. What it then calls differently, the rules look up by both names.
"""

from __future__ import annotations

from jobspec.apis.kinds import JOB, JOBSET, LEADER_WORKER_SET, MPIJOB, POD, QUEUED_TRAINING_JOBS, RAY_JOB, TRAINJOB, GroupKind
from jobspec.apis.kinds import QUEUE_GROUP as GROUP
from jobspec.apis.releases import QUEUES, Target, is_at_least, release_of
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.grouping import grouped
from jobspec.diagnostics.places import Data, Key, Path, items_at, value_at
from jobspec.diagnostics.record import Record
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.diagnostics.wording import counted
from jobspec.go.codec import encode_as_go
from jobspec.go.quantities import amount_of, is_endless, quantity
from jobspec.go.values import FALSE_WORDS, TRUE_WORDS, integer, mapping, string_map, structs, without_nulls
from jobspec.kubernetes.label_selectors import selector_problems
from jobspec.kubernetes.metadata import annotation_problems, bad_label_value, bad_qualified_name, bad_subdomain, label_problems
from jobspec.kubernetes.problems import listed
from jobspec.kubernetes.structural import filled
from jobspec.operators.kueue import pods as plain_pods
from jobspec.operators.kueue import ray
from jobspec.operators.kueue.keys import ANYWHERE, ELASTIC, FEWEST, GATED, LAYERS, PLACED_TOGETHER, PREBUILT, PRIORITY, SIZE, SYNCED
from jobspec.operators.mpi_operator import LAUNCHER, WORKER
from jobspec.operators.mutation import kueue_is_asked
from jobspec.operators.trainer.merged_pods import PATCHES
from jobspec.operators.trainer.runtimes import ancestor, nodes_of, runtime_of
from jobspec.operators.webhooks import Objects, bad_manager, becomes_null, findings, misnamed, undecodable_value
from jobspec.operators.workloads import (
    LEADER,
    MAXIMUM_TIME,
    PATCHED_JOBS,
    PREFERRED_TOPOLOGY,
    QUEUE,
    REQUIRED_TOPOLOGY,
    SLICE_TOPOLOGY,
    TEMPLATE,
    Workload,
    is_of_other_operator,
    suspend_of,
    with_labels_of_pods,
)
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from jobspec.documents.document import Document


#: The kinds of Kueue that have no webhook.
WITHOUT_WEBHOOK = (
    *("AdmissionCheck", "LocalQueue", "MultiKueueCluster", "MultiKueueConfig"),
    *("ProvisioningRequestConfig", "Topology", "WorkloadPriorityClass"),
)
_GROUPS: Path = ("spec", "resourceGroups")
_MOST_OF_ALL_GROUPS = 256
_MOST_QUOTAS = 512


# ClusterQueue and Cohort.


def quota_resources(workload: Workload, target: Target) -> Iterator[Finding]:
    """The resources of a flavor are those of `coveredResources`, in the same order; resource and flavor are in one group only."""
    resources: set[str] = set()
    flavors: set[str] = set()
    for path, group in items_at(workload.document.data, _GROUPS):
        for inner, name in items_at(group, ("coveredResources",)):
            if why := bad_qualified_name(name):
                yield Finding((*path, *inner), f"`{name}` cannot be the name of a resource: {why}")
            elif name in resources:
                yield Finding((*path, *inner), f"the resource `{name}` is covered twice", "keep it in one group")
            resources.add(name)
        for inner, flavor in items_at(group, ("flavors",)):
            if flavor["name"] in flavors:
                yield Finding((*path, *inner, "name"), f"the flavor `{flavor['name']}` is in two groups", "keep it in one group")
            flavors.add(flavor["name"])
            for (place, quota), covered in zip(items_at(flavor, ("resources",)), group["coveredResources"], strict=False):
                if quota["name"] != covered:
                    message = f"the quota of `{quota['name']}` is where `coveredResources` has `{covered}`"
                    yield Finding((*path, *inner, *place, "name"), message, "give quotas in the order of `coveredResources`")


def quota_limits(workload: Workload, target: Target) -> Iterator[Finding]:
    """A quota cannot be negative. Limits to borrow and to lend need a cohort, and a queue lends no more than it has."""
    data, is_queue = workload.document.data, workload.document.kind == "ClusterQueue"
    names = ("cohortName", "cohort") if is_queue else ("parentName",)
    has_parent = any(mapping(data, "spec").get(name) for name in names)
    for path, quota in _quotas(data):
        for field in ("nominalQuota", "borrowingLimit", "lendingLimit"):
            value = quota.get(field)
            if value is None:
                continue
            if _nanos(value) < 0:
                yield Finding((*path, field), f"`{field}: {value}` is negative")
            if field != "nominalQuota" and not has_parent:
                wanted = "cohort" if is_queue else "parent"
                yield Finding((*path, field), f"`{field}` without a {wanted}", f"name the {wanted}, or remove the limit")
            elif field == "lendingLimit" and is_queue and _nanos(value) > _nanos(quota["nominalQuota"]):
                yield Finding((*path, field), f"`lendingLimit: {value}` is above `nominalQuota: {quota['nominalQuota']}`")


def _quotas(data: Data) -> Iterator[tuple[Path, Data]]:
    """The quotas that the webhook looks at: of a flavor, as many as there are covered resources."""
    for path, group in items_at(data, _GROUPS):
        for inner, flavor in items_at(group, ("flavors",)):
            for place, quota in items_at(flavor, ("resources",))[: len(group["coveredResources"])]:
                yield (*path, *inner, *place), quota


def _nanos(value: Any) -> int:
    text = str(value)
    return amount_of(text) * 1_000_000 if is_endless(text) else quantity(text).nanos


def quota_number(workload: Workload, target: Target) -> Iterator[Finding]:
    """A ClusterQueue has at most 256 flavors and 256 resources in all of its groups, and 512 quotas in each."""
    groups = structs(workload.document.data, "spec", "resourceGroups")
    for field, what in (("flavors", "flavors"), ("coveredResources", "resources")):
        if (number := sum(len(group[field]) for group in groups)) > _MOST_OF_ALL_GROUPS:
            yield Finding(_GROUPS, f"{number} {what} in all groups are more than {_MOST_OF_ALL_GROUPS}")
    for index, group in enumerate(groups):
        if (number := sum(len(flavor["resources"]) for flavor in group["flavors"])) > _MOST_QUOTAS:
            yield Finding((*_GROUPS, index), f"{number} quotas in a group are more than {_MOST_QUOTAS}")


def fair_weight(workload: Workload, target: Target) -> Iterator[Finding]:
    """`fairSharing.weight` must be 0 or more than `1n`."""
    path = ("spec", "fairSharing", "weight")
    weight = value_at(workload.document.data, path)
    if weight is not None and (_nanos(weight) < 0 or _nanos(weight) == 1):
        why = "is negative" if _nanos(weight) < 0 else "is too small"
        yield Finding(path, f"the weight `{weight}` {why}", field="spec.fairSharing")


def queue_namespaces(workload: Workload, target: Target) -> Iterator[Finding]:
    """`namespaceSelector` of a ClusterQueue must be a valid label selector."""
    path = ("spec", "namespaceSelector")
    yield from (Finding(each.path, each.message, each.hint) for each in selector_problems(value_at(workload.document.data, path), path))


def check_flavors(workload: Workload, target: Target) -> Iterator[Finding]:
    """`onFlavors` of an admission check must name flavors of the ClusterQueue. An update that changes no flavor leaves old checks alone."""
    spec = mapping(workload.document.data, "spec")
    known, before = _flavors(spec), mapping(workload.old.data, "spec") if workload.old else {}
    kept = _flavors_of_checks(before) if set(_flavors(before)) == set(known) else {}
    checks: Path = ("spec", "admissionChecksStrategy", "admissionChecks")
    for path, check in [] if spec.get("admissionChecks") else items_at(workload.document.data, checks):
        for inner, name in items_at(check, ("onFlavors",)):
            if name not in known and kept.get(check["name"]) != set(check["onFlavors"]):
                yield Finding((*path, *inner), f"the queue has no flavor `{name}`", f"it has {listed(known)}" if known else "")


def _flavors_of_checks(spec: Data) -> dict[str, set[str]]:
    if spec.get("admissionChecks"):
        return {name: set() for name in spec["admissionChecks"]}
    return {each["name"]: set(each.get("onFlavors") or ()) for each in structs(spec, "admissionChecksStrategy", "admissionChecks")}


def _flavors(spec: Data) -> list[str]:
    return [flavor["name"] for group in structs(spec, "resourceGroups") for flavor in structs(group, "flavors")]


def concurrent_admission_frozen(workload: Workload, target: Target) -> Iterator[Finding]:
    """`concurrentAdmissionPolicy` of a ClusterQueue cannot be changed, set or removed. Make a new queue."""
    assert workload.old
    field = "concurrentAdmissionPolicy"
    if mapping(workload.document.data, "spec").get(field) != mapping(workload.old.data, "spec").get(field):
        yield Finding(("spec", field), f"`{field}` cannot be changed", "create a new ClusterQueue")


# ResourceFlavor and Workload.


def flavor_nodes(workload: Workload, target: Target) -> Iterator[Finding]:
    """The labels, taints and tolerations of a ResourceFlavor must be valid on nodes and pods."""
    data = workload.document.data
    labels: Path = ("spec", "nodeLabels")
    for key, value in mapping(data, "spec", "nodeLabels").items():
        yield from misnamed((*labels, Key(key)), key, bad_qualified_name, "a label of a node")
        yield from misnamed((*labels, Key(key)), value, bad_label_value, "the value of a label")
    seen = set()
    for path, taint in items_at(data, ("spec", "nodeTaints")):
        yield from misnamed((*path, "key"), taint["key"], bad_qualified_name, "the key of a taint")
        yield from misnamed((*path, "value"), taint.get("value") or "", bad_label_value, "the value of a taint")
        if (taint["key"], taint["effect"]) in seen:
            yield Finding(path, f"duplicate taint `{taint['key']}:{taint['effect']}`")
        seen.add((taint["key"], taint["effect"]))
    for path, toleration in items_at(data, ("spec", "tolerations")):
        if key := toleration.get("key"):
            yield from misnamed((*path, "key"), key, bad_qualified_name, "the key of a taint")


_POD_SETS: Path = ("spec", "podSets")


def workload_resources(workload: Workload, target: Target) -> Iterator[Finding]:
    """Containers of a Workload cannot request `pods`, which Kueue counts itself; from 0.19 on negative amounts are refused, too."""
    is_later = _is_later(target)
    for path, pod_set in items_at(workload.document.data, _POD_SETS):
        pod: Path = ("template", "spec")
        containers = [each for field in ("initContainers", "containers") for each, _ in items_at(pod_set, (*pod, field))]
        for place in (*containers, *([pod] if is_later else ())):
            for field in ("requests", "limits") if is_later else ("requests",):
                for name, value in mapping(value_at(pod_set, (*place, "resources", field))).items():
                    at = (*path, *place, "resources", field, Key(name))
                    if name == "pods":
                        yield Finding(at, "`pods` is a resource that Kueue counts itself", "remove it")
                    if is_later and value is not None and _nanos(value) < 0:
                        yield Finding(at, f"`{name}: {value}` is negative")


def variable_pod_sets(workload: Workload, target: Target) -> Iterator[Finding]:
    """Only one pod set of a Workload can have `minCount`, and none of an elastic job."""
    found = [path for path, each in items_at(workload.document.data, _POD_SETS) if each.get("minCount") is not None]
    if found and _is_elastic(workload.document.data):
        yield Finding((*found[0], "minCount"), "a pod set of an elastic job has `minCount`", field="spec.podSets")
    if len(found) > 1:
        yield Finding((*found[1], "minCount"), "two pod sets have `minCount`: only one can", field="spec.podSets")


def workload_slices(workload: Workload, target: Target) -> Iterator[Finding]:
    """`podSetSliceSize` and `podSetSliceRequiredTopology` must be set together, with a positive size."""
    for path, pod_set in items_at(workload.document.data, _POD_SETS):
        request = mapping(pod_set, "topologyRequest")
        level, size = request.get("podSetSliceRequiredTopology"), request.get("podSetSliceSize")
        at = (*path, "topologyRequest", "podSetSliceSize")
        if (level is None) != (size is None):
            yield Finding(at, "`podSetSliceSize` and `podSetSliceRequiredTopology` need each other")
        elif size is not None and size <= 0:
            yield Finding(at, f"`podSetSliceSize: {size}` is not above 0")


def workload_metadata(workload: Workload, target: Target) -> Iterator[Finding]:
    """The labels and annotations of a Workload's pod templates must be valid; checked from 0.19 on."""
    for path, pod_set in items_at(workload.document.data, _POD_SETS):
        at, said = (*path, "template", "metadata"), mapping(pod_set, "template", "metadata")
        for each in (*label_problems(said.get("labels"), at), *annotation_problems(said.get("annotations"), at)):
            yield Finding(each.path, each.message, each.hint)


def workload_frozen(workload: Workload, target: Target) -> Iterator[Finding]:
    """The pod sets of a Workload cannot be changed while it has quota, but for fewer pods."""
    assert workload.old
    conditions = structs(workload.old.data, "status", "conditions")
    has_quota = any((each.get("type"), each.get("status")) == ("QuotaReserved", "True") for each in conditions)
    shape = shapes.part(workload.document.api_version, "Workload", target)
    now, before = (encode_as_go(filled(each.data, shape), shape) for each in (workload.document, workload.old))
    if has_quota and _as_many(value_at(now, _POD_SETS), value_at(before, _POD_SETS)) != value_at(before, _POD_SETS):
        yield Finding(_POD_SETS, "the pod sets of a Workload with quota cannot be changed")


def _as_many(pod_sets: Any, before: Any) -> Any:
    """The pod sets, those that have fewer pods with as many as before."""
    if not isinstance(pod_sets, list) or not isinstance(before, list) or len(pod_sets) != len(before):
        return pod_sets
    return [{**now, "count": max(now["count"], then["count"])} for now, then in zip(pod_sets, before, strict=True)]


def _meta(data: Data, field: str) -> Mapping[str, str]:
    """The labels or annotations as Go decodes them: null is an empty text."""
    return string_map(mapping(data, "metadata"), field)


def _is_later(target: Target) -> bool:
    """Whether Kueue is 0.19 or later."""
    return is_at_least(release_of(QUEUES, target), "0.19.0")


# Jobs, by their labels and annotations. A webhook looks at all jobs, those without a queue, too.


_LONGEST_GATE = 63
_BOOLEANS = (*TRUE_WORDS, *FALSE_WORDS)


def _label(name: str) -> Path:
    return ("metadata", "labels", Key(name))


def _annotation(name: str) -> Path:
    return ("metadata", "annotations", Key(name))


def queue_label(workload: Workload, target: Target) -> Iterator[Finding]:
    """The labels that name a job's queue and its Workload must be valid names: lower-case letters, digits, `-` and `.`."""
    yield from _bad_name(workload, QUEUE, "queue")


def prebuilt_workload(workload: Workload, target: Target) -> Iterator[Finding]:
    """The annotation or label `kueue.x-k8s.io/prebuilt-workload-name` must be a valid object name."""
    data, kind = workload.document.data, workload.document.group_kind
    said = _meta(data, "annotations").get(PREBUILT, "")
    if kind in (*QUEUED_TRAINING_JOBS, POD) and workload.old and not _is_suspended(kind, data):
        return
    if said:
        yield from misnamed(_annotation(PREBUILT), said, bad_subdomain, "the name of a Workload")
    else:
        yield from _bad_name(workload, PREBUILT, "Workload")


def _bad_name(workload: Workload, label: str, what: str) -> Iterator[Finding]:
    name = _meta(workload.document.data, "labels").get(label)
    if why := "" if name is None else bad_subdomain(name):
        hint = "name one, or remove the label" if not name else ""
        yield Finding(_label(label), f"`{name}` cannot be the name of a {what}: {why}", hint)


def execution_time(workload: Workload, target: Target) -> Iterator[Finding]:
    """The label `kueue.x-k8s.io/max-exec-time-seconds` must be a number of seconds above 0."""
    text = _meta(workload.document.data, "labels").get(MAXIMUM_TIME)
    if text is not None and (integer(text) or 0) <= 0:
        yield Finding(_label(MAXIMUM_TIME), f"`{text}` is not a number of seconds above 0")


def queued_job_frozen(workload: Workload, target: Target) -> Iterator[Finding]:
    """Queue, prebuilt Workload and maximum execution time of a job can change only while it is suspended; its priority class stays.

    Kueue starts a job by `suspend: false`. A running job gets no priority class that it did not have, and none loses the one it has.
    """
    assert workload.old
    now, before = workload.document.data, workload.old.data
    labels, labels_before = _meta(now, "labels"), _meta(before, "labels")
    suspended, was_suspended = (_is_suspended(workload.document.group_kind, each) for each in (now, before))
    hint = "suspend the job, or create a new one"
    if not suspended and labels.get(QUEUE, "") != labels_before.get(QUEUE, ""):
        yield Finding(_label(QUEUE), "the queue of a job that is not suspended cannot be changed", hint)
    if not suspended and not _is_elastic(before) and _prebuilt(now) != _prebuilt(before):
        yield Finding(_label(PREBUILT), "the prebuilt Workload of a job that is not suspended cannot be changed", hint)
    if not (suspended and was_suspended) and labels.get(MAXIMUM_TIME, "") != labels_before.get(MAXIMUM_TIME, ""):
        yield Finding(_label(MAXIMUM_TIME), "the maximum execution time of a job that is not suspended cannot be changed", hint)
    priority, priority_before = labels.get(PRIORITY, ""), labels_before.get(PRIORITY, "")
    if priority and not priority_before and not suspended:
        yield Finding(_label(PRIORITY), "a job that is not suspended cannot get a priority class", hint)
    elif priority_before and not priority:
        yield Finding(_label(PRIORITY), "the priority class of a job cannot be removed", f"keep `{priority_before}`, or name another one")


def _prebuilt(data: Data) -> str:
    return _meta(data, "annotations").get(PREBUILT) or _meta(data, "labels").get(PREBUILT, "")


def elastic_job(workload: Workload, target: Target) -> Iterator[Finding]:
    """Only a Job can be elastic, from its creation on, and without `job-min-parallelism` and a topology for all of its pods."""
    data, name = workload.document.data, _annotation(ELASTIC)
    is_elastic = _is_elastic(data)
    if workload.old and is_elastic != _is_elastic(workload.old.data):
        yield Finding(name, "whether a job is elastic cannot be changed", "create a new job")
    if not is_elastic:
        return
    if workload.document.group_kind in ray.KINDS or (workload.document.group_kind == POD and workload.old):
        return
    if workload.document.group_kind != JOB:
        yield Finding(name, f"a {workload.document.kind} cannot be elastic", "remove the annotation")
        return
    template: Path = ("spec", "template", "metadata", "annotations")
    for level in (each for each in (REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY) if each in mapping(value_at(data, template))):
        yield Finding((*template, Key(level)), f"`{level}` cannot be asked for by an elastic job")
    fewest, before = _meta(data, "annotations").get(FEWEST), _meta(workload.old.data, "annotations") if workload.old else {}
    if fewest is not None and not (workload.old and before.get(FEWEST, "") == fewest):
        yield Finding(_annotation(FEWEST), "an elastic job cannot start with fewer pods")


def _is_elastic(data: Data) -> bool:
    return _meta(data, "annotations").get(ELASTIC) == "true"


def admission_gates(workload: Workload, target: Target) -> Iterator[Finding]:
    """An admission gate has a domain and a name, such as `example.com/data`; once the job exists, gates can only be removed."""
    said = _meta(workload.document.data, "annotations").get(GATED, "")
    gates = _gates(said)
    if workload.old and said:
        before = _meta(workload.old.data, "annotations").get(GATED, "")
        if not before:
            yield Finding(_annotation(GATED), "no gate can be added to an existing job")
        elif any(gate not in _gates(before) for gate in gates):
            yield Finding(_annotation(GATED), "gates of an existing job can only be removed")
    for number, gate in enumerate(gates):
        if not gate:
            yield Finding(_annotation(GATED), "a gate has no name")
        elif gate in gates[:number]:
            yield Finding(_annotation(GATED), f"duplicate gate `{gate}`")
        elif why := bad_manager(gate) or ("it has more than 63 characters" if len(gate) > _LONGEST_GATE else ""):
            yield Finding(_annotation(GATED), f"`{gate}` is not a gate: {why}")


def _gates(text: str) -> list[str]:
    return [each.strip() for each in text.split(",")] if text.strip() else []


def _is_suspended(kind: GroupKind, data: Data) -> bool:
    return plain_pods.is_suspended(data) if kind == POD else value_at(data, suspend_of(kind)) is True


def partial_admission(workload: Workload, target: Target) -> Iterator[Finding]:
    """`kueue.x-k8s.io/job-min-parallelism` must be at least 1 and less than the number of pods; checked where it changes."""
    name, data = FEWEST, workload.document.data
    text = _meta(data, "annotations").get(name)
    if text is not None and not (workload.old and _meta(workload.old.data, "annotations").get(name, "") == text):
        number, pods = integer(text), pods_at_once(mapping(data, "spec"))
        in_32_bits = ((number or 0) + 2**31) % 2**32 - 2**31
        if number is None or number <= 0 or in_32_bits >= pods:
            yield Finding(_annotation(name), f"`{text}` is not a number of pods from 1 to {pods - 1}")


def synced_completions(workload: Workload, target: Target) -> Iterator[Finding]:
    """With `job-completions-equal-parallelism`, a Job must be `Indexed`, and `completions` must equal `parallelism`."""
    data = workload.document.data
    text = _meta(data, "annotations").get(SYNCED)
    if text is None:
        return
    if text not in _BOOLEANS:
        yield Finding(_annotation(SYNCED), f"`{text}` is not a boolean", "write `true`, or remove it")
    elif text in TRUE_WORDS:
        spec = mapping(data, "spec")
        if spec.get("completionMode") != "Indexed":
            yield Finding(_annotation(SYNCED), "the completions of a Job that is not `Indexed` cannot follow `parallelism`")
        if _one_if_absent(spec, "parallelism") != _one_if_absent(spec, "completions"):
            yield Finding(("spec", "completions"), "`completions` have to equal `parallelism`, as the annotation says")


def partial_job_frozen(workload: Workload, target: Target) -> Iterator[Finding]:
    """While a Job with partial admission runs, `parallelism` and `job-completions-equal-parallelism` cannot change."""
    assert workload.old
    now, before = workload.document.data, workload.old.data
    was_suspended, suspended = (value_at(each, ("spec", "suspend")) is True for each in (before, now))
    parallelism, parallelism_before = (_one_if_absent(mapping(each, "spec"), "parallelism") for each in (now, before))
    if FEWEST in _meta(before, "annotations") and not was_suspended and parallelism != parallelism_before:
        message = "`parallelism` of a Job that can start with fewer pods cannot be changed while it runs"
        yield Finding(("spec", "parallelism"), message, "suspend the Job")
    synced, synced_before = (_meta(each, "annotations").get(SYNCED) in TRUE_WORDS for each in (now, before))
    if not suspended and not was_suspended and synced != synced_before:
        yield Finding(_annotation(SYNCED), "this annotation of a Job cannot be changed while it runs", "suspend the Job")


def _one_if_absent(spec: Data, field: str) -> int:
    value = spec.get(field)
    return 1 if value is None else int(value)


def pods_at_once(spec: Data) -> int:
    """How many pods a Job has at a time."""
    parallelism, completions = _one_if_absent(spec, "parallelism"), spec.get("completions")
    return parallelism if completions is None else min(parallelism, int(completions))


def kueue_patch(workload: Workload, target: Target) -> Iterator[Finding]:
    """Kueue adds an entry to the `runtimePatches` of every new TrainJob: a manifest cannot have one of the same manager."""
    assert not workload.old
    for path, patch in items_at(workload.document.data, PATCHES):
        if patch["manager"] == f"{GROUP}/manager":
            yield Finding((*path, "manager"), "Kueue adds the patch of this manager itself", "remove the patch")


# Topology requests, by annotations of pod templates.


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
        found = [_Pods(_meta(data, "annotations"), ("metadata", "annotations"), _ANY_NUMBER)]
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
            found.append(_Pods(annotations, at, _one_if_absent(role.data, "replicas") * alone))
    return [each for each in found if any(name.startswith(f"{GROUP}/podset-") for name in each.annotations)]


def _pods_of_group(workload: Workload) -> Iterator[_Pods]:
    """The leader and the workers of a group of a LeaderWorkerSet, or all of its pods if the leader has no template of its own."""
    size = _one_if_absent(mapping(workload.document.data, "spec", "leaderWorkerTemplate"), "size")
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
        of_role = _one_if_absent(role.data, "replicas") * pods_at_once(mapping(role.data, "template", "spec"))
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
        if said.get(ANYWHERE, "true") not in _BOOLEANS:
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
        if not _is_later(target):
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
        if not asks and said.get(ANYWHERE, "true") not in _BOOLEANS:
            yield pods.finding(ANYWHERE, f"`{said[ANYWHERE]}` is not a boolean", "write `true`")
        if LAYERS in said and _is_later(target):
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


# LeaderWorkerSets, of which each group has a Workload.
#
# Follows `Webhook.ValidateCreate` and `ValidateUpdate`, sigs.k8s.io/kueue pkg/controller/jobs/leaderworkerset, 0.18.2 and 0.19.2.


_MOST_GROUPS = 1_000_000


def queued_groups(workload: Workload, target: Target) -> Iterator[Finding]:
    """A LeaderWorkerSet has at most 1,000,000 groups, each of which would be a Workload."""
    replicas = _one_if_absent(mapping(workload.document.data, "spec"), "replicas")
    if replicas > _MOST_GROUPS:
        yield Finding(("spec", "replicas"), f"{replicas} groups are more than {_MOST_GROUPS:,}, for each of which Kueue makes a Workload")


def queued_groups_frozen(workload: Workload, target: Target) -> Iterator[Finding]:
    """A LeaderWorkerSet in a queue keeps the size of its groups, and its queue while a group is ready; no queue can be removed.

    Nor can its priority class, and none is added while a group is ready.
    """
    assert workload.old
    now, before = workload.document.data, workload.old.data
    labels, labels_before = _meta(now, "labels"), _meta(before, "labels")
    queue, queue_before = labels.get(QUEUE, ""), labels_before.get(QUEUE, "")
    runs = bool(mapping(before, "status").get("readyReplicas"))
    if queue != queue_before and (runs or not queue):
        why = "while a group is ready" if queue else "once it is there"
        yield Finding(_label(QUEUE), f"the queue of a LeaderWorkerSet cannot be {'changed' if queue else 'removed'} {why}")
    priority, priority_before = labels.get(PRIORITY, ""), labels_before.get(PRIORITY, "")
    if priority and not priority_before and runs:
        yield Finding(_label(PRIORITY), "a LeaderWorkerSet with a ready group cannot get a priority class")
    elif priority_before and not priority:
        yield Finding(_label(PRIORITY), "the priority class of a job cannot be removed", f"keep `{priority_before}`, or name another one")
    sizes = [_one_if_absent(mapping(each, "spec", "leaderWorkerTemplate"), "size") for each in (now, before)]
    if queue and _is_later(target) and sizes[0] != sizes[1]:
        at = ("spec", "leaderWorkerTemplate", "size")
        yield Finding(at, f"the size of groups in a queue cannot change from {sizes[1]} to {sizes[0]}", "create a new LeaderWorkerSet")


_SHAPE = (
    *("nodeSelector", "affinity", "tolerations", "runtimeClassName", "priority", "topologySpreadConstraints", "overhead"),
    "resourceClaims",
)


def queued_templates_frozen(workload: Workload, target: Target) -> Iterator[Finding]:
    """Of a LeaderWorkerSet in a queue, an update cannot change what the pods request and where they can run. Images can change."""
    assert workload.old
    if not _meta(workload.document.data, "labels").get(QUEUE):
        return
    at: Path = ("spec", "leaderWorkerTemplate")
    new, old = (mapping(each.data, *map(str, at)) for each in (workload.document, workload.old))
    for role in ("leaderTemplate", "workerTemplate"):
        now, before = new.get(role), old.get(role)
        if (now is None) != (before is None):
            message = f"a LeaderWorkerSet in a queue cannot {'lose' if now is None else 'get'} a `{role}`"
            yield Finding((*at, role), message, "create a new LeaderWorkerSet")
        elif now is not None:
            for path in _changed_shape(*(_encoded(mapping(each, "spec"), target) for each in (now, before))):
                message = f"`{path[-1]}` of pods in a queue cannot be changed"
                yield Finding((*at, role, "spec", *path), message, "create a new LeaderWorkerSet")


def _encoded(pod: Data, target: Target) -> Data:
    """A pod's spec as Go writes it."""
    found: Data = encode_as_go(pod, shapes.part("v1", "Pod", target, ("spec",)))
    return found


def _changed_shape(now: Data, before: Data) -> Iterator[Path]:
    """Yield the paths of what Kueue compares of two pods' specs, where that differs."""
    yield from ((name,) for name in _SHAPE if now.get(name) != before.get(name))
    if mapping(now, "resources").get("requests") != mapping(before, "resources").get("requests"):
        yield "resources", "requests"
    for field in ("initContainers", "containers"):
        new, old = structs(now, field), structs(before, field)
        if len(new) != len(old):
            yield (field,)
            continue
        for number, (one, other) in enumerate(zip(new, old, strict=True)):
            if mapping(one, "resources").get("requests") != mapping(other, "resources").get("requests"):
                yield field, number, "resources", "requests"
            if one.get("ports") != other.get("ports"):
                yield field, number, "ports"


#: Rules that stop all others: the webhook gets no further.
_DECODING = (undecodable_value, becomes_null)
_DECODED = [Rule(each) for each in _DECODING]
_TOPOLOGY = [Rule(topology_request), Rule(topology_slices), Rule(topology_layers)]
_GATES = Rule(admission_gates, since="0.19.0")
_NAMES = [Rule(queue_label), Rule(prebuilt_workload), Rule(execution_time), Rule(elastic_job), _GATES]
_FROZEN = [Rule(queued_job_frozen)]
_ON_UPDATES = (prebuilt_workload, elastic_job, admission_gates, queued_job_frozen)
"""What the webhook looks at in updates even of RayJobs that Kueue leaves alone."""
_OF_QUOTAS = [*_DECODED, Rule(quota_resources), Rule(quota_limits), Rule(fair_weight)]
_OF_QUEUES = [*_OF_QUOTAS, Rule(quota_number), Rule(queue_namespaces), Rule(check_flavors)]
_OF_WORKLOADS = [
    *(*_DECODED, Rule(workload_resources), Rule(variable_pod_sets), _GATES),
    *(Rule(each, since="0.19.0") for each in (workload_metadata, workload_slices)),
]
_OF_JOBS = [*_NAMES, Rule(synced_completions), Rule(partial_admission), *_TOPOLOGY]
_OF_JOBSETS = [*_NAMES, *_TOPOLOGY, Rule(topology_groups)]
_OF_MPIJOBS = [*_DECODED, *_OF_JOBSETS]
_OF_GROUPS = [Rule(queue_label), Rule(elastic_job), Rule(queued_groups, since="0.19.0"), _GATES, *_TOPOLOGY, Rule(topology_groups)]
_OF_RAY = [
    *(*_DECODED, Rule(ray.ray_head)),
    *(Rule(each) for each in (ray.ray_parameters, ray.ray_cluster_needed, ray.ray_shutdown, ray.ray_autoscaling, ray.ray_groups)),
    *(*_NAMES, *_TOPOLOGY, Rule(topology_groups), Rule(submitter_topology)),
]
_OF_PODS = [
    *(Rule(each) for each in (plain_pods.managed_label, plain_pods.pod_group, plain_pods.pod_group_workload)),
    *_TOPOLOGY,
]
_OF_TRAINING_JOBS, _OF_CHANGED_TRAINING_JOBS = (
    [Rule(each.check, until="0.19.0") for each in rules if not each.since]
    for rules in ((*_NAMES, *_TOPOLOGY), (Rule(prebuilt_workload), Rule(elastic_job), *_TOPOLOGY, *_FROZEN))
)

#: Kind -> the rules for a new object, and those for an update.
RULES: dict[GroupKind, tuple[list[Rule], list[Rule]]] = {
    (GROUP, "ClusterQueue"): (_OF_QUEUES, [*_OF_QUEUES, Rule(concurrent_admission_frozen)]),
    (GROUP, "Cohort"): (_OF_QUOTAS, _OF_QUOTAS),
    (GROUP, "ResourceFlavor"): ([*_DECODED, Rule(flavor_nodes)], [*_DECODED, Rule(flavor_nodes)]),
    (GROUP, "Workload"): (_OF_WORKLOADS, [*_OF_WORKLOADS, Rule(workload_frozen)]),
    JOB: (_OF_JOBS, [*_OF_JOBS, *_FROZEN, Rule(partial_job_frozen)]),
    JOBSET: (_OF_JOBSETS, [*_OF_JOBSETS, *_FROZEN]),
    POD: (
        [*_NAMES, *_OF_PODS, Rule(plain_pods.queued_pod_placed)],
        [Rule(prebuilt_workload), Rule(elastic_job), _GATES, *_OF_PODS, *_FROZEN, Rule(plain_pods.pod_group_frozen)],
    ),
    TRAINJOB: ([*_NAMES, *_TOPOLOGY, Rule(kueue_patch)], [*_NAMES, *_TOPOLOGY, *_FROZEN]),
    MPIJOB: (_OF_MPIJOBS, [*_OF_MPIJOBS, *_FROZEN]),
    **dict.fromkeys(QUEUED_TRAINING_JOBS, (_OF_TRAINING_JOBS, _OF_CHANGED_TRAINING_JOBS)),
    LEADER_WORKER_SET: (_OF_GROUPS, [*_OF_GROUPS, Rule(queued_groups_frozen), Rule(queued_templates_frozen)]),
    **dict.fromkeys(ray.KINDS, (_OF_RAY, [*_OF_RAY, *_FROZEN])),
}


def objections(document: Document, target: Target, objects: Objects, *, old: Document | None) -> list[Diagnostic]:
    """Return the refusals of a document by Kueue's webhook.

    If there is an *old* document, the document is an update of it. Of the kinds without a webhook the older version is decoded all the
    same: another one converts it to the version that is stored.
    """
    is_job = document.group_kind[0] != GROUP
    if is_job and (document.group_kind not in RULES or QUEUES not in target or is_of_other_operator(document)):
        return []
    if is_job and not kueue_is_asked(document, target):
        return []
    if document.group_kind not in RULES and document.api_version != f"{GROUP}/v1beta1":
        return []
    runtime = runtime_of(document, objects.in_file, target, elsewhere=objects.elsewhere) if document.group_kind == TRAINJOB else None
    document, old = with_labels_of_pods(document), old and with_labels_of_pods(old)
    workload, release = Workload(document, runtime=runtime, old=old), release_of(QUEUES, target)
    rules = RULES.get(document.group_kind, (_DECODED, _DECODED))[old is not None]
    decoded = [rule for rule in rules if rule.check in _DECODING]
    left = [rule for rule in rules if rule not in decoded]
    if ray.is_in_no_queue(workload, release):
        left = []
    elif ray.is_left_alone(workload):
        left = [rule for rule in left if old and rule.check in _ON_UPDATES]
    found = list(findings(decoded, workload, target, release))
    found = found or list(findings(left, workload, target, release))
    return [document.diagnostic(each, name) for name, each in found]
