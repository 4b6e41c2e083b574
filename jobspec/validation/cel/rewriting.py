"""Expressions in the words of the CEL library: some functions of Kubernetes it cannot be taught under their own names.

It knows functions of these names already (`indexOf` of texts, `string`), or does not let ours give an optional value.
"""

from __future__ import annotations

import re

_TEXT = r"""[rR]?(?:'''.*?'''|\"\"\".*?\"\"\"|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")"""
_VALIDATED = re.compile(r"(?<![\w.])format\s*\.\s*\w+\s*\(\s*\)\s*\.\s*validate\s*\(")
_PLACE = re.compile(r"\.\s*(indexOf|lastIndexOf)\s*\(")
_ADDRESS = re.compile(r"(?<![\w.])string(?=\s*\(\s*(?:ip|cidr)\s*\()")
_PLACES = {"indexOf": ".placeOf(", "lastIndexOf": ".lastPlaceOf("}


def rewritten(text: str) -> str:
    """The expression with functions that the library can have."""
    for pattern, rewrite in ((_VALIDATED, _as_optional), (_PLACE, _as_place)):
        for found in _last_first(pattern, text):
            text = rewrite(text, without_texts(text), found)
    for found in _last_first(_ADDRESS, text):
        text = f"{text[: found.start()]}ip.text{text[found.end() :]}"
    return text


def _last_first(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    return list(pattern.finditer(without_texts(text)))[::-1]


def without_texts(text: str) -> str:
    """The expression with blanks for the texts in it."""
    return re.sub(_TEXT, lambda found: " " * len(found[0]), text, flags=re.DOTALL)


def _as_optional(text: str, masked: str, found: re.Match[str]) -> str:
    end = _end(masked, found.end())
    return f"{text[: found.start()]}optional.ofNonZeroValue({text[found.start() : end]}){text[end:]}"


def _as_place(text: str, masked: str, found: re.Match[str]) -> str:
    if _has_comma(masked[found.end() : _end(masked, found.end()) - 1]):  # from an offset, in texts only
        return text
    return text[: found.start()] + _PLACES[found[1]] + text[found.end() :]


def _end(masked: str, start: int) -> int:
    """Where the parenthesis that is open at *start* has been closed."""
    depth = 1
    for index in range(start, len(masked)):
        depth += {"(": 1, ")": -1}.get(masked[index], 0)
        if depth == 0:
            return index + 1
    return len(masked)


def _has_comma(masked: str) -> bool:
    depth = 0
    for character in masked:
        depth += 1 if character in "([{" else -1 if character in ")]}" else 0
        if character == "," and depth == 0:
            return True
    return False
