"""The defaults of a service on a cluster with IPv4 addresses; the addresses that the server chooses itself are left out.

Follows `SetDefaults_Service`, k8s.io/kubernetes pkg/apis/core/v1, and `Alloc.initIPFamilyFields`, pkg/registry/core/service/storage,
1.36.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Mark
from jobspec.documents.marked_tree import MarkedTree, each_item, text, with_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def made_service_defaults(spec: MarkedTree, server: Mark) -> MarkedTree:
    """The spec of a service that an operator creates as the server stores it."""
    return headless_service_defaults(spec, server) if text(spec, "clusterIP") == "None" else service_defaults(spec, server)


def headless_service_defaults(spec: MarkedTree, server: Mark) -> MarkedTree:
    """The spec of a service without an address as the server stores it."""
    own = {"clusterIPs": [spec.value["clusterIP"]], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}
    return with_missing(service_defaults(spec, server), own, server)


def service_defaults(spec: MarkedTree, server: Mark) -> MarkedTree:
    """What the server fills into any service."""
    spec = each_item(spec, "ports", lambda port: with_missing(port, {"protocol": "TCP", "targetPort": port.value["port"]}, server))
    spec = with_missing(spec, {"internalTrafficPolicy": "Cluster", "sessionAffinity": "None", "type": "ClusterIP"}, server)
    return with_missing(spec, _OF_OPEN_SERVICES.get(text(spec, "type"), {}), server)


#: Types of services that are reached from outside of the cluster -> their further defaults.
_OF_OPEN_SERVICES: dict[str, dict[str, Any]] = {
    "NodePort": {"externalTrafficPolicy": "Cluster"},
    "LoadBalancer": {"externalTrafficPolicy": "Cluster", "allocateLoadBalancerNodePorts": True},
}
