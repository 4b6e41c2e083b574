"""Check a value against the `anyOf`, `oneOf`, `allOf` and `not` of its shape.

Follows `schemaPropsValidator.Validate`, k8s.io/kube-openapi pkg/validation/validate. Branches of a structural schema declare no types,
except those of `int-or-string`. On an update, a value that did not change is not checked; inside a branch, everything is.
"""

from __future__ import annotations

from jobspec.shapes import TYPES
from jobspec.validation.conditions import broken_conditions, has_format_of_texts
from jobspec.validation.correlation import children
from jobspec.validation.problem import Problem, name_of
from jobspec.validation.wording import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.shapes import Shape
    from jobspec.validation.correlation import Correlated

    Branches = list[tuple[Shape, str]]


class _NotEvaluated(Exception):
    """Whether a branch fits depends on a pattern that cannot be matched here; the text says on which."""


def broken_combinations(value: Any, shape: Shape, path: Path, before: Correlated | None) -> Iterator[Problem]:
    """The problems of a value with its defaults, and of all values inside it; on an update, *before* correlates it with the stored one."""
    if value is None or not shape.combined or not _has_type(value, shape) or (before and before.is_same()):
        return
    yield from _of_value(value, shape, path)
    for step, child, inner in children(value, shape):
        yield from broken_combinations(inner, child, (*path, step), before and before.inside(step))


def broken_branch(value: Any, branch: Shape, path: Path) -> Iterator[Problem]:
    """The problems of a value, and of all values inside it, by a branch; none if the value has another type than the branch."""
    if not _has_type(value, branch):
        return
    if value is not None:
        yield from _of_value(value, branch, path)
        if isinstance(value, dict):
            yield from _of_fields(value, branch, path)
        for step, child, inner in children(value, branch):
            yield from broken_branch(inner, child, (*path, step))
    yield from broken_conditions(value, branch, path)


def _of_fields(value: dict[str, Any], branch: Shape, path: Path) -> Iterator[Problem]:
    for name in branch.required:
        if name not in value:
            yield Problem("missing-field", path, f"the required field `{name}` of {name_of(path)} is missing", at_key=True)
    if not branch.open and branch.fields is not None:
        for name in value.keys() - branch.fields.keys():
            yield Problem("unknown-field", (*path, name), f"{name_of(path)} has no field `{name}`", at_key=True)


def _of_value(value: Any, shape: Shape, path: Path) -> Iterator[Problem]:
    try:
        yield from _one_of_them(value, shape.branches.get("anyOf", []), path)
        yield from _exactly_one(value, shape.branches.get("oneOf", []), path)
        for branch, text in shape.branches.get("not", []):
            if _fits(value, branch):
                yield Problem("wrong-combination", path, f"{name_of(path)} cannot be what `not` excludes: {text}")
    except _NotEvaluated as error:
        yield Problem("rule-not-evaluated", path, str(error))
    for branch, _ in shape.branches.get("allOf", []):
        yield from broken_branch(value, branch, path)


def _one_of_them(value: Any, branches: Branches, path: Path) -> Iterator[Problem]:
    if branches and not any(_fits(value, branch) for branch, _ in branches):
        yield _unfit(value, path, "at least one of", "anyOf", branches)


def _exactly_one(value: Any, branches: Branches, path: Path) -> Iterator[Problem]:
    number = sum(_fits(value, branch) for branch, _ in branches)
    if branches and number != 1:
        yield _unfit(value, path, "exactly one of", "oneOf", branches, f"; {number} hold" if number else "")


def _unfit(value: Any, path: Path, how_many: str, keyword: str, branches: Branches, more: str = "") -> Problem:
    choices = "; ".join(text for _, text in branches)
    what = f", not {describe(value)}" if not isinstance(value, (dict, list)) else ""
    return Problem("wrong-combination", path, f"{name_of(path)} takes {how_many} the {keyword} ({choices}){what}{more}")


def _fits(value: Any, branch: Shape) -> bool:
    """Whether a value is valid against a branch."""
    if not _fits_type(value, branch):
        return False
    found = list(broken_branch(value, branch, ()))
    unsure = [problem for problem in found if problem.rule == "rule-not-evaluated"]
    if unsure and len(unsure) == len(found):
        raise _NotEvaluated(unsure[0].message)
    return not found


def _has_type(value: Any, shape: Shape) -> bool:
    """Whether a value has the type of a shape, or is null; `structural` reports a wrong type."""
    return value is None or shape.type in ("any", "bare") or type(value) in TYPES[shape.type]


def _fits_type(value: Any, branch: Shape) -> bool:
    if value is None:
        return branch.type == "any" or branch.nullable
    text_only = branch.type in ("any", "int-or-string") and has_format_of_texts(branch.conditions)
    return _has_type(value, branch) and not (text_only and not isinstance(value, (str, list)))
