"""What the server's Go code says of LimitRanges and ResourceQuotas.

Follows `ValidateLimitRange`, k8s.io/kubernetes pkg/apis/core/validation, 1.36, after `SetDefaults_LimitRangeItem`, pkg/apis/core/v1.
"""

from __future__ import annotations

from jobspec.diagnostics import Data, Key, Path, Problem, Problems
from jobspec.go.quantities import amount_of, is_whole
from jobspec.kubernetes.metadata import bad_qualified_name
from jobspec.kubernetes.namespaced_kinds import fixed
from jobspec.kubernetes.pods.resources import COUNTED, bad_container_resource, can_be_promised_twice, is_extended
from jobspec.kubernetes.problems import closest, listed, missing, one_of, unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    #: The texts of quantities by resource, by the field that they stand in.
    Amounts = dict[str, dict[str, str]]

    KindRules = Callable[[Data, Any], Problems]


_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
_FIELDS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
#: Fields of which the first cannot be more than the second, and the one at which that is reported.
_IN_ORDER = (
    ("min", "max", "min"),
    ("min", "defaultRequest", "defaultRequest"),
    ("defaultRequest", "max", "defaultRequest"),
    ("defaultRequest", "default", "defaultRequest"),
    ("min", "default", "default"),
    ("default", "max", "default"),
)
_LARGE = ((1 << 63) - 1) // 1000


def limitrange_problems(made: Data, _: Any) -> Problems:
    """The problems of each item, and of items of one type."""
    seen: set[str] = set()
    for index, item in enumerate(made.get("spec", {}).get("limits", ())):
        path: Path = ("spec", "limits", index)
        kind = item.get("type", "")
        if not kind:
            yield missing("type", item, path, f"it is one of {listed(_TYPES)}")
        elif why := bad_qualified_name(kind):
            yield Problem("invalid-name", (*path, "type"), f"`{kind}` is not a type: {why}", f"it is one of {listed(_TYPES)}")
        elif "/" not in kind:
            yield from one_of(kind, _TYPES, (*path, "type"))
        if kind in seen:
            yield Problem("duplicate-item", (*path, "type"), f"there are limits of the type `{kind}` already", "put both in one item")
        seen.add(kind)
        yield from _item(item, kind, path)


def _item(item: Data, kind: str, path: Path) -> Problems:
    given: Amounts = {field: item.get(field, {}) for field in _FIELDS}
    bad_name = (
        bad_container_resource if kind in ("Pod", "Container") else lambda name: "" if name == "storage" else bad_quota_resource(name)
    )
    if kind == "Pod":
        for field in ("default", "defaultRequest"):
            if given.pop(field):
                yield Problem("conflicting-values", (*path, field), f"limits of pods as a whole have no `{field}`", "remove it")
    for field, amounts in given.items():
        for name in amounts:
            if why := bad_name(name):
                yield Problem("invalid-name", (*path, field, Key(name)), f"`{name}` is not a resource of a {kind}: {why}", at_key=True)
    if kind == "PersistentVolumeClaim" and not any("storage" in given[field] for field in ("min", "max")):
        yield Problem(
            "missing-field", (*path, "limits"), "limits of claims need the least or the most `storage`", "write `max: {storage: 1Ti}`"
        )
    filled = given
    if kind == "Container":  # the server fills in limits from the most, requests from limits or else from the least
        limits = given["max"] | given["default"]
        filled = {**given, "default": limits, "defaultRequest": given["min"] | limits | given["defaultRequest"]}
    for name in dict.fromkeys(name for amounts in filled.values() for name in amounts):
        yield from _resource(name, filled, given, path)


def _resource(name: str, filled: Amounts, given: Amounts, path: Path) -> Problems:
    amounts = {field: amount_of(texts[name]) for field, texts in filled.items() if name in texts}
    written = {field for field, texts in given.items() if name in texts}
    wrong = [each for each in _IN_ORDER if amounts.keys() >= {*each[:2]} and amounts[each[0]] > amounts[each[1]]]
    for less, more, told in [each for each in wrong if written >= {*each[:2]}] or wrong[:1]:
        message = f"`{less}` of `{name}` ({filled[less][name]}) is more than its `{more}` ({filled[more][name]})"
        at = next((field for field in (told, less, more) if field in written), "max")
        yield Problem("conflicting-values", (*path, at, Key(name)), message)
    yield from _ratio(name, amounts, (*path, "maxLimitRequestRatio", Key(name)))
    both = "default" in amounts and "defaultRequest" in amounts
    if both and not can_be_promised_twice(name) and amounts["default"] != amounts["defaultRequest"]:
        at = next(field for field in ("defaultRequest", "default", "max") if field in written)
        message = f"of `{name}`, no limit is above the request, so `default` and `defaultRequest` are one amount"
        yield Problem("conflicting-values", (*path, at, Key(name)), message, "remove `defaultRequest`")


