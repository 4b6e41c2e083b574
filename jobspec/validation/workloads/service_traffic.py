"""Where traffic to a Service may come from and goes to: external addresses, load balancers, policies, affinity.

Follows `validateService` and what it calls, k8s.io/kubernetes pkg/apis/core/validation, with the defaults of pkg/apis/core/v1, 1.36.
"""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.validation.metadata import bad_qualified_name
from jobspec.validation.pods.complaints import outside, unsupported
from jobspec.validation.pods.ports import number_problems
from jobspec.validation.problem import Problem
from jobspec.validation.reading import is_given, mapping, number, string_map, structs, text, texts
from jobspec.validation.workloads.addresses import address, bad_external, bad_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_SPEC: Path = ("spec",)
_BALANCER = "LoadBalancer"
_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_POLICIES = ("Cluster", "Local")
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_LONGEST_AFFINITY = 86400


def service_traffic(data: dict[str, Any], kind: str) -> Iterator[Problem]:
    """The problems of a Service of a *kind*."""
    spec = mapping(data, "spec")
    yield from _affinity(spec)
    for index, text_ in enumerate(texts(spec, "externalIPs")):
        yield from _external_address(text_, (*_SPEC, "externalIPs", index))
    yield from _load_balancer(data, spec, kind)
    yield from _external_policy(spec, kind)
    yield from _health_check(spec, kind)
    for name, choices in (("internalTrafficPolicy", _POLICIES), ("trafficDistribution", _DISTRIBUTIONS)):
        if is_given(spec, name) and text(spec, name) not in choices:
            yield unsupported(text(spec, name), choices, (*_SPEC, name))


def _affinity(spec: dict[str, Any]) -> Iterator[Problem]:
    affinity = text(spec, "sessionAffinity") or "None"
    if affinity not in ("ClientIP", "None"):
        yield unsupported(affinity, ("ClientIP", "None"), (*_SPEC, "sessionAffinity"))
    seconds = number(mapping(spec, "sessionAffinityConfig", "clientIP"), "timeoutSeconds")
    if affinity == "ClientIP" and seconds is not None and not 0 < seconds <= _LONGEST_AFFINITY:
        yield outside(seconds, 1, _LONGEST_AFFINITY, (*_SPEC, "sessionAffinityConfig", "clientIP", "timeoutSeconds"))


def _external_address(text_: str, path: Path) -> Iterator[Problem]:
    found = address(text_)
    if found is None:
        yield Problem("wrong-format", path, f'"{text_}" is no IP address such as `10.9.8.7` or `2001:db8::1`')
    elif why := bad_external(found):
        yield Problem("wrong-format", path, f"`{text_}` cannot be an external address: {why}")


def _load_balancer(data: dict[str, Any], spec: dict[str, Any], kind: str) -> Iterator[Problem]:
    if kind != _BALANCER:
        given = [name for name in ("allocateLoadBalancerNodePorts", "loadBalancerClass") if is_given(spec, name)]
        given += ["loadBalancerSourceRanges"] if texts(spec, "loadBalancerSourceRanges") else []
        yield from (_not_balanced(name, (*_SPEC, name)) for name in given)
    elif is_given(spec, "loadBalancerClass") and (why := bad_qualified_name(text(spec, "loadBalancerClass"))):
        name = text(spec, "loadBalancerClass")
        yield Problem("wrong-format", (*_SPEC, "loadBalancerClass"), f'"{name}" is no name of a class of load balancers: {why}')
    ranges = texts(spec, "loadBalancerSourceRanges")
    for index, each in enumerate(ranges):
        yield from _range(each, (*_SPEC, "loadBalancerSourceRanges", index))
    note = string_map(mapping(data, "metadata"), "annotations").get(_RANGES)
    if not ranges and note is not None:
        path: Path = ("metadata", "annotations", Key(_RANGES))
        if kind != _BALANCER:
            yield _not_balanced(_RANGES, path)
        for each in note.split(",") if note.strip() else ():
            yield from _range(each, path)


def _not_balanced(name: str, path: Path) -> Problem:
    return Problem("conflicting-values", path, f"`{name}` is only for Services of type `{_BALANCER}`", "remove it", at_key=True)


def _range(text_: str, path: Path) -> Iterator[Problem]:
    if why := bad_range(text_.strip()):
        yield Problem("wrong-format", path, f'"{text_}" is no range of addresses: {why}')


def is_external(spec: dict[str, Any], kind: str) -> bool:
    """Whether a Service can be reached from outside of the cluster."""
    return kind in (_BALANCER, "NodePort") or (kind == "ClusterIP" and bool(texts(spec, "externalIPs")))


def _external_policy(spec: dict[str, Any], kind: str) -> Iterator[Problem]:
    policy, path = text(spec, "externalTrafficPolicy"), (*_SPEC, "externalTrafficPolicy")
    if not policy:
        return
    if not is_external(spec, kind):
        message = "`externalTrafficPolicy` is about traffic from outside, which does not come to this Service"
        yield Problem("conflicting-values", path, message, "remove it, or choose the type `NodePort` or `LoadBalancer`", at_key=True)
    elif policy not in _POLICIES:
        yield unsupported(policy, _POLICIES, path)


def needs_health_check(spec: dict[str, Any], kind: str) -> bool:
    """Whether a load balancer asks the nodes of a Service for their health."""
    return kind == _BALANCER and text(spec, "externalTrafficPolicy") == "Local"


def _health_check(spec: dict[str, Any], kind: str) -> Iterator[Problem]:
    port, path = number(spec, "healthCheckNodePort") or 0, (*_SPEC, "healthCheckNodePort")
    if port and not needs_health_check(spec, kind):
        message = "`healthCheckNodePort` is only for type `LoadBalancer` with `externalTrafficPolicy: Local`"
        yield Problem("conflicting-values", path, message, "remove it", at_key=True)
    elif port:
        yield from number_problems(port, path)
        if port in [number(each, "nodePort") for each in structs(spec, "ports")]:
            yield Problem("duplicate-item", path, f"one of the Service's ports has the node port {port}, too")
