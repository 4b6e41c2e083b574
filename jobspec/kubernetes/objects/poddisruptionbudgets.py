"""The server's Go rules for a PodDisruptionBudget.

Follows `ValidatePodDisruptionBudget`, k8s.io/kubernetes pkg/apis/policy/validation, 1.36.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Data
from jobspec.diagnostics.problems import Problems
from jobspec.kubernetes.label_selectors import selector_problems
from jobspec.kubernetes.objects.shared import share_problems
from jobspec.kubernetes.problems import (
    choice,
    excluded,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass


_BOUNDS = ("minAvailable", "maxUnavailable")
_EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")


def poddisruptionbudget_problems(budget: Data, _old: Data | None, _release: str) -> Problems:
    """Yield the problems of a new or changed budget."""
    spec = budget.get("spec", {})
    if all(field in spec for field in _BOUNDS):
        yield excluded(("spec",), "`minAvailable` and `maxUnavailable` are mutually exclusive", "keep one of the two", at_key=True)
    for field in _BOUNDS:
        if field in spec:
            yield from share_problems(spec[field], ("spec", field))
    yield from selector_problems(spec.get("selector"), ("spec", "selector"))
    yield from choice(spec, "unhealthyPodEvictionPolicy", _EVICTION_POLICIES, ("spec",))