def _ratio(name: str, amounts: dict[str, int], path: Path) -> Problems:
    """The problems of the most that a limit can be above its request, in thousandths."""
    ratio = amounts.get("maxLimitRequestRatio")
    if ratio is None:
        return
    if ratio < 1000:
        yield Problem("out-of-range", path, f"a limit is no less than its request, so that the ratio of `{name}` is 1 or more")
    least, most = amounts.get("min"), amounts.get("max")
    if least and most is not None and _exceeds(ratio, most, least):
        yield Problem("conflicting-values", path, f"the ratio of `{name}` is more than that of its `max` to its `min`")


def _exceeds(ratio: int, most: int, least: int) -> bool:
    """Whether a ratio is above another, by the numbers that Go compares: whole ones where one of them is large."""
    whole = [-(-each // 1000) for each in (ratio, most, least)]
    if all(each < _LARGE for each in whole):
        return ratio / 1000 > most / least
    return bool(whole[2]) and whole[0] > whole[1] / whole[2]


# What the server's Go code says of a ResourceQuota.
#
# Follows `ValidateResourceQuotaSpec` and `ValidateResourceQuotaUpdate`, k8s.io/kubernetes pkg/apis/core/validation, 1.36, and
# `IsResourceQuotaScopeValidForResource`, pkg/apis/core/helper.


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


def resourcequota_problems(quota: Data, _: Any) -> Problems:
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


def resourcequota_update_problems(quota: Data, old: Data) -> Problems:
    """The problem of other scopes."""
    if set(quota.get("spec", {}).get("scopes", ())) != set(old.get("spec", {}).get("scopes", ())):
        yield fixed(("spec", "scopes"), "the `scopes` of a quota cannot change", "make another quota")


def _amount(name: str, text: str, path: Path) -> Problems:
    if why := bad_quota_resource(name):
        hint = closest(name, (*COUNTED, "requests.cpu", "requests.memory", "limits.cpu", "limits.memory", "requests.storage"))
        yield Problem("invalid-name", path, f"`{name}` is nothing that a quota counts: {why}", hint, at_key=True)
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
        yield Problem("conflicting-values", path, message, f"it can count {', '.join(f'`{each}`' for each in _COUNTED_IN[scope])}")


def _opposites(scopes: list[str], path: Path) -> Problems:
    for pair in _OPPOSITES:
        if {*pair} <= {*scopes}:
            yield Problem("conflicting-values", path, f"no pod is in the scopes `{pair[0]}` and `{pair[1]}`", "keep one of the two")


def _condition(condition: Data, hard: Iterable[str], path: Path) -> Problems:
    scope, operator, values = condition.get("scopeName", ""), condition.get("operator", ""), condition.get("values", [])
    yield from _scope(scope, hard, (*path, "scopeName"))
    if operator not in _OPERATORS:
        yield unsupported(operator, _OPERATORS, (*path, "operator"))
    elif scope in _WITHOUT_VALUES and operator != "Exists":
        yield Problem(
            "conflicting-values", (*path, "operator"), f"the scope `{scope}` has no values to compare", "write `operator: Exists`"
        )
    if operator in ("In", "NotIn") and not values:
        yield missing("values", condition, path, f"`{operator}` compares with a list of values")
    elif operator in ("Exists", "DoesNotExist") and values:
        yield Problem(
            "conflicting-values", (*path, "values"), f"`operator: {operator}` does not allow `values`", "remove the values, or write `In`"
        )


# The names of resources in quotas and limits of a namespace.
#
# Follows `validateResourceName` and `ValidateResourceQuotaResourceName`, k8s.io/kubernetes pkg/apis/core/validation, and
# `IsStandardResourceName`, `IsStandardQuotaResourceName` and `IsIntegerResourceName`, pkg/apis/core/helper, 1.36.


_COMPUTED = ("cpu", "memory", "ephemeral-storage")
_OF_QUOTAS = frozenset(
    (*COUNTED, *_COMPUTED, *(f"requests.{each}" for each in (*_COMPUTED, "storage")), *(f"limits.{each}" for each in _COMPUTED))
)
_HUGE_PAGES = ("hugepages-", "requests.hugepages-")


def is_of_quota(name: str) -> bool:
    """Whether a quota counts a resource under a name without a domain."""
    return name in _OF_QUOTAS or name.startswith(_HUGE_PAGES)


def bad_quota_resource(name: str) -> str:
    """Why a quota cannot count a resource; empty if it can."""
    if why := bad_qualified_name(name):
        return why
    return (
        "" if "/" in name or is_of_quota(name) else "it is not a resource of Kubernetes, and others have a domain, as `nvidia.com/gpu` has"
    )


#: Kind -> the rules on each object, and those on an update besides.
RULES: dict[str, tuple[KindRules, KindRules | None]] = {
    "LimitRange": (limitrange_problems, None),
    "ResourceQuota": (resourcequota_problems, resourcequota_update_problems),
}
