"""Evaluate the CEL rules of a kind.

Follows `Validator.Validate`, k8s.io/apiextensions-apiserver pkg/apiserver/schema/cel, 0.36. The server evaluates rules only if the whole
object has no other problem; here, only the value of the rule must have none. Rules of our own kinds are evaluated by Python functions,
all others by the CEL library.
"""

from __future__ import annotations

from jobspec.apis.cel_rules import RULES, UNFIT, CelRule, fails, is_transition, objection
from jobspec.diagnostics.places import Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.kubernetes.problems import describe, name_of, rule_message
from jobspec.schemas.shapes import Shape, child_of, children

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from jobspec.kubernetes.correlation import Correlated

    Rule = dict[str, Any]


def broken_rules(
    whole: Any, shape: Shape, found: Sequence[Problem] = (), before: Correlated | None = None, *, unnamed: bool = False
) -> Problems:
    """Yield the rules that a value with its defaults breaks.

    Rules that cannot be evaluated here are yielded as `rule-not-evaluated`. A rule is skipped if its value has one of the problems
    *found* before. On an update, *before* correlates the value with the stored one: values that did not change may break rules that are
    not transition rules. The rules of the root are skipped for an *unnamed* object, as the server does.
    """
    yield from _visit(whole, shape, (), found, before, None, unnamed=unnamed)


def _visit(
    value: Any,
    shape: Shape,
    path: Path,
    found: Sequence[Problem],
    before: Correlated | None,
    around: Correlated | None,
    *,
    unnamed: bool = False,
) -> Problems:
    """Yield the broken rules of a value and of all values inside.

    *around*: the nearest value around it with a counterpart.
    """
    if value is None or not (shape.ruled_on_create or (before and shape.ruled_on_update)):
        return
    old = before.old if before else None
    for rule in () if unnamed else shape.rules:
        yield from _judge(rule, value, old, shape, path, found, before or around)
    for step, child, inner in children(value, shape):
        yield from _visit(inner, child, (*path, step), found, before and before.inside(step), before or around)


def _judge(rule: Rule, value: Any, old: Any, shape: Shape, path: Path, found: Sequence[Problem], touched: Correlated | None) -> Problems:
    known = _own_rule(rule["rule"])
    own = known is not None and not rule.get("optionalOldSelf") and not rule.get("messageExpression")
    about = known.about if known and own else ()
    place = (*path, *about)
    # a rule about a place waits for a problem there or inside, and for a wrong type around it
    if any(each.path[: len(place)] == place or (each.rule == "wrong-type" and place[: len(each.path)] == each.path) for each in found):
        return
    if known is None or not own:
        from jobspec.kubernetes.cel.evaluation import run_rule

        yield from run_rule(rule, value, old, shape, path, touched)
    elif not is_transition(known.text):
        yield from _broken(known, rule, value, shape, path, touched)
    elif old is not None:
        yield from _new_objection(known, rule, value, old, shape, path)


def _own_rule(text: str) -> CelRule | None:
    """Return the rule of our own kinds that has a text. If no such rule has the text, return None."""
    if text in RULES:
        return RULES[text]
    from jobspec.apis import queue_rules

    return queue_rules.RULES.get(text)


def _broken(known: CelRule, rule: Rule, value: Any, shape: Shape, path: Path, touched: Correlated | None) -> Problems:
    seen = _for_functions(value, shape)
    hint = objection(known, seen)
    if hint is not None and not (touched and touched.is_same() and not fails(known, seen)):
        place = (*path, *_reported_at(known.about, value), *_field_path(rule))
        yield Problem("rule-broken", place, f"{name_of(place)} violates a validation rule: {rule_message(rule)}", hint)


def _reported_at(about: Path, value: Any) -> Path:
    """The path that a rule is about, from its value; `generateName` instead of a generated name."""
    metadata = value.get("metadata") if about == ("metadata", "name") else None
    if isinstance(metadata, dict) and metadata.get("generateName"):
        return ("metadata", "generateName")
    return about


def _new_objection(known: CelRule, rule: Rule, value: Any, old: Any, shape: Shape, path: Path) -> Problems:
    from jobspec.kubernetes.correlation import aligned

    if objection(known, _for_functions(value, shape), _for_functions(aligned(old, value, shape), shape)) is not None:
        was = "" if isinstance(old, dict | list) else f", and was {describe(old)}"
        place = (*path, *_field_path(rule))
        message = f"{name_of(place)} is immutable{was}: {rule_message(rule)}"
        yield Problem("rule-broken", place, message, "restore the old value, or delete the object and recreate it")


def _field_path(rule: Rule) -> Path:
    """The path in a rule's `fieldPath`, empty without one."""
    if not rule.get("fieldPath"):
        return ()
    from jobspec.kubernetes.cel.paths import steps_of

    return steps_of(rule["fieldPath"])


def _for_functions(value: Any, shape: Shape) -> Any:
    """Convert a value for the Python functions of rules.

    It has no nulls. Times become timestamps. Values of wrong types become NaN, which equals nothing.
    """
    is_neither = shape.type == "int-or-string" and type(value) not in (int, str)
    if is_neither or (isinstance(value, list) and shape.type not in ("array", "any")):
        return UNFIT
    if isinstance(value, dict):
        inside = {name: (inner, child_of(shape, name)) for name, inner in value.items() if inner is not None}
        return {name: _for_functions(inner, child) if child else inner for name, (inner, child) in inside.items()}
    if isinstance(value, list) and shape.items is not None:
        return [_for_functions(item, shape.items) for item in value]
    return _timestamp(value) if shape.format == "date-time" else value


def _timestamp(time: Any) -> Any:
    """An RFC 3339 time as a timestamp; any other value unchanged."""
    from datetime import datetime

    try:
        return datetime.fromisoformat(time).timestamp()
    except (TypeError, ValueError):
        return time
