"""Variables in texts, as Flux substitutes them: `${NAME}` with the operators of a shell. `$NAME` and `$(NAME)` stay as they are.

Follows `Parse` and `Execute`, github.com/fluxcd/pkg/envsubst 1.8.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple


class BadSubstitution(Exception):
    """A `${` that cannot be parsed, such as `${LIST[@]}` of bash."""

    def __init__(self, why: str, at: int) -> None:
        super().__init__(why)
        self.at = at
        """Where in the text the `${` begins."""


class Substituted(NamedTuple):
    """A text with values in place of variables."""

    text: str
    unset: tuple[str, ...]
    """The variables without a value and without a default, each once."""


def substitute(text: str, values: Mapping[str, str], *, keep: Callable[[str], bool] = lambda _: True) -> Substituted:
    """Substitute variables in a text. A variable without a value stays if *keep* says so of its name, and is empty otherwise.

    Raises BadSubstitution for what cannot be parsed.
    """
    if "$" not in text:
        return Substituted(text, ())
    unset: list[str] = []
    made = _Template(text, values, keep, unset).whole()
    return Substituted(made, tuple(dict.fromkeys(unset)))


_WORD = re.compile(r"\w+")
_OPERATORS = re.compile(r":[=\-?+]|=|,{1,2}|\^{1,2}|/[/#%]?|##?|%%?|:")
_DEFAULTS = frozenset((":=", ":-", ":?", ":+", "="))
_CASES: dict[str, Callable[[str], str]] = {
    "^": lambda text: text[:1].upper() + text[1:],
    "^^": str.upper,
    ",": lambda text: text[:1].lower() + text[1:],
    ",,": str.lower,
}


class _Template(NamedTuple):
    """A text with variables. Each method reads a part that begins at an index, and gives what it makes and the index behind it."""

    text: str
    values: Mapping[str, str]
    keep: Callable[[str], bool]
    unset: list[str]
    """Gets the variables without a value and without a default."""

    def whole(self) -> str:
        parts, at = [], 0
        while (dollar := self.text.find("$", at)) >= 0:
            parts.append(self.text[at:dollar])
            if self.text.startswith("${", dollar):
                value, at = self._variable(dollar)
            else:
                value, at = "$", dollar + (2 if self.text.startswith("$$", dollar) else 1)
            parts.append(value)
        return "".join((*parts, self.text[at:]))

    def _variable(self, start: int) -> tuple[str, int]:
        """The value of the variable whose `${` begins at *start*."""
        is_length = self.text.startswith("#", start + 2)
        name = _WORD.match(self.text, start + 2 + is_length)
        if not name:
            raise BadSubstitution("unable to parse variable name", start)
        found = None if is_length else _OPERATORS.match(self.text, name.end())
        operator = found[0] if found else ""
        arguments, at = self._arguments(operator, name.end() + len(operator), start)
        if not self.text.startswith("}", at):
            raise BadSubstitution("missing closing brace", start)
        value = self.values.get(name[0])
        if value is None and operator not in _DEFAULTS:
            self.unset.append(name[0])
            if self.keep(name[0]):
                return self.text[start : at + 1], at + 1
        return str(len(value or "")) if is_length else _changed(value or "", operator, arguments), at + 1

    def _arguments(self, operator: str, at: int, start: int) -> tuple[list[str], int]:
        """The arguments of an operator, up to the closing brace."""
        if operator in _DEFAULTS:
            parts = []
            while at < len(self.text) and self.text[at] != "}":
                part, at = self._argument("}", at, start)
                parts.append(part)
            return ["".join(parts)], at
        if operator == ":":
            first, at = self._argument(":}", at, start)
            if not self.text.startswith(":", at):
                return [first], at
            second, at = self._argument("}", at + 1, start)
            return [first, second], at
        if operator[:1] == "/":
            pattern, at = self._argument("/", at, start, escapes=True)
            if not self.text.startswith("/", at):
                raise BadSubstitution("bad substitution", start)
            if self.text.startswith("}", at + 1):
                return [pattern, ""], at + 1
            by, at = self._argument("}", at + 1, start, escapes=True)
            return [pattern, by], at
        if operator[:1] in ("#", "%"):
            only, at = self._argument("}", at, start)
            return [only], at
        return [], at

    def _argument(self, ends: str, at: int, start: int, *, escapes: bool = False) -> tuple[str, int]:
        """A text up to one of the *ends* or to a variable; or the value of the variable that is next."""
        if self.text.startswith("${", at):
            return self._variable(at)
        parts: list[str] = []
        while at < len(self.text) and self.text[at] not in ends and not self.text.startswith("${", at):
            at += 1 if escapes and self.text.startswith(("\\/", "\\\\", "$$"), at) else 0
            parts.append(self.text[at])
            at += 1
        if not parts and "/" not in ends:
            raise BadSubstitution("unable to parse substitution within function", start)
        return "".join(parts), at


def _changed(value: str, operator: str, arguments: list[str]) -> str:
    """A value as an operator changes it."""
    if operator in _DEFAULTS:
        return value or arguments[0]
    if operator in _CASES:
        return _CASES[operator](value)
    if operator == ":":
        return _part(value, arguments)
    if operator[:1] == "/":
        return _replaced(value, operator, *arguments)
    return _trimmed(value, operator, arguments[0]) if operator else value


def _part(value: str, arguments: list[str]) -> str:
    if not all(re.fullmatch(r"[+-]?\d+", each) for each in arguments):
        return value
    start, *length = map(int, arguments)
    start = max(0, len(value) + start) if start < 0 else start
    return value[start : start + length[0] if length else None] if start < len(value) else value


def _replaced(value: str, operator: str, pattern: str, by: str) -> str:
    if operator == "/#":
        return by + value.removeprefix(pattern) if value.startswith(pattern) else value
    if operator == "/%":
        return value.removesuffix(pattern) + by if value.endswith(pattern) else value
    return value.replace(pattern, by, -1 if operator == "//" else 1)


def _trimmed(value: str, operator: str, pattern: str) -> str:
    """A value without the shortest or the longest beginning or end that a pattern of a shell matches."""
    from fnmatch import fnmatchcase

    lengths = range(len(value) + 1)
    for length in lengths if len(operator) == 1 else reversed(lengths):
        cut = length if operator[0] == "#" else len(value) - length
        part, rest = (value[:cut], value[cut:]) if operator[0] == "#" else (value[cut:], value[:cut])
        if fnmatchcase(part, pattern):
            return rest
    return value
