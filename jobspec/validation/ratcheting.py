"""Leave out the problems of an update that the server ratchets: those of values that did not change.

Follows `ratchetingValueValidator`, k8s.io/apiextensions-apiserver pkg/apiserver/validation, 0.36.
"""

from __future__ import annotations

from jobspec.cel_rules import UNCHANGED
from jobspec.validation.cel.evaluation import has_type_in_cel
from jobspec.validation.structural import schema_problems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.shapes import Shape
    from jobspec.validation.correlation import Correlated
    from jobspec.validation.problem import Problem

_DUPLICATE = "duplicate-item"


def without_unchanged(found: list[Problem], before: Correlated, stored: dict[str, Any]) -> list[Problem]:
    """The problems of an update, without those of values that are equal in the *stored* object.

    Unknown fields are always problems. Duplicate items are none if any list of the stored object has some.
    """
    if not found:
        return found
    has_duplicates = any(problem.rule == _DUPLICATE for problem in schema_problems(stored, before.shape))
    return [
        problem
        for problem in found
        if problem.rule == "unknown-field" or not (has_duplicates if problem.rule == _DUPLICATE else _is_unchanged(problem, before))
    ]


def _is_unchanged(problem: Problem, before: Correlated) -> bool:
    """Whether a wrong value, or one around it, is equal to its counterpart in the stored object, and no rule fails on it."""
    at = before
    for step in problem.path:
        inside = at.inside(step)
        if inside is None:
            return False
        if inside.is_same():
            return not _fails_a_rule(problem, before.shape)
        at = inside
    return before.is_same()


def _fails_a_rule(problem: Problem, shape: Shape) -> bool:
    """Whether a rule has to read a value that CEL has no type for: one on the value itself, or one that compares all around it."""
    steps = [shape.at(problem.path[:length]) for length in range(len(problem.path) + 1)]
    around = [each for each in steps if each]
    if problem.rule != "wrong-type" and not (problem.rule == "wrong-format" and has_type_in_cel(around[-1])):
        return False
    return bool(around[-1].rules) or any(rule["rule"] == UNCHANGED.text for each in around for rule in each.rules)
