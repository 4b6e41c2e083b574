"""What the server's Go code says of a LimitRange.

Follows `ValidateLimitRange`, k8s.io/kubernetes pkg/apis/core/validation, 1.36, after `SetDefaults_LimitRangeItem`, pkg/apis/core/v1.
"""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.validation.builtin_kinds.resource_names import bad_resource
from jobspec.validation.complaints import missing_by_code, unsupported_choice
from jobspec.validation.metadata import bad_qualified_name
from jobspec.validation.pods.amounts import amount_of
from jobspec.validation.pods.resource_names import bad_container_resource, can_be_promised_twice
from jobspec.validation.problem import Problem
from jobspec.validation.wording import listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

    #: The texts of quantities by resource, by the field that they stand in.
    Amounts = dict[str, dict[str, str]]

_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
_FIELDS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
#: Fields of which the first cannot be more than the second, and the one where that is told.
_IN_ORDER = (
    ("min", "max", "min"),
    ("min", "defaultRequest", "defaultRequest"),
    ("defaultRequest", "max", "defaultRequest"),
    ("defaultRequest", "default", "defaultRequest"),
    ("min", "default", "default"),
    ("default", "max", "default"),
)
_LARGE = ((1 << 63) - 1) // 1000


def problems(made: dict[str, Any], _: Any) -> Iterator[Problem]:
    """The problems of each item, and of items of one type."""
    seen: set[str] = set()
    for index, item in enumerate(made.get("spec", {}).get("limits", ())):
        path: Path = ("spec", "limits", index)
        kind = item.get("type", "")
        yield from _type(kind, (*path, "type")) if kind else (missing_by_code("type", item, path, f"it is one of {listed(_TYPES)}"),)
        if kind in seen:
            yield Problem("duplicate-item", (*path, "type"), f"there are limits of the type `{kind}` already", "put both in one item")
        seen.add(kind)
        yield from _item(item, kind, path)


def _type(kind: str, path: Path) -> Iterator[Problem]:
    if why := bad_qualified_name(kind):
        yield Problem("invalid-name", path, f"`{kind}` is no type: {why}", f"it is one of {listed(_TYPES)}")
    elif "/" not in kind and kind not in _TYPES:
        yield unsupported_choice(kind, _TYPES, path)


def _item(item: dict[str, Any], kind: str, path: Path) -> Iterator[Problem]:
    given: Amounts = {field: item.get(field, {}) for field in _FIELDS}
    bad_name = bad_container_resource if kind in ("Pod", "Container") else bad_resource
    if kind == "Pod":
        for field in ("default", "defaultRequest"):
            if given.pop(field):
                yield Problem("conflicting-values", (*path, field), f"limits of pods as a whole have no `{field}`", "remove it")
    for field, amounts in given.items():
        for name in amounts:
            if why := bad_name(name):
                yield Problem("invalid-name", (*path, field, Key(name)), f"`{name}` is no resource of a {kind}: {why}", at_key=True)
    if kind == "PersistentVolumeClaim" and not any("storage" in given[field] for field in ("min", "max")):
        yield Problem(
            "missing-field", (*path, "limits"), "limits of claims need the least or the most `storage`", "write `max: {storage: 1Ti}`"
        )
    filled = _filled(given) if kind == "Container" else given
    for name in dict.fromkeys(name for amounts in filled.values() for name in amounts):
        yield from _resource(name, filled, given, path)


def _filled(given: Amounts) -> Amounts:
    """The amounts with those that the server fills in: limits from the most, requests from limits or else from the least."""
    limits = given["max"] | given["default"]
    return {**given, "default": limits, "defaultRequest": given["min"] | limits | given["defaultRequest"]}


def _resource(name: str, filled: Amounts, given: Amounts, path: Path) -> Iterator[Problem]:
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
        yield Problem("conflicting-values", (*path, at, Key(name)), message, "leave out `defaultRequest`")


def _ratio(name: str, amounts: dict[str, int], path: Path) -> Iterator[Problem]:
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
