"""Regular expressions of RE2, whose syntax Go's `regexp` package has: match, find all, check the syntax.

RE2 is part of the CEL library, which is loaded when the first pattern is used.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cel_expr_python import cel


def is_available() -> bool:
    """True if the CEL library is installed.

    Without the library, every other function here raises ImportError.
    """
    from importlib.util import find_spec

    return find_spec("cel_expr_python") is not None


def re2_matches(pattern: str, text: str) -> bool:
    """True if *pattern* matches somewhere in *text*. Raises ValueError for an invalid pattern."""
    return bool(_evaluated("text.matches(pattern)", pattern, text))


def find_all(pattern: str, text: str, most: int = -1) -> list[str]:
    """Return the matches of *pattern* in *text* from the left, without overlaps.

    There are at most *most* matches. If *most* is negative, all are returned.
    """
    found: list[str] = _evaluated("regex.extractAll(text, pattern)", f"({_without_captures(pattern)})", text)
    return found if most < 0 else found[:most]


def complaint(pattern: str) -> str:
    """Return why Go does not compile the pattern; empty if Go compiles it."""
    if "\\C" in _tokens(pattern):
        return "invalid escape sequence: \\C"
    try:
        re2_matches(pattern, "")
    except ValueError as error:
        return str(error)
    return ""


def _evaluated(expression: str, pattern: str, text: str) -> Any:
    from cel_expr_python import cel

    answer = _compiled(expression).eval(data={"text": text, "pattern": pattern})
    if answer.type() == cel.Type.ERROR:
        raise ValueError(str(answer.value()).rpartition("expression: ")[2])
    return answer.plain_value()


@cache  # of the two expressions above
def _compiled(expression: str) -> cel.Expression:
    from cel_expr_python import cel

    variables = {"text": cel.Type.STRING, "pattern": cel.Type.STRING}
    config = cel.NewEnvConfigFromYaml("extensions: [{name: optional}, {name: regex}]")
    return cel.NewEnv(config=config, variables=variables).compile(expression)


def _without_captures(pattern: str) -> str:
    """The pattern with non-capturing groups only, so that a match is found as a whole."""
    return "".join("(?:" if each == "(" or (each[:1] == "(" and each.endswith(">")) else each for each in _tokens(pattern))


def _tokens(pattern: str) -> list[str]:
    """Split a pattern into its tokens.

    Tokens are quoted text, escapes, character classes, starts of capturing groups, and single characters.
    """
    return re.findall(r"\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|\(\?P?<\w+>|\((?!\?)|.", pattern, re.DOTALL)


# Match patterns as RE2 does; without the CEL library, which contains RE2, match those that mean the same in Python's `re`.


_ESCAPE = r"\\[.*+?()|\[\]{}^$\\/_,:;=@%&#~!<>\"'`dDwWtnrf-]"
_CLASS = rf"\[\^?-?(?:[^\\\[\]&~|-]|{_ESCAPE}|-(?=[^-]))+\]"
#: The pieces of patterns that mean the same to RE2 and to Python.
_PIECE = re.compile(rf"{_CLASS}|{_ESCAPE}|(?:[*+?]|\{{\d{{1,3}}(?:,\d{{0,3}})?\}})(?![*+?{{])|\((?:\?:)?|[^\\\[\](){{}}*+?]|\)", re.ASCII)


class PatternNotEvaluated(Exception):
    """The pattern cannot be matched here. The text says why."""


def matches(pattern: str, text: str) -> bool:
    """True if *pattern* matches somewhere in *text*.

    Raises PatternNotEvaluated if the pattern needs RE2 and RE2 is not installed.
    """
    try:
        return re2_matches(pattern, text)
    except ImportError:
        return _for_python(pattern).search(text) is not None


@lru_cache(maxsize=1000)
def _for_python(pattern: str) -> re.Pattern[str]:
    """Return the pattern for Python, where `$` means the end of the text.

    Raises PatternNotEvaluated if Python may read the pattern differently.
    """
    pieces = _PIECE.findall(pattern)
    try:
        if "".join(pieces) == pattern:
            return re.compile("".join(r"\Z" if piece == "$" else piece for piece in pieces), re.ASCII)
    except re.error:
        pass
    raise PatternNotEvaluated("the CEL library, which knows such patterns, is not installed (cel-expr-python)")
