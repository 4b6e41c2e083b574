"""The rules of Kueue's webhooks for LeaderWorkerSets, of which each group has a Workload.

Follows pkg/controller/jobs/leaderworkerset, sigs.k8s.io/kueue, 0.18.2 and 0.19.2.
"""

from __future__ import annotations

from jobspec.apis.releases import Target
from jobspec.diagnostics.places import Data, Path
from jobspec.diagnostics.rules import Finding
from jobspec.go.codec import encode_as_go
from jobspec.go.values import mapping, structs
from jobspec.operators.kueue.job_rules import label_of, one_if_absent
from jobspec.operators.kueue.keys import PRIORITY
from jobspec.operators.kueue.workload_rules import is_later_release, meta
from jobspec.operators.workloads import QUEUE, Workload
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


_MOST_GROUPS = 1_000_000


def queued_groups(workload: Workload, target: Target) -> Iterator[Finding]:
    """A LeaderWorkerSet has at most 1,000,000 groups, each of which would be a Workload."""
    replicas = one_if_absent(mapping(workload.document.data, "spec"), "replicas")
    if replicas > _MOST_GROUPS:
        yield Finding(("spec", "replicas"), f"{replicas} groups are more than {_MOST_GROUPS:,}, for each of which Kueue makes a Workload")


def queued_groups_frozen(workload: Workload, target: Target) -> Iterator[Finding]:
    """A LeaderWorkerSet in a queue keeps the size of its groups, and its queue while a group is ready; no queue can be removed.

    Nor can its priority class, and none is added while a group is ready.
    """
    assert workload.old
    now, before = workload.document.data, workload.old.data
    labels, labels_before = meta(now, "labels"), meta(before, "labels")
    queue, queue_before = labels.get(QUEUE, ""), labels_before.get(QUEUE, "")
    runs = bool(mapping(before, "status").get("readyReplicas"))
    if queue != queue_before and (runs or not queue):
        why = "while a group is ready" if queue else "once it is there"
        yield Finding(label_of(QUEUE), f"the queue of a LeaderWorkerSet cannot be {'changed' if queue else 'removed'} {why}")
    priority, priority_before = labels.get(PRIORITY, ""), labels_before.get(PRIORITY, "")
    if priority and not priority_before and runs:
        yield Finding(label_of(PRIORITY), "a LeaderWorkerSet with a ready group cannot get a priority class")
    elif priority_before and not priority:
        yield Finding(label_of(PRIORITY), "the priority class of a job cannot be removed", f"keep `{priority_before}`, or name another one")
    sizes = [one_if_absent(mapping(each, "spec", "leaderWorkerTemplate"), "size") for each in (now, before)]
    if queue and is_later_release(target) and sizes[0] != sizes[1]:
        at = ("spec", "leaderWorkerTemplate", "size")
        yield Finding(at, f"the size of groups in a queue cannot change from {sizes[1]} to {sizes[0]}", "create a new LeaderWorkerSet")


_SHAPE = (
    *("nodeSelector", "affinity", "tolerations", "runtimeClassName", "priority", "topologySpreadConstraints", "overhead"),
    "resourceClaims",
)


def queued_templates_frozen(workload: Workload, target: Target) -> Iterator[Finding]:
    """Of a LeaderWorkerSet in a queue, an update cannot change what the pods request and where they can run. Images can change."""
    assert workload.old
    if not meta(workload.document.data, "labels").get(QUEUE):
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
