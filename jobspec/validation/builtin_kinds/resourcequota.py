"""What the server's Go code says of a ResourceQuota.

Follows `ValidateResourceQuotaSpec` and `ValidateResourceQuotaUpdate`, k8s.io/kubernetes pkg/apis/core/validation, 1.36, and
`IsResourceQuotaScopeValidForResource`, pkg/apis/core/helper.
"""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.validation.builtin_kinds.resource_names import COUNTED, bad_quota_resource, is_of_quota
from jobspec.validation.builtin_kinds.texts import fixed
from jobspec.validation.complaints import missing_by_code, unsupported_choice
from jobspec.validation.pods.amounts import amount_of, is_whole
from jobspec.validation.pods.resource_names import is_extended
from jobspec.validation.problem import Problem
from jobspec.validation.wording import closest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_PODS = ("pods",)
_OF_PODS = ("pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory")
#: The resources that a quota of each scope can count.
_COUNTED_IN = {
    "Terminating": _OF_PODS,
    "NotTerminating": _OF_PODS,
    "NotBestEffort": _OF_PODS,
    "PriorityClass": _OF_PODS,
    "CrossNamespacePodAffinity": _OF_PODS,
    "BestEffort": _PODS,
    "VolumeAttributesClass": ("persistentvolumeclaims", "requests.storage"),
}
_WITHOUT_VALUES = ("BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity")
_OPPOSITES = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def problems(quota: dict[str, Any], _: Any) -> Iterator[Problem]:
    """The problems of the amounts and the scopes."""
    spec = quota.get("spec", {})
    hard = spec.get("hard", {})
    for name, text in hard.items():
        yield from _amount(name, text, ("spec", "hard", Key(name)))
    scopes = spec.get("scopes", [])
    for index, scope in enumerate(scopes):
        yield from _scope(scope, hard, ("spec", "scopes", index))
    yield from _opposites(scopes, ("spec", "scopes"))
    conditions = spec.get("scopeSelector", {}).get("matchExpressions", [])
    path = ("spec", "scopeSelector", "matchExpressions")
    for index, condition in enumerate(conditions):
        yield from _condition(condition, hard, (*path, index))
    yield from _opposites([each.get("scopeName", "") for each in conditions], path)


def update_problems(quota: dict[str, Any], old: dict[str, Any]) -> Iterator[Problem]:
    """The problem of other scopes."""
    if set(quota.get("spec", {}).get("scopes", ())) != set(old.get("spec", {}).get("scopes", ())):
        yield fixed(("spec", "scopes"), "the `scopes` of a quota cannot change", "make another quota")


def _amount(name: str, text: str, path: Path) -> Iterator[Problem]:
    if why := bad_quota_resource(name):
        hint = closest(name, (*COUNTED, "requests.cpu", "requests.memory", "limits.cpu", "limits.memory", "requests.storage"))
        yield Problem("invalid-name", path, f"`{name}` is nothing that a quota counts: {why}", hint, at_key=True)
    if amount_of(text) < 0:
        yield Problem("out-of-range", path, f"`{name}` cannot be negative, as {text} is")
    elif (name in COUNTED or is_extended(name)) and not is_whole(text):
        yield Problem("wrong-format", path, f"of `{name}` there are whole numbers alone, and {text} is none")


def _scope(scope: str, hard: Iterable[str], path: Path) -> Iterator[Problem]:
    if scope not in _COUNTED_IN:
        yield unsupported_choice(scope, sorted(_COUNTED_IN), path)
        return
    wrong = [name for name in hard if is_of_quota(name) and name not in _COUNTED_IN[scope]]
    if wrong:
        message = f"a quota of the scope `{scope}` cannot count `{wrong[0]}`"
        yield Problem("conflicting-values", path, message, f"it can count {', '.join(f'`{each}`' for each in _COUNTED_IN[scope])}")


def _opposites(scopes: list[str], path: Path) -> Iterator[Problem]:
    for pair in _OPPOSITES:
        if {*pair} <= {*scopes}:
            yield Problem("conflicting-values", path, f"no pod is in the scopes `{pair[0]}` and `{pair[1]}`", "keep one of the two")


def _condition(condition: dict[str, Any], hard: Iterable[str], path: Path) -> Iterator[Problem]:
    scope, operator, values = condition.get("scopeName", ""), condition.get("operator", ""), condition.get("values", [])
    yield from _scope(scope, hard, (*path, "scopeName"))
    if operator not in _OPERATORS:
        yield unsupported_choice(operator, _OPERATORS, (*path, "operator"))
    elif scope in _WITHOUT_VALUES and operator != "Exists":
        yield Problem(
            "conflicting-values", (*path, "operator"), f"the scope `{scope}` has no values to compare", "write `operator: Exists`"
        )
    if operator in ("In", "NotIn") and not values:
        yield missing_by_code("values", condition, path, f"`{operator}` compares with a list of values")
    elif operator in ("Exists", "DoesNotExist") and values:
        yield Problem("conflicting-values", (*path, "values"), f"`{operator}` takes no `values`", "remove the values, or write `In`")
