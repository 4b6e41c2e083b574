"""What the server's Go code says of a PodDisruptionBudget.

Follows `ValidatePodDisruptionBudget`, k8s.io/kubernetes pkg/apis/policy/validation, 1.36.
"""

from __future__ import annotations

from jobspec.validation.builtin_kinds.texts import share_problems
from jobspec.validation.complaints import unsupported_choice
from jobspec.validation.label_selector import selector_problems
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_BOUNDS = ("minAvailable", "maxUnavailable")
_POLICIES = ("AlwaysAllow", "IfHealthyBudget")


def problems(budget: dict[str, Any], _: Any) -> Iterator[Problem]:
    """The problems of a new or changed budget."""
    spec = budget.get("spec", {})
    if all(field in spec for field in _BOUNDS):
        message = "`minAvailable` and `maxUnavailable` exclude each other"
        yield Problem("conflicting-values", ("spec",), message, "keep one of the two", at_key=True)
    for field in _BOUNDS:
        if field in spec:
            yield from share_problems(spec[field], ("spec", field))
    yield from selector_problems(spec.get("selector"), ("spec", "selector"))
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _POLICIES:
        yield unsupported_choice(policy, _POLICIES, ("spec", "unhealthyPodEvictionPolicy"))
