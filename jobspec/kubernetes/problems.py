"""Problems: what is wrong at a path of an object, in words that all rules share. `verdict` turns them into diagnostics with lines."""

from __future__ import annotations

from jobspec.diagnostics.places import Data, Path, spell
from jobspec.diagnostics.problems import Problem, Problems, set_to
from jobspec.go.values import MAX_INT32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from jobspec.schemas.shapes import Shape


def field_items(around: Data, field: str, path: Path) -> Iterator[tuple[Path, Any]]:
    """Yield the items of a field of the object at *path*, each with its own path. If the field has no list, yield nothing."""
    for index, item in enumerate(around.get(field) or ()):
        yield (*path, field, index), item


def name_of(path: Path) -> str:
    """Return the name of the value at *path* in a message: `image`, `containers[0]`.

    For the empty path, return `the manifest`.
    """
    if not path:
        return "the manifest"
    if isinstance(path[-1], int):
        return f"`{path[-2] if len(path) > 1 else ''}[{path[-1]}]`"
    return f"`{path[-1]}`"


# Words that messages and hints share: for values, types and suggestions.


_TYPES = {
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "`true` or `false`",
    "int-or-string": "an integer or a string",
}


def type_in_words(shape: Shape) -> str:
    """Return the type of a shape in words."""
    return "a quantity" if shape.format == "quantity" else _TYPES[shape.type]


def describe(value: Any) -> str:
    """Describe a value and its type in words. For a list or mapping, give the type alone."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, (int, float)):
        return f"the number {value}"
    if isinstance(value, str):
        short = value if len(value) <= 60 else value[:57] + "..."
        return f'the string "{short}"' if value else "an empty string"
    return "a list" if isinstance(value, list) else "an object"


def closest(name: Any, known: Iterable[str]) -> str:
    """Suggest a correction for a misspelt name; empty if no known name is near."""
    from jobspec.kubernetes.suggestions import did_you_mean, nearest

    near = nearest(name, known)
    return did_you_mean(near) if near else ""


def rule_message(rule: Data) -> str:
    """Return the `message` of a CEL rule in one line, or the rule itself."""
    return " ".join((rule.get("message") or "").split()) or f"`{in_one_line(rule['rule'])}`"


def listed(names: Iterable[str]) -> str:
    """Return names in backticks, with commas between them."""
    return ", ".join(f"`{name}`" for name in names)


def in_one_line(expression: str) -> str:
    """Return a CEL expression in one line, cut to 100 characters."""
    line = " ".join(expression.split())
    return line if len(line) <= 100 else line[:97] + "..."


# The problems of values that do not fit their schema, in words.


def missing_field(name: str, data: Data, path: Path) -> Problem:
    """Report a required field that is absent from an object, or null in it."""
    where = f" in {name_of(path)}" if path else ""
    empty = "empty" if name in data else "missing"
    message = f"{empty} required field `{name}`{where}"
    return Problem("missing-field", (*path, name) if name in data else path, message, at_key=True, lacks=name)


def missing(name: str, around: Data, path: Path, hint: str = "") -> Problem:
    """Report an absent or empty field that the server's Go code requires, not its schema."""
    state = "empty" if name in around else "missing"
    return Problem("missing-field", (*path, name), f"{state} required field `{name}` in `{spell(path)}`", hint, at_key=True)


def unknown_field(name: str, value: Any, shape: Shape | None, path: Path, *, suggest: bool) -> Problem:
    """Report an unknown field with a value. *suggest*: add the field that was probably meant."""
    message = f"unknown field `{name}` in {name_of(path)}" if path else f"unknown field `{name}`"
    if not suggest or not shape or shape.fields is None:
        return Problem("unknown-field", (*path, name), message, at_key=True)
    from jobspec.kubernetes.suggestions import moved_field, renamed_field, where_instead

    hint, meant, belongs = where_instead(name, shape)
    remedy = renamed_field((*path, name), shape) if meant else moved_field((*path, name), value, shape) if belongs else None
    return Problem("unknown-field", (*path, name), message, hint, at_key=True, meant=meant, belongs=belongs, remedy=remedy)


def wrong_type(value: Any, shape: Shape, path: Path) -> Problem:
    """Report a value of another type than its shape."""
    from jobspec.kubernetes.suggestions import retyped, type_hint

    message = f"{name_of(path)}: expected {type_in_words(shape)}, got {describe(value)}"
    return Problem("wrong-type", path, message, type_hint(value, shape), remedy=retyped(value, shape, path))


def beyond_bits(value: float, bits: int, path: Path) -> Problem:
    """Report a whole number that does not fit into a sign and *bits* bits."""
    most = (1 << bits) - 1
    return Problem("out-of-range", path, f"{name_of(path)}: expected {-most - 1:,} to {most:,}, got {value:,.0f}")


