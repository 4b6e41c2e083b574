"""Expand a LeaderWorkerSet: StatefulSets and Services, and the pods of the StatefulSets as the webhook of pods changes them.

Follows `PodReconciler.Reconcile`, `PodWebhook.Default`, `SetExclusiveAffinities` and `AddLWSVariables`, sigs.k8s.io/lws pkg/controllers,
pkg/webhooks and pkg/utils/pod, 0.7.0 to 0.10.0. Of a cluster whose operator starts groups by gangs, what that adds is left out.
"""

from __future__ import annotations

from itertools import takewhile

from jobspec.apis.releases import is_at_least
from jobspec.documents.marked_tree import MarkedTree, changed, each_item, items, of_kind, set_by, text, with_fields
from jobspec.operators.lws import EXCLUSIVE, PREFIX, SUBGROUP_EXCLUSIVE, UNIQUE
from jobspec.operators.lws.objects import (
    COMPONENT,
    GROUP_INDEX,
    GROUP_KEY,
    LEADER_NAME,
    NAME,
    SIZE,
    SUBDOMAIN_POLICY,
    SUBGROUP_SIZE,
    SUBGROUP_TYPE,
    has_unique_subdomains,
    leader_set,
    replicas_of,
    service_of_all,
    service_of_group,
    size_of,
    stored_lws,
    worker_set,
)
from jobspec.operators.lws.tpus import lacks_subgroup, requests_tpus, with_tpu_variables
from jobspec.operators.made import Expansion, at_most, operator_mark, stored
from jobspec.operators.stateful_sets import pods_of_stateful_set
from jobspec.operators.workloads import GROUP_MEMBER, LEADER, WORKER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.apis.releases import Target
    from jobspec.diagnostics.places import Mark
    from jobspec.documents.document import Document


_SUBGROUP_INDEX, _SUBGROUP_KEY = f"{PREFIX}/subgroup-index", f"{PREFIX}/subgroup-key"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def expand_lws(lws: Document, target: Target, *, first_and_last_only: bool = False) -> Expansion:
    """What the operator and Kubernetes make of a LeaderWorkerSet that a server accepts. *first_and_last_only*: as for `expand`."""
    tree = stored_lws(stored(lws, target), target)
    replicas, size = replicas_of(tree), size_of(tree)
    if not first_and_last_only:
        at_most(replicas * size, f"pods of LeaderWorkerSet `{text(tree, 'metadata', 'name')}`")
    counts = {LEADER: replicas, WORKER: replicas * (size - 1)}
    objects = list(_objects(tree, target, first_and_last_only=first_and_last_only))
    if replicas and not of_kind(objects, "Pod"):
        path = ("spec", "leaderWorkerTemplate", "subGroupPolicy", "subGroupPolicyType")
        message = "pods refused: the webhook looks for the subgroup of a leader with TPUs, which `LeaderExcluded` gives none"
        hint = "request no TPUs in the leader, or set `TPU_WORKER_ID` and `TPU_WORKER_HOSTNAMES` there"
        return Expansion(objects, [lws.problem("pods-refused", message, path, hint=hint)])
    return Expansion(objects, counts={role: count for role, count in counts.items() if count})


def _objects(lws: MarkedTree, target: Target, *, first_and_last_only: bool) -> Iterator[MarkedTree]:
    """Yield the objects: what leaders share, the leaders, and what each leader brings about.

    Of refused leaders, only the claims of the first one come: its StatefulSet waits for that before it tries the others.
    """
    leaders = leader_set(lws, target)
    yield leaders
    if not has_unique_subdomains(lws):
        yield service_of_all(lws, target)
    of_leaders = [admitted(each, target) for each in pods_of_stateful_set(leaders, target, first_and_last_only=first_and_last_only)]
    pods = of_kind(of_leaders, "Pod")
    if pods and lacks_subgroup(pods[0]):
        yield from takewhile(lambda each: text(each, "kind") != "Pod", of_leaders)
        return
    yield from of_leaders
    for leader in pods:
        if has_unique_subdomains(lws):
            yield service_of_group(leader, lws, target)
        if size_of(lws) > 1:
            workers = worker_set(leader, lws, target, requests_tpus=requests_tpus(leader))
            yield workers
            yield from (admitted(each, target) for each in pods_of_stateful_set(workers, target, first_and_last_only=first_and_last_only))


def admitted(made: MarkedTree, target: Target) -> MarkedTree:
    """A pod of a StatefulSet after the webhook; other objects as they are."""
    if text(made, "kind") != "Pod":
        return made
    release = target[COMPONENT]
    mark = operator_mark(COMPONENT, release)
    placed = _leader(made, mark) if text(made, "metadata", "labels", GROUP_MEMBER) == "0" else _worker(made, mark, release)
    return _with_variables(with_tpu_variables(placed, mark, release), mark)


