"""The hints that are certain enough to be carried out, as remedies; loaded with the first mistake."""

from __future__ import annotations

from functools import lru_cache

from jobspec.remedies import quote, rename, set_to

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.remedies import Change
    from jobspec.shapes import Shape

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


def chosen(value: Any, choices: Iterable[Any], path: Path) -> Change | None:
    """The remedy of a misspelt choice."""
    meant = sure_name(value, tuple(each for each in choices if isinstance(each, str) and each)) if isinstance(value, str) else ""
    return set_to(path, meant) if meant else None


def retyped(value: Any, shape: Shape, path: Path) -> Change | None:
    """The remedy of a scalar that needs quotes, or has quotes that it must not have."""
    if isinstance(value, (bool, int, float)) and shape.type == "string":
        return quote(path)
    if shape.format == "quantity" and isinstance(value, float):
        return quote(path)
    if isinstance(value, str) and shape.type == "integer" and _is_integer(value):
        return set_to(path, int(value))
    if isinstance(value, str) and shape.type == "boolean" and value.lower() in ("true", "false"):
        return set_to(path, value.lower() == "true")
    return None


def _is_integer(text: str) -> bool:
    """Whether a text is an integer of 64 bits as everybody writes it."""
    return len(text) <= 20 and text.lstrip("-").isdecimal() and text.isascii() and text.count("-") <= 1 and str(int(text)) == text
