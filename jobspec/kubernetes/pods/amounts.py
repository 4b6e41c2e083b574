"""Amounts of resources by name: how the server reads them, what containers need together, and what a pod requests as a whole.

Follows `PodRequests`, `PodLimits`, `AggregateContainerRequests` and `AggregateContainerLimits`, k8s.io/component-helpers resource, and
`SetDefaults_ResourceList`, k8s.io/kubernetes pkg/apis/core/v1, 1.36.
"""

from __future__ import annotations

from jobspec.go.quantities import Quantity, quantity_of
from jobspec.go.values import mapping, structs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    from jobspec.diagnostics.places import Data

    Amounts = dict[str, Quantity]
    Amount = TypeVar("Amount", int, Quantity)


OF_PODS = ("cpu", "memory")
HUGE_PAGES = "hugepages-"
NONE = Quantity(0, "decimal")
_MILLI = 1_000_000
_MOST = (2**63 - 1) * 1_000_000_000
"""The server counts no further, in billionths."""
_LONGEST = 99
"""The longest exponent that is written out."""


def is_of_pods(name: str) -> bool:
    """Whether a pod as a whole can have the resource."""
    return name in OF_PODS or name.startswith(HUGE_PAGES)


def amounts(data: Any) -> Amounts:
    """The amounts of a mapping of quantities, rounded up to thousandths as the server does when it decodes them."""
    return rounded(exact_amounts(data))


def exact_amounts(data: Any) -> Amounts:
    """The amounts of a mapping of quantities as they are written."""
    return {name: _exact(str(each)) for name, each in data.items() if each is not None} if isinstance(data, dict) else {}


def rounded(given: Amounts) -> Amounts:
    """Amounts rounded up to thousandths."""
    return {name: Quantity(min(-(-each.nanos // _MILLI) * _MILLI, _MOST), each.format) for name, each in given.items()}


def _exact(text: str) -> Quantity:
    exponent = text.strip().lower().partition("e")[2]
    if exponent.lstrip("+-").isdecimal() and int(exponent.lstrip("+-")) > _LONGEST:
        is_none = set("123456789").isdisjoint(text.lower().partition("e")[0])
        return Quantity(0 if is_none else _MILLI if exponent.startswith("-") else _MOST, "exponent")
    return quantity_of(text)


def of_containers(spec: Data, field: str, read: Callable[[Any], Amounts] = amounts) -> Amounts:
    """What the containers request (*field*: `requests`) or are limited to (`limits`) together; *read*: how their amounts are read."""
    return needs_together(spec, lambda container: read(mapping(container, "resources").get(field)))


def says_pod_resources(spec: Data) -> bool:
    """Whether the pod as a whole has resources of its own."""
    own = mapping(spec, "resources")
    return any(is_of_pods(name) for field in ("requests", "limits") for name in mapping(own, field))


def amounts_of_pod(spec: Data, field: str, is_counted: Callable[[str], bool], read: Callable[[Any], Amounts] = amounts) -> Amounts:
    """What a pod requests or is limited to, without its overhead: what its containers do together, or what it says as a whole."""
    own = read(mapping(spec, "resources").get(field))
    return {**of_containers(spec, field, read), **{name: each for name, each in own.items() if is_counted(name)}}


def pod_requests(spec: Data, read: Callable[[Any], Amounts] = amounts) -> Amounts:
    """Return how much of each resource a pod requests, overhead included.

    It is the amount of the pod as a whole if the pod says one, and the sum of its containers otherwise.
    """
    return sum_of((amounts_of_pod(spec, "requests", is_of_pods, read), read(spec.get("overhead"))))


def pod_limits(spec: Data) -> Amounts:
    """What a pod is limited to; its overhead counts where there is a limit."""
    found = amounts_of_pod(spec, "limits", is_of_pods)
    overhead = {name: each for name, each in amounts(spec.get("overhead")).items() if name in found and found[name].nanos}
    return sum_of((found, overhead))


def needs_together(spec: Data, needs: Callable[[Data], dict[str, Amount]]) -> dict[str, Amount]:
    """Return how much of each resource the containers of a *spec* need together.

    *needs* gives it for one container.

    Those that run at once are added up; those that start before count where they need more.
    """
    running = sum_of(needs(each) for each in structs(spec, "containers"))
    context: dict[str, Amount] = {}
    peak: dict[str, Amount] = {}
    for each in structs(spec, "initContainers"):
        own = needs(each)
        if each.get("restartPolicy") == "Always":
            context = sum_of((context, own))
            peak = most_of(peak, context)
        else:
            peak = most_of(peak, sum_of((context, own)))
    return most_of(sum_of((running, context)), peak)


def sum_of(several: Iterable[dict[str, Amount]]) -> dict[str, Amount]:
    """The sum of the amounts of each resource."""
    total: dict[str, Amount] = {}
    for each in several:
        for name, amount in each.items():
            total[name] = total[name] + amount if name in total else amount
    return total


def most_of(one: dict[str, Amount], other: dict[str, Amount]) -> dict[str, Amount]:
    """The larger of both amounts of each resource."""
    larger = {name: each for name, each in other.items() if name not in one or each > one[name]}
    return {**one, **larger}
