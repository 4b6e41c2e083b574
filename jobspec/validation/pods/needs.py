"""What the containers of a pod need together, in whatever numbers their amounts are counted.

Follows `AggregateContainerRequests` and `AggregateContainerLimits`, k8s.io/component-helpers resource, 1.36.
"""

from __future__ import annotations

from jobspec.validation.reading import structs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    from jobspec.quantities import Quantity

    Data = dict[str, Any]
    Amount = TypeVar("Amount", int, Quantity)


def needs_together(spec: Data, needs: Callable[[Data], dict[str, Amount]]) -> dict[str, Amount]:
    """What the containers of a *spec* need together, by resource; *needs* gives it for one container.

    Those that run at once are added up; those that start before count where they need more.
    """
    running = sum_of(needs(each) for each in structs(spec, "containers"))
    beside: dict[str, Amount] = {}
    peak: dict[str, Amount] = {}
    for each in structs(spec, "initContainers"):
        own = needs(each)
        if each.get("restartPolicy") == "Always":
            beside = sum_of((beside, own))
            peak = most_of(peak, beside)
        else:
            peak = most_of(peak, sum_of((beside, own)))
    return most_of(sum_of((running, beside)), peak)


def sum_of(several: Iterable[dict[str, Amount]]) -> dict[str, Amount]:
    """The amounts added up, each with its like."""
    total: dict[str, Amount] = {}
    for each in several:
        for name, amount in each.items():
            total[name] = total[name] + amount if name in total else amount
    return total


def most_of(one: dict[str, Amount], other: dict[str, Amount]) -> dict[str, Amount]:
    """The larger of both amounts of each resource."""
    larger = {name: each for name, each in other.items() if name not in one or each > one[name]}
    return {**one, **larger}
