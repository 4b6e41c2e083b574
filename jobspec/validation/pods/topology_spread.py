"""How a pod is spread with others like it.

Follows `validateTopologySpreadConstraints`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.validation.label_selector import selector_problems
from jobspec.validation.pods.complaints import missing, outside, unsupported
from jobspec.validation.pods.label_keys import label_key_problems
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES = ("Honor", "Ignore")


def topology_spread_problems(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of `topologySpreadConstraints`."""
    constraints = spec.get("topologySpreadConstraints") or ()
    kinds = [(each.get("topologyKey") or "", each.get("whenUnsatisfiable") or "") for each in constraints]
    for index, constraint in enumerate(constraints):
        at = (*path, "topologySpreadConstraints", index)
        yield from _constraint(constraint, at)
        yield from label_key_problems(constraint, at)
        yield from selector_problems(constraint.get("labelSelector"), (*at, "labelSelector"))
        if kinds[index] in kinds[index + 1 :]:
            key, action = kinds[index]
            message = f"two constraints have the `topologyKey: {key}` and `whenUnsatisfiable: {action}`"
            yield Problem("duplicate-item", at, message, "remove one of the two")


def _constraint(constraint: dict[str, Any], path: Path) -> Iterator[Problem]:
    skew, action = constraint.get("maxSkew", 0), constraint.get("whenUnsatisfiable") or ""
    if "maxSkew" not in constraint:
        yield missing("maxSkew", constraint, path, "write at least 1")
    elif skew < 1:
        yield outside(skew, 1, None, (*path, "maxSkew"))
    if not constraint.get("topologyKey"):
        yield missing("topologyKey", constraint, path, "name a label of nodes, such as `kubernetes.io/hostname`")
    if not action:
        yield missing("whenUnsatisfiable", constraint, path, f"it is one of `{'`, `'.join(_ACTIONS)}`")
    elif action not in _ACTIONS:
        yield unsupported(action, _ACTIONS, (*path, "whenUnsatisfiable"))
    for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if field in constraint and constraint[field] not in _POLICIES:
            yield unsupported(constraint[field], _POLICIES, (*path, field))
    yield from _domains(constraint, action, path)


def _domains(constraint: dict[str, Any], action: str, path: Path) -> Iterator[Problem]:
    domains, at = constraint.get("minDomains"), (*path, "minDomains")
    if domains is None:
        return
    if domains < 1:
        yield outside(domains, 1, None, at)
    if action != _ACTIONS[0]:
        message = f"`minDomains` needs `whenUnsatisfiable: {_ACTIONS[0]}`"
        yield Problem("conflicting-values", at, message, "remove one of the two, or change `whenUnsatisfiable`", at_key=True)
