"""What a custom resource's schema asks of a value besides its structure: limits, formats, patterns, choices, `anyOf` and `not`.

Follows `numberValidator`, `stringValidator`, `basicCommonValidator`, `formatValidator` and `schemaPropsValidator`, k8s.io/kube-openapi
pkg/validation/validate, oddities included: a limit with a fraction makes every integer wrong; for the type `number`, an integer is compared
with the integer part of the limit. Branches of a structural schema declare no types, except those of `int-or-string`. On an update, a value
that did not change is not checked; inside a branch, everything is.
"""

from __future__ import annotations

from typing import Any

from jobspec.diagnostics.places import Data, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go import regex, text_formats
from jobspec.kubernetes.compiling import MAX_EXACT
from jobspec.kubernetes.correlation import Correlated, deep_equal
from jobspec.kubernetes.problems import beyond_bits, describe, name_of, sized, unsupported, wrong_format, wrong_pattern
from jobspec.schemas.shapes import BITS, TYPES, Shape, children

Conditions = dict[str, Any]
Branches = list[tuple[Shape, str]]
_MAX_FLOAT32 = 3.4028235677973366e38  # rounds to more than a float32 holds
_LIMITS = (("minimum", "exclusiveMinimum", "at least", "more than"), ("maximum", "exclusiveMaximum", "at most", "less than"))
_SIZES: dict[type, tuple[str, str]] = {str: ("Length", "character"), list: ("Items", "item"), dict: ("Properties", "field")}


def broken_conditions(value: Any, shape: Shape, path: Path) -> Problems:
    """Yield the conditions that a value breaks; values inside it are not checked."""
    asked, kind = shape.conditions, type(value)
    if kind in _SIZES:
        suffix, what = _SIZES[kind]
        yield from sized(len(value), what, asked.get("min" + suffix), asked.get("max" + suffix), path)
    if kind is str:
        yield from _unmet_text(value, asked, path)
    elif kind in (int, float):
        yield from _unmet_number(value, shape, path)
    choices = asked.get("enum")
    if choices and not any(_is_choice(value, choice) for choice in choices):
        yield unsupported(value, choices, path)


def has_format_of_texts(conditions: Conditions) -> bool:
    """True if the conditions have a format that the server checks of texts."""
    return (conditions.get("format") or "").replace("-", "") in text_formats.CHECKS


def takes_lists(shape: Shape) -> bool:
    """True if the server checks a known format of strings instead of the type `string`.

    A list then passes.
    """
    return shape.type == "string" and (shape.format == "date-time" or has_format_of_texts(shape.conditions))


def _unmet_text(value: str, asked: Conditions, path: Path) -> Problems:
    written = asked.get("format") or ""
    form = written.replace("-", "")
    if form in text_formats.CHECKS and not text_formats.CHECKS[form](value):
        yield wrong_format(value, text_formats.EXAMPLES.get(form, f"the format `{written}`"), path)
    pattern = asked.get("pattern")
    try:
        if pattern and not regex.matches(pattern, value):
            yield wrong_pattern(value, pattern, path)
    except regex.PatternNotEvaluated as error:
        yield Problem("rule-not-evaluated", path, f"whether {name_of(path)} matches `{pattern}` was not checked: {error}")


def _unmet_number(value: float, shape: Shape, path: Path) -> Problems:
    asked = shape.conditions
    kind = shape.type if shape.type in ("integer", "number") else ""
    bits = BITS.get(shape.format or asked.get("format") or "", 63)
    if kind == "integer" and not _holds(value, bits):
        yield beyond_bits(value, bits, path)
    if kind == "number" and asked.get("format") == "float" and abs(value) >= _MAX_FLOAT32:
        yield Problem("out-of-range", path, f"{name_of(path)}: expected what a 32-bit float holds, got {value}")
    for limit, exclusive, words, strictly in _LIMITS:
        if asked.get(limit) is not None and not _within(value, limit, asked, kind, bits):
            message = f"{name_of(path)}: expected {strictly if asked.get(exclusive) else words} {asked[limit]}, got {value}"
            yield Problem("out-of-range", path, message)
    factor = asked.get("multipleOf")
    if factor is not None and not _is_multiple(value, factor, kind, bits):
        yield Problem("out-of-range", path, f"{name_of(path)}: expected a multiple of {factor}, got {value}")


def _holds(number: float, bits: int) -> bool:
    return number == int(number) and -(1 << bits) <= number < 1 << bits


def _within(value: float, keyword: str, asked: Conditions, kind: str, bits: int) -> bool:
    limit = float(asked[keyword])  # the server holds integers, too, as float64
    if kind == "integer" and not _holds(limit, bits):
        return False
    limit = as_int64(limit) if isinstance(value, int) else limit
    if asked.get(f"exclusive{keyword.capitalize()}") and value == limit:
        return False
    return value >= limit if keyword == "minimum" else value <= limit


