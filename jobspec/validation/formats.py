"""Forms of text: times and quantities, as the API server checks them in a custom resource."""

from __future__ import annotations

_SUFFIXES = frozenset(("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "n", "u", "m", "k", "K", "M", "G", "T", "P", "E"))


def is_quantity(text: str) -> bool:
    """Whether the text matches the quantity pattern that CRDs carry: a decimal number, then a suffix or an exponent."""
    body = text[1:] if text[:1] in ("+", "-") else text
    number, rest = _number(body)
    if not number:
        return False
    if rest in _SUFFIXES:
        return True
    if rest[:1] not in ("e", "E"):
        return False
    exponent, after = _number(rest[2:] if rest[1:2] in ("+", "-") else rest[1:])
    return bool(exponent) and not after


def _number(text: str) -> tuple[str, str]:
    """The text split after its leading digits with at most one dot; no number where there is no digit."""
    end = 0
    while end < len(text) and text[end] in "0123456789":
        end += 1
    if end < len(text) and text[end] == ".":
        end += 1
        while end < len(text) and text[end] in "0123456789":
            end += 1
    return ("", text) if text[:end] in ("", ".") else (text[:end], text[end:])


def is_time(text: str) -> bool:
    """Whether the text is an RFC 3339 time as Go's `time.Parse(time.RFC3339, text)` reads it."""
    import re
    from datetime import datetime

    match = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,]\d+)?(?:Z|[+-](\d\d):(\d\d))", text, re.ASCII)
    if not match:
        return False
    try:
        datetime.fromisoformat(match[1])
    except ValueError:
        return False
    return int(match[2] or 0) <= 24 and int(match[3] or 0) < 60


CHECKS = {"date-time": is_time, "quantity": is_quantity}
EXAMPLES = {"date-time": "a time such as `2026-01-31T12:00:00Z`", "quantity": "a quantity such as `2`, `500m` or `8Gi`"}
