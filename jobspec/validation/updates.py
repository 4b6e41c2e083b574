"""What an API server says to an update besides what it says to any object: what may not change, and what may stay as it was."""

from __future__ import annotations

from jobspec import kinds
from jobspec.cel_rules import is_transition
from jobspec.validation import structural
from jobspec.validation.correlation import inside, is_same
from jobspec.validation.defaults import filled
from jobspec.validation.structural import Problem
from jobspec.validation.wording import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.shapes import Shape

_META: Path = ("metadata",)
_IDENTITY = ("uid", "resourceVersion")  # what a client says to mean this very object and state
_FIXED = ("deletionTimestamp", "deletionGracePeriodSeconds")


def problems(data: dict[str, Any], old: dict[str, Any], shape: Shape | None, found: list[Problem]) -> list[Problem]:
    """What stands against an update; *found* is what its structure has against it, *shape* that of a custom resource."""
    kept = _without_untouched(found, data, old, shape) if shape else found
    metadata, stored = data.get("metadata"), old.get("metadata")
    if isinstance(metadata, dict) and isinstance(stored, dict):
        kept = [*kept, *metadata_problems(metadata, stored, builtin=shape is None)]
    if kinds.group_kind(data["apiVersion"], data["kind"]) == kinds.PERSISTENT_VOLUME_CLAIM:
        from jobspec.validation import claim_update

        judged = {problem.path for problem in kept}
        kept += [problem for problem in claim_update.problems(data, old) if problem.path not in judged]
    return kept


def metadata_problems(new: dict[str, Any], old: dict[str, Any], *, builtin: bool = False) -> Iterator[Problem]:
    """What stands against the metadata of an update; what it leaves out, the server keeps.

    Of a prefix for names, no more is asked than what a URL can hold, but for a *builtin* kind, of which it is looked at in any case.
    """
    prefix = new.get("generateName")
    if isinstance(prefix, str) and not builtin and (set("/%") & set(prefix)):
        yield Problem(
            "invalid-name", (*_META, "generateName"), f"`{prefix}` cannot begin a name: it cannot hold `/` or `%`", "leave it out"
        )
    for field in _IDENTITY:
        if new.get(field) and old.get(field) and new[field] != old[field]:
            message = (
                f"`{field}` is {describe(new[field])}, and the stored object's is {describe(old[field])}: another state of it is meant"
            )
            yield Problem("immutable-field", (*_META, field), message, "leave it out")
    for field in _FIXED:
        if new.get(field) is not None and new[field] != old.get(field):
            yield Problem("immutable-field", (*_META, field), f"`{field}` cannot be set by an update", "leave it out")
    kept = old.get("finalizers") or []
    for index, name in enumerate(new.get("finalizers") or [] if old.get("deletionTimestamp") else []):
        if name not in kept:
            message = f"`{name}` cannot be added to the finalizers of an object that is being deleted"
            yield Problem("immutable-field", (*_META, "finalizers", index), message)


def _without_untouched(found: list[Problem], data: dict[str, Any], old: dict[str, Any], shape: Shape) -> list[Problem]:
    """The problems of a custom resource's structure without those of values that are as the stored object has them.

    What stands twice in a list may do so where anything did before.
    """
    if not found:
        return found
    new, before = filled(data, shape), filled(old, shape)
    repeats = any(problem.rule == _TWICE for problem in structural.problems(old, shape))
    return [
        problem
        for problem in found
        if problem.rule in _NEVER_KEPT or not (repeats if problem.rule == _TWICE else _is_untouched(new, before, shape, problem))
    ]


_NEVER_KEPT = ("unknown-field", "wrong-indentation")
_TWICE = "duplicate-item"


def _is_untouched(new: Any, old: Any, shape: Shape | None, problem: Problem) -> bool:
    """Whether a wrong value, or one around it, is what the stored object has in the same place.

    A rule that compares both states cannot do so where it meets a wrong type.
    """
    untouched = False
    for step in problem.path:
        new, old, shape = _inside(new, old, shape, step)
        if new is None or old is None or shape is None:
            break
        if problem.rule == "wrong-type" and any(is_transition(rule["rule"]) for rule in shape.rules):
            return False
        untouched = untouched or is_same(new, old, shape)
    return untouched


def _inside(new: Any, old: Any, shape: Shape | None, step: str | int) -> tuple[Any, Any, Shape | None]:
    assert shape
    found = (each for each in inside(new, old, shape) if each[0] == step)
    return next(((value, before, child) for _, child, value, before in found), (None, None, None))