def no_byte(value: Any, path: Path) -> Problem:
    """Report an item of a list of bytes that is no number from 0 to 255."""
    hint = "write the bytes as one base64 string"
    return Problem("wrong-type", path, f"{name_of(path)}: expected a byte, 0 to 255, got {describe(value)}", hint)


def outside(value: Any, least: int | None, most: int | None, path: Path) -> Problem:
    """Report a number below *least* or above *most*."""
    limits = f"at least {least}" if most is None else f"at most {most}" if least is None else f"{least} to {most}"
    return Problem("out-of-range", path, f"{name_of(path)}: expected {limits}, got {value}")


def wrong_format(value: str, example: str, path: Path, hint: str = "", *, meant: str = "") -> Problem:
    """Report a string that does not have its format.

    *example* shows the format. *meant*: the only string that can be meant, if there is one.
    """
    remedy = set_to(path, meant) if meant else None
    return Problem("wrong-format", path, f"{name_of(path)}: expected {example}, got {describe(value)}", hint, remedy=remedy)


def wrong_pattern(value: str, pattern: str, path: Path) -> Problem:
    """Report a string that does not match its pattern."""
    return Problem("wrong-format", path, f"{name_of(path)}: expected a match of `{pattern}`, got {describe(value)}")


def unsupported(value: Any, choices: Sequence[Any], path: Path) -> Problem:
    """Report a value that is none of the choices."""
    from jobspec.kubernetes.suggestions import chosen

    listed = ", ".join(f"`{_as_json(choice)}`" if choice != "" else "an empty string" for choice in choices)
    hint = closest(value, [choice for choice in choices if isinstance(choice, str)]) if isinstance(value, str) else ""
    message = f"{name_of(path)}: expected one of {listed}, got {describe(value)}"
    return Problem("unsupported-choice", path, message, hint, remedy=chosen(value, choices, path))


def _as_json(choice: Any) -> str:
    from json import dumps

    return choice if isinstance(choice, str) else dumps(choice, ensure_ascii=False)


def duplicate_item(index: int, first: int, identity: Sequence[str], keys: Sequence[str], path: Path) -> Problem:
    """Report an item of a list map with the *keys* of the *first* one.

    If there are no keys, the list is a set, and the items are equal.
    """
    if keys:
        same = f"has the same {' and '.join(f'`{key}`' for key in keys)} ({', '.join(identity)})"
    else:
        same = f"is the same value ({identity[1]})" if identity[1] else "is the same value"
    return Problem("duplicate-item", (*path, index), f"item {index} {same} as item {first}", "remove one of the two")


# Problems of pods and of workloads that several rules have in the same words.


def duplicate(value: str, what: str, path: Path) -> Problem:
    """Report a repeated value of *what*, such as "a container"."""
    kind = what.removeprefix("a ").removeprefix("an ")
    return Problem("duplicate-item", path, f"duplicate {kind} `{value}`", "rename or remove one of the two")


def repeated(values: Iterable[tuple[Path, Any]], what: str) -> Problems:
    """Report each value that equals a value before it. None equals nothing.

    *what*: see `duplicate`.
    """
    seen = {None}
    for path, value in values:
        if value is not None and value in seen:
            yield duplicate(value, what, path)
        seen.add(value)


def excluded(path: Path, message: str, hint: str = "remove it", *, at_key: bool = False) -> Problem:
    """Report a field that other fields exclude."""
    return Problem("conflicting-values", path, message, hint, at_key=at_key)


def fixed(path: Path, message: str, hint: str = "restore the old value, or create another object", *, at_key: bool = False) -> Problem:
    """Report a changed field that is immutable."""
    return Problem("immutable-field", path, message, hint, at_key=at_key)


def wrong_name(value: str, what: str, why: str, path: Path) -> Problem:
    """Report a string that is no valid name for *what*, such as "a container"."""
    return Problem("invalid-name", path, f"`{value}` is not a valid name for {what}: {why}")


def near(value: str, known: Iterable[str]) -> str:
    """Suggest a correction for an unknown name: a near name, or all names if they are few."""
    names = sorted(set(known) - {""})
    if suggestion := closest(value, names):
        return suggestion
    return f"known: {listed(names)}" if 0 < len(names) <= 5 else ""


def negative(value: Any, path: Path) -> Problems:
    """Report a number below zero."""
    if value < 0:
        yield Problem("out-of-range", path, f"`{path[-1]}` must not be negative, got {value}")


