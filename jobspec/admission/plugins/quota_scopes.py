"""The scopes of a ResourceQuota: which pods and claims it counts.

Follows `podMatchesScopeFunc` and `pvcMatchesScopeFunc`, k8s.io/kubernetes pkg/quota/v1/evaluator/core, and `ComputePodQOS`,
pkg/apis/core/v1/helper/qos, 1.36.
"""

from __future__ import annotations

from jobspec.admission.plugins.amounts import amounts
from jobspec.admission.plugins.values import containers, sequence
from jobspec.validation.reading import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Data = dict[str, Any]


def matches_pod(quota: Data, spec: Data) -> bool:
    """Whether a pod of this spec is in all scopes of a quota."""
    return all(_has_pod(each, spec) for each in _selectors(quota))


def matches_claim(quota: Data, claim: Data) -> bool:
    """Whether a claim is in all scopes of a quota."""
    attributes = mapping(claim, "spec").get("volumeAttributesClassName") or ""
    selectors = _selectors(quota)
    return all(each.get("scopeName") == "VolumeAttributesClass" and _selects(each, attributes) for each in selectors)


def _selectors(quota: Data) -> list[Data]:
    spec = mapping(quota, "spec")
    named = [{"scopeName": name, "operator": "Exists"} for name in sequence(spec, "scopes")]
    return [*named, *sequence(mapping(spec, "scopeSelector"), "matchExpressions")]


def _has_pod(selector: Data, spec: Data) -> bool:
    deadline = spec.get("activeDeadlineSeconds")
    terminates = deadline is not None and deadline >= 0
    match selector.get("scopeName"):
        case "Terminating":
            return terminates
        case "NotTerminating":
            return not terminates
        case "BestEffort":
            return _is_best_effort(spec)
        case "NotBestEffort":
            return not _is_best_effort(spec)
        case "PriorityClass":
            return _selects(selector, spec.get("priorityClassName") or "")
        case "CrossNamespacePodAffinity":
            return _looks_into_other_namespaces(spec)
    return False


def _selects(selector: Data, value: str) -> bool:
    """Whether a selector takes the name of a class; an empty name is none."""
    values = sequence(selector, "values")
    match selector.get("operator"):
        case "Exists":
            return bool(value)
        case "DoesNotExist":
            return not value
        case "In":
            return bool(value) and value in values
        case "NotIn":
            return not value or value not in values
    return False


def _is_best_effort(spec: Data) -> bool:
    """Whether a pod asks for no processor and no memory at all."""
    whole = spec.get("resources")
    asked = (
        [whole]
        if isinstance(whole, dict)
        else [mapping(each, "resources") for _, each in containers(spec, ("containers", "initContainers"))]
    )
    return not any(
        amount.nanos > 0
        for each in asked
        for field in ("requests", "limits")
        for name, amount in amounts(each.get(field)).items()
        if name in ("cpu", "memory")
    )


def _looks_into_other_namespaces(spec: Data) -> bool:
    terms = []
    for field in ("podAffinity", "podAntiAffinity"):
        affinity = mapping(spec, "affinity", field)
        terms += sequence(affinity, "requiredDuringSchedulingIgnoredDuringExecution")
        preferred = sequence(affinity, "preferredDuringSchedulingIgnoredDuringExecution")
        terms += [mapping(each, "podAffinityTerm") for each in preferred]
    return any(each.get("namespaces") or each.get("namespaceSelector") is not None for each in terms)
