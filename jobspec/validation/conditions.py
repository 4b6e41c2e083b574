"""Check a value against the `conditions` of its shape: limits, formats, patterns and choices that only custom kinds have.

Follows `numberValidator`, `stringValidator`, `basicCommonValidator` and `formatValidator`, k8s.io/kube-openapi pkg/validation/validate,
oddities included: a limit with a fraction makes every integer wrong; for the type `number`, an integer is compared with the integer part
of the limit.
"""

from __future__ import annotations

from jobspec.shapes import BITS
from jobspec.validation import patterns, text_formats
from jobspec.validation.complaints import beyond_bits, unsupported_choice, wrong_format, wrong_pattern, wrong_size
from jobspec.validation.correlation import deep_equal
from jobspec.validation.problem import Problem, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.shapes import Shape

    Conditions = dict[str, Any]

_MAX_EXACT = (1 << 53) - 1
_MAX_FLOAT32 = 3.4028235677973366e38  # rounds to more than a float32 holds
_LIMITS = (("minimum", "exclusiveMinimum", "at least", "more than"), ("maximum", "exclusiveMaximum", "at most", "less than"))
_SIZES: dict[type, tuple[str, str]] = {str: ("Length", "character"), list: ("Items", "item"), dict: ("Properties", "field")}


def broken_conditions(value: Any, shape: Shape, path: Path) -> Iterator[Problem]:
    """The conditions that a value breaks; values inside it are not checked."""
    asked, kind = shape.conditions, type(value)
    if kind in _SIZES:
        yield from _wrong_size(len(value), *_SIZES[kind], asked, path)
    if kind is str:
        yield from _wrong_text(value, asked, path)
    elif kind in (int, float):
        yield from _wrong_number(value, shape, path)
    yield from _wrong_choice(value, asked, path)


def has_format_of_texts(conditions: Conditions) -> bool:
    """Whether the conditions have a format that the server checks of texts."""
    return (conditions.get("format") or "").replace("-", "") in text_formats.CHECKS


def _wrong_size(size: int, suffix: str, what: str, asked: Conditions, path: Path) -> Iterator[Problem]:
    least, most = asked.get("min" + suffix), asked.get("max" + suffix)
    if least is not None and size < least:
        yield wrong_size(size, what, "least", least, path)
    if most is not None and size > most:
        yield wrong_size(size, what, "most", most, path)


def _wrong_text(value: str, asked: Conditions, path: Path) -> Iterator[Problem]:
    written = asked.get("format") or ""
    form = written.replace("-", "")
    if form in text_formats.CHECKS and not text_formats.CHECKS[form](value):
        yield wrong_format(value, text_formats.EXAMPLES.get(form, f"the format `{written}`"), path)
    pattern = asked.get("pattern")
    if pattern:
        yield from _wrong_pattern(value, pattern, path)


def _wrong_pattern(value: str, pattern: str, path: Path) -> Iterator[Problem]:
    try:
        if not patterns.matches(pattern, value):
            yield wrong_pattern(value, pattern, path)
    except patterns.NotEvaluated as error:
        yield Problem("rule-not-evaluated", path, f"whether {name_of(path)} matches `{pattern}` was not checked: {error}")


def _wrong_number(value: float, shape: Shape, path: Path) -> Iterator[Problem]:
    asked = shape.conditions
    kind = shape.type if shape.type in ("integer", "number") else ""
    bits = BITS.get(shape.format or asked.get("format") or "", 63)
    if kind == "integer" and not _holds(value, bits):
        yield beyond_bits(value, bits, path)
    if kind == "number" and asked.get("format") == "float" and abs(value) >= _MAX_FLOAT32:
        yield Problem("out-of-range", path, f"{name_of(path)} takes what a 32-bit float holds, not {value}")
    for limit, exclusive, words, strictly in _LIMITS:
        if asked.get(limit) is not None and not _within(value, limit, asked, kind, bits):
            message = f"{name_of(path)} takes {strictly if asked.get(exclusive) else words} {asked[limit]}, not {value}"
            yield Problem("out-of-range", path, message)
    factor = asked.get("multipleOf")
    if factor is not None and not _is_multiple(value, factor, kind, bits):
        yield Problem("out-of-range", path, f"{name_of(path)} takes multiples of {factor}, and {value} is none")


def _holds(number: float, bits: int) -> bool:
    return number == int(number) and -(1 << bits) <= number < 1 << bits


def _within(value: float, keyword: str, asked: Conditions, kind: str, bits: int) -> bool:
    limit = float(asked[keyword])  # the server holds integers, too, as float64
    if kind == "integer" and not _holds(limit, bits):
        return False
    limit = _as_int64(limit) if isinstance(value, int) else limit
    strictly = asked.get("exclusiveMinimum" if keyword == "minimum" else "exclusiveMaximum")
    if keyword == "minimum":
        return value > limit if strictly else value >= limit
    return value < limit if strictly else value <= limit


def _as_int64(number: float) -> int:
    """A number converted to Go's int64: without its fraction; beyond 64 bits the smallest int64, as on most machines."""
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


def _wrong_choice(value: Any, asked: Conditions, path: Path) -> Iterator[Problem]:
    choices = asked.get("enum")
    if choices and not any(_is_choice(value, choice) for choice in choices):
        yield unsupported_choice(value, choices, path)


def _is_choice(value: Any, choice: Any) -> bool:
    """Whether a value equals a choice. A number is converted to the type of the choice first, as in Go; null equals nothing."""
    if value is None or choice is None:
        return False
    if type(value) in (int, float) and type(choice) in (int, float):
        return bool(type(choice)(value) == choice)
    return deep_equal(value, choice)
