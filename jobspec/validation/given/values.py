"""What a structural schema asks of values besides their structure: limits, formats, patterns, choices, and combinations of these.

It walks the schema as the CRD has it, over an object whose nulls are dropped and whose defaults are filled in. Where a value's
type is not the schema's, the structural walk has said so, and nothing more is said here. The oddities are the server's: a limit
with a fraction makes every integer wrong, and where a number may be either, an integer is compared with the limit cut off.

On an update, nothing is said of a value that it does not touch. What a branch of a combination says is told of the value around.
"""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.validation import regex, text_formats
from jobspec.validation.given.correlation import same
from jobspec.validation.structural import Problem, name_of
from jobspec.validation.wording import closest, describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.validation.given.correlation import Correlated

    Schema = dict[str, Any]

_MAX_EXACT = (1 << 53) - 1
_MAX_FLOAT32 = 3.4028235677973366e38  # rounds to more than a float32 holds
_BITS = {"int32": 31, "int64": 63}
_LIMITS = (("minimum", "exclusiveMinimum", "at least", "more than"), ("maximum", "exclusiveMaximum", "at most", "less than"))
_SIZES: dict[type, tuple[str, str]] = {str: ("Length", "character"), list: ("Items", "item"), dict: ("Properties", "field")}


def problems(value: Any, schema: Schema, path: Path = (), before: Correlated | None = None) -> Iterator[Problem]:
    """Everything that a schema has against a value of its type, and against what is inside; *before* is what an update changes."""
    if not _has_type(value, schema) or (before and before.is_same()):
        return
    if value is not None:
        yield from _combinations(value, schema, path)
        yield from _scalar(value, schema, path)
        yield from _inside(value, schema, path, before)
    yield from _choice(value, schema, path)


def fits(value: Any, schema: Schema) -> bool:
    """Whether a value is what one branch of a combination asks for; such a branch says nothing of types but `int-or-string`'s."""
    return _fits_type(value, schema) and next(problems(value, schema), None) is None and not _missing(value, schema)


def has_type(value: Any, kind: str) -> bool:
    """Whether a value is of an OpenAPI type; an integer is a number, too."""
    if kind in ("integer", "number"):
        return type(value) is int or (kind == "number" and type(value) is float)
    return isinstance(value, {"object": dict, "array": list, "string": str, "boolean": bool}[kind])


def _has_type(value: Any, schema: Schema) -> bool:
    """Whether the structural walk found nothing wrong about the type, so that the value is worth a look."""
    if schema.get("x-kubernetes-int-or-string"):
        return type(value) in (int, str) or value is None
    return value is None or not schema.get("type") or has_type(value, schema["type"])


def _fits_type(value: Any, schema: Schema) -> bool:
    if value is None:
        return not schema.get("type") or bool(schema.get("nullable"))
    text_only = _format(schema) in text_formats.CHECKS and not schema.get("type")
    return _has_type(value, schema) and not (text_only and not isinstance(value, (str, list)))


def passes(value: Any, schema: Schema) -> bool:
    """Whether a list passes for a text: the server leaves its type to a format that it knows, and that looks at texts only."""
    return isinstance(value, list) and schema.get("type") == "string" and _format(schema) in text_formats.CHECKS


def _missing(value: Any, schema: Schema) -> list[str]:
    return [name for name in schema.get("required") or () if name not in value] if isinstance(value, dict) else []


def _required(value: Any, schema: Schema, path: Path, *, of_fields: bool) -> Iterator[Problem]:
    """Required fields that are missing: those that the schema describes, which the structural walk tells, or the others."""
    fields = schema.get("properties") or {}
    for name in _missing(value, schema):
        if (name in fields) == of_fields:
            yield Problem("missing-field", path, f"the required field `{name}` of {name_of(path)} is missing", at_key=True)


def _inside(value: Any, schema: Schema, path: Path, before: Correlated | None) -> Iterator[Problem]:
    yield from _required(value, schema, path, of_fields=False)
    if isinstance(value, dict):
        fields = schema.get("properties") or {}
        others = schema.get("additionalProperties")
        for name, inner in value.items():
            if name in fields:
                yield from problems(inner, fields[name], (*path, name), before and before.inside(name))
            elif isinstance(others, dict):
                yield from problems(inner, others, (*path, Key(name)), before and before.inside(name))
            elif others is False:
                yield Problem("unknown-field", (*path, name), f"{name_of(path)} has no field `{name}`", at_key=True)
    elif isinstance(value, list) and schema.get("items"):
        for index, item in enumerate(value):
            yield from problems(item, schema["items"], (*path, index), before and before.inside(index))


def _combinations(value: Any, schema: Schema, path: Path) -> Iterator[Problem]:
    """`anyOf` and its like, told as one sentence about the value, `allOf` by what its branches say."""
    any_of, one_of, nothing_of = schema.get("anyOf"), schema.get("oneOf"), schema.get("not")
    if any_of and not any(fits(value, branch) for branch in any_of):
        yield _unfit(value, path, "at least one of", "anyOf", any_of)
    if one_of and (number := sum(fits(value, branch) for branch in one_of)) != 1:
        yield _unfit(value, path, "exactly one of", "oneOf", one_of, f"; {number} hold" if number else "")
    for branch in schema.get("allOf") or ():
        yield from problems(value, branch, path)
        yield from _required(value, branch, path, of_fields=True)
    if nothing_of is not None and fits(value, nothing_of):
        yield Problem("wrong-combination", path, f"{name_of(path)} cannot be what `not` excludes: {_told(nothing_of)}")


