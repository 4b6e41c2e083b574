"""Leave out the problems of an update at values that did not change.

Follows `ratchetingValueValidator`, k8s.io/apiextensions-apiserver pkg/apiserver/validation, 0.36.
"""

from __future__ import annotations

from jobspec.apis.cel_rules import UNCHANGED
from jobspec.diagnostics.places import Data
from jobspec.diagnostics.problems import Problem
from jobspec.kubernetes.correlation import Correlated
from jobspec.kubernetes.structural import schema_problems
from jobspec.schemas.shapes import Shape


def without_unchanged(found: list[Problem], before: Correlated, stored: Data) -> list[Problem]:
    """Leave out the problems of an update at values that are equal in the *stored* object."""
    if not found:
        return found
    has_duplicates = any(problem.rule == "duplicate-item" for problem in schema_problems(stored, before.shape))

    def is_kept(problem: Problem) -> bool:
        return has_duplicates if problem.rule == "duplicate-item" else _is_unchanged(problem, before)

    return [problem for problem in found if problem.rule == "unknown-field" or not is_kept(problem)]


def _is_unchanged(problem: Problem, before: Correlated) -> bool:
    """True if a wrong value, or one around it, equals the stored one, and no rule fails on it."""
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
    """True if a rule must read a value that CEL has no type for.

    The rule is on the value itself, or compares all around it.
    """
    from jobspec.kubernetes.cel.evaluation import has_type_in_cel

    steps = [shape.at(problem.path[:length]) for length in range(len(problem.path) + 1)]
    around = [each for each in steps if each]
    if problem.rule != "wrong-type" and not (problem.rule == "wrong-format" and has_type_in_cel(around[-1])):
        return False
    return bool(around[-1].rules) or any(rule["rule"] == UNCHANGED.text for each in around for rule in each.rules)
