"""Bring together what the walk on the structure found in an object, and what Go code found in what was decoded of it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobspec.diagnostics import Path
    from jobspec.validation.problem import Problem


def beside(found: list[Problem], of_code: Iterable[Problem]) -> list[Problem]:
    """The problems *found* in the structure of a built-in object, and those *of code* that do not follow from them.

    Go code alone decides which fields are required, but for metadata. What it says about a place that could not be decoded, or about what
    is inside of it, is left out, and so is a missing field for which an unknown one was meant.
    """
    kept = [problem for problem in found if problem.rule != "missing-field" or problem.path[:1] == ("metadata",)]
    if not kept:
        return list(of_code)
    broken = {problem.path for problem in kept if problem.rule != "unknown-field"}
    meant = {
        (*problem.path[:-1], name)
        for problem in kept
        if problem.rule == "unknown-field"
        for name in (problem.path[-1], problem.meant, problem.belongs)
    }
    meant |= {problem.path[:-1] for problem in kept if problem.rule == "unknown-field"}  # of what takes one of several fields
    return [*kept, *(each for each in of_code if not _follows(each, broken, meant))]


def _follows(problem: Problem, broken: set[Path], meant: set[Path]) -> bool:
    path = problem.path
    return any(path[:end] in broken for end in range(len(path) + 1)) or (problem.rule == "missing-field" and path in meant)
