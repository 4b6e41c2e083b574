"""The names of resources: the built-in ones, huge pages, and extended resources such as GPUs.

Follows `validateContainerResourceName` and `validatePodResourceName`, k8s.io/kubernetes pkg/apis/core/validation, and `IsNativeResource`,
`IsExtendedResourceName` and `IsOvercommitAllowed`, pkg/apis/core/helper, 1.36.
"""

from __future__ import annotations

from jobspec.validation.metadata import bad_qualified_name

OF_CONTAINERS = ("cpu", "memory", "ephemeral-storage")
OF_PODS = ("cpu", "memory")
HUGE_PAGES = "hugepages-"


def bad_container_resource(name: str) -> str:
    """Why containers cannot have a resource of this name; empty if they can."""
    if why := bad_qualified_name(name):
        return why
    if "/" not in name:
        known = name in OF_CONTAINERS or name.startswith(HUGE_PAGES)
        return "" if known else "without a domain, as in `nvidia.com/gpu`, it is `cpu`, `memory`, `ephemeral-storage` or `hugepages-SIZE`"
    if is_native(name) or is_extended(name):
        return ""
    return "extended resources do not begin with `requests.`, and stay names where that is put before them"


def bad_pod_resource(name: str) -> str:
    """Why a pod as a whole cannot have a resource of this name; empty if it can."""
    if why := bad_qualified_name(name):
        return why
    return "" if name in OF_PODS or name.startswith(HUGE_PAGES) else "a pod as a whole has `cpu`, `memory` and `hugepages-SIZE` alone"


def is_native(name: str) -> bool:
    """Whether a resource is one of Kubernetes' own."""
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """Whether a resource is one of somebody else's, of which there are whole numbers."""
    return not is_native(name) and not name.startswith("requests.") and not bad_qualified_name(f"requests.{name}")


def can_be_promised_twice(name: str) -> bool:
    """Whether a limit can be greater than the request, so that a node promises more than it has."""
    return is_native(name) and not name.startswith(HUGE_PAGES)
