"""Read fields of a document in which anything may stand, as Go has them once decoded.

What is absent, null or of a wrong type is empty.
"""

from __future__ import annotations

from jobspec.diagnostics.places import value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


MAX_INT32 = (1 << 31) - 1
#: What `strconv.ParseBool` takes for true and for false.
TRUE_WORDS, FALSE_WORDS = ("1", "t", "T", "true", "TRUE", "True"), ("0", "f", "F", "false", "FALSE", "False")


def mapping(data: Any, *steps: str) -> dict[str, Any]:
    """The mapping at the end of some steps through mappings; an empty one where there is none."""
    found = value_at(data, steps)
    return found if isinstance(found, dict) else {}


def items(data: Any, *steps: str) -> list[Any]:
    """Return the items of the list at the end of some steps through mappings.

    If there is no list, there are none.
    """
    found = value_at(data, steps)
    return found if isinstance(found, list) else []


def structs(data: Any, *steps: str) -> list[dict[str, Any]]:
    """Return the items of the list of mappings at *steps*."""
    return [mapping(item) for item in items(data, *steps)]


def text(data: dict[str, Any], name: str) -> str:
    """Return the string in a field. If there is none, return an empty string."""
    value = data.get(name)
    return value if isinstance(value, str) else ""


def texts(data: dict[str, Any], name: str) -> list[str]:
    """Return the items of the list of strings in a field."""
    return [item if isinstance(item, str) else "" for item in items(data, name)]


def number(data: dict[str, Any], name: str) -> int | None:
    """Return the number in a field. If there is none, return None."""
    value = data.get(name)
    return None if isinstance(value, bool) or not isinstance(value, int | float) else int(value)


def integer(text: str, bits: int = 64) -> int | None:
    """Parse a decimal number as `strconv.ParseInt` does.

    For other texts, and for numbers that need more *bits*, return None.
    """
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits.isascii() or not digits.isdecimal() or len(digits.lstrip("0")) > 19:
        return None
    number = int(digits.lstrip("0") or "0") * (-1 if text[0] == "-" else 1)
    return number if -(1 << bits - 1) <= number < 1 << bits - 1 else None


def string_map(data: dict[str, Any], name: str) -> dict[str, str]:
    """Return the map of strings in a field: labels, annotations."""
    return {key: value if isinstance(value, str) else "" for key, value in mapping(data, name).items()}


def is_given(data: dict[str, Any], name: str) -> bool:
    """True if a field that can be nil in Go is set."""
    return data.get(name) is not None


def without_nulls(value: Any) -> Any:
    """Remove null fields, as a server does with a custom resource. Null items of lists stay."""
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value
