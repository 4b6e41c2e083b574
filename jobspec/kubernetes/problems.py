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


def items_at(around: Data, field: str, path: Path) -> Iterator[tuple[Path, Any]]:
    """The items of a list in an object at *path*, each with its own path; none where there is no list."""
    for index, item in enumerate(around.get(field) or ()):
        yield (*path, field, index), item


def name_of(path: Path) -> str:
    """The name of the value at *path* in a message: `image`, `containers[0]`, or `the manifest` for the empty path."""
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
    """The type of a shape in words."""
    return "a quantity" if shape.format == "quantity" else _TYPES[shape.type]


def describe(value: Any) -> str:
    """A value and its type in words; of a list or mapping, the type alone."""
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
    """A suggestion for a misspelt name; empty if no known name is near."""
    from jobspec.kubernetes.suggestions import did_you_mean, nearest

    near = nearest(name, known)
    return did_you_mean(near) if near else ""


def rule_message(rule: Data) -> str:
    """The `message` of a CEL rule in one line, or the rule itself."""
    return " ".join((rule.get("message") or "").split()) or f"`{in_one_line(rule['rule'])}`"


def listed(names: Iterable[str]) -> str:
    """Names in backticks, with commas between them."""
    return ", ".join(f"`{name}`" for name in names)


def in_one_line(expression: str) -> str:
    """A CEL expression in one line, cut to 100 characters."""
    line = " ".join(expression.split())
    return line if len(line) <= 100 else line[:97] + "..."


# The problems of values that do not fit their schema, in words.


def missing_field(name: str, data: Data, path: Path) -> Problem:
    """A required field is absent from an object, or null in it."""
    where = f" in {name_of(path)}" if path else ""
    empty = "empty" if name in data else "missing"
    message = f"{empty} required field `{name}`{where}"
    return Problem("missing-field", (*path, name) if name in data else path, message, at_key=True, lacks=name)


def missing(name: str, around: Data, path: Path, hint: str = "") -> Problem:
    """A field of a built-in kind is absent or empty, and the server's Go code requires it, not its schema."""
    state = "empty" if name in around else "missing"
    return Problem("missing-field", (*path, name), f"{state} required field `{name}` in `{spell(path)}`", hint, at_key=True)


def unknown_field(name: str, shape: Shape | None, path: Path, *, suggest: bool) -> Problem:
    """The schema does not know a field; *suggest*: look for the field that was meant."""
    message = f"unknown field `{name}` in {name_of(path)}" if path else f"unknown field `{name}`"
    if not suggest or not shape or shape.fields is None:
        return Problem("unknown-field", (*path, name), message, at_key=True)
    from jobspec.kubernetes.suggestions import moved_field, renamed_field, where_instead

    hint, meant, belongs = where_instead(name, shape)
    remedy = renamed_field((*path, name), shape) if meant else moved_field((*path, name), shape) if belongs else None
    return Problem("unknown-field", (*path, name), message, hint, at_key=True, meant=meant, belongs=belongs, remedy=remedy)


def wrong_type(value: Any, shape: Shape, path: Path) -> Problem:
    """A value is of another type than its shape."""
    from jobspec.kubernetes.suggestions import retyped, type_hint

    message = f"{name_of(path)}: expected {type_in_words(shape)}, got {describe(value)}"
    return Problem("wrong-type", path, message, type_hint(value, shape), remedy=retyped(value, shape, path))


def beyond_bits(value: float, bits: int, path: Path) -> Problem:
    """A whole number does not fit into a sign and *bits* bits."""
    most = (1 << bits) - 1
    return Problem("out-of-range", path, f"{name_of(path)}: expected {-most - 1:,} to {most:,}, got {value:,.0f}")


def no_byte(value: Any, path: Path) -> Problem:
    """An item of a list of bytes is no number from 0 to 255."""
    hint = "write the bytes as one base64 string"
    return Problem("wrong-type", path, f"{name_of(path)}: expected a byte, 0 to 255, got {describe(value)}", hint)


