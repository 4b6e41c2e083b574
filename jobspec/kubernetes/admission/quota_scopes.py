"""The scopes of a ResourceQuota: which pods and claims it counts.

Follows `podMatchesScopeFunc` and `pvcMatchesScopeFunc`, k8s.io/kubernetes pkg/quota/v1/evaluator/core, and `ComputePodQOS`,
pkg/apis/core/v1/helper/qos, 1.36.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Data
from jobspec.go.values import mapping
from jobspec.kubernetes.admission.objects import containers, sequence
from jobspec.kubernetes.pods.amounts import OF_PODS, amounts
from jobspec.kubernetes.pods.scheduling import pod_terms


def matches_claim(quota: Data, claim: Data) -> bool:
    """Whether a claim is in all scopes of a quota."""
    attributes = mapping(claim, "spec").get("volumeAttributesClassName") or ""
    return all(each.get("scopeName") == "VolumeAttributesClass" and _selects(each, attributes) for each in scope_selectors(quota))


def scope_selectors(quota: Data) -> list[Data]:
    """The selectors of a quota, with one for each of its scopes."""
    spec = mapping(quota, "spec")
    named = [{"scopeName": name, "operator": "Exists"} for name in sequence(spec, "scopes")]
    return [*named, *sequence(mapping(spec, "scopeSelector"), "matchExpressions")]


def has_pod(selector: Data, spec: Data) -> bool:
    """Whether the scope of a selector has a pod, given by its spec."""
    deadline = spec.get("activeDeadlineSeconds")
    terminates = deadline is not None and deadline >= 0
    others = [each for _, each in pod_terms(spec, ()) if each.get("namespaces") or each.get("namespaceSelector") is not None]
    scopes = {
        "Terminating": terminates,
        "NotTerminating": not terminates,
        "BestEffort": _is_best_effort(spec),
        "NotBestEffort": not _is_best_effort(spec),
        "PriorityClass": _selects(selector, spec.get("priorityClassName") or ""),
        "CrossNamespacePodAffinity": bool(others),
    }
    return scopes.get(selector.get("scopeName", ""), False)


def _selects(selector: Data, value: str) -> bool:
    """Whether a selector takes the name of a class; an empty name is none."""
    is_in = bool(value) and value in sequence(selector, "values")
    answers = {"Exists": bool(value), "DoesNotExist": not value, "In": is_in, "NotIn": not is_in}
    return answers.get(selector.get("operator", ""), False)


def _is_best_effort(spec: Data) -> bool:
    """Whether a pod asks for no processor and no memory at all."""
    whole = spec.get("resources")
    holders = [spec] if isinstance(whole, dict) else [each for _, each in containers(spec, ("containers", "initContainers"))]
    asked = [amounts(mapping(each, "resources").get(field)) for each in holders for field in ("requests", "limits")]
    return not any(each[name].nanos > 0 for each in asked for name in OF_PODS if name in each)
