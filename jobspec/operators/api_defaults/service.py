"""The defaults of a headless service on a cluster with IPv4 addresses.

Follows `SetDefaults_Service`, k8s.io/kubernetes pkg/apis/core/v1, and `Alloc.initIPFamilyFields`, pkg/registry/core/service/storage,
1.36.
"""

from __future__ import annotations

from jobspec.operators.api_defaults.filling import where_given, with_missing
from jobspec.operators.edits import each_item

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics import Mark
    from jobspec.documents.marked_tree import MarkedTree


def service_defaults(service: MarkedTree, server: Mark) -> MarkedTree:
    """A service as the server stores it."""
    return where_given(service, "spec", lambda spec: _spec(spec, server))


def _spec(spec: MarkedTree, server: Mark) -> MarkedTree:
    spec = each_item(spec, "ports", lambda port: with_missing(port, {"protocol": "TCP", "targetPort": port.value["port"]}, server))
    own = {
        "clusterIPs": [spec.value["clusterIP"]],
        "internalTrafficPolicy": "Cluster",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "sessionAffinity": "None",
        "type": "ClusterIP",
    }
    return with_missing(spec, own, server)