def wrong_id(value: int, path: Path) -> Problems:
    """Report a number that is no ID of a user or a group."""
    if not 0 <= value <= MAX_INT32:
        yield Problem("out-of-range", path, f"user and group IDs: expected 0 to {MAX_INT32:,}, got {value}")


# Checks of one field that the rules of many kinds make: each gives the problem of a value, or none.


def one_of(value: Any, choices: Sequence[Any], path: Path) -> Problems:
    """Report a value that is none of the choices."""
    if value not in choices:
        yield unsupported(value, choices, path)


def required(around: Data, field: str, path: Path, hint: str = "") -> Problems:
    """Report a field of an object at *path* that is absent or empty."""
    if not around.get(field):
        yield missing(field, around, path, hint)


def choice(around: Data, field: str, choices: Sequence[Any], path: Path, *, or_empty: bool = False) -> Problems:
    """Report a field of an object at *path* with a value that is none of the choices.

    *or_empty*: an empty string counts as absent.
    """
    value = around.get(field)
    if value is not None and value not in choices and not (or_empty and not value):
        yield unsupported(value, choices, (*path, field))


def required_choice(around: Data, field: str, choices: Sequence[Any], path: Path, hint: str = "") -> Problems:
    """Report a field of an object at *path* that is absent, empty or none of the choices."""
    return one_of(around[field], choices, (*path, field)) if around.get(field) else required(around, field, path, hint)


def named(value: str, what: str, bad_name: Callable[[str], str], path: Path) -> Problems:
    """Report a string that is no valid name for *what*, such as "a container".

    *bad_name* says why.
    """
    if why := bad_name(value):
        yield wrong_name(value, what, why, path)


def required_name(around: Data, field: str, what: str, bad_name: Callable[[str], str], path: Path, hint: str = "") -> Problems:
    """Report a field of an object at *path* that is absent, empty or no valid name for *what*."""
    return named(around[field], what, bad_name, (*path, field)) if around.get(field) else required(around, field, path, hint)


def formed(value: str, what: str, bad_form: Callable[[str], str], path: Path) -> Problems:
    """Report a string that is no valid *what*, such as "label key". *bad_form* says why."""
    if why := bad_form(value):
        yield Problem("wrong-format", path, f'"{value}" is not a valid {what}: {why}')


def required_form(around: Data, field: str, what: str, bad_form: Callable[[str], str], path: Path, hint: str = "") -> Problems:
    """Report a field of an object at *path* that is absent, empty or no valid *what*."""
    return formed(around[field], what, bad_form, (*path, field)) if around.get(field) else required(around, field, path, hint)


def within(value: Any, least: int | None, most: int | None, path: Path) -> Problems:
    """Report a number below *least* or above *most*."""
    if (least is not None and value < least) or (most is not None and value > most):
        yield outside(value, least, most, path)


def sized(size: int, what: str, least: int | None, most: int | None, path: Path) -> Problems:
    """Report a value with less than *least* or more than *most* of *what*, such as "item"."""
    for bound, limit in (("least", least), ("most", most)):
        if limit is not None and (size < limit if bound == "least" else size > limit):
            message = f"{name_of(path)}: expected at {bound} {limit:,} {what}{'s' * (limit != 1)}, got {size:,}"
            yield Problem("wrong-size", path, message)


def at_most(most: int, size: int, what: str, path: Path) -> Problems:
    """Report a value with more than *most* of *what*."""
    return sized(size, what, None, most, path)


# Bring together what the walk on the structure found in an object, and what Go code found in what was decoded of it.


def merged(found: list[Problem], of_code: Iterable[Problem]) -> list[Problem]:
    """Join the problems *found* in a built-in object's structure with those *of_code*.

    Outside of metadata, Go code alone decides which fields are required. A problem of Go code is left out if it follows from one of the
    structure: its place could not be decoded, or is inside such a place, or it is a missing field for which an unknown one was meant.
    """
    kept = [problem for problem in found if problem.rule != "missing-field" or problem.path[:1] == ("metadata",)]
    if not kept:
        return list(of_code)
    unknown = [problem for problem in kept if problem.rule == "unknown-field"]
    broken = {problem.path for problem in kept if problem.rule != "unknown-field"}
    meant = {(*each.path[:-1], name) for each in unknown for name in (each.path[-1], each.meant, each.belongs)}
    meant |= {each.path[:-1] for each in unknown}  # of what takes one of several fields
    return [*kept, *(each for each in of_code if not _follows(each, broken, meant))]


def _follows(problem: Problem, broken: set[Path], meant: set[Path]) -> bool:
    path = problem.path
    return any(path[:end] in broken for end in range(len(path) + 1)) or (problem.rule == "missing-field" and path in meant)
