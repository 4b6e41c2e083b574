"""The names of resources in quotas and limits of a namespace.

Follows `validateResourceName` and `ValidateResourceQuotaResourceName`, k8s.io/kubernetes pkg/apis/core/validation, and
`IsStandardResourceName`, `IsStandardQuotaResourceName` and `IsIntegerResourceName`, pkg/apis/core/helper, 1.36.
"""

from __future__ import annotations

from jobspec.validation.metadata import bad_qualified_name

#: What there are whole numbers of.
COUNTED = (
    *("pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps", "persistentvolumeclaims"),
    *("services.nodeports", "services.loadbalancers"),
)
_COMPUTED = ("cpu", "memory", "ephemeral-storage")
_OF_QUOTAS = frozenset(
    (*COUNTED, *_COMPUTED, *(f"requests.{each}" for each in (*_COMPUTED, "storage")), *(f"limits.{each}" for each in _COMPUTED))
)
_HUGE_PAGES = ("hugepages-", "requests.hugepages-")


def is_of_quota(name: str) -> bool:
    """Whether a quota counts a resource under a name without a domain."""
    return name in _OF_QUOTAS or name.startswith(_HUGE_PAGES)


def bad_quota_resource(name: str) -> str:
    """Why a quota cannot count a resource; empty if it can."""
    if why := bad_qualified_name(name):
        return why
    return "" if "/" in name or is_of_quota(name) else "it is no resource of Kubernetes, and others have a domain, as `nvidia.com/gpu` has"


def bad_resource(name: str) -> str:
    """Why there is no resource of a name; empty if there can be one."""
    return "" if name == "storage" else bad_quota_resource(name)
