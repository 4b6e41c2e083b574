"""What quotas count of a pod and of a claim.

Follows `PodUsageFunc`, `podComputeUsageHelper`, `podEvaluator.MatchingResources` and `pvcEvaluator.Usage`, k8s.io/kubernetes
pkg/quota/v1/evaluator/core, 1.36.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Data
from jobspec.go.quantities import Quantity
from jobspec.go.values import mapping
from jobspec.kubernetes.pods.amounts import amounts, pod_limits, pod_requests
from jobspec.kubernetes.pods.resources import OF_CONTAINERS, is_extended, is_native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.kubernetes.pods.amounts import Amounts


ONE = Quantity(1_000_000_000, "decimal")
"""An amount of one."""
_POD_NAMES = ("pods", "count/pods", *(prefix + name for prefix in ("", "requests.", "limits.") for name in OF_CONTAINERS))
_CLAIM_NAMES = ("persistentvolumeclaims", "requests.storage")
_CLASS = ".storageclass.storage.k8s.io/"
_DEVICES = "deviceclass.resource.kubernetes.io/"


def is_of_pods(name: str) -> bool:
    """Whether a quota that names this counts pods."""
    if name in _POD_NAMES or name.startswith(("hugepages-", "requests.hugepages-")):
        return True
    return name.startswith("requests.") and (not is_native(name) or name.startswith(f"requests.{_DEVICES}"))


def is_of_claims(name: str) -> bool:
    """Whether a quota that names this counts claims."""
    return name in ("count/persistentvolumeclaims", *_CLAIM_NAMES) or name.endswith(tuple(_CLASS + each for each in _CLAIM_NAMES))


def pod_usage(pod: Data) -> Amounts:
    """Return the amounts that quotas count for a pod before its end."""
    spec = mapping(pod, "spec")
    return {"count/pods": ONE, **usage(pod_requests(spec), pod_limits(spec))}


def usage(requests: Amounts, limits: Amounts) -> Amounts:
    """Return the amounts that quotas count for requests and limits."""
    found = {"pods": ONE}
    for name, each in requests.items():
        if name in OF_CONTAINERS or name.startswith("hugepages-"):
            found |= {name: each, f"requests.{name}": each}
        elif is_extended(name) or name.startswith(_DEVICES):
            found[f"requests.{name}"] = each
    return found | {f"limits.{name}": each for name, each in limits.items() if name in OF_CONTAINERS}


def claim_usage(claim: Data) -> Amounts:
    """Return the amounts that quotas count for a claim."""
    spec = mapping(claim, "spec")
    found = {"persistentvolumeclaims": ONE, "count/persistentvolumeclaims": ONE}
    size = amounts(mapping(spec, "resources").get("requests")).get("storage")
    if size is not None:
        found["requests.storage"] = Quantity(size.rounded_up() * ONE.nanos, size.format)
    annotation = mapping(claim, "metadata", "annotations").get("volume.beta.kubernetes.io/storage-class")  # which is older than the field
    storage_class = annotation if annotation is not None else spec.get("storageClassName") or ""
    of_class = {f"{storage_class}{_CLASS}{name}": found[name] for name in _CLAIM_NAMES if name in found}
    return found | of_class if storage_class else found
