"""The rules of Kueue's webhooks for ResourceFlavors and Workloads.

Follows pkg/webhooks, sigs.k8s.io/kueue, 0.18.2 and 0.19.2.
"""

from __future__ import annotations

from jobspec.apis.releases import QUEUES, Target, is_at_least, release_of
from jobspec.diagnostics.places import Data, Key, Path, items_at, value_at
from jobspec.diagnostics.rules import Finding
from jobspec.go.codec import encode_as_go
from jobspec.go.values import mapping, string_map, structs
from jobspec.kubernetes.metadata import annotation_problems, bad_label_value, bad_qualified_name, label_problems
from jobspec.kubernetes.structural import filled
from jobspec.operators.kueue.keys import ELASTIC
from jobspec.operators.kueue.quota_rules import nanos_of
from jobspec.operators.webhooks import misnamed
from jobspec.operators.workloads import Workload
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any


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
    is_later = is_later_release(target)
    for path, pod_set in items_at(workload.document.data, _POD_SETS):
        pod: Path = ("template", "spec")
        containers = [each for field in ("initContainers", "containers") for each, _ in items_at(pod_set, (*pod, field))]
        for place in (*containers, *([pod] if is_later else ())):
            for field in ("requests", "limits") if is_later else ("requests",):
                for name, value in mapping(value_at(pod_set, (*place, "resources", field))).items():
                    at = (*path, *place, "resources", field, Key(name))
                    if name == "pods":
                        yield Finding(at, "`pods` is a resource that Kueue counts itself", "remove it")
                    if is_later and value is not None and nanos_of(value) < 0:
                        yield Finding(at, f"`{name}: {value}` is negative")


def variable_pod_sets(workload: Workload, target: Target) -> Iterator[Finding]:
    """Only one pod set of a Workload can have `minCount`, and none of an elastic job."""
    found = [path for path, each in items_at(workload.document.data, _POD_SETS) if each.get("minCount") is not None]
    if found and asks_to_be_elastic(workload.document.data):
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


def meta(data: Data, field: str) -> Mapping[str, str]:
    """The labels or annotations as Go decodes them: null is an empty text."""
    return string_map(mapping(data, "metadata"), field)


def is_later_release(target: Target) -> bool:
    """Whether Kueue is 0.19 or later."""
    return is_at_least(release_of(QUEUES, target), "0.19.0")


def asks_to_be_elastic(data: Data) -> bool:
    """Whether a job is annotated as elastic."""
    return meta(data, "annotations").get(ELASTIC) == "true"
