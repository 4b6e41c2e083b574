"""Problems: what is wrong at a path of an object, in words that all rules share. `verdict` turns them into diagnostics with lines."""

from __future__ import annotations

from functools import lru_cache

from jobspec.diagnostics import Change, Data, Path, Problem, Problems, move, quote, rename, set_to, spell
from jobspec.go.formats import is_quantity
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
_WORD_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-=")
_UNITS = {unit.lower() + end: unit for unit in ("k", "Ki", "Mi", "Gi", "Ti") for end in ("", "b")} | {"mb": "M", "gb": "G", "tb": "T"}
_QUOTES = "put it in quotes"


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


def type_hint(value: Any, shape: Shape) -> str:
    """How to correct a value of the wrong type; empty if nothing can be suggested."""
    kind = shape.type
    if value is None:
        return "give it a value, or remove it"
    if shape.format == "quantity" and isinstance(value, float):
        return _QUOTES
    if kind == "string" and isinstance(value, bool):
        return "without quotes, `y`, `yes`, `on`, `true` and their opposites are booleans to Kubernetes; put the value in quotes"
    if kind == "string" and isinstance(value, (int, float)):
        return _QUOTES
    is_other = isinstance(value, str) and (value.lstrip("-").isdecimal() if kind == "integer" else value in ("true", "false"))
    if kind in ("integer", "boolean") and is_other:
        return f"remove the quotes: `{value}`"
    if kind == "array" and isinstance(value, dict):
        fields = (shape.items.fields if shape.items else None) or {}
        return "write each entry as `- name: ...` and `value: ...`" if fields.keys() >= {"name", "value"} else "begin each item with `- `"
    if kind == "array" and not isinstance(value, list):
        return _list_hint(value)
    return "write `key: value` lines without `- `" if kind == "object" and isinstance(value, list) else ""


def _list_hint(value: Any) -> str:
    words = value.split() if isinstance(value, str) else []
    if words and _WORD_CHARACTERS.issuperset("".join(words)):
        return f"write it as a list: `[{', '.join(words)}]`"
    return "write it as a list, with `- ` before each item"


def nearest(name: Any, known: Iterable[str]) -> str:
    """The known name nearest to a misspelt one; empty if none is near."""
    from difflib import get_close_matches

    by_lower = {each.lower(): each for each in known}
    wrong = str(name).lower()
    near = get_close_matches(wrong, by_lower, n=3, cutoff=0.6)
    twisted = [each for each in near if sorted(each) == sorted(wrong)]  # two letters have changed places
    return by_lower[(twisted or near)[0]] if near else ""


def closest(name: Any, known: Iterable[str]) -> str:
    """A suggestion for a misspelt name; empty if no known name is near."""
    near = nearest(name, known)
    return did_you_mean(near) if near else ""


def did_you_mean(name: str) -> str:
    """A suggestion as a question."""
    return f"did you mean `{name}`?"


def meant_quantity(text: str) -> str:
    """A quantity with its unit corrected; empty if the unit is not known."""
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ").strip()
    unit = text[len(digits) :].strip()
    known = _UNITS.get(unit.lower())
    return f"{digits}{known}" if known and is_quantity(f"{digits}{known}") else ""


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
    return Problem("missing-field", (*path, name) if name in data else path, f"{empty} required field `{name}`{where}", at_key=True)


def missing(name: str, around: Data, path: Path, hint: str = "") -> Problem:
    """A field of a built-in kind is absent or empty, and the server's Go code requires it, not its schema."""
    state = "empty" if name in around else "missing"
    return Problem("missing-field", (*path, name), f"{state} required field `{name}` in `{spell(path)}`", hint, at_key=True)


