"""Which nodes a pod requires and likes.

Follows `validateNodeAffinity`, `ValidateNodeSelector` and `ValidatePreferredSchedulingTerms`, k8s.io/kubernetes
pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.validation.metadata import bad_label_value, bad_qualified_name, bad_subdomain
from jobspec.validation.pods.complaints import missing, outside, unsupported
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

REQUIRED, PREFERRED = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_OF_FIELDS = ("In", "NotIn")
_FIELD = "metadata.name"


def node_affinity_problems(affinity: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of `nodeAffinity`."""
    if REQUIRED in affinity:
        terms, at = affinity[REQUIRED].get("nodeSelectorTerms") or (), (*path, REQUIRED)
        if not terms:
            yield missing("nodeSelectorTerms", affinity[REQUIRED], at, "write at least one term, or remove the requirement")
        for index, term in enumerate(terms):
            yield from _term(term, (*at, "nodeSelectorTerms", index), values=True)
    for index, preferred in enumerate(affinity.get(PREFERRED) or ()):
        at = (*path, PREFERRED, index)
        yield from weight_problems(preferred, at)
        yield from _term(preferred.get("preference") or {}, (*at, "preference"), values=False)


def weight_problems(preferred: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problem of the weight of a preference."""
    weight = preferred.get("weight", 0)
    if "weight" not in preferred:
        yield missing("weight", preferred, path, "write 1 to 100")
    elif not 1 <= weight <= 100:
        yield outside(weight, 1, 100, (*path, "weight"))


def _term(term: dict[str, Any], path: Path, *, values: bool) -> Iterator[Problem]:
    """The problems of a term; a preference's *values* can be any text."""
    for index, condition in enumerate(term.get("matchExpressions") or ()):
        yield from _of_label(condition, (*path, "matchExpressions", index), values=values)
    for index, condition in enumerate(term.get("matchFields") or ()):
        yield from _of_field(condition, (*path, "matchFields", index))


def _of_label(condition: dict[str, Any], path: Path, *, values: bool) -> Iterator[Problem]:
    key, operator, given = condition.get("key") or "", condition.get("operator") or "", condition.get("values") or ()
    if not key:
        yield missing("key", condition, path)
    elif why := bad_qualified_name(key):
        yield Problem("wrong-format", (*path, "key"), f'"{key}" is no label key: {why}')
    yield from _operator(condition, _OPERATORS, path)
    if operator in ("In", "NotIn") and not given:
        yield missing("values", condition, path, f"`{operator}` compares the label with a list of values")
    elif operator in ("Exists", "DoesNotExist") and given:
        message = f"`{operator}` is about the label's key alone, and takes no `values`"
        yield Problem("conflicting-values", (*path, "values"), message, "remove the values, or write `In` or `NotIn`")
    elif operator in ("Gt", "Lt") and len(given) != 1:
        yield Problem("wrong-size", (*path, "values"), f"`{operator}` compares the label with one value, not {len(given)}")
    for index, value in enumerate(given if values else ()):
        if why := bad_label_value(value):
            yield Problem("wrong-format", (*path, "values", index), f'"{value}" is no label value: {why}')


def _of_field(condition: dict[str, Any], path: Path) -> Iterator[Problem]:
    key, operator, given = condition.get("key") or "", condition.get("operator") or "", condition.get("values") or ()
    yield from _operator(condition, _OF_FIELDS, path)
    if operator in _OF_FIELDS and len(given) != 1:
        yield Problem("wrong-size", (*path, "values"), f"a field of a node is compared with one value, not {len(given)}")
    if not key:
        yield missing("key", condition, path, f"it is `{_FIELD}`")
    elif key != _FIELD:
        yield unsupported(key, (_FIELD,), (*path, "key"))
    else:
        for index, value in enumerate(given):
            if why := bad_subdomain(value):
                yield Problem("invalid-name", (*path, "values", index), f'"{value}" is no name for a node: {why}')


def _operator(condition: dict[str, Any], operators: tuple[str, ...], path: Path) -> Iterator[Problem]:
    operator = condition.get("operator") or ""
    if not operator:
        yield missing("operator", condition, path, f"it is one of `{'`, `'.join(operators)}`")
    elif operator not in operators:
        yield unsupported(operator, operators, (*path, "operator"))
