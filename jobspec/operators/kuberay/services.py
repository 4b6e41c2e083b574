"""The Services of a RayCluster: of its head, of the workers of replicas with several hosts, and of Ray Serve.

Follows `BuildServiceForHeadPod`, `BuildHeadlessServiceForRayCluster` and `BuildServeService`, github.com/ray-project/kuberay
ray-operator/controllers/ray/common, 1.4.2 to 1.7.0. KubeRay walks ports in no fixed order; here they are sorted by name.
"""

from __future__ import annotations

from jobspec.apis.releases import is_at_least
from jobspec.documents.marked_tree import MarkedTree, items, set_by, text, with_fields
from jobspec.operators.kuberay import API_VERSION, CLUSTER, HEAD, MAKER_KIND, MAKER_NAME, NODE_TYPE, SERVES, WORKER
from jobspec.operators.kuberay.cluster import RayCluster, head_ports, short_label
from jobspec.operators.made import as_go_writes, owner_references
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_NAME = "app.kubernetes.io/name"


def services(cluster: RayCluster) -> Iterator[MarkedTree]:
    """The Services of a cluster, in the order in which they come."""
    yield head_service(cluster)
    if any(each.hosts > 1 for each in cluster.groups):
        yield _headless(cluster)
    if cluster.annotation(SERVES) == "true" and (ports := _serving_ports(cluster)):
        yield _serving(cluster, ports)


def lacks_serving_port(cluster: RayCluster) -> bool:
    """True if a cluster asks for a Service of its programs, and its head has no port for it.

    KubeRay then creates no pods.
    """
    return cluster.annotation(SERVES) == "true" and not _serving_ports(cluster)


def head_service(cluster: RayCluster, *, of_maker: bool = False) -> MarkedTree:
    """The Service of the head. *of_maker*: that of the RayJob or RayService that has made the cluster, which looks at fewer fields."""
    named = None if of_maker else cluster.head.get("template", "metadata", "labels", _NAME)
    selector = {**cluster.labels(HEAD), NODE_TYPE: HEAD, **({_NAME: named} if named else {})}
    added = [{"name": name, "port": each, "appProtocol": "tcp"} for name, each in sorted(head_ports(cluster).items())]
    notes = None if of_maker else cluster.spec.get("headServiceAnnotations")
    own = cluster.head.get("headService")
    kind = cluster.head.get("serviceType")
    if own is None:
        spec: dict[str, Any] = {"selector": selector, "ports": added, **({"type": kind} if kind and kind.value else {})}
        if text(kind) in ("", "ClusterIP"):
            spec |= {"clusterIP": "None", "publishNotReadyAddresses": True}
        metadata = {"name": cluster.head_service, "labels": selector, **({"annotations": notes} if notes and notes.value else {})}
        return cluster.made("v1", "Service", metadata, spec=spec)
    made = _written(own, cluster)
    ports = [*items(made.get("spec", "ports")), *items(set_by(cluster.mark, added))]
    further = {"selector": selector, "ports": ports, **({"type": kind} if kind and not text(made, "spec", "type") else {})}
    return _of_user(made, cluster, str(cluster.head_service.value), selector, further, notes)


def _written(service: MarkedTree, cluster: RayCluster) -> MarkedTree:
    """A Service that a user writes into a Ray object, in Go's form."""
    return as_go_writes(service, shapes.part("v1", "Service", cluster.target))


def _of_user(
    service: MarkedTree, cluster: RayCluster, name: str, labels: dict[str, Any], fields: dict[str, Any], notes: MarkedTree | None = None
) -> MarkedTree:
    """A Service that a user writes, with the labels, annotations and *fields* that KubeRay sets, and a *name* where it has none."""
    mark = cluster.mark
    metadata = service.get("metadata") or MarkedTree({}, mark)
    given, own = metadata.get("name"), {field: metadata.get(field) or MarkedTree({}, mark) for field in ("labels", "annotations")}
    annotations = with_fields(own["annotations"], notes.value if notes else {})
    about = {
        "name": given if given and given.value else set_by(mark, name),
        "namespace": cluster.namespace,
        "labels": with_fields(own["labels"], set_by(mark, labels).value),
        "annotations": annotations if annotations.value else None,
        "ownerReferences": cluster.owners,
    }
    spec = with_fields(service.get("spec") or MarkedTree({}, mark), set_by(mark, fields).value)
    kind = set_by(mark, {"apiVersion": "v1", "kind": "Service"})
    return with_fields(kind, {"metadata": with_fields(metadata, about), "spec": spec})