def unknown_field(name: str, shape: Shape | None, path: Path, *, suggest: bool) -> Problem:
    """The schema does not know a field; *suggest*: look for the field that was meant."""
    message = f"unknown field `{name}` in {name_of(path)}" if path else f"unknown field `{name}`"
    if not suggest or not shape or shape.fields is None:
        return Problem("unknown-field", (*path, name), message, at_key=True)
    hint, meant, belongs = where_instead(name, shape)
    remedy = renamed_field((*path, name), shape) if meant else moved_field((*path, name), shape) if belongs else None
    return Problem("unknown-field", (*path, name), message, hint, at_key=True, meant=meant, belongs=belongs, remedy=remedy)


def wrong_type(value: Any, shape: Shape, path: Path) -> Problem:
    """A value is of another type than its shape."""
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


def wrong_size(size: int, what: str, bound: str, limit: int, path: Path) -> Problem:
    """A string, list or object has too few or too many characters, items or fields; *bound* is `least` or `most`."""
    return Problem("wrong-size", path, f"{name_of(path)}: expected at {bound} {limit:,} {what}{'s' * (limit != 1)}, got {size:,}")


def wrong_format(value: str, example: str, path: Path, hint: str = "", *, meant: str = "") -> Problem:
    """A text does not have its format; *example* shows the format, *meant* is the text that it can only mean."""
    remedy = set_to(path, meant) if meant else None
    return Problem("wrong-format", path, f"{name_of(path)}: expected {example}, got {describe(value)}", hint, remedy=remedy)


def wrong_pattern(value: str, pattern: str, path: Path) -> Problem:
    """A text does not match its pattern."""
    return Problem("wrong-format", path, f"{name_of(path)}: expected a match of `{pattern}`, got {describe(value)}")


def unsupported(value: Any, choices: Sequence[Any], path: Path) -> Problem:
    """A value is none of the choices."""
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
    if not around.get(field):
        yield missing(field, around, path, hint)
    else:
        yield from one_of(around[field], choices, (*path, field))


def named(value: str, what: str, bad_name: Callable[[str], str], path: Path) -> Problems:
    """The problem of a text that is no name for *what*, such as "a container"; *bad_name* says why."""
    if why := bad_name(value):
        yield wrong_name(value, what, why, path)


def required_name(around: Data, field: str, what: str, bad_name: Callable[[str], str], path: Path, hint: str = "") -> Problems:
    """The problem of a field, of an object at *path*, that is absent, empty or no name for *what*."""
    if not around.get(field):
        yield missing(field, around, path, hint)
    else:
        yield from named(around[field], what, bad_name, (*path, field))


def formed(value: str, what: str, bad_form: Callable[[str], str], path: Path) -> Problems:
    """The problem of a text that is no *what*, such as "label key"; *bad_form* says why."""
    if why := bad_form(value):
        yield Problem("wrong-format", path, f'"{value}" is not a valid {what}: {why}')


def within(value: Any, least: int | None, most: int | None, path: Path) -> Problems:
    """The problem of a number below *least* or above *most*."""
    if (least is not None and value < least) or (most is not None and value > most):
        yield outside(value, least, most, path)


def at_most(most: int, size: int, what: str, path: Path) -> Problems:
    """The problem of a value that has more than *most* of *what*, such as "item"."""
    if size > most:
        yield wrong_size(size, what, "most", most, path)


# Bring together what the walk on the structure found in an object, and what Go code found in what was decoded of it.


