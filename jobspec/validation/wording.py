"""Words that messages and hints share: for values, types and suggestions."""

from __future__ import annotations

from jobspec.validation.formats import is_quantity

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
_WORD_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-=")

_UNITS = {
    "k": "k",
    "kb": "k",
    "mb": "M",
    "gb": "G",
    "tb": "T",
    "kib": "Ki",
    "mib": "Mi",
    "gib": "Gi",
    "tib": "Ti",
    "ki": "Ki",
    "mi": "Mi",
    "gi": "Gi",
    "ti": "Ti",
}

_QUOTES = "put it in quotes, as it stands"


def takes(shape: Shape) -> str:
    """The type of a shape in words."""
    if shape.format == "quantity":
        return "a quantity"
    return _TYPES[shape.type]


def describe(value: Any) -> str:
    """A value and its type in words; of a list or mapping, the type alone."""
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
    """How to correct a value of the wrong type; empty if nothing can be suggested."""
    kind = shape.type
    if value is None:
        return "give it a value, or remove it"
    if shape.format == "quantity" and isinstance(value, float):
        return _QUOTES
    if kind == "string" and isinstance(value, bool):
        return "without quotes, `y`, `yes`, `on`, `true` and their opposites are booleans to Kubernetes; put the text in quotes"
    if kind == "string" and isinstance(value, (int, float)):
        return _QUOTES
    if kind in ("integer", "boolean") and isinstance(value, str) and _would_fit(value, kind):
        return f"leave the quotes out: `{value}`"
    if kind == "array" and isinstance(value, dict):
        return _items_hint(shape)
    if kind == "array" and not isinstance(value, list):
        return _list_hint(value)
    if kind == "object" and isinstance(value, list):
        return "write `key: value` lines without `- `"
    return ""


def _items_hint(shape: Shape) -> str:
    fields = shape.items.fields if shape.items else None
    return (
        "write each entry as `- name: ...` and `value: ...`"
        if fields and {"name", "value"} <= fields.keys()
        else "begin each item with `- `"
    )


def _list_hint(value: Any) -> str:
    words = value.split() if isinstance(value, str) else []
    if words and _WORD_CHARACTERS.issuperset("".join(words)):
        return f"write it as a list: `[{', '.join(words)}]`"
    return "write it as a list, with `- ` before each item"


def _would_fit(text: str, kind: str) -> bool:
    return text.lstrip("-").isdecimal() if kind == "integer" else text in ("true", "false")


def nearest(name: Any, known: Iterable[str]) -> str:
    """The known name nearest to a misspelt one; empty if none is near."""
    from difflib import get_close_matches

    by_lower = {each.lower(): each for each in known}
    near = get_close_matches(str(name).lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[near[0]] if near else ""


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


def rule_message(rule: dict[str, Any]) -> str:
    """The `message` of a CEL rule in one line, or the rule itself."""
    return " ".join((rule.get("message") or "").split()) or f"`{in_one_line(rule['rule'])}`"


def listed(names: Iterable[str]) -> str:
    """Names in backticks, with commas between them."""
    return ", ".join(f"`{name}`" for name in names)


def in_one_line(expression: str) -> str:
    """A CEL expression in one line, cut to 100 characters."""
    line = " ".join(expression.split())
    return line if len(line) <= 100 else line[:97] + "..."
