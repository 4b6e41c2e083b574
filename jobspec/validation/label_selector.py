"""Check a label selector in a typed object.

Follows `ValidateLabelSelector`, k8s.io/apimachinery pkg/apis/meta/v1/validation, 0.36.
"""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.validation.metadata import bad_label_value, bad_qualified_name
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def selector_problems(selector: Any, path: Path) -> Iterator[Problem]:
    """The problems of the labels and conditions of a selector; a value of a wrong type is skipped."""
    if not isinstance(selector, dict):
        return
    labels, expressions = selector.get("matchLabels"), selector.get("matchExpressions")
    for key, value in labels.items() if isinstance(labels, dict) else ():
        yield from _label_key(key, (*path, "matchLabels", Key(key)), at_key=True)
        yield from _label_value(value, (*path, "matchLabels", Key(key)))
    for index, condition in enumerate(expressions if isinstance(expressions, list) else ()):
        if condition is None:
            message = f"the condition {index} of `matchExpressions` is empty, without the required `key` and `operator`"
            yield Problem("missing-field", (*path, "matchExpressions", index), message, "remove it, or write the condition")
        elif isinstance(condition, dict):
            yield from _condition(condition, (*path, "matchExpressions", index))


def _condition(condition: dict[str, Any], path: Path) -> Iterator[Problem]:
    from jobspec.validation.complaints import missing_by_code
    from jobspec.validation.wording import closest, describe, listed

    key, operator, values = condition.get("key"), condition.get("operator"), condition.get("values")
    if key:
        yield from _label_key(key, (*path, "key"))
    else:
        yield missing_by_code("key", condition, path)
    if not operator:
        yield missing_by_code("operator", condition, path, f"it is one of {listed(_OPERATORS)}")
    elif operator not in _OPERATORS:
        message = f"`operator` takes one of {listed(_OPERATORS)}, not {describe(operator)}"
        yield Problem("unsupported-choice", (*path, "operator"), message, closest(operator, _OPERATORS))
    elif operator in ("Exists", "DoesNotExist") and values:
        message = f"`{operator}` is about the label's key alone, and takes no `values`"
        yield Problem("conflicting-values", (*path, "values"), message, "remove the values, or write `In` or `NotIn`")
        return
    elif operator in ("In", "NotIn") and not values:
        yield missing_by_code("values", condition, path, f"`{operator}` compares the label with a list of values")
    for index, value in enumerate(values if isinstance(values, list) else ()):
        yield from _label_value(value, (*path, "values", index))


def _label_key(key: Any, path: Path, *, at_key: bool = False) -> Iterator[Problem]:
    if isinstance(key, str) and (why := bad_qualified_name(key)):
        yield Problem("wrong-format", path, f'"{key}" is no label key: {why}', at_key=at_key)


def _label_value(value: Any, path: Path) -> Iterator[Problem]:
    if isinstance(value, str) and (why := bad_label_value(value)):
        yield Problem("wrong-format", path, f'"{value}" is no label value: {why}')
