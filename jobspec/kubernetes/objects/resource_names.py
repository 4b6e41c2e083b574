"""The names of resources in quotas and limits of a namespace.

Follows `validateResourceName` and `ValidateResourceQuotaResourceName`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.kubernetes import metadata
from jobspec.kubernetes.pods.resources import COUNTED, OF_CONTAINERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass


_OF_QUOTAS = frozenset(
    (*COUNTED, *OF_CONTAINERS, *(f"requests.{each}" for each in (*OF_CONTAINERS, "storage")), *(f"limits.{each}" for each in OF_CONTAINERS))
)
_HUGE_PAGES = ("hugepages-", "requests.hugepages-")


def is_of_quota(name: str) -> bool:
    """True if a quota counts a resource under a name without a domain."""
    return name in _OF_QUOTAS or name.startswith(_HUGE_PAGES)


def bad_quota_resource(name: str) -> str:
    """Return why a quota cannot count a resource; empty if it can."""
    if why := metadata.bad_qualified_name(name):
        return why
    is_known = "/" in name or is_of_quota(name)
    return "" if is_known else "it is not a resource of Kubernetes, and others need a domain, such as `nvidia.com/gpu`"


def bad_limited_resource(name: str) -> str:
    """Return why a LimitRange of claims or other types cannot limit a resource; empty if it can."""
    return "" if name == "storage" else bad_quota_resource(name)
