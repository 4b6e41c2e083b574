"""On which nodes, and beside which pods, a pod runs.

Follows `validateAffinity` and `validatePodAffinityTerm`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.validation.label_selector import selector_problems
from jobspec.validation.metadata import bad_label_name, bad_qualified_name
from jobspec.validation.pods.complaints import missing
from jobspec.validation.pods.label_keys import label_key_problems
from jobspec.validation.pods.node_affinity import PREFERRED, REQUIRED, node_affinity_problems, weight_problems
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_OF_PODS = ("podAffinity", "podAntiAffinity")


def affinity_problems(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of a pod's affinity to nodes, to pods, and against pods."""
    affinity, at = spec.get("affinity") or {}, (*path, "affinity")
    yield from node_affinity_problems(affinity.get("nodeAffinity") or {}, (*at, "nodeAffinity"))
    for field in _OF_PODS:
        for index, preferred in enumerate((affinity.get(field) or {}).get(PREFERRED) or ()):
            yield from weight_problems(preferred, (*at, field, PREFERRED, index))
    for term, place in pod_terms(spec, path):
        yield from _term(term, place)


def pod_terms(spec: dict[str, Any], path: Path) -> Iterator[tuple[dict[str, Any], Path]]:
    """The terms about other pods, required and preferred, with their paths."""
    for field in _OF_PODS:
        affinity, at = (spec.get("affinity") or {}).get(field) or {}, (*path, "affinity", field)
        for index, term in enumerate(affinity.get(REQUIRED) or ()):
            yield term, (*at, REQUIRED, index)
        for index, preferred in enumerate(affinity.get(PREFERRED) or ()):
            yield preferred.get("podAffinityTerm") or {}, (*at, PREFERRED, index, "podAffinityTerm")


def _term(term: dict[str, Any], path: Path) -> Iterator[Problem]:
    yield from selector_problems(term.get("labelSelector"), (*path, "labelSelector"))
    yield from selector_problems(term.get("namespaceSelector"), (*path, "namespaceSelector"))
    for index, name in enumerate(term.get("namespaces") or ()):
        if why := bad_label_name(name):
            yield Problem("invalid-name", (*path, "namespaces", index), f'"{name}" is no name for a namespace: {why}')
    yield from label_key_problems(term, path)
    key = term.get("topologyKey") or ""
    if not key:
        yield missing("topologyKey", term, path, "name a label of nodes, such as `kubernetes.io/hostname`")
    elif why := bad_qualified_name(key):
        yield Problem("wrong-format", (*path, "topologyKey"), f'"{key}" is no label key: {why}')
