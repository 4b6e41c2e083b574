"""The resources that a pod asks for: the sum of its containers, or the most that its init containers need on the way.

Follows `PodRequests` and `AggregateContainerRequests`, k8s.io/component-helpers resource, 0.32 to 0.36.
"""

from __future__ import annotations

from jobspec.operators.edits import text
from jobspec.overlays.marked_tree import items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from decimal import Decimal

    from jobspec.overlays.marked_tree import MarkedTree

    Amounts = dict[str, Decimal]


def pod_requests(spec: MarkedTree | None) -> Amounts:
    """The amounts by the names of the resources."""
    if spec is None:
        return {}
    total = _sum(_of(each) for each in items(spec.get("containers")))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in items(spec.get("initContainers")):
        own = _of(container)
        if text(container, "restartPolicy") == "Always":
            total, sidecars = _sum([total, own]), _sum([sidecars, own])
            peak = _most(peak, sidecars)
        else:
            peak = _most(peak, _sum([own, sidecars]))
    total = _most(total, peak)
    for name, amount in _of(spec).items():
        if name in ("cpu", "memory") or name.startswith("hugepages-"):
            total[name] = amount
    return _sum([total, _amounts(spec.get("overhead"))])


def _of(tree: MarkedTree) -> Amounts:
    return _amounts(tree.get("resources", "requests"))


def _amounts(tree: MarkedTree | None) -> Amounts:
    from jobspec.validation.cel.quantities import number_of, quantity

    return {name: number_of(quantity(str(each.value))) for name, each in (tree.value if tree else {}).items()}


def _sum(every: Iterable[Amounts]) -> Amounts:
    total: Amounts = {}
    for amounts in every:
        for name, amount in amounts.items():
            total[name] = total[name] + amount if name in total else amount
    return total


def _most(one: Amounts, other: Amounts) -> Amounts:
    return {**one, **{name: max(one.get(name, amount), amount) for name, amount in other.items()}}
