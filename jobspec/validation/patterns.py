"""Match patterns as RE2 does; without the CEL library, which contains RE2, match those that mean the same in Python's `re`."""

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
    """Whether *pattern* matches somewhere in *text*. Raises NotEvaluated if it needs RE2 and that is not installed."""
    try:
        return regex.matches(pattern, text)
    except ImportError:
        return _for_python(pattern).search(text) is not None


@lru_cache(maxsize=1000)
def _for_python(pattern: str) -> re.Pattern[str]:
    """The pattern for Python, in which `$` means the end of the text only. Raises NotEvaluated if it may mean something else in Python."""
    pieces = _PIECE.findall(pattern)
    try:
        if "".join(pieces) == pattern:
            return re.compile("".join(r"\Z" if piece == "$" else piece for piece in pieces), re.ASCII)
    except re.error:
        pass
    raise NotEvaluated("the CEL library, which knows such patterns, is not installed (cel-expr-python)")
