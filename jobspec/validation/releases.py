"""Add to problems which other releases have the unknown field, or accept the wrong value."""

from __future__ import annotations

from jobspec import shapes
from jobspec.kinds import COMPONENTS
from jobspec.targets import RELEASES
from jobspec.validation import structural
from jobspec.validation.problem import Problem, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.shapes import Shape
    from jobspec.targets import Target

_ABOUT_VALUES = ("wrong-type", "unsupported-choice", "wrong-size", "out-of-range", "wrong-format")


def with_releases(problems: list[Problem], data: Any, kind: tuple[str, str], target: Target) -> list[Problem]:
    """The problems; those that another release of the kind's operator does not have say so."""
    component = _component(kind)
    others = [release for release in RELEASES[component] if release != target[component]]
    return [_with_releases(problem, data, kind, others, target) for problem in problems] if others else problems


def _component(kind: tuple[str, str]) -> str:
    return COMPONENTS.get(kind, "kubernetes")


def _with_releases(problem: Problem, data: Any, kind: tuple[str, str], others: list[str], target: Target) -> Problem:
    if problem.rule != "unknown-field" and problem.rule not in _ABOUT_VALUES:
        return problem
    component = _component(kind)
    known = {release: shape for release in others if (shape := _shape(problem.path, kind, {**target, component: release}))}
    if problem.rule == "unknown-field":
        return _other_field(problem, known, kind, target) if known else problem
    value = value_at(data, problem.path)
    problems_at = structural.typed_problems_at if component == "kubernetes" else structural.schema_problems_at
    accepting = [release for release, shape in known.items() if not problems_at(value, shape, problem.path)]
    if not accepting or problem.hint:
        return problem
    hint = f"{component} {_range(accepting, others)} {'takes' if len(accepting) == 1 else 'take'} it; the target is {target[component]}"
    return Problem(problem.rule, problem.path, problem.message, hint, at_key=problem.at_key, remedy=problem.remedy)


def _other_field(problem: Problem, known: dict[str, Shape], kind: tuple[str, str], target: Target) -> Problem:
    component = _component(kind)
    releases = list(RELEASES[component])
    own = releases.index(target[component])
    name = f"`{problem.path[-1]}`"
    earlier = [release for release in known if releases.index(release) < own]
    if earlier:
        gone = releases[releases.index(earlier[-1]) + 1]
        message, hint = f"{name} was removed in {component} {gone}", ""
        if known[earlier[-1]].use:
            message += f"; use {known[earlier[-1]].use}"
    else:
        first = next(iter(known))
        message = f"{name} came with {component} {first}, and the target is {target[component]}"
        hint = f"leave it out, or say `--target {component}={first}`"
    return Problem(problem.rule, problem.path, message, hint, at_key=problem.at_key)


def _shape(path: Path, kind: tuple[str, str], target: Target) -> Shape | None:
    root = shapes.load(*kind, target)
    return root.at(path) if root else None


def _range(releases: list[str], all_others: list[str]) -> str:
    """Releases in words: `2.0.0 to 2.1.0`, or one by one if the range has others."""
    first, last = all_others.index(releases[0]), all_others.index(releases[-1])
    if len(releases) == 1:
        return releases[0]
    return f"{releases[0]} to {releases[-1]}" if last - first + 1 == len(releases) else ", ".join(releases)
