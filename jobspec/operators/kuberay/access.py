"""What a RayCluster makes besides Services and pods: the rights of its autoscaler, an Ingress to its dashboard, and a Secret with a token.

Follows `BuildServiceAccount`, `BuildRole`, `BuildRoleBinding` and `BuildIngressForHeadService`, github.com/ray-project/kuberay
ray-operator/controllers/ray/common, and `reconcileAutoscalerServiceAccount` and `createAuthSecret`, ray-operator/controllers/ray, 1.4.2 to
1.7.0.
"""

from __future__ import annotations

from jobspec.apis.releases import is_at_least
from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.operators.kuberay import CLUSTER, HEAD, PORTS
from jobspec.operators.kuberay.cluster import CREATED_BY, RayCluster, head_ports, short_label, short_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_INGRESS_CLASS = "kubernetes.io/ingress.class"
_RBAC_VERSION = "rbac.authorization.k8s.io/v1"
TOKEN = "<token>"  # noqa: S105 (what stands for the token that KubeRay makes up)


def accesses(cluster: RayCluster) -> Iterator[MarkedTree]:
    """The objects in the order in which they come."""
    if cluster.scales:
        yield from _rights(cluster)
    if cluster.head.get("enableIngress") is not None and cluster.head.value["enableIngress"].value is True:
        yield _ingress(cluster)
    if cluster.spec.get("authOptions") is not None and makes_secret(cluster):
        yield cluster.made("v1", "Secret", {"name": cluster.secret, "labels": {CLUSTER: cluster.name}}, stringData={"auth_token": TOKEN})


def makes_secret(cluster: RayCluster) -> bool:
    """Whether KubeRay makes the Secret with the token, where there is none of its name yet."""
    options = cluster.spec.get("authOptions")
    is_off = text(options, "mode") == "disabled" or cluster.uses_own_tokens
    return options is not None and not is_off and not text(options, "secretName")


def _rights(cluster: RayCluster) -> Iterator[MarkedTree]:
    """The account of the head, which KubeRay makes unless the user names one, and its right to change the cluster."""
    labels, name = {CLUSTER: cluster.name, **CREATED_BY}, short_name(str(cluster.name.value))
    account = account_of(cluster)
    if not named_account(cluster):
        yield cluster.made("v1", "ServiceAccount", {"name": account, "labels": labels})
    resizing = [{"apiGroups": [""], "resources": ["pods/resize"], "verbs": ["patch"]}] if is_at_least(cluster.release, "1.5.0") else []
    rules = [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch", *(["patch"] if resizing else [])]},
        *resizing,
        {"apiGroups": ["ray.io"], "resources": ["rayclusters"], "verbs": ["get", "patch"]},
    ]
    yield cluster.made(_RBAC_VERSION, "Role", {"name": name, "labels": labels}, rules=rules)
    subjects = [{"kind": "ServiceAccount", "name": account, "namespace": cluster.namespace}]
    role = {"apiGroup": _RBAC_VERSION.partition("/")[0], "kind": "Role", "name": name}
    yield cluster.made(_RBAC_VERSION, "RoleBinding", {"name": name, "labels": labels}, subjects=subjects, roleRef=role)


def named_account(cluster: RayCluster) -> str:
    """The service account that the user names for the head; empty where there is none."""
    return text(cluster.head, "template", "spec", "serviceAccountName")


def account_of(cluster: RayCluster) -> str:
    """The service account of the head of a cluster with an autoscaler."""
    return short_name(named_account(cluster) or str(cluster.name.value))


def _ingress(cluster: RayCluster) -> MarkedTree:
    """The Ingress to the dashboard."""
    name, notes = str(cluster.name.value), dict(cluster.tree.value["metadata"].entries("annotations"))
    labels = {CLUSTER: cluster.name, "ray.io/identifier": short_label(f"{name}-{HEAD}"), **CREATED_BY}
    port = head_ports(cluster).get("dashboard")
    service = {"name": cluster.head_service, "port": {"number": port or PORTS["dashboard"]}}
    options = cluster.head.get("ingressOptions")
    own = {field: options.get(field) if options else None for field in ("host", "path", "pathType", "tls")}
    path, kind = ("/", "Prefix") if is_at_least(cluster.release, "1.7.0") else (f"/{name}/(.*)", "Exact")
    paths = [{"path": own["path"] or path, "pathType": own["pathType"] or kind, "backend": {"service": service}}]
    host = own["host"] if text(own["host"]) else None
    spec: dict[str, Any] = {"rules": [{**({"host": host} if host else {}), "http": {"paths": paths}}]}
    if items(own["tls"]):
        spec["tls"] = own["tls"]
    if _INGRESS_CLASS in notes:
        spec["ingressClassName"] = notes.pop(_INGRESS_CLASS)
    about = {"name": short_name(f"{name}-{HEAD}-ingress"), "labels": labels, **({"annotations": notes} if notes else {})}
    return cluster.made("networking.k8s.io/v1", "Ingress", about, spec=spec)