def _headless(cluster: RayCluster) -> MarkedTree:
    """The Service by which the hosts of a replica find each other."""
    spec = {
        "clusterIP": "None",
        "selector": {CLUSTER: cluster.name, NODE_TYPE: WORKER},
        "type": "ClusterIP",
        "publishNotReadyAddresses": True,
    }
    name = cluster.name.with_value(f"{cluster.name.value}-headless")
    return cluster.made("v1", "Service", {"name": name, "labels": {"ray.io/headless-worker-svc": cluster.name}}, spec=spec)


def _serving_ports(cluster: RayCluster) -> list[dict[str, Any]]:
    """The ports of the head at which Ray Serve answers."""
    ports = head_ports(cluster)
    several = is_at_least(cluster.release, "1.6.0")
    return [{"name": name, "port": ports[name]} for name in sorted(ports) if name == "serve" or (several and name.startswith("serve-"))]


def _serving(cluster: RayCluster, ports: list[dict[str, Any]]) -> MarkedTree:
    """The Service of Ray Serve of a cluster that a user has made."""
    return cluster.made("v1", "Service", _about_serving(cluster, str(cluster.name.value), "RayCluster"), spec=_spec(cluster, ports))


def _about_serving(cluster: RayCluster, name: str, maker: str) -> dict[str, Any]:
    labels = {MAKER_NAME: name, MAKER_KIND: maker, "ray.io/serve": f"{name}-serve"}
    return {"name": cluster.name.with_value(f"{name}-serve-svc"), "labels": labels}


def _spec(cluster: RayCluster, ports: list[dict[str, Any]], **selector: str) -> dict[str, Any]:
    kind = cluster.head.get("serviceType")
    return {"selector": {CLUSTER: cluster.name, **selector}, "ports": ports, **({"type": kind} if kind and kind.value else {})}


# The Services of a RayJob or a RayService, which lead to its cluster of the moment.
#
# Follows `BuildHeadServiceForRayJob`, `BuildHeadServiceForRayService` and `BuildServeServiceForRayService`,
# github.com/ray-project/kuberay ray-operator/controllers/ray/common, 1.4.2 to 1.7.0.


def head_service_of(maker: MarkedTree, cluster: RayCluster) -> MarkedTree:
    """The Service of a RayJob or RayService that leads to the head of its cluster."""
    name, kind = maker.value["metadata"].value["name"], text(maker, "kind")
    labels = {
        MAKER_NAME: name,
        MAKER_KIND: kind,
        NODE_TYPE: HEAD,
        "ray.io/identifier": short_label(f"{name.value}-{HEAD}"),
    }
    made = head_service(cluster, of_maker=True)
    about = {
        "name": name.with_value(f"{name.value}-head-svc"),
        "labels": set_by(cluster.mark, labels),
        "ownerReferences": owner_references(cluster.mark, API_VERSION, kind, name),
    }
    return with_fields(made, {"metadata": with_fields(made.value["metadata"], about)})


def serving_service_of_cluster(cluster: RayCluster) -> MarkedTree | None:
    """Return the Service at which Ray Serve answers in one cluster of a RayService that is upgraded in steps.

    If the head has no port for that, return None.
    """
    if not (ports := _serving_ports(cluster)):
        return None
    about = _about_serving(cluster, str(cluster.name.value), "RayService")
    return cluster.made("v1", "Service", about, spec=_spec(cluster, ports, **{"ray.io/serve": "true"}))


def serving_service_of(service: MarkedTree, cluster: RayCluster) -> MarkedTree | None:
    """The Service of a RayService at which Ray Serve answers; None where the head has no port for that, and the user no Service."""
    name, own = service.value["metadata"].value["name"], service.get("spec", "serveService")
    ports = _serving_ports(cluster)
    if not ports and own is None:
        return None
    owners = owner_references(cluster.mark, API_VERSION, "RayService", name)
    about = _about_serving(cluster, str(name.value), "RayService")
    spec = _spec(cluster, ports, **{"ray.io/serve": "true"})
    if own is None:
        made = cluster.made("v1", "Service", about, spec=spec)
        return with_fields(made, {"metadata": with_fields(made.value["metadata"], {"ownerReferences": owners})})
    made = _written(own, cluster)
    given = {text(each, "name"): each for each in items(made.get("spec", "ports"))}
    if not ports and is_at_least(cluster.release, "1.6.0"):
        del spec["ports"]
    elif not ports:
        spec["ports"] = [{"name": "serve", "port": each.value["port"]} for name, each in given.items() if name == "serve"]
    elif is_at_least(cluster.release, "1.6.0"):
        spec["ports"] = [given.get(each["name"], each) for each in ports]
    if text(made, "spec", "type"):
        spec.pop("type", None)
    found = _of_user(made, cluster, f"{name.value}-serve-svc", about["labels"], spec)
    return with_fields(found, {"metadata": with_fields(found.value["metadata"], {"ownerReferences": owners})})
