"""The taints that a pod tolerates.

Follows `ValidateTolerations`, k8s.io/kubernetes pkg/apis/core/validation, 1.36. The operators `Lt` and `Gt` are behind a feature gate that
is off.
"""

from __future__ import annotations

from jobspec.validation.metadata import bad_label_value, bad_qualified_name
from jobspec.validation.pods.complaints import describe, unsupported
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_OPERATORS = ("Equal", "Exists")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def toleration_problems(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of a pod's tolerations."""
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        yield from one_toleration_problems(toleration, (*path, "tolerations", index))


def one_toleration_problems(toleration: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of one toleration."""
    key, operator, value = toleration.get("key") or "", toleration.get("operator") or "Equal", toleration.get("value") or ""
    if key and (why := bad_qualified_name(key)):
        yield Problem("wrong-format", (*path, "key"), f'"{key}" is no key of a taint: {why}')
    if operator not in _OPERATORS:
        yield unsupported(operator, _OPERATORS, (*path, "operator"))
    elif not key and operator != "Exists":
        message = "without a `key`, which means all taints, the operator is `Exists`"
        yield Problem("conflicting-values", (*path, "operator"), message, "write `operator: Exists`, or the key", at_key=True)
    if operator == "Exists" and value:
        message = f"`Exists` is about the key alone, and takes no `value`, such as {describe(value)}"
        yield Problem("conflicting-values", (*path, "value"), message, "remove the value, or write `operator: Equal`")
    elif operator == "Equal" and (why := bad_label_value(value)):
        yield Problem("wrong-format", (*path, "value"), f'"{value}" is no value of a taint: {why}')
    yield from _effect(toleration, path)


def _effect(toleration: dict[str, Any], path: Path) -> Iterator[Problem]:
    effect = toleration.get("effect") or ""
    if effect and effect not in _EFFECTS:
        yield unsupported(effect, _EFFECTS, (*path, "effect"))
    elif "tolerationSeconds" in toleration and effect != "NoExecute":
        message = "`tolerationSeconds` is the time until an eviction, for which the effect has to be `NoExecute`"
        yield Problem(
            "conflicting-values", (*path, "effect"), message, "write `effect: NoExecute`, or remove `tolerationSeconds`", at_key=True
        )
