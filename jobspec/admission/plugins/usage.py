"""What quotas count of a pod and of a claim.

Follows `PodUsageFunc`, `podComputeUsageHelper`, `podEvaluator.MatchingResources` and `pvcEvaluator.Usage`, k8s.io/kubernetes
pkg/quota/v1/evaluator/core, 1.36.
"""

from __future__ import annotations

from jobspec.admission.plugins.amounts import amounts, pod_limits, pod_requests
from jobspec.quantities import Quantity
from jobspec.validation.reading import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.admission.plugins.amounts import Amounts

    Data = dict[str, Any]

_ONE = 1_000_000_000
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_POD_NAMES = ("pods", "count/pods", *(prefix + name for prefix in ("", "requests.", "limits.") for name in _COMPUTE))
_CLAIM_NAMES = ("persistentvolumeclaims", "requests.storage")
_CLASS = ".storageclass.storage.k8s.io/"
_DEVICES = "deviceclass.resource.kubernetes.io/"


def is_of_pods(name: str) -> bool:
    """Whether a quota that names this counts pods."""
    if name in _POD_NAMES or name.startswith(("hugepages-", "requests.hugepages-")):
        return True
    is_extended = "/" in name and "kubernetes.io/" not in name
    return name.startswith("requests.") and (is_extended or name.startswith(f"requests.{_DEVICES}"))


def is_of_claims(name: str) -> bool:
    """Whether a quota that names this counts claims."""
    return name in ("count/persistentvolumeclaims", *_CLAIM_NAMES) or name.endswith(tuple(_CLASS + each for each in _CLAIM_NAMES))


def pod_usage(pod: Data) -> Amounts:
    """What quotas count of a pod that has not ended."""
    spec = mapping(pod, "spec")
    return {"count/pods": Quantity(_ONE, "decimal"), **usage(pod_requests(spec), pod_limits(spec))}


def usage(requests: Amounts, limits: Amounts) -> Amounts:
    """What quotas count of requests and limits."""
    found = {"pods": Quantity(_ONE, "decimal")}
    for name, each in requests.items():
        if name in _COMPUTE or name.startswith("hugepages-"):
            found |= {name: each, f"requests.{name}": each}
        elif _is_extended(name) or name.startswith(_DEVICES):
            found[f"requests.{name}"] = each
    return found | {f"limits.{name}": each for name, each in limits.items() if name in _COMPUTE}


def _is_extended(name: str) -> bool:
    """Whether a resource is none of Kubernetes' own, such as `nvidia.com/gpu`."""
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def claim_usage(claim: Data) -> Amounts:
    """What quotas count of a claim."""
    spec = mapping(claim, "spec")
    one = Quantity(_ONE, "decimal")
    found = {"persistentvolumeclaims": one, "count/persistentvolumeclaims": one}
    size = amounts(mapping(spec, "resources").get("requests")).get("storage")
    if size is not None:
        found["requests.storage"] = Quantity(size.rounded_up() * _ONE, size.format)
    storage_class = _storage_class(claim)
    of_class = {f"{storage_class}{_CLASS}{name}": found[name] for name in _CLAIM_NAMES if name in found}
    return found | of_class if storage_class else found


def _storage_class(claim: Data) -> str:
    """The class of a claim's volume: by its older annotation, or by its field."""
    annotation = mapping(claim, "metadata", "annotations").get("volume.beta.kubernetes.io/storage-class")
    return str(annotation if annotation is not None else mapping(claim, "spec").get("storageClassName") or "")
