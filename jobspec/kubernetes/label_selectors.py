"""Label selectors: what is wrong with one, and which labels it selects; of nodes, numbers can be compared, too.

Follows `ValidateLabelSelector`, k8s.io/apimachinery pkg/apis/meta/v1/validation, `LabelSelectorAsSelector`, pkg/apis/meta/v1, and
`Requirement.Matches`, pkg/labels, 0.36.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Data, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go.values import integer, mapping, string_map, structs, text, texts
from jobspec.kubernetes.metadata import bad_label_value, bad_qualified_name, wanted_label_problems
from jobspec.kubernetes.problems import closest, describe, excluded, formed, listed, missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


SELECTOR_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def selector_problems(selector: Any, path: Path) -> Problems:
    """Yield the problems of the labels and conditions of a selector.

    Values of a wrong type are skipped.
    """
    if not isinstance(selector, dict):
        return
    labels, expressions = selector.get("matchLabels"), selector.get("matchExpressions")
    if isinstance(labels, dict):
        yield from wanted_label_problems(labels, (*path, "matchLabels"))
    for index, condition in enumerate(expressions if isinstance(expressions, list) else ()):
        if condition is None:
            message = f"the condition {index} of `matchExpressions` is empty, without the required `key` and `operator`"
            yield Problem("missing-field", (*path, "matchExpressions", index), message, "remove it, or write the condition")
        elif isinstance(condition, dict):
            yield from _condition(condition, (*path, "matchExpressions", index))


def _condition(condition: Data, path: Path) -> Problems:
    key, operator, values = condition.get("key"), condition.get("operator"), condition.get("values")
    if not key:
        yield missing("key", condition, path)
    elif isinstance(key, str):
        yield from formed(key, "label key", bad_qualified_name, (*path, "key"))
    if not operator:
        yield missing("operator", condition, path, f"it is one of {listed(SELECTOR_OPERATORS)}")
    elif operator not in SELECTOR_OPERATORS:
        message = f"`operator`: expected one of {listed(SELECTOR_OPERATORS)}, got {describe(operator)}"
        yield Problem("unsupported-choice", (*path, "operator"), message, closest(operator, SELECTOR_OPERATORS))
    elif operator in ("Exists", "DoesNotExist") and values:
        yield excluded((*path, "values"), f"`operator: {operator}` does not allow `values`", "remove the values, or write `In` or `NotIn`")
        return
    elif operator in ("In", "NotIn") and not values:
        yield missing("values", condition, path, f"`{operator}` compares the label with a list of values")
    for index, value in enumerate(values if isinstance(values, list) else ()):
        if isinstance(value, str):
            yield from formed(value, "label value", bad_label_value, (*path, "values", index))


def selects(selector: Any, labels: Mapping[str, str]) -> bool:
    """True if a valid selector selects an object with these labels. An empty one selects all."""
    return all(meets(labels, each) for each in requirements(selector))


def requirements(selector: Any) -> list[Data]:
    """Return all requirements of a selector, each as an item of `matchExpressions`."""
    pairs = [{"key": key, "operator": "In", "values": [value]} for key, value in string_map(mapping(selector), "matchLabels").items()]
    return pairs + structs(selector, "matchExpressions")


def meets(labels: Mapping[str, str], requirement: Data) -> bool:
    """True if labels meet a requirement."""
    key, operator, values = text(requirement, "key"), text(requirement, "operator"), texts(requirement, "values")
    if operator == "In":
        return key in labels and labels[key] in values
    if operator == "NotIn":
        return key not in labels or labels[key] not in values
    if operator in ("Gt", "Lt"):
        return is_beyond(operator, labels.get(key, ""), values[0] if values else "")
    return (key in labels) == (operator == "Exists")


def is_beyond(operator: str, value: str, limit: str) -> bool:
    """True if the integer in *value* is above the one in *limit* (`Gt`), or below it (`Lt`)."""
    one, other = integer(value), integer(limit)
    return one is not None and other is not None and (one > other if operator == "Gt" else one < other)
