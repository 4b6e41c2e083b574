"""Amounts of resources by name, as pods, LimitRanges and quotas hold them; and what a pod requests as a whole.

Follows `PodRequests` and `PodLimits`, k8s.io/component-helpers resource, and `SetDefaults_ResourceList`,
k8s.io/kubernetes pkg/apis/core/v1, 1.36.
"""

from __future__ import annotations

from jobspec.go.quantities import Quantity, quantity
from jobspec.go.values import mapping
from jobspec.kubernetes.pods.resources import needs_together, sum_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Data = dict[str, Any]
    Amounts = dict[str, Quantity]

_MILLI = 1_000_000
_MOST = (2**63 - 1) * 1_000_000_000
"""The server counts no further, in billionths."""
_LONGEST = 99
"""The longest exponent that is written out."""


def amounts(data: Any) -> Amounts:
    """The amounts of a mapping of quantities, rounded up to thousandths as the server does when it decodes them."""
    return {name: _rounded(each) for name, each in data.items() if each is not None} if isinstance(data, dict) else {}


def _rounded(value: Any) -> Quantity:
    text = str(value)
    exponent = text.strip().lower().partition("e")[2]
    if exponent.lstrip("+-").isdecimal() and int(exponent.lstrip("+-")) > _LONGEST:
        is_none = set("123456789").isdisjoint(text.lower().partition("e")[0])
        return Quantity(0 if is_none else _MILLI if exponent.startswith("-") else _MOST, "exponent")
    found = quantity(text)
    return Quantity(min(-(-found.nanos // _MILLI) * _MILLI, _MOST), found.format)


def exact_amounts(data: Any) -> Amounts:
    """The amounts of a mapping of quantities as they are written."""
    return {name: quantity(str(each)) for name, each in data.items()} if isinstance(data, dict) else {}


def of_containers(spec: Data, field: str, read: Callable[[Any], Amounts] = amounts) -> Amounts:
    """What the containers request (*field*: `requests`) or are limited to (`limits`) together; *read*: how their amounts are read."""
    return needs_together(spec, lambda container: read(mapping(container, "resources").get(field)))


def says_pod_resources(spec: Data) -> bool:
    """Whether the pod as a whole has resources of its own."""
    own = mapping(spec, "resources")
    return any(is_of_pods(name) for field in ("requests", "limits") for name in mapping(own, field))


def is_of_pods(name: str) -> bool:
    """Whether a pod as a whole can have the resource."""
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def pod_requests(spec: Data, read: Callable[[Any], Amounts] = amounts) -> Amounts:
    """What a pod requests of each resource: as a whole where it says so, else its containers together; and its overhead."""
    own = read(mapping(spec, "resources").get("requests"))
    found = {**of_containers(spec, "requests", read), **{name: each for name, each in own.items() if is_of_pods(name)}}
    return sum_of((found, read(spec.get("overhead"))))


def pod_limits(spec: Data) -> Amounts:
    """What a pod is limited to; its overhead counts where there is a limit."""
    own = amounts(mapping(spec, "resources").get("limits"))
    found = {**of_containers(spec, "limits"), **{name: each for name, each in own.items() if is_of_pods(name)}}
    overhead = {name: each for name, each in amounts(spec.get("overhead")).items() if name in found and found[name].nanos}
    return sum_of((found, overhead))
