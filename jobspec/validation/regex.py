"""Patterns by RE2's meaning, which is what the API server's Go code takes them for.

The CEL library brings RE2 along; it is loaded when the first pattern is to be matched.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_programs: dict[str, Any] = {}


def matches(pattern: str, text: str) -> bool:
    """Whether *pattern* matches somewhere in *text*. Raises ValueError for what is no pattern, ImportError without the library."""
    return bool(_run("text.matches(pattern)", pattern, text))


def find_all(pattern: str, text: str, most: int = -1) -> list[str]:
    """The pieces of *text* that match, from the left, no two overlapping, at most as many as asked for, all for a negative number."""
    found: list[str] = _run("regex.extractAll(text, pattern)", f"({_without_groups(pattern)})", text)
    return found if most < 0 else found[:most]


def complaint(pattern: str) -> str:
    """Why RE2, as Go has it, does not take a pattern, empty where it does."""
    if "\\C" in _pieces(pattern):
        return "invalid escape sequence: \\C"
    try:
        matches(pattern, "")
    except ValueError as error:
        return str(error)
    return ""


def _run(program: str, pattern: str, text: str) -> Any:
    from cel_expr_python import cel

    if program not in _programs:
        variables = {"text": cel.Type.STRING, "pattern": cel.Type.STRING}
        environment = cel.NewEnv(config=cel.NewEnvConfigFromYaml("extensions: [{name: optional}, {name: regex}]"), variables=variables)
        _programs[program] = environment.compile(program)
    answer = _programs[program].eval(data={"text": text, "pattern": pattern})
    if answer.type() == cel.Type.ERROR:
        raise ValueError(str(answer.value()).rpartition("expression: ")[2])
    return answer.plain_value()


def _without_groups(pattern: str) -> str:
    """The pattern with groups that only group, so that the whole of a match is what is found."""
    return "".join("(?:" if each == "(" or (each[:1] == "(" and each.endswith(">")) else each for each in _pieces(pattern))


def _pieces(pattern: str) -> list[str]:
    """The pattern in pieces: what is quoted, an escape, a class of characters, the start of a group, or one character."""
    import re

    return re.findall(r"\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|\(\?P?<\w+>|\((?!\?)|.", pattern, re.DOTALL)