def _leader(pod: MarkedTree, mark: Mark) -> MarkedTree:
    """A leader with its group and subgroup, and where these are to be."""
    name, annotations = text(pod, "metadata", "name"), dict(pod.entries("metadata", "annotations"))
    labels = dict(pod.entries("metadata", "labels"))
    pod = _labelled(pod, {GROUP_INDEX: text(labels.get(GROUP_INDEX)) or name.rpartition("-")[2]}, mark)
    if text(annotations.get(SUBDOMAIN_POLICY)) == UNIQUE:
        pod = changed(pod, ("spec",), lambda spec: with_fields(spec, {"subdomain": pod.value["metadata"].value["name"]}))
    key = text(labels.get(GROUP_KEY)) or _key(text(pod, "metadata", "namespace"), name)
    pod = _labelled(pod, {GROUP_KEY: key}, mark)
    if EXCLUSIVE in annotations:
        pod = _apart(pod, annotations[EXCLUSIVE], GROUP_KEY, key, mark)
    if text(annotations.get(SUBGROUP_TYPE)) == "LeaderExcluded":
        return pod
    return _in_subgroup(pod, "0", name, mark)


def _worker(pod: MarkedTree, mark: Mark, release: str) -> MarkedTree:
    """A worker with its number in the group, and its subgroup."""
    number = text(pod, "metadata", "name").rpartition("-")[2]
    pod = _labelled(pod, {GROUP_MEMBER: number}, mark)
    size, subgroup_size = (int(text(pod, "metadata", "annotations", each) or 0) for each in (SIZE, SUBGROUP_SIZE))
    index = _subgroup_index(int(number), size, subgroup_size, release) if subgroup_size else 0
    return _in_subgroup(pod, str(index), text(pod, "metadata", "annotations", LEADER_NAME), mark)


def _subgroup_index(number: int, size: int, subgroup_size: int, release: str) -> int:
    """The subgroup of a worker. Workers alone are divided if they can be; since 0.10 only if the whole group cannot."""
    apart = (size - 1) % subgroup_size == 0 and (size % subgroup_size != 0 or not is_at_least(release, "0.10.0"))
    return (number - 1 if apart else number) // subgroup_size


def _in_subgroup(pod: MarkedTree, index: str, leader: str, mark: Mark) -> MarkedTree:
    """A pod in a subgroup of the group of a *leader*, given by name, unless groups have no subgroups or the pod has one already."""
    annotations = dict(pod.entries("metadata", "annotations"))
    if SUBGROUP_SIZE not in annotations or text(pod, "metadata", "labels", _SUBGROUP_INDEX):
        return pod
    key = _key(leader, index)
    pod = _labelled(pod, {_SUBGROUP_INDEX: index, _SUBGROUP_KEY: key}, mark)
    return _apart(pod, annotations[SUBGROUP_EXCLUSIVE], _SUBGROUP_KEY, key, mark) if SUBGROUP_EXCLUSIVE in annotations else pod


def _labelled(pod: MarkedTree, labels: dict[str, str], mark: Mark) -> MarkedTree:
    """A pod with further labels; one that has the same value keeps its place."""
    new = {name: set_by(mark, value) for name, value in labels.items() if text(pod, "metadata", "labels", name) != value}
    return changed(pod, ("metadata", "labels"), lambda each: with_fields(each, new))


def _key(first: str, second: str) -> str:
    """The hash by which pods of one group or subgroup know each other."""
    from hashlib import sha1

    return sha1(f"{first}/{second}".encode(), usedforsecurity=False).hexdigest()


def _apart(pod: MarkedTree, topology: MarkedTree, label: str, key: str, mark: Mark) -> MarkedTree:
    """A pod that has a topology for itself and the pods with the same *key*, unless it has such terms for that topology already."""
    kinds = ("podAffinity", "podAntiAffinity")
    terms = [items(pod.get("spec", "affinity", kind, _REQUIRED)) for kind in kinds]
    if all(any(text(each, "topologyKey") == text(topology) for each in several) for several in terms):
        return pod
    together: list[dict[str, Any]] = [{"key": label, "operator": "In", "values": [key]}]
    alone: list[dict[str, Any]] = [{"key": label, "operator": "Exists"}, {"key": label, "operator": "NotIn", "values": [key]}]
    for kind, before, expressions in zip(kinds, terms, (together, alone), strict=True):
        term = set_by(mark, {"labelSelector": {"matchExpressions": expressions}, "topologyKey": topology})
        new = {_REQUIRED: MarkedTree([*before, term], before[0].mark if before else mark)}
        pod = changed(pod, ("spec", "affinity", kind), lambda each, new=new: with_fields(each, new))  # type: ignore[misc]
    return pod


def _with_variables(pod: MarkedTree, mark: Mark) -> MarkedTree:
    """A pod whose containers know their leader, the size of their group and their number, in place of what a user writes there."""
    labels, metadata = pod.value["metadata"].value["labels"], pod.value["metadata"]
    leader = f"{text(labels, NAME)}-{text(labels, GROUP_INDEX)}"
    values = {
        "LWS_LEADER_ADDRESS": f"{leader}.{text(pod, 'spec', 'subdomain')}.{text(metadata, 'namespace')}",
        "LWS_GROUP_SIZE": metadata.value["annotations"].value[SIZE],
        "LWS_WORKER_INDEX": text(labels, GROUP_MEMBER),
    }
    added = [set_by(mark, {"name": name, "value": value}) for name, value in values.items()]

    def container(tree: MarkedTree) -> MarkedTree:
        given = tree.get("env")
        others = [each for each in items(given) if text(each, "name") not in values]
        return with_fields(tree, {"env": MarkedTree([*added, *others], given.mark if given else mark)})

    return changed(pod, ("spec",), lambda spec: each_item(each_item(spec, "containers", container), "initContainers", container))