def _unfit(value: Any, path: Path, how_many: str, keyword: str, branches: list[Schema], more: str = "") -> Problem:
    choices = "; ".join(_told(branch) for branch in branches)
    what = f", not {describe(value)}" if not isinstance(value, (dict, list)) else ""
    return Problem("wrong-combination", path, f"{name_of(path)} takes {how_many} the {keyword} ({choices}){what}{more}")


def _told(branch: Schema) -> str:
    """A branch of a combination as the CRD's author wrote it."""
    import json

    text = json.dumps(branch, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."


def _scalar(value: Any, schema: Schema, path: Path) -> Iterator[Problem]:
    kind = type(value)
    if kind in _SIZES:
        yield from _size(len(value), *_SIZES[kind], schema, path)
    if kind is str:
        yield from _text(value, schema, path)
    elif kind in (int, float):
        yield from _number(value, schema, path)


def _size(size: int, suffix: str, what: str, schema: Schema, path: Path) -> Iterator[Problem]:
    least, most = schema.get("min" + suffix), schema.get("max" + suffix)
    for limit, wrong, words in ((least, least is not None and size < least, "least"), (most, most is not None and size > most, "most")):
        if wrong:
            message = f"{name_of(path)} takes at {words} {limit:,} {what}{'s' * (limit != 1)}, and has {size:,}"
            yield Problem("wrong-size", path, message)


def _format(schema: Schema) -> str:
    return (schema.get("format") or "").replace("-", "")


def _text(value: str, schema: Schema, path: Path) -> Iterator[Problem]:
    form = _format(schema)
    if form in text_formats.CHECKS and not text_formats.CHECKS[form](value):
        example = text_formats.EXAMPLES.get(form, f"the format `{schema['format']}`")
        yield Problem("wrong-format", path, f"{name_of(path)} takes {example}, not {describe(value)}")
    pattern = schema.get("pattern")
    if pattern and not regex.matches(pattern, value):
        yield Problem("wrong-format", path, f"{name_of(path)} has to match `{pattern}`, which {describe(value)} does not")


def _number(value: float, schema: Schema, path: Path) -> Iterator[Problem]:
    kind = "" if schema.get("x-kubernetes-int-or-string") else schema.get("type")
    bits = _BITS.get(schema.get("format") or "", 63)
    if kind == "integer" and not _holds(value, bits):
        yield Problem("out-of-range", path, f"{name_of(path)} takes {-(1 << bits):,} to {(1 << bits) - 1:,}, not {value:,}")
    if kind == "number" and schema.get("format") == "float" and abs(value) >= _MAX_FLOAT32:
        yield Problem("out-of-range", path, f"{name_of(path)} takes what a 32-bit float holds, not {value}")
    for limit, exclusive, words, strictly in _LIMITS:
        if schema.get(limit) is not None and not _within(value, limit, schema, kind or "", bits):
            message = f"{name_of(path)} takes {strictly if schema.get(exclusive) else words} {schema[limit]}, not {value}"
            yield Problem("out-of-range", path, message)
    factor = schema.get("multipleOf")
    if factor is not None and not _is_multiple(value, factor, kind or "", bits):
        yield Problem("out-of-range", path, f"{name_of(path)} takes multiples of {factor}, and {value} is none")


def _holds(number: float, bits: int) -> bool:
    return number == int(number) and -(1 << bits) <= number < 1 << bits


def _within(value: float, keyword: str, schema: Schema, kind: str, bits: int) -> bool:
    limit = float(schema[keyword])  # an integer, too, is held as a fraction, which has 53 bits
    if kind == "integer" and not _holds(limit, bits):
        return False
    limit = _as_int64(limit) if isinstance(value, int) else limit
    strictly = schema.get("exclusiveMinimum" if keyword == "minimum" else "exclusiveMaximum")
    if keyword == "minimum":
        return value > limit if strictly else value >= limit
    return value < limit if strictly else value <= limit


def _as_int64(number: float) -> int:
    """The whole part of a number; what no int64 holds becomes the least of them, as Go has it on most machines."""
    return int(number) if -(1 << 63) <= number < 1 << 63 else -(1 << 63)


def _is_multiple(value: float, factor: float, kind: str, bits: int) -> bool:
    factor = float(factor)
    if kind == "integer" and not _holds(factor, bits):
        return False
    if isinstance(value, int):
        return _as_int64(factor) > 0 and value % _as_int64(factor) == 0
    if factor <= 0:
        return False
    times = 1 / factor * value if factor < 1 else value / factor
    if abs(times) > _MAX_EXACT:
        return False
    whole = int(times)
    return times == whole or (whole != 0 and abs(times - whole) / (abs(times) + abs(whole)) < 1e-9)


def _choice(value: Any, schema: Schema, path: Path) -> Iterator[Problem]:
    choices = schema.get("enum")
    if not choices or any(_is_choice(value, choice) for choice in choices):
        return
    listed = ", ".join(f"`{choice}`" if choice != "" else "an empty text" for choice in choices)
    texts = [choice for choice in choices if isinstance(choice, str)]
    hint = closest(value, texts) if isinstance(value, str) else ""
    yield Problem("unsupported-choice", path, f"{name_of(path)} takes one of {listed}, not {describe(value)}", hint)


def _is_choice(value: Any, choice: Any) -> bool:
    """Whether a value is a choice; numbers are first made what the choice is, as Go converts them; null is never one."""
    if value is None or choice is None:
        return False
    if type(value) in (int, float) and type(choice) in (int, float):
        return bool(type(choice)(value) == choice)
    return same(value, choice)
