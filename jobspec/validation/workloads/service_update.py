"""What an update of a Service changes, and what the server keeps of what it allocated.

Follows `patchAllocatedValues` and `normalizeClusterIPs`, k8s.io/kubernetes pkg/registry/core/service/storage, `dropTypeDependentFields`,
pkg/registry/core/service, and `ValidateServiceUpdate`, pkg/apis/core/validation, 1.36. Of a stored Service that does not say its address,
ports or families, none is known to change.
"""

from __future__ import annotations

from jobspec.validation.problem import Problem
from jobspec.validation.reading import is_given, mapping, number, structs, text, texts
from jobspec.validation.workloads.service_addresses import cluster_ips, is_headless
from jobspec.validation.workloads.service_traffic import is_external, needs_health_check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

    Spec = dict[str, Any]

_SPEC: Path = ("spec",)
_NONE = "None"
_EXTERNAL = "ExternalName"
_BALANCER = "LoadBalancer"
_ANEW = "put back what was there, or delete the Service first"


def kind_of(spec: Spec) -> str:
    """The type of a Service."""
    return text(spec, "type") or "ClusterIP"


def service_update(data: dict[str, Any], old: dict[str, Any]) -> Iterator[Problem]:
    """The problems of changes from the stored Service *old* to *data*."""
    new_spec, old_spec = mapping(data, "spec"), mapping(old, "spec")
    kind, was = kind_of(new_spec), kind_of(old_spec)
    if _EXTERNAL not in (kind, was):
        yield from _addresses(new_spec, old_spec)
        yield from _families(new_spec, old_spec)
    if kind == was == _BALANCER and text(new_spec, "loadBalancerClass") != text(old_spec, "loadBalancerClass"):
        yield _fixed("loadBalancerClass")
    if needs_health_check(new_spec, kind) and needs_health_check(old_spec, was):
        now, before = number(new_spec, "healthCheckNodePort"), number(old_spec, "healthCheckNodePort")
        if now and before and now != before:
            yield _fixed("healthCheckNodePort")


def _fixed(name: str) -> Problem:
    return Problem("immutable-field", (*_SPEC, name), f"`{name}` of a Service cannot change once it is set", _ANEW)


def _addresses(new: Spec, old: Spec) -> Iterator[Problem]:
    now, was = cluster_ips(new), cluster_ips(old)
    if not now or now == was:
        return
    name = "clusterIPs" if texts(new, "clusterIPs") else "clusterIP"
    if now == [_NONE] and is_given(old, "clusterIP") is False and not was:
        message = "a Service cannot become headless: the stored one says no `clusterIP: None`, so that it has an address"
        yield Problem("immutable-field", (*_SPEC, name), message, _ANEW)
    elif was and now[0] != was[0]:
        yield Problem("immutable-field", (*_SPEC, name), f"the address of a Service cannot change; it was {was[0]}", _ANEW)


def _families(new: Spec, old: Spec) -> Iterator[Problem]:
    now, was = texts(new, "ipFamilies"), texts(old, "ipFamilies")
    if is_headless(new) or is_headless(old) or not now or not was or now[0] == was[0]:
        return
    yield Problem("immutable-field", (*_SPEC, "ipFamilies"), f"the first family of a Service cannot change; it was {was[0]}", _ANEW)


def without_dropped(data: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """A new state as the server validates it: without what only the old type had, where it is still the same."""
    new_spec, old_spec = mapping(data, "spec"), mapping(old, "spec")
    kind, was = kind_of(new_spec), kind_of(old_spec)
    dropped = {name for name in _DROPPED_WITH_ADDRESS if kind == _EXTERNAL != was and new_spec.get(name) == old_spec.get(name)}
    if was == _BALANCER != kind:
        for name in ("allocateLoadBalancerNodePorts", "loadBalancerClass"):
            default = True if name == "allocateLoadBalancerNodePorts" else None
            dropped |= {name} if new_spec.get(name) == old_spec.get(name, default) else set()
    if needs_health_check(old_spec, was) and not needs_health_check(new_spec, kind):
        dropped |= {"healthCheckNodePort"} if number(new_spec, "healthCheckNodePort") == number(old_spec, "healthCheckNodePort") else set()
    if is_external(old_spec, was) and not is_external(new_spec, kind):
        same = text(new_spec, "externalTrafficPolicy") == (text(old_spec, "externalTrafficPolicy") or "Cluster")
        dropped |= {"externalTrafficPolicy"} if same else set()
    spec = {name: each for name, each in new_spec.items() if name not in dropped}
    return {**data, "spec": {**spec, **_ports(new_spec, old_spec, kind, was), **_headless(new_spec, old_spec, kind, was)}}


_DROPPED_WITH_ADDRESS = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")


def _ports(new: Spec, old: Spec, kind: str, was: str) -> Spec:
    """The ports without the node ports that a former type had."""
    on_nodes = ("NodePort", _BALANCER)
    former = {number(port, "nodePort") for port in structs(old, "ports")}
    wanted = {number(port, "nodePort") for port in structs(new, "ports") if number(port, "nodePort")}
    if was not in on_nodes or kind in on_nodes or not wanted <= former:
        return {}
    return {"ports": [{name: each for name, each in port.items() if name != "nodePort"} for port in structs(new, "ports")]}


def _headless(new: Spec, old: Spec, kind: str, was: str) -> Spec:
    """The address that a Service keeps where it says none: that of a headless one is that it has none."""
    return {"clusterIP": _NONE} if _EXTERNAL not in (kind, was) and not cluster_ips(new) and is_headless(old) else {}
