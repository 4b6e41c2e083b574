"""The CEL rules of other people's CRDs, evaluated over an object as the server holds it.

A rule that our own kinds have too is run by its Python function; all others by a CEL library, which is imported on first use. What
it cannot compile, or cannot run where the library is missing, is a warning, never a silent yes.
"""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.validation.cel.paths import RESOURCE, spellings, steps_of
from jobspec.validation.cel.text import uses_old_self
from jobspec.validation.given.complete import child_of
from jobspec.validation.given.correlation import aligned, counterpart
from jobspec.validation.structural import Problem, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.validation.cel.library import Program
    from jobspec.validation.given.correlation import Correlated

    Schema = dict[str, Any]
    Rule = dict[str, Any]

RULES = "x-kubernetes-validations"
#: What is of no type that rules know, but passes for one of them, as a default may: equal to nothing, and nothing that they can work with.
_UNFIT = float("nan")


class NotEvaluated(Exception):
    """The rule cannot be run here; the text says why."""


def problems(
    data: Any,
    schema: Schema,
    old: Any = None,
    *,
    before: Correlated | None = None,
    is_resource: bool = True,
    ruled: dict[int, bool] | None = None,
) -> Iterator[Problem]:
    """The rules of a kind that an object breaks, with *old* as its state before; those that cannot be run as `rule-not-evaluated`.

    What is the same as *before* may break its rules, but for those that compare both states. *ruled* keeps what is found out about
    the schema from one object to the next.
    """
    yield from _visit(_Place(data, old, schema, (), is_resource=is_resource), before, None, {} if ruled is None else ruled)


class _Place:
    """A value in an object, and what it was before, None where nothing can be told to be that."""

    def __init__(self, value: Any, old: Any, schema: Schema, path: Path, *, is_resource: bool = False) -> None:
        self.value = value
        self.old = old
        self.schema = schema
        self.path = path
        self.is_resource = is_resource or bool(schema.get("x-kubernetes-embedded-resource"))

    def inside(self) -> Iterator[_Place]:
        """The places of what is inside, as far as the schema describes them."""
        if isinstance(self.value, dict):
            stored = self.old if isinstance(self.old, dict) else {}
            for name, inner in self.value.items():
                child = child_of(self.schema, name)
                if child is not None:
                    step = name if name in (self.schema.get("properties") or {}) else Key(name)
                    yield _Place(inner, stored.get(name), child, (*self.path, step))
        elif isinstance(self.value, list) and self.schema.get("items"):
            for index, item in enumerate(self.value):
                old = counterpart(item, self.old, self.schema) if isinstance(self.old, list) else None
                yield _Place(item, old, self.schema["items"], (*self.path, index))


def _visit(at: _Place, before: Correlated | None, around: Correlated | None, ruled: dict[int, bool]) -> Iterator[Problem]:
    """The rules on a value and on what is inside; *around* is the nearest value around it that has a counterpart."""
    if at.value is None or not _has_rules(at.schema, ruled):
        return
    if at.schema.get(RULES):
        yield from _ruled(at, before or around)
    for inner in at.inside():
        yield from _visit(inner, before and before.inside(inner.path[-1]), before or around, ruled)


def _ruled(at: _Place, touched: Correlated | None) -> Iterator[Problem]:
    seen = as_cel(at.value, at.schema, is_resource=at.is_resource)
    before = None if at.old is None else as_cel(aligned(at.old, at.value, at.schema), at.schema, is_resource=at.is_resource)
    for rule in at.schema[RULES]:
        if not rule or not rule.get("rule"):
            continue  # in a default, of whose schema that has been said
        yield from _judge(rule, seen, before, at.path, touched)


def _has_rules(schema: Schema, ruled: dict[int, bool]) -> bool:
    """Whether rules stand here or below, where CEL sees them; *ruled* keeps what is known of each part of a schema."""
    known = ruled.get(id(schema))
    if known is None:
        below = [*(schema.get("properties") or {}).values(), schema.get("items"), schema.get("additionalProperties")]
        has_rules = bool(schema.get(RULES)) or any(isinstance(each, dict) and _has_rules(each, ruled) for each in below)
        known = ruled[id(schema)] = has_rules and _is_seen(schema)
    return known


def _is_seen(schema: Schema) -> bool:
    """Whether values of a schema are anything to CEL; the server passes by the rules of those that are not, and of all inside of them."""
    inner = schema.get("items") if schema.get("type") == "array" else schema.get("additionalProperties")
    if isinstance(inner, dict):
        return _is_seen(inner)
    return bool(schema.get("type") or schema.get("x-kubernetes-int-or-string"))


def _judge(rule: Rule, value: Any, old: Any, path: Path, touched: Correlated | None) -> Iterator[Problem]:
    compares = uses_old_self(rule["rule"])
    if compares and old is None and not rule.get("optionalOldSelf"):
        return
    try:
        if _holds(rule, value, old, compares=compares) or (touched and not compares and touched.is_same()):
            return
        why = _message(rule, value, old)
    except NotEvaluated as error:
        yield Problem("rule-not-evaluated", path, f"nobody looked whether {name_of(path)} keeps the rule `{_short(rule['rule'])}`: {error}")
        return
    except ValueError as error:
        why = f"`{_short(rule['rule'])}` cannot be evaluated: {error}"
    yield Problem("rule-broken", (*path, *steps_of(rule.get("fieldPath", ""))), f"{name_of(path)} breaks a rule of its kind: {why}")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 100 else line[:97] + "..."


