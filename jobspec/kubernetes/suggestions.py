"""What a wrong field, choice or value was meant to be: suggestions, and remedies where only one thing can be meant.

Loaded for mistakes alone, as what `difflib` and `functools` need takes longer to load than a good manifest to check.
"""

from __future__ import annotations

from functools import lru_cache

from jobspec.diagnostics.places import Path
from jobspec.diagnostics.problems import Change, move, quote, rename, set_to
from jobspec.go.formats import is_quantity
from jobspec.schemas.shapes import TYPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from jobspec.schemas.shapes import Shape


def nearest(name: Any, known: Iterable[str], *, likeness: float = 0.6) -> str:
    """Return the known name nearest to a misspelt one; empty if none is near."""
    from difflib import get_close_matches

    by_lower = {each.lower(): each for each in known}
    wrong = str(name).lower()
    near = get_close_matches(wrong, by_lower, n=3, cutoff=likeness)
    twisted = [each for each in near if sorted(each) == sorted(wrong)]  # two letters have changed places
    return by_lower[(twisted or near)[0]] if near else ""


def did_you_mean(name: str) -> str:
    """Return a suggestion as a question."""
    return f"did you mean `{name}`?"


# The field that an unknown one was meant for, or the place where it belongs.


_RESOURCES = ("cpu", "memory", "storage")


@lru_cache(1000)  # one mistake is often in many files
def where_instead(name: str, shape: Shape) -> tuple[str, str, str]:
    """Return a hint, the misspelt field and the path of the right place for an unknown field.

    Each of them is empty if it is not known.
    """
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
    """Yield the paths below a shape that have a field *name*.

    If *name* is a resource, these are places of quantities. Each path comes with its hint, and True if the field can be moved there as it
    is.
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


# The type that a value was meant to have.


_WORD_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-=")
_UNITS = {unit.lower() + end: unit for unit in ("k", "Ki", "Mi", "Gi", "Ti") for end in ("", "b")} | {"mb": "M", "gb": "G", "tb": "T"}
_QUOTES = "put it in quotes"


def type_hint(value: Any, shape: Shape) -> str:
    """Return how to correct a value of the wrong type; empty if nothing can be suggested."""
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


def meant_quantity(text: str) -> str:
    """Return a quantity with its unit corrected; empty if the unit is not known."""
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ").strip()
    unit = text[len(digits) :].strip()
    known = _UNITS.get(unit.lower())
    return f"{digits}{known}" if known and is_quantity(f"{digits}{known}") else ""


# The hints that are certain enough to be carried out, as remedies.


_NEAR = 0.8  # of difflib's ratio: one letter of five is wrong
_APART = 0.15  # how much nearer the nearest name has to be than the next one


@lru_cache(1000)  # one mistake is often in many files
def sure_name(name: str, known: tuple[str, ...]) -> str:
    """Return the only known name that a misspelt name can mean.

    If no name is near, or two are, return an empty string.
    """
    from difflib import SequenceMatcher

    by_lower = {each.lower(): each for each in known}
    if name.lower() in by_lower:
        return by_lower[name.lower()]
    ratios = sorted(((SequenceMatcher(None, name.lower(), each).ratio(), each) for each in by_lower), reverse=True)[:2]
    if not ratios or ratios[0][0] < _NEAR or (len(ratios) == 2 and ratios[1][0] > ratios[0][0] - _APART):
        return ""
    return by_lower[ratios[0][1]]


def renamed_field(path: Path, shape: Shape) -> Change | None:
    """Return the remedy of a misspelt field at a path of a shape's object."""
    meant = sure_name(str(path[-1]), tuple(shape.fields or ()))
    return rename(path, meant) if meant else None


def moved_field(path: Path, value: Any, shape: Shape) -> Change | None:
    """Return the change to move a field with a value into the mapping that has it.

    If several mappings have the field, or the field cannot be moved, or takes another type there, return None.
    """
    name = str(path[-1])
    places = list(_fields_below(name, shape, "", 2))
    place, _, is_movable = places[0]
    steps = tuple(place.split("."))
    return move(path, steps) if len(places) == 1 and is_movable and _is_of_type(value, shape.at((*steps, name))) else None


def _is_of_type(value: Any, shape: Shape | None) -> bool:
    """Whether a value, and each item of a list, has the type of a shape."""
    if shape is None:
        return False
    is_flag = isinstance(value, bool) and shape.type != "boolean"  # an integer to Python
    types = TYPES.get(shape.type)
    if types and (is_flag or not isinstance(value, types)):
        return False
    return not isinstance(value, list) or shape.items is None or all(_is_of_type(each, shape.items) for each in value)


def chosen(value: Any, choices: Iterable[Any], path: Path) -> Change | None:
    """Return the remedy of a misspelt choice."""
    meant = sure_name(value, tuple(each for each in choices if isinstance(each, str) and each)) if isinstance(value, str) else ""
    return set_to(path, meant) if meant else None


def retyped(value: Any, shape: Shape, path: Path) -> Change | None:
    """Return the change that adds or removes the quotes of a scalar. If none helps, return None."""
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
