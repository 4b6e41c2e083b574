"""What an update may leave wrong: values that it does not touch.

Follows `ratchetingValueValidator`, k8s.io/apiextensions-apiserver pkg/apiserver/validation, 0.36.
"""

from __future__ import annotations

from jobspec.validation.cel.text import uses_old_self
from jobspec.validation.structural import schema_problems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.shapes import Shape
    from jobspec.validation.correlation import Correlated
    from jobspec.validation.problem import Problem

_TWICE = "duplicate-item"


def without_untouched(found: list[Problem], before: Correlated, stored: dict[str, Any]) -> list[Problem]:
    """The problems of an update without those of values that are as the *stored* object has them.

    What stands twice in a list may do so where anything did before. Unknown fields are never stored.
    """
    if not found:
        return found
    repeats = any(problem.rule == _TWICE for problem in schema_problems(stored, before.shape))
    return [
        problem
        for problem in found
        if problem.rule == "unknown-field" or not (repeats if problem.rule == _TWICE else _is_untouched(problem, before))
    ]


def _is_untouched(problem: Problem, before: Correlated) -> bool:
    """Whether a wrong value, or one around it, is what the stored object has in the same place.

    A rule that compares both states cannot do so where it meets a wrong type.
    """
    at: Correlated | None = before
    for step in problem.path:
        at = at and at.inside(step)
        if at is None:
            return False
        if problem.rule == "wrong-type" and _compares(at.shape):
            return False
        if at.is_same():
            return True
    return before.is_same()


def _compares(shape: Shape) -> bool:
    return any(uses_old_self(rule["rule"]) for rule in shape.rules)
