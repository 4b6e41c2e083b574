"""Evaluate CEL rules with the CEL library.

Follows `Validator.validateExpressions`, k8s.io/apiextensions-apiserver pkg/apiserver/schema/cel, 0.36. The library is imported on first
use. A rule that it cannot compile, or that would need it where it is not installed, is reported as `rule-not-evaluated`.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from jobspec.apis.cel_rules import UNFIT
from jobspec.diagnostics.places import Path
from jobspec.diagnostics.problems import Problem
from jobspec.kubernetes.cel.paths import spellings, steps_of, uses_old_self
from jobspec.kubernetes.correlation import Correlated, aligned
from jobspec.kubernetes.problems import in_one_line, name_of, rule_message
from jobspec.schemas.shapes import Shape, is_of_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.kubernetes.cel.library import Program

    Rule = dict[str, Any]

_SEEN_METADATA = ("name", "generateName")


class RuleNotEvaluated(Exception):
    """The rule cannot be evaluated here; the text says why."""


def run_rule(rule: Rule, value: Any, old: Any, shape: Shape, path: Path, touched: Correlated | None) -> Iterator[Problem]:
    """Yield the problem of a value that breaks a rule, or the failure of the rule's evaluation.

    *old* is the stored value. *touched* is the nearest value with a counterpart in the stored object: if an update leaves it as it was, a
    rule without `oldSelf` may be broken.
    """
    compares = uses_old_self(rule["rule"])
    if compares and old is None and not rule.get("optionalOldSelf"):
        return
    place = (*path, *steps_of(rule.get("fieldPath") or ""))
    seen, before = as_cel(value, shape), None if old is None else as_cel(aligned(old, value, shape), shape)
    try:
        holds = _run(rule["rule"], seen, before, optional=compares and bool(rule.get("optionalOldSelf"))) is True
        if holds or (touched and not compares and touched.is_same() and not _holds_unfit(seen)):
            return
        why = _message(rule, seen, before)
    except RuleNotEvaluated as error:
        yield Problem(
            "rule-not-evaluated", path, f"whether {name_of(path)} keeps the rule `{in_one_line(rule['rule'])}` was not checked: {error}"
        )
        return
    except ValueError as error:
        why = f"`{in_one_line(rule['rule'])}` cannot be evaluated: {error}"
    yield Problem("rule-broken", place, f"{name_of(path)} violates a validation rule: {why}")


def _holds_unfit(value: Any) -> bool:
    """Whether a value is of a type that rules fail on, or one inside it."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return value is UNFIT or any(map(_holds_unfit, inside))


def _message(rule: Rule, value: Any, old: Any) -> str:
    """Return the CRD's message for a broken rule.

    It is that of the `messageExpression`, unless that fails, or the `message`.
    """
    plain = rule_message(rule)
    expression = rule.get("messageExpression") or ""
    if not expression.strip():
        return plain
    try:
        said = _run(expression, value, old, optional=uses_old_self(expression) and bool(rule.get("optionalOldSelf")))
    except (RuleNotEvaluated, ValueError):
        return plain
    text = said.strip() if isinstance(said, str) else ""
    return text if text and "\n" not in text else plain


def _run(text: str, value: Any, old: Any, *, optional: bool) -> Any:
    """The value of an expression; *optional*: `oldSelf` is an optional value in it."""
    if optional:
        text = f"cel.bind(oldSelf, {'optional.none()' if old is None else 'optional.of(oldSelf)'}, {text}\n)"
    program = _compiled(text)
    if isinstance(program, str):
        raise RuleNotEvaluated(program)
    return program.run({"self": value, "oldSelf": old})


@lru_cache(maxsize=1000)
def _compiled(text: str) -> Program | str:
    """The compiled expression, or why it cannot be compiled."""
    try:
        from jobspec.kubernetes.cel.library import Program

        return Program(text)
    except ImportError:
        return "the CEL library is not installed (cel-expr-python)"
    except RuntimeError as error:
        complaint = str(error).splitlines()[0].rpartition("ERROR: ")[2].rpartition("<input>:")[2]  # without prefix and position
        return f"the CEL library cannot compile it ({complaint})"


def as_cel(value: Any, shape: Shape) -> Any:
    """Return a value as CEL sees it, with escaped names of fields.

    Texts of times and durations become times and durations. A value of a wrong type, by a default or unchanged in an update, is `UNFIT`,
    on which functions fail. Rules cannot name values without a type in the schema, but compare them as a part of the values around them;
    they become JSON text.
    """
    if value is None:
        return value
    if shape.type in ("any", "bare"):
        return _unseen(value)
    if not is_of_type(value, shape):
        return UNFIT
    if isinstance(value, dict):
        return _cel_object(value, shape)
    if isinstance(value, list):
        return [as_cel(item, shape.items) for item in value] if shape.items else UNFIT
    if shape.type == "number":
        return float(value)
    try:
        return _CONVERSIONS[_format(shape)](value) if has_type_in_cel(shape) else value
    except ValueError:
        return UNFIT


def has_type_in_cel(shape: Shape) -> bool:
    """True if rules see a string as a time, a duration or bytes.

    Rules then fail on a string of another form.
    """
    return shape.type == "string" and _format(shape) in _CONVERSIONS


def _format(shape: Shape) -> str:
    return shape.format or shape.conditions.get("format", "")


def _cel_object(value: dict[str, Any], shape: Shape) -> dict[str, Any]:
    values = shape.values
    if values is not None and values.type != "bare":
        return {name: as_cel(inner, values) for name, inner in value.items()}
    made = {}
    for name, inner in value.items():
        child = (shape.fields or {}).get(name) if not shape.meta or name in _SEEN_METADATA else None
        names = spellings(name) if child else ()
        if inner is not None:
            made.update(dict.fromkeys(names or [f".{name}"], as_cel(inner, child) if child and names else _unseen(inner)))
    return made


def _unseen(value: Any) -> str:
    import json

    return json.dumps(value, sort_keys=True)


def _duration(text: str) -> Any:
    from google.protobuf.duration_pb2 import Duration

    from jobspec.go.text_formats import nanoseconds

    made = Duration()
    length = nanoseconds(text)
    if length is None:
        raise ValueError(f"{text} is not a duration")
    made.FromNanoseconds(length)
    return made


def _time(text: str) -> Any:
    """A timestamp; a day means its midnight, a time without a zone is in UTC."""
    from datetime import UTC, datetime

    from google.protobuf.timestamp_pb2 import Timestamp

    if text.upper() != text:
        raise ValueError(f"{text} has a small `t` or `z`")
    moment = datetime.fromisoformat(text)
    made = Timestamp()
    made.FromDatetime(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    return made


_CONVERSIONS: dict[str, Callable[[str], Any]] = {"duration": _duration, "date": _time, "date-time": _time, "byte": b64decode}
