"""The server's Go rules for a ResourceQuota.

Follows `ValidateResourceQuotaSpec` and `ValidateResourceQuotaUpdate`, k8s.io/kubernetes pkg/apis/core/validation, 1.36, and
`IsResourceQuotaScopeValidForResource`, pkg/apis/core/helper.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Data, Key, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go.quantities import amount_of, is_whole
from jobspec.kubernetes.label_selectors import SELECTOR_OPERATORS
from jobspec.kubernetes.objects.resource_names import bad_quota_resource, is_of_quota
from jobspec.kubernetes.pods.resources import COUNTED, is_extended
from jobspec.kubernetes.problems import (
    closest,
    excluded,
    field_items,
    fixed,
    missing,
    unsupported,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


_OF_PODS = ("pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory")
#: The resources that a quota of each scope can count.
_COUNTED_IN = {
    **dict.fromkeys(("Terminating", "NotTerminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"), _OF_PODS),
    "BestEffort": ("pods",),
    "VolumeAttributesClass": ("persistentvolumeclaims", "requests.storage"),
}
_WITHOUT_VALUES = ("BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity")
_OPPOSITES = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))


def resourcequota_problems(quota: Data, old: Data | None, _: str) -> Problems:
    """Yield the problems of the amounts, and of the scopes, which cannot change."""
    spec = quota.get("spec", {})
    hard = spec.get("hard", {})
    for name, text in hard.items():
        yield from _amount_problems(name, text, ("spec", "hard", Key(name)))
    for at, scope in field_items(spec, "scopes", ("spec",)):
        yield from _scope(scope, hard, at)
    yield from _opposites(spec.get("scopes", ()), ("spec", "scopes"))
    selector, path = spec.get("scopeSelector", {}), ("spec", "scopeSelector")
    for at, condition in field_items(selector, "matchExpressions", path):
        yield from _condition(condition, hard, at)
    names = [each.get("scopeName", "") for each in selector.get("matchExpressions", ())]
    yield from _opposites(names, (*path, "matchExpressions"))
    if old is not None and set(spec.get("scopes", ())) != set(old.get("spec", {}).get("scopes", ())):
        yield fixed(("spec", "scopes"), "the `scopes` of a quota cannot change", "create another quota")


def _amount_problems(name: str, text: str, path: Path) -> Problems:
    if why := bad_quota_resource(name):
        hint = closest(name, (*COUNTED, "requests.cpu", "requests.memory", "limits.cpu", "limits.memory", "requests.storage"))
        yield Problem("invalid-name", path, f"`{name}` is not a resource that a quota counts: {why}", hint, at_key=True)
    if amount_of(text) < 0:
        yield Problem("out-of-range", path, f"`{name}` must not be negative, got {text}")
    elif (name in COUNTED or is_extended(name)) and not is_whole(text):
        yield Problem("wrong-format", path, f"`{name}` must be a whole number, got {text}")


def _scope(scope: str, hard: Iterable[str], path: Path) -> Problems:
    if scope not in _COUNTED_IN:
        yield unsupported(scope, sorted(_COUNTED_IN), path)
        return
    wrong = [name for name in hard if is_of_quota(name) and name not in _COUNTED_IN[scope]]
    if wrong:
        message = f"a quota of the scope `{scope}` cannot count `{wrong[0]}`"
        yield excluded(path, message, f"it can count {', '.join(f'`{each}`' for each in _COUNTED_IN[scope])}")


def _opposites(scopes: Iterable[str], path: Path) -> Problems:
    for pair in _OPPOSITES:
        if {*pair} <= {*scopes}:
            yield excluded(path, f"no pod is in the scopes `{pair[0]}` and `{pair[1]}`", "keep one of the two")


def _condition(condition: Data, hard: Iterable[str], path: Path) -> Problems:
    scope, operator, values = condition.get("scopeName", ""), condition.get("operator", ""), condition.get("values", [])
    yield from _scope(scope, hard, (*path, "scopeName"))
    if operator not in SELECTOR_OPERATORS:
        yield unsupported(operator, SELECTOR_OPERATORS, (*path, "operator"))
    elif scope in _WITHOUT_VALUES and operator != "Exists":
        yield excluded((*path, "operator"), f"the scope `{scope}` has no values to compare", "write `operator: Exists`")
    if operator in ("In", "NotIn") and not values:
        yield missing("values", condition, path, f"`{operator}` compares with a list of values")
    elif operator in ("Exists", "DoesNotExist") and values:
        yield excluded((*path, "values"), f"`operator: {operator}` does not allow `values`", "remove the values, or write `In`")