def _holds(rule: Rule, value: Any, old: Any, *, compares: bool) -> bool:
    from jobspec.cel_rules import RULES as OURS

    ours = OURS.get(rule["rule"])
    if ours and not rule.get("optionalOldSelf"):
        try:
            return ours.holds(value, old) if compares else ours.holds(value)
        except (AttributeError, KeyError, TypeError):
            return False
    return _run(rule["rule"], value, old, optional=compares and bool(rule.get("optionalOldSelf"))) is True


def _message(rule: Rule, value: Any, old: Any) -> str:
    """What the CRD's author says about it; an expression that fails says nothing."""
    plain = " ".join((rule.get("message") or "").split()) or f"`{_short(rule['rule'])}`"
    expression = rule.get("messageExpression") or ""
    if not expression.strip():
        return plain
    try:
        said = _run(expression, value, old, optional=uses_old_self(expression) and bool(rule.get("optionalOldSelf")))
    except (NotEvaluated, ValueError):
        return plain
    text = said.strip() if isinstance(said, str) else ""
    return text if text and "\n" not in text else plain


def _run(text: str, value: Any, old: Any, *, optional: bool) -> Any:
    """The value of an expression; *optional* says that it takes `oldSelf` for an optional value."""
    if optional:
        text = f"cel.bind(oldSelf, {'optional.none()' if old is None else 'optional.of(oldSelf)'}, {text}\n)"
    return _program(text).run({"self": value, "oldSelf": old})


_programs: dict[str, Program | str] = {}


def _program(text: str) -> Program:
    if text not in _programs:
        try:
            from jobspec.validation.cel.library import Program

            _programs[text] = Program(text)
        except ImportError:
            _programs[text] = "the CEL library is not installed (cel-expr-python)"
        except RuntimeError as error:
            _programs[text] = f"the CEL library cannot compile it ({_complaint(str(error))})"
    found = _programs[text]
    if isinstance(found, str):
        raise NotEvaluated(found)
    return found


def _complaint(text: str) -> str:
    """The first line of the library's words, without what frames it."""
    return text.splitlines()[0].rpartition("ERROR: ")[2].rpartition("<input>:")[2]


def as_cel(value: Any, schema: Schema, *, is_resource: bool = False) -> Any:
    """A value as CEL sees it: fields under names that CEL can say, times and durations as such.

    What the schema does not describe no rule can name, and two states of it are compared all the same, as text.
    """
    if value is None:
        return value
    if schema.get("x-kubernetes-int-or-string"):
        return value if type(value) in (int, str) else _UNFIT
    if not schema.get("type"):
        return _unseen(value)
    if isinstance(value, dict):
        return _object(value, schema, is_resource=is_resource or bool(schema.get("x-kubernetes-embedded-resource")))
    if isinstance(value, list):
        return [as_cel(item, schema["items"]) for item in value] if schema["type"] == "array" else _UNFIT
    if schema.get("type") == "number":
        return float(value)
    return _converted(value, schema["format"]) if _is_converted(schema) else value


def _object(value: dict[str, Any], schema: Schema, *, is_resource: bool) -> dict[str, Any]:
    others = schema.get("additionalProperties")
    if isinstance(others, dict):
        return {name: as_cel(inner, others) for name, inner in value.items()}
    fields = {**(schema.get("properties") or {}), **(RESOURCE if is_resource else {})}
    made = {}
    for name, inner in value.items():
        names = spellings(name) if name in fields else []
        if inner is not None:
            made.update(dict.fromkeys(names or [f".{name}"], as_cel(inner, fields[name]) if names else _unseen(inner)))
    return made


def _unseen(value: Any) -> str:
    import json

    return json.dumps(value, sort_keys=True)


def _is_converted(schema: Schema) -> bool:
    return schema.get("type") == "string" and schema.get("format") in _CONVERSIONS


def _converted(text: str, form: str) -> Any:
    """What a text stands for; null, which rules can do nothing with, where its format is not the one that they take."""
    try:
        return _CONVERSIONS[form](text)
    except ValueError:
        return None


def _duration(text: str) -> Any:
    from google.protobuf.duration_pb2 import Duration

    from jobspec.validation.text_formats import nanoseconds

    made = Duration()
    length = nanoseconds(text)
    if length is None:
        raise ValueError(f"{text} is no duration")
    made.FromNanoseconds(length)
    return made


def _time(text: str) -> Any:
    """A moment; a day is its midnight, a time without a zone is UTC's."""
    from datetime import UTC, datetime

    from google.protobuf.timestamp_pb2 import Timestamp

    if text.upper() != text:
        raise ValueError(f"{text} has a small `t` or `z`")
    moment = datetime.fromisoformat(text)
    made = Timestamp()
    made.FromDatetime(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    return made


def _bytes(text: str) -> bytes:
    from base64 import b64decode

    return b64decode(text)


_CONVERSIONS = {"duration": _duration, "date": _time, "date-time": _time, "byte": _bytes}