def as_int64(number: float) -> int:
    """Convert a number to Go's int64: without its fraction.

    Beyond 64 bits it is the smallest int64, as on most machines.
    """
    return int(number) if -(1 << 63) <= number < 1 << 63 else -(1 << 63)


def _is_multiple(value: float, factor: float, kind: str, bits: int) -> bool:
    factor = float(factor)
    if kind == "integer" and not _holds(factor, bits):
        return False
    if isinstance(value, int):
        return as_int64(factor) > 0 and value % as_int64(factor) == 0
    if factor <= 0:
        return False
    times = 1 / factor * value if factor < 1 else value / factor
    if abs(times) > MAX_EXACT:
        return False
    whole = int(times)
    return times == whole or (whole != 0 and abs(times - whole) / (abs(times) + abs(whole)) < 1e-9)


def _is_choice(value: Any, choice: Any) -> bool:
    """True if a value equals a choice.

    A number is converted to the type of the choice first, as in Go. Null equals nothing.
    """
    if value is None or choice is None:
        return False
    if type(value) in (int, float) and type(choice) in (int, float):
        return bool(type(choice)(value) == choice)
    return deep_equal(value, choice)


class _BranchNotEvaluated(Exception):
    """A branch depends on a pattern, named in the text, that cannot be evaluated here."""


def broken_combinations(value: Any, shape: Shape, path: Path, before: Correlated | None) -> Problems:
    """Yield the problems of a value with its defaults, and of all values inside it.

    On an update, *before* correlates the value with the stored one.
    """
    if value is None or not shape.combined or not _has_type(value, shape) or (before and before.is_same()):
        return
    yield from _of_value(value, shape, path)
    for step, child, inner in children(value, shape):
        yield from broken_combinations(inner, child, (*path, step), before and before.inside(step))


def broken_branch(value: Any, branch: Shape, path: Path) -> Problems:
    """Yield the problems of a value, and of all values inside it, by a branch.

    If the value has another type than the branch, there are none.
    """
    if not _has_type(value, branch):
        return
    if value is not None:
        yield from _of_value(value, branch, path)
        yield from _of_fields(value, branch, path) if isinstance(value, dict) else ()
        for step, child, inner in children(value, branch):
            yield from broken_branch(inner, child, (*path, step))
    yield from broken_conditions(value, branch, path)


def _of_fields(value: Data, branch: Shape, path: Path) -> Problems:
    for name in branch.required:
        if name not in value:
            yield Problem("missing-field", path, f"missing required field `{name}` in {name_of(path)}", at_key=True)
    if not branch.open and branch.fields is not None:
        for name in value.keys() - branch.fields.keys():
            yield Problem("unknown-field", (*path, name), f"unknown field `{name}` in {name_of(path)}", at_key=True)


def _of_value(value: Any, shape: Shape, path: Path) -> Problems:
    try:
        any_of, one_of = shape.branches.get("anyOf"), shape.branches.get("oneOf")
        if any_of and not any(_is_valid(value, branch) for branch, _ in any_of):
            yield _unfit(value, path, "at least one of", "anyOf", any_of)
        number = sum(_is_valid(value, branch) for branch, _ in one_of) if one_of else 1
        if one_of and number != 1:
            yield _unfit(value, path, "exactly one of", "oneOf", one_of, f"; it matches {number}" if number else "")
        for branch, text in shape.branches.get("not", []):
            if _is_valid(value, branch):
                yield Problem("wrong-combination", path, f"{name_of(path)} must not match `not`: {text}")
    except _BranchNotEvaluated as error:
        yield Problem("rule-not-evaluated", path, str(error))
    for branch, _ in shape.branches.get("allOf", []):
        yield from broken_branch(value, branch, path)


def _unfit(value: Any, path: Path, how_many: str, keyword: str, branches: Branches, more: str = "") -> Problem:
    choices = "; ".join(text for _, text in branches)
    what = f", not {describe(value)}" if not isinstance(value, (dict, list)) else ""
    return Problem("wrong-combination", path, f"{name_of(path)} must match {how_many} the {keyword} ({choices}){what}{more}")


def _is_valid(value: Any, branch: Shape) -> bool:
    """Whether a value is valid against a branch."""
    if value is None and branch.type != "any" and not branch.nullable:
        return False
    text_only = branch.type in ("any", "int-or-string") and has_format_of_texts(branch.conditions)
    if value is not None and (not _has_type(value, branch) or (text_only and not isinstance(value, (str, list)))):
        return False
    found = list(broken_branch(value, branch, ()))
    unsure = [problem for problem in found if problem.rule == "rule-not-evaluated"]
    if unsure and len(unsure) == len(found):
        raise _BranchNotEvaluated(unsure[0].message)
    return not found


def _has_type(value: Any, shape: Shape) -> bool:
    """Whether a value has the type of a shape, or is null; `structural` reports a wrong type."""
    is_of_type = value is None or shape.type in ("any", "bare") or type(value) in TYPES[shape.type]
    return is_of_type or (type(value) is list and takes_lists(shape))
