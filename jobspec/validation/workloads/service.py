"""Check a Service as the API server's Go code does.

Follows `ValidateServiceCreate`, k8s.io/kubernetes pkg/apis/core/validation, with the defaults of pkg/apis/core/v1, 1.36. The server
allocates addresses and ports before it validates, so that it tells problems of those alone.
"""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.validation.metadata import bad_label_value, bad_qualified_name, bad_subdomain
from jobspec.validation.pods.complaints import missing, unsupported
from jobspec.validation.problem import Problem
from jobspec.validation.reading import is_given, items, mapping, string_map, text
from jobspec.validation.workloads.service_addresses import cluster_ips, is_headless, service_addresses
from jobspec.validation.workloads.service_ports import service_ports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_SPEC: Path = ("spec",)
_TYPES = ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName")
_EXTERNAL = "ExternalName"
_TRAFFIC = (
    *("sessionAffinity", "sessionAffinityConfig", "externalIPs", "externalTrafficPolicy", "healthCheckNodePort"),
    *("allocateLoadBalancerNodePorts", "loadBalancerClass", "loadBalancerSourceRanges"),
    *("internalTrafficPolicy", "trafficDistribution"),
)
"""The fields of a Service that are about its traffic, as annotations can be, too."""
_MODE = "service.kubernetes.io/topology-mode"
_HINTS = "service.kubernetes.io/topology-aware-hints"


def service_problems(data: dict[str, Any], old: dict[str, Any] | None) -> Iterator[Problem]:
    """The problems of a Service, as an update of *old* unless that is None."""
    if old is not None:
        from jobspec.validation.workloads.service_update import service_update, without_dropped

        yield from service_update(data, old)
        data = without_dropped(data, old)
    spec = mapping(data, "spec")
    kind = text(spec, "type") or "ClusterIP"
    if kind not in _TYPES:
        yield unsupported(kind, _TYPES, (*_SPEC, "type"))
    yield from _external_name(spec) if kind == _EXTERNAL else service_addresses(spec)
    yield from _headless(spec, kind)
    yield from service_ports(spec, kind, is_new=old is None)
    yield from _selector(spec)
    if not spec.keys().isdisjoint(_TRAFFIC) or is_given(mapping(data, "metadata"), "annotations"):
        from jobspec.validation.workloads.service_traffic import service_traffic

        yield from service_traffic(data, kind)
        yield from _topology(data)


def _headless(spec: dict[str, Any], kind: str) -> Iterator[Problem]:
    if kind in ("LoadBalancer", "NodePort") and is_headless(spec):
        message = f"a Service of type `{kind}` needs an address, and has `clusterIP: None`"
        yield Problem("conflicting-values", (*_SPEC, "clusterIP"), message)
    if not items(spec, "ports") and not is_headless(spec) and kind != _EXTERNAL:
        yield missing("ports", spec, _SPEC, "only a Service with `clusterIP: None` can have none")


def _external_name(spec: dict[str, Any]) -> Iterator[Problem]:
    given = ["clusterIPs" if items(spec, "clusterIPs") else "clusterIP"] if cluster_ips(spec) else []
    given += ["ipFamilies"] if items(spec, "ipFamilies") else []
    given += ["ipFamilyPolicy"] if is_given(spec, "ipFamilyPolicy") else []
    for name in given:
        message = f"a Service of type `{_EXTERNAL}` is a name alone, and has no `{name}`"
        yield Problem("conflicting-values", (*_SPEC, name), message, "remove it", at_key=True)
    name = text(spec, "externalName").removesuffix(".")
    if not name:
        yield missing("externalName", spec, _SPEC, "it is the DNS name that the Service stands for")
    elif why := bad_subdomain(name):
        yield Problem("invalid-name", (*_SPEC, "externalName"), f"`{name}` is no DNS name: {why}")


def _selector(spec: dict[str, Any]) -> Iterator[Problem]:
    for key, value in string_map(spec, "selector").items():
        path = (*_SPEC, "selector", Key(key))
        if why := bad_qualified_name(key):
            yield Problem("wrong-format", path, f'"{key}" is no label key: {why}', at_key=True)
        if why := bad_label_value(value):
            yield Problem("wrong-format", path, f'"{value}" is no label value: {why}')


def _topology(data: dict[str, Any]) -> Iterator[Problem]:
    notes = string_map(mapping(data, "metadata"), "annotations")
    if _MODE in notes and _HINTS in notes and notes[_MODE] != notes[_HINTS]:
        message = f"the annotations `{_MODE}` and `{_HINTS}` are two names of the same, and differ"
        yield Problem("conflicting-values", ("metadata", "annotations", Key(_MODE)), message, f"remove `{_HINTS}`")
