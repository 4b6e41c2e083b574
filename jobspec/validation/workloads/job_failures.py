"""A Job's `podFailurePolicy`: what failures of its pods lead to.

Follows `validatePodFailurePolicy`, k8s.io/kubernetes pkg/apis/batch/validation, with the defaults of pkg/apis/batch/v1, 1.36.
"""

from __future__ import annotations

from jobspec.validation.metadata import bad_qualified_name
from jobspec.validation.pods.complaints import missing, unsupported, wrong_size
from jobspec.validation.problem import Problem
from jobspec.validation.reading import is_given, items, mapping, structs, text
from jobspec.validation.wording import closest, listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_STATUS = ("False", "True", "Unknown")
_MOST_RULES = 20
_MOST_CONDITIONS = 20
_MOST_CODES = 255


def failure_policy(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of the policy of a Job's spec."""
    at = (*path, "podFailurePolicy", "rules")
    rules = structs(mapping(spec, "podFailurePolicy"), "rules")
    if len(rules) > _MOST_RULES:
        yield wrong_size(len(rules), "rule", "most", _MOST_RULES, at)
    pod = mapping(spec, "template", "spec")
    containers = [text(each, "name") for field in ("containers", "initContainers") for each in structs(pod, field)]
    for index, rule in enumerate(rules):
        yield from _rule(rule, (*at, index), containers, by_index=is_given(spec, "backoffLimitPerIndex"))


def _rule(rule: dict[str, Any], path: Path, containers: list[str], *, by_index: bool) -> Iterator[Problem]:
    action = text(rule, "action")
    if not action:
        yield missing("action", rule, path, f"it is one of {listed(_ACTIONS)}")
    elif action not in _ACTIONS:
        yield unsupported(action, _ACTIONS, (*path, "action"))
    elif action == "FailIndex" and not by_index:
        message = "`FailIndex` fails an index, and indexes fail by themselves only with `backoffLimitPerIndex`"
        yield Problem("conflicting-values", (*path, "action"), message, "set `backoffLimitPerIndex`, or write `FailJob`")
    codes, conditions = rule.get("onExitCodes"), structs(rule, "onPodConditions")
    if codes is not None:
        yield from _exit_codes(mapping(codes), (*path, "onExitCodes"), containers)
    yield from _conditions(conditions, (*path, "onPodConditions"))
    if (codes is not None) == bool(conditions):
        has = "has both" if conditions else "has neither"
        message = f"a rule has either `onExitCodes` or `onPodConditions`, and this one {has}"
        yield Problem("conflicting-values" if conditions else "missing-field", path, message)


def _exit_codes(codes: dict[str, Any], path: Path, containers: list[str]) -> Iterator[Problem]:
    operator = text(codes, "operator")
    if not operator:
        yield missing("operator", codes, path, "it is `In` or `NotIn`")
    elif operator not in ("In", "NotIn"):
        yield unsupported(operator, ("In", "NotIn"), (*path, "operator"))
    name = text(codes, "containerName")
    if is_given(codes, "containerName") and name not in containers:
        message = f"the pod template has no container `{name}`; there is {listed(containers) or 'none'}"
        yield Problem("unsupported-choice", (*path, "containerName"), message, closest(name, containers))
    yield from _codes([each or 0 for each in items(codes, "values")], (*path, "values"), operator, codes)


def _codes(values: list[Any], path: Path, operator: str, around: dict[str, Any]) -> Iterator[Problem]:
    if not values:
        yield missing("values", around, path[:-1], "it is a list of exit codes, such as `[42]`")
    elif len(values) > _MOST_CODES:
        yield wrong_size(len(values), "exit code", "most", _MOST_CODES, path)
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            yield Problem("out-of-range", (*path, index), "0 is the exit code of success, and cannot stand `In` the codes of a failure")
        if value in values[:index]:
            yield Problem("duplicate-item", (*path, index), f"the exit code {value} stands twice", "remove one of the two")
    numbers = [value for value in values if isinstance(value, int | float)]
    if numbers != sorted(numbers):
        yield Problem("wrong-format", path, "the exit codes have to stand in order", f"write `{sorted(numbers)}`")


def _conditions(conditions: list[dict[str, Any]], path: Path) -> Iterator[Problem]:
    if len(conditions) > _MOST_CONDITIONS:
        yield wrong_size(len(conditions), "condition", "most", _MOST_CONDITIONS, path)
    for index, condition in enumerate(conditions):
        kind, status = text(condition, "type"), text(condition, "status") or "True"
        if why := bad_qualified_name(kind):
            yield Problem("wrong-format", (*path, index, "type"), f'"{kind}" is no type of a condition: {why}')
        if status not in _STATUS:
            yield unsupported(status, _STATUS, (*path, index, "status"))
