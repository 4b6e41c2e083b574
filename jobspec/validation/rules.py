"""The CEL rules of a kind, where an API server evaluates them: on values as it holds them, and as far as they are sound.

The server looks at no rule before the whole object is sound; here, a rule waits for its own value alone.
"""

from __future__ import annotations

from jobspec.cel_rules import RULES, is_transition, objection
from jobspec.validation.correlation import comparable, inside, is_same
from jobspec.validation.defaults import filled
from jobspec.validation.metadata import MAX_PREFIX
from jobspec.validation.structural import Problem, name_of
from jobspec.validation.wording import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.shapes import Shape

_RANDOM = "xxxxx"  # what the server adds to a prefix


def problems(data: dict[str, Any], shape: Shape, found: list[Problem], old: dict[str, Any] | None = None) -> Iterator[Problem]:
    """The rules that an object breaks, on an update of *old* where that is given; *found* is what else stands against it."""
    wanted = 2 if old is None else 1
    if shape.ruled < wanted:
        return
    before = None if old is None else _as_rules_see_it(old, shape)
    for problem in _visit(_as_rules_see_it(data, shape), before, shape, (), wanted):
        if not any(each.path[: len(problem.path)] == problem.path for each in found):
            yield problem


def _as_rules_see_it(data: dict[str, Any], shape: Shape) -> dict[str, Any]:
    """The object without its status, which no request sets, and with its name, or the one that it would get, as all of its metadata."""
    whole: dict[str, Any] = filled(data, shape)
    whole.pop("status", None)
    metadata = whole.get("metadata")
    if isinstance(metadata, dict):
        name, prefix = metadata.get("name"), metadata.get("generateName")
        if not name and isinstance(prefix, str) and prefix:
            name = prefix[:MAX_PREFIX] + _RANDOM
        seen = {"name": name, "generateName": prefix}
        whole["metadata"] = {field: value for field, value in seen.items() if value}
    return whole


def _visit(value: Any, old: Any, shape: Shape, path: Path, wanted: int) -> Iterator[Problem]:
    for rule in shape.rules if path or _has_name(value) else ():
        if is_transition(rule["rule"]):
            yield from _changed(rule, value, old, shape, path) if old is not None else ()
        elif old is None or not path or not is_same(value, old, shape):  # what is not touched may stay
            yield from _broken(rule, value, path)
    for step, child, inner, before in inside(value, old, shape):
        if child.ruled >= wanted:
            yield from _visit(inner, before, child, (*path, step), wanted)


def _has_name(whole: dict[str, Any]) -> bool:
    """Whether the object is so far that a server looks at the rules on it as a whole."""
    metadata = whole.get("metadata")
    return isinstance(metadata, dict) and "name" in metadata


def _broken(rule: dict[str, Any], value: Any, path: Path) -> Iterator[Problem]:
    known = RULES[rule["rule"]]
    hint = objection(known, value)
    if hint is not None:
        place = _told_at(known.about, value, path)
        yield Problem("rule-broken", place, f"{name_of(place)} breaks a rule of its kind: {rule['message']}", hint)


def _told_at(about: Path, value: Any, path: Path) -> Path:
    """Where to point for a rule: at what it is about; for a name that the server would make, at its prefix."""
    if about == ("metadata", "name") and "generateName" in value["metadata"]:
        return ("metadata", "generateName")
    return (*path, *about)


def _changed(rule: dict[str, Any], value: Any, old: Any, shape: Shape, path: Path) -> Iterator[Problem]:
    if objection(RULES[rule["rule"]], comparable(value, shape), comparable(old, shape)) is not None:
        was = "" if isinstance(old, dict | list) else f", and was {describe(old)}"
        message = f"{name_of(path)} cannot change once the object exists{was}: {rule['message']}"
        yield Problem("rule-broken", path, message, "put back what was there, or delete the object and create it anew")
