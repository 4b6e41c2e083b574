"""Words for what a user wrote and for what would be right."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from jobspec.shapes import Shape

_TYPES = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "an integer",
    "number": "a number",
    "boolean": "`true` or `false`",
    "int-or-string": "an integer or text",
}

_UNITS = {
    "kb": "k", "mb": "M", "gb": "G", "tb": "T",
    "kib": "Ki", "mib": "Mi", "gib": "Gi", "tib": "Ti", "ki": "Ki", "mi": "Mi", "gi": "Gi", "ti": "Ti",
}

LOST_HINT = "indent it, and what follows it, below that key; the indentation of the file seems to be lost"


def lost_message(name: str, parent: str) -> str:
    """The sentence about a key that stands beside its parent."""
    return f"`{name}` stands beside `{parent}:`, which is empty, and belongs inside it"


def takes(shape: Shape) -> str:
    """What a field of this shape takes."""
    if shape.format == "quantity":
        return "a quantity"
    return _TYPES[shape.type]


def describe(value: Any) -> str:
    """A value as the user wrote it, with its type."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, (int, float)):
        return f"the number {value}"
    if isinstance(value, str):
        short = value if len(value) <= 60 else value[:57] + "..."
        return f'the text "{short}"' if value else "an empty text"
    return "a list" if isinstance(value, list) else "a mapping"


def type_hint(value: Any, shape: Shape) -> str:
    """How to turn a value of the wrong type into what the field takes."""
    kind = shape.type
    if kind == "string" and isinstance(value, bool):
        return "without quotes, `y`, `yes`, `on`, `true` and their opposites are booleans to Kubernetes; put the text in quotes"
    if kind == "string" and isinstance(value, (int, float)):
        return f'put it in quotes: "{value}"'
    if kind in ("integer", "boolean") and isinstance(value, str) and _would_fit(value, kind):
        return "leave the quotes out"
    if kind == "array" and not isinstance(value, (dict, list)):
        return "write it as a list item: `- ...`"
    if kind == "array" and isinstance(value, dict):
        return "begin each item with `- `"
    if kind == "object" and isinstance(value, list):
        return "write `key: value` lines without `- `"
    return ""


def _would_fit(text: str, kind: str) -> bool:
    return text.lstrip("-").isdecimal() if kind == "integer" else text in ("true", "false")


def closest(name: Any, known: Iterable[str]) -> str:
    """A suggestion for a misspelt name, empty where nothing is near."""
    from difflib import get_close_matches

    by_lower = {each.lower(): each for each in known}
    near = get_close_matches(str(name).lower(), by_lower, n=1, cutoff=0.6)
    return f"did you mean `{by_lower[near[0]]}`?" if near else ""


def where_instead(name: str, shape: Shape) -> str:
    """For an unknown field: the sibling it resembles, or the part of the object that has it."""
    assert shape.fields is not None
    exact = [each for each in shape.fields if each.lower() == name.lower()]
    if exact:
        return f"did you mean `{exact[0]}`?"
    for child, inner in shape.fields.items():
        nested = inner.items if inner.items else inner
        if nested.fields and name in nested.fields and not nested.meta:
            return f"`{name}` belongs into {'an item of ' if inner.items else ''}`{child}`"
    return closest(name, shape.fields)


def quantity_hint(text: str) -> str:
    """What to write instead of a quantity with a wrong unit."""
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ").strip()
    unit = text[len(digits) :].strip()
    known = _UNITS.get(unit.lower())
    return f"write `{digits}{known}`" if digits and known else ""
