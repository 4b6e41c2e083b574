"""A workload's selector, which has to be right and to select the pods of the workload's own template.

Follows `LabelSelectorAsSelector`, k8s.io/apimachinery pkg/apis/meta/v1, and `Requirement.Matches`, pkg/labels, 0.36.
"""

from __future__ import annotations

from jobspec.validation.label_selector import selector_problems
from jobspec.validation.pods.complaints import missing
from jobspec.validation.problem import Problem
from jobspec.validation.reading import mapping, string_map, structs, text, texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from jobspec.diagnostics import Path

_SELECTOR: Path = ("spec", "selector")
_TEMPLATE_LABELS: Path = ("spec", "template", "metadata", "labels")


def workload_selector(spec: dict[str, Any]) -> Iterator[Problem]:
    """The problems of the selector of a Deployment or of one of its kin: it is required, not empty, and selects the template's pods."""
    selector = spec.get("selector")
    if selector is None:
        labels = string_map(mapping(spec, "template", "metadata"), "labels")
        hint = "write the labels of the template under `selector.matchLabels`" if labels else ""
        yield missing("selector", spec, ("spec",), hint)
    elif isinstance(selector, dict) and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield Problem("wrong-size", _SELECTOR, "the selector is empty, and would select every pod", "name labels under `matchLabels`")
    else:
        wrong = list(selector_problems(selector, _SELECTOR))
        yield from wrong or unmatched(selector, spec)


def unmatched(selector: Any, spec: dict[str, Any]) -> Iterator[Problem]:
    """The problem of a right selector that does not select the pods of the template beside it."""
    labels = string_map(mapping(spec, "template", "metadata"), "labels")
    missed = misses(mapping(selector), labels)
    if missed:
        message = f"the selector wants {', '.join(missed)}, and the labels of the pod template are not so"
        yield Problem("conflicting-values", _TEMPLATE_LABELS, message, "give the template the labels that are selected")


def misses(selector: dict[str, Any], labels: Mapping[str, str]) -> list[str]:
    """The conditions of a right selector, in words, that *labels* do not meet."""
    wanted = string_map(selector, "matchLabels")
    missed = [f"`{key}: {value}`" for key, value in wanted.items() if labels.get(key) != value]
    return missed + [_in_words(each) for each in structs(selector, "matchExpressions") if not _meets(each, labels)]


def _meets(condition: dict[str, Any], labels: Mapping[str, str]) -> bool:
    key, operator, values = text(condition, "key"), text(condition, "operator"), texts(condition, "values")
    if operator == "In":
        return key in labels and labels[key] in values
    if operator == "NotIn":
        return key not in labels or labels[key] not in values
    return (key in labels) == (operator == "Exists")


def _in_words(condition: dict[str, Any]) -> str:
    values = texts(condition, "values")
    return f"`{text(condition, 'key')} {text(condition, 'operator')}{f' {values}' if values else ''}`"
