"""A pod as the plugins see it: with those defaults of the server that they look at.

Follows `SetDefaults_Pod` and `defaultPodRequests`, k8s.io/kubernetes pkg/apis/core/v1, 1.36. The defaults of huge pages are left out: they
are what the containers have together, which counts in any case.
"""

from __future__ import annotations

from jobspec.admission.plugins.amounts import is_of_pods, of_containers
from jobspec.admission.plugins.values import CONTAINERS, mapping, sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Data = dict[str, Any]


def with_defaults(pod: Data) -> Data:
    """A pod whose containers request what they are limited to, and on the node's network listen on the node's ports."""
    spec = each_container(mapping(pod, "spec"), lambda container, _: _with_requests(container))
    if spec.get("hostNetwork"):
        spec = each_container(spec, lambda container, _: _with_host_ports(container))
    return {**pod, "spec": _with_pod_requests(spec)}


def each_container(spec: Data, change: Callable[[Data, str], Data]) -> Data:
    """A pod's spec with all containers changed, but ephemeral ones; *change* is told the field that holds the container, too."""
    return {**spec, **{field: [change(each, field) for each in sequence(spec, field)] for field in CONTAINERS if field in spec}}


def _with_requests(container: Data) -> Data:
    resources = mapping(container, "resources")
    limits = mapping(resources, "limits")
    if not limits:
        return container
    said = {name: each for name, each in mapping(resources, "requests").items() if each is not None}
    return {**container, "resources": {**resources, "requests": {**limits, **said}}}


def _with_host_ports(container: Data) -> Data:
    ports = [{**port, "hostPort": port.get("hostPort") or port.get("containerPort")} for port in sequence(container, "ports")]
    return {**container, "ports": ports} if ports else container


def _with_pod_requests(spec: Data) -> Data:
    """A pod's spec whose own resources, where they have limits, have requests, too."""
    resources = mapping(spec, "resources")
    limits = mapping(resources, "limits")
    if not limits:
        return spec
    shared = ("cpu", "memory")
    summed = {name: str(each) for name, each in of_containers(spec, "requests").items() if name in shared}
    limited = {name: each for name, each in limits.items() if is_of_pods(name)}
    requests = {**limited, **summed, **mapping(resources, "requests")}
    return {**spec, "resources": {**resources, "requests": requests}}