def merged(found: list[Problem], of_code: Iterable[Problem]) -> list[Problem]:
    """The problems *found* in the structure of a built-in object, and those *of code* that do not follow from them.

    Go code alone decides which fields are required, but for metadata. What it says about a place that could not be decoded, or about what
    is inside of it, is left out, and so is a missing field for which an unknown one was meant.
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


# Find the field that an unknown one was meant for, or the place where it belongs.


_RESOURCES = ("cpu", "memory", "storage")


@lru_cache(maxsize=1000)  # one mistake is often in many files
def where_instead(name: str, shape: Shape) -> tuple[str, str, str]:
    """For an unknown field: a hint, the field that it misspells, and the path of the field that it belongs in; empty if not known."""
    assert shape.fields is not None
    exact = [each for each in shape.fields if each.lower() == name.lower()]
    if exact:
        return did_you_mean(exact[0]), exact[0], ""
    if any(character != " " and not character.isprintable() for character in name):
        return "the name contains an invisible character: retype it", "", ""
    for place, hint, _ in _fields_below(name, shape, "", 2):
        return hint, "", place
    near = nearest(name, shape.fields)
    return (did_you_mean(near), near, "") if near else ("", "", "")


def _fields_below(name: str, shape: Shape, path: str, depth: int) -> Iterator[tuple[str, str, bool]]:
    """The paths below a shape that have a field *name*, or resource quantities if that is a resource.

    With each the hint, and whether the field can be moved there as it is.
    """
    places = [(f"{path}{child}", inner) for child, inner in (shape.fields or {}).items() if not inner.meta]
    for place, inner in places:
        nested = inner.items or inner.values or inner
        if nested.fields and name in nested.fields:
            kind = "an item of " if inner.items else "an entry of " if inner.values else ""
            yield place, f"`{name}` belongs in {kind}`{place}`", not kind
        if nested.format == "quantity" and inner.values and ("/" in name or name in _RESOURCES):
            yield place, f"`{name}` belongs in `{place}`", True
    for place, inner in places if depth > 1 else ():
        yield from _fields_below(name, inner, f"{place}.", depth - 1)


# The hints that are certain enough to be carried out, as remedies.


_NEAR = 0.8  # of difflib's ratio: one letter of five is wrong
_APART = 0.15  # how much nearer the nearest name has to be than the next one


@lru_cache(maxsize=1000)  # one mistake is often in many files
def sure_name(name: str, known: tuple[str, ...]) -> str:
    """The one known name that a misspelt one can only mean; empty where none is near, or two are."""
    from difflib import SequenceMatcher

    by_lower = {each.lower(): each for each in known}
    if name.lower() in by_lower:
        return by_lower[name.lower()]
    ratios = sorted(((SequenceMatcher(None, name.lower(), each).ratio(), each) for each in by_lower), reverse=True)[:2]
    if not ratios or ratios[0][0] < _NEAR or (len(ratios) == 2 and ratios[1][0] > ratios[0][0] - _APART):
        return ""
    return by_lower[ratios[0][1]]


def renamed_field(path: Path, shape: Shape) -> Change | None:
    """The remedy of a misspelt field at a path of a shape's object."""
    meant = sure_name(str(path[-1]), tuple(shape.fields or ()))
    return rename(path, meant) if meant else None


def moved_field(path: Path, shape: Shape) -> Change | None:
    """The remedy of a field that stands outside of the one mapping which has it."""
    places = list(_fields_below(str(path[-1]), shape, "", 2))
    place, _, is_movable = places[0]
    return move(path, tuple(place.split("."))) if len(places) == 1 and is_movable else None


def chosen(value: Any, choices: Iterable[Any], path: Path) -> Change | None:
    """The remedy of a misspelt choice."""
    meant = sure_name(value, tuple(each for each in choices if isinstance(each, str) and each)) if isinstance(value, str) else ""
    return set_to(path, meant) if meant else None


def retyped(value: Any, shape: Shape, path: Path) -> Change | None:
    """The remedy of a scalar that needs quotes, or has quotes that it must not have."""
    is_bare = isinstance(value, (bool, int, float)) and shape.type == "string"
    if is_bare or (shape.format == "quantity" and isinstance(value, float)):
        return quote(path)
    if isinstance(value, str) and shape.type == "integer" and _is_integer(value):
        return set_to(path, int(value))
    if isinstance(value, str) and shape.type == "boolean" and value.lower() in ("true", "false"):
        return set_to(path, value.lower() == "true")
    return None


def _is_integer(text: str) -> bool:
    """Whether a text is an integer of 64 bits as everybody writes it."""
    return len(text) <= 20 and text.lstrip("-").isdecimal() and text.isascii() and text.count("-") <= 1 and str(int(text)) == text
