"""The resources of a pod as a whole: what it requests follows from its containers, and from its limits.

Follows `defaultPodRequests`, k8s.io/kubernetes pkg/apis/core/v1, 1.36.
"""

from __future__ import annotations

from jobspec.kubernetes.admission.amounts import exact_amounts, of_containers
from jobspec.operators.objects import set_by

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics import Mark
    from jobspec.documents.marked_tree import MarkedTree


def with_pod_requests(spec: MarkedTree, server: Mark) -> MarkedTree:
    """A pod's spec whose own resources, where they have limits, have requests, too."""
    resources = spec.get("resources")
    limits = dict(resources.entries("limits")) if resources else {}
    if resources is None or not limits:
        return spec
    own = dict(resources.entries("requests"))
    summed = of_containers(spec.data(), "requests", exact_amounts)
    requested = {name: set_by(server, str(amount)) for name, amount in summed.items() if _is_shared(name)}
    of_limits = {name: each for name, each in limits.items() if _is_shared(name) or name.startswith("hugepages-")}
    requests = (resources.get("requests") or resources.value["limits"]).with_value({**of_limits, **requested, **own})
    return spec.with_value({**spec.value, "resources": resources.with_value({**resources.value, "requests": requests})})


def _is_shared(name: str) -> bool:
    """Whether a pod as a whole can have the resource, and nodes can promise more of it than they have."""
    return name in ("cpu", "memory")