def outside(value: Any, least: int | None, most: int | None, path: Path) -> Problem:
    """A number is below *least* or above *most*."""
    limits = f"at least {least}" if most is None else f"at most {most}" if least is None else f"{least} to {most}"
    return Problem("out-of-range", path, f"{name_of(path)}: expected {limits}, got {value}")


def wrong_format(value: str, example: str, path: Path, hint: str = "", *, meant: str = "") -> Problem:
    """A text does not have its format; *example* shows the format, *meant* is the text that it can only mean."""
    remedy = set_to(path, meant) if meant else None
    return Problem("wrong-format", path, f"{name_of(path)}: expected {example}, got {describe(value)}", hint, remedy=remedy)


def wrong_pattern(value: str, pattern: str, path: Path) -> Problem:
    """A text does not match its pattern."""
    return Problem("wrong-format", path, f"{name_of(path)}: expected a match of `{pattern}`, got {describe(value)}")


def unsupported(value: Any, choices: Sequence[Any], path: Path) -> Problem:
    """A value is none of the choices."""
    from jobspec.kubernetes.suggestions import chosen

    listed = ", ".join(f"`{choice}`" if choice != "" else "an empty string" for choice in choices)
    hint = closest(value, [choice for choice in choices if isinstance(choice, str)]) if isinstance(value, str) else ""
    message = f"{name_of(path)}: expected one of {listed}, got {describe(value)}"
    return Problem("unsupported-choice", path, message, hint, remedy=chosen(value, choices, path))


def duplicate_item(index: int, first: int, identity: Sequence[str], keys: Sequence[str], path: Path) -> Problem:
    """An item of a list map has the *keys* of the *first* one; without keys, an item of a set is equal to it."""
    if keys:
        same = f"has the same {' and '.join(f'`{key}`' for key in keys)} ({', '.join(identity)})"
    else:
        same = f"is the same value ({identity[1]})" if identity[1] else "is the same value"
    return Problem("duplicate-item", (*path, index), f"item {index} {same} as item {first}", "remove one of the two")


# Problems of pods and of workloads that several rules have in the same words.


def duplicate(value: str, what: str, path: Path) -> Problem:
    """*what*, such as "a container", has its value a second time."""
    kind = what.removeprefix("a ").removeprefix("an ")
    return Problem("duplicate-item", path, f"duplicate {kind} `{value}`", "rename or remove one of the two")


def repeated(values: Iterable[tuple[Path, Any]], what: str) -> Problems:
    """Each of some values, with their paths, that equals one before it; None equals nothing. *what* is as of `duplicate`."""
    seen = {None}
    for path, value in values:
        if value is not None and value in seen:
            yield duplicate(value, what, path)
        seen.add(value)


def excluded(path: Path, message: str, hint: str = "remove it", *, at_key: bool = False) -> Problem:
    """A field that others exclude."""
    return Problem("conflicting-values", path, message, hint, at_key=at_key)


def fixed(path: Path, message: str, hint: str = "restore the old value, or create another object", *, at_key: bool = False) -> Problem:
    """A changed field that is immutable."""
    return Problem("immutable-field", path, message, hint, at_key=at_key)


def wrong_name(value: str, what: str, why: str, path: Path) -> Problem:
    """A text is no name for *what*, such as "a container"."""
    return Problem("invalid-name", path, f"`{value}` is not a valid name for {what}: {why}")


def near(value: str, known: Iterable[str]) -> str:
    """A suggestion for a name that is not known: a near one, or all where they are few."""
    names = sorted(set(known) - {""})
    if suggestion := closest(value, names):
        return suggestion
    return f"known: {listed(names)}" if 0 < len(names) <= 5 else ""


def negative(value: Any, path: Path) -> Problems:
    """The problem of a number below zero."""
    if value < 0:
        yield Problem("out-of-range", path, f"`{path[-1]}` must not be negative, got {value}")


