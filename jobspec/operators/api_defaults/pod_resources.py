"""The resources of a pod as a whole: what it requests follows from its containers, and from its limits.

Follows `defaultPodRequests`, k8s.io/kubernetes pkg/apis/core/v1, and `AggregateContainerRequests`, k8s.io/component-helpers resource,
1.36.
"""

from __future__ import annotations

from jobspec.operators.marks import set_by
from jobspec.overlays.marked_tree import items
from jobspec.quantities import quantity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobspec.diagnostics import Mark
    from jobspec.overlays.marked_tree import MarkedTree
    from jobspec.quantities import Quantity

    Amounts = dict[str, Quantity]


def with_pod_requests(spec: MarkedTree, server: Mark) -> MarkedTree:
    """A pod's spec whose own resources, where they have limits, have requests, too."""
    resources = spec.get("resources")
    limits = dict(resources.entries("limits")) if resources else {}
    if resources is None or not limits:
        return spec
    own = dict(resources.entries("requests"))
    of_containers = {name: set_by(server, str(amount)) for name, amount in requested(spec).items() if _is_shared(name)}
    of_limits = {name: each for name, each in limits.items() if _is_shared(name) or name.startswith("hugepages-")}
    requests = (resources.get("requests") or resources.value["limits"]).with_value({**of_limits, **of_containers, **own})
    return spec.with_value({**spec.value, "resources": resources.with_value({**resources.value, "requests": requests})})


def _is_shared(name: str) -> bool:
    """Whether a pod as a whole can have the resource, and nodes can promise more of it than they have."""
    return name in ("cpu", "memory")


def requested(spec: MarkedTree) -> Amounts:
    """What the containers request together: those that run at once are added up, those that start before count where they need more."""
    running = sum_of(map(_requests, items(spec.get("containers"))))
    beside: Amounts = {}
    peak: Amounts = {}
    for each in items(spec.get("initContainers")):
        policy = each.get("restartPolicy")
        if policy and policy.value == "Always":
            beside = sum_of((beside, _requests(each)))
            peak = _most(peak, beside)
        else:
            peak = _most(peak, sum_of((beside, _requests(each))))
    return _most(sum_of((running, beside)), peak)


def _requests(container: MarkedTree) -> Amounts:
    found = container.get("resources", "requests")
    return {name: quantity(str(each.value)) for name, each in found.value.items()} if found else {}


def sum_of(amounts: Iterable[Amounts]) -> Amounts:
    """The amounts added up, each with its like."""
    total: Amounts = {}
    for each in amounts:
        for name, amount in each.items():
            total[name] = total[name].plus(amount) if name in total else amount
    return total


def _most(one: Amounts, other: Amounts) -> Amounts:
    found = dict(one)
    for name, each in other.items():
        if name not in found or each.nanos > found[name].nanos:
            found[name] = each
    return found
