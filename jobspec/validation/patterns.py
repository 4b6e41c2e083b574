"""Match texts with patterns by RE2's meaning; without the CEL library, which brings RE2, with Python's own where both mean the same."""

from __future__ import annotations

import re
from functools import lru_cache

from jobspec.validation import regex

_ESCAPE = r"\\[.*+?()|\[\]{}^$\\/_,:;=@%&#~!<>\"'`dDwWtnrf-]"
_CLASS = rf"\[\^?-?(?:[^\\\[\]&~|-]|{_ESCAPE}|-(?=[^-]))+\]"
#: The pieces of patterns that mean the same to RE2 and to Python.
_PIECE = re.compile(rf"{_CLASS}|{_ESCAPE}|(?:[*+?]|\{{\d{{1,3}}(?:,\d{{0,3}})?\}})(?![*+?{{])|\((?:\?:)?|[^\\\[\](){{}}*+?]|\)", re.ASCII)


class NotEvaluated(Exception):
    """The pattern cannot be matched here; the text says why."""


def matches(pattern: str, text: str) -> bool:
    """Whether *pattern* matches somewhere in *text*. Raises NotEvaluated where nobody can say."""
    try:
        return regex.matches(pattern, text)
    except ImportError:
        return _for_python(pattern).search(text) is not None


@lru_cache(maxsize=1000)
def _for_python(pattern: str) -> re.Pattern[str]:
    """The pattern for Python, to which `$` alone would be before a line's end, too. Raises NotEvaluated for what it takes differently."""
    pieces = _PIECE.findall(pattern)
    try:
        if "".join(pieces) == pattern:
            return re.compile("".join(r"\Z" if piece == "$" else piece for piece in pieces), re.ASCII)
    except re.error:
        pass
    raise NotEvaluated("the CEL library, which knows such patterns, is not installed (cel-expr-python)")