def wrong_id(value: int, path: Path) -> Problems:
    """The problem of a number that is no ID of a user or a group."""
    if not 0 <= value <= MAX_INT32:
        yield Problem("out-of-range", path, f"user and group IDs: expected 0 to {MAX_INT32:,}, got {value}")


# Checks of one field that the rules of many kinds make: each gives the problem of a value, or none.


def one_of(value: Any, choices: Sequence[Any], path: Path) -> Problems:
    """The problem of a value that is none of the choices."""
    if value not in choices:
        yield unsupported(value, choices, path)


def required(around: Data, field: str, path: Path, hint: str = "") -> Problems:
    """The problem of a field, of an object at *path*, that is absent or empty."""
    if not around.get(field):
        yield missing(field, around, path, hint)


def choice(around: Data, field: str, choices: Sequence[Any], path: Path, *, or_empty: bool = False) -> Problems:
    """The problem of a field, of an object at *path*, that is there and none of the choices; *or_empty*: an empty text means none."""
    value = around.get(field)
    if value is not None and value not in choices and not (or_empty and not value):
        yield unsupported(value, choices, (*path, field))


def required_choice(around: Data, field: str, choices: Sequence[Any], path: Path, hint: str = "") -> Problems:
    """The problem of a field, of an object at *path*, that is absent, empty or none of the choices."""
    return one_of(around[field], choices, (*path, field)) if around.get(field) else required(around, field, path, hint)


def named(value: str, what: str, bad_name: Callable[[str], str], path: Path) -> Problems:
    """The problem of a text that is no name for *what*, such as "a container"; *bad_name* says why."""
    if why := bad_name(value):
        yield wrong_name(value, what, why, path)


def required_name(around: Data, field: str, what: str, bad_name: Callable[[str], str], path: Path, hint: str = "") -> Problems:
    """The problem of a field, of an object at *path*, that is absent, empty or no name for *what*."""
    return named(around[field], what, bad_name, (*path, field)) if around.get(field) else required(around, field, path, hint)


def formed(value: str, what: str, bad_form: Callable[[str], str], path: Path) -> Problems:
    """The problem of a text that is no *what*, such as "label key"; *bad_form* says why."""
    if why := bad_form(value):
        yield Problem("wrong-format", path, f'"{value}" is not a valid {what}: {why}')


def required_form(around: Data, field: str, what: str, bad_form: Callable[[str], str], path: Path, hint: str = "") -> Problems:
    """The problem of a field, of an object at *path*, that is absent, empty or no *what*."""
    return formed(around[field], what, bad_form, (*path, field)) if around.get(field) else required(around, field, path, hint)


def within(value: Any, least: int | None, most: int | None, path: Path) -> Problems:
    """The problem of a number below *least* or above *most*."""
    if (least is not None and value < least) or (most is not None and value > most):
        yield outside(value, least, most, path)


def sized(size: int, what: str, least: int | None, most: int | None, path: Path) -> Problems:
    """The problems of a value that has less than *least* or more than *most* of *what*, such as "item"."""
    for bound, limit in (("least", least), ("most", most)):
        if limit is not None and (size < limit if bound == "least" else size > limit):
            message = f"{name_of(path)}: expected at {bound} {limit:,} {what}{'s' * (limit != 1)}, got {size:,}"
            yield Problem("wrong-size", path, message)


def at_most(most: int, size: int, what: str, path: Path) -> Problems:
    """The problem of a value that has more than *most* of *what*."""
    return sized(size, what, None, most, path)


# Bring together what the walk on the structure found in an object, and what Go code found in what was decoded of it.


def merged(found: list[Problem], of_code: Iterable[Problem]) -> list[Problem]:
    """The problems *found* in the structure of a built-in object, and those *of code* that do not follow from them.

    Outside of metadata, Go code alone decides which fields are required. Its problems of a place that could not be decoded, or of places
    inside it, are left out, and so is a missing field for which an unknown one was meant.
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
