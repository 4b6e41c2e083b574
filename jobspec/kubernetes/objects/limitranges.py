"""The server's Go rules for a LimitRange.

Follows `ValidateLimitRange`, k8s.io/kubernetes pkg/apis/core/validation, 1.36, after `SetDefaults_LimitRangeItem`, pkg/apis/core/v1.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Data, Key, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go.quantities import amount_of
from jobspec.kubernetes import metadata
from jobspec.kubernetes.objects.resource_names import bad_limited_resource
from jobspec.kubernetes.pods.resources import allows_overcommit, bad_container_resource
from jobspec.kubernetes.problems import (
    excluded,
    field_items,
    listed,
    missing,
    one_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    #: The texts of quantities by resource, by the field that they stand in.
    Amounts = dict[str, dict[str, str]]


_LIMITED = ("Pod", "Container", "PersistentVolumeClaim")
_AMOUNT_FIELDS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
#: Two fields, of which the first must not exceed the second, and the field to report.
_IN_ORDER = (
    ("min", "max", "min"),
    ("min", "defaultRequest", "defaultRequest"),
    ("defaultRequest", "max", "defaultRequest"),
    ("defaultRequest", "default", "defaultRequest"),
    ("min", "default", "default"),
    ("default", "max", "default"),
)
_LARGEST = (1 << 63) - 1
_LARGE = _LARGEST // 1000


def limitrange_problems(made: Data, _old: Data | None, _release: str) -> Problems:
    """Yield the problems of each item, and of items of one type."""
    seen: set[str] = set()
    for path, item in field_items(made.get("spec", {}), "limits", ("spec",)):
        kind = item.get("type", "")
        if not kind:
            yield missing("type", item, path, f"it is one of {listed(_LIMITED)}")
        elif why := metadata.bad_qualified_name(kind):
            yield Problem("invalid-name", (*path, "type"), f"`{kind}` is not a type: {why}", f"it is one of {listed(_LIMITED)}")
        elif "/" not in kind:
            yield from one_of(kind, _LIMITED, (*path, "type"))
        if kind in seen:
            yield Problem("duplicate-item", (*path, "type"), f"duplicate limits of the type `{kind}`", "put both in one item")
        seen.add(kind)
        yield from _item(item, kind, path)


def _item(item: Data, kind: str, path: Path) -> Problems:
    given: Amounts = {field: item.get(field, {}) for field in _AMOUNT_FIELDS}
    bad_name = bad_container_resource if kind in ("Pod", "Container") else bad_limited_resource
    if kind == "Pod":
        for field in ("default", "defaultRequest"):
            if given.pop(field):
                yield excluded((*path, field), f"limits of pods as a whole have no `{field}`")
    for field, amounts in given.items():
        for name in amounts:
            if why := bad_name(name):
                yield Problem("invalid-name", (*path, field, Key(name)), f"`{name}` is not a resource of a {kind}: {why}", at_key=True)
    if kind == "PersistentVolumeClaim" and not any("storage" in given[field] for field in ("min", "max")):
        message = "limits of claims need a minimum or maximum of `storage`"
        yield Problem("missing-field", (*path, "limits"), message, "write `max: {storage: 1Ti}`")
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
    for less, more, reported in [each for each in wrong if written >= {*each[:2]}] or wrong[:1]:
        message = f"`{less}` of `{name}` ({filled[less][name]}) is more than its `{more}` ({filled[more][name]})"
        at = next((field for field in (reported, less, more) if field in written), "max")
        yield Problem("conflicting-values", (*path, at, Key(name)), message)
    yield from _ratio(name, amounts, (*path, "maxLimitRequestRatio", Key(name)))
    both = "default" in amounts and "defaultRequest" in amounts
    if both and not allows_overcommit(name) and amounts["default"] != amounts["defaultRequest"]:
        at = next(field for field in ("defaultRequest", "default", "max") if field in written)
        message = f"of `{name}`, no limit is above the request, so `default` and `defaultRequest` are one amount"
        yield excluded((*path, at, Key(name)), message, "remove `defaultRequest`")


def _ratio(name: str, amounts: dict[str, int], path: Path) -> Problems:
    """The problems of `maxLimitRequestRatio`, in thousandths."""
    ratio = amounts.get("maxLimitRequestRatio")
    if ratio is None:
        return
    if ratio < 1000:
        yield Problem("out-of-range", path, f"the ratio of `{name}` must be at least 1: a limit is not below its request")
    least, most = amounts.get("min"), amounts.get("max")
    if least and most is not None and _exceeds(ratio, most, least):
        yield Problem("conflicting-values", path, f"the ratio of `{name}` is more than that of its `max` to its `min`")


def _exceeds(ratio: int, most: int, least: int) -> bool:
    """True if a ratio is above another one, by the numbers that Go compares.

    If one of them is large, these are whole numbers.
    """
    whole = [min(-(-each // 1000), _LARGEST) for each in (ratio, most, least)]
    if all(each < _LARGE for each in whole):
        return ratio / 1000 > most / least
    return bool(whole[2]) and whole[0] > whole[1] / whole[2]
