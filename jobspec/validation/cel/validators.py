"""The checks of an expression beyond types: constants, patterns, format strings, and lists and maps with items of one type.

Follows `ValidateDurationLiterals`, `ValidateTimestampLiterals`, `ValidateRegexLiterals` and `ValidateHomogeneousAggregateLiterals`, cel-go
cel/validator.go, and `stringFormatValidator`, cel-go ext/formatting.go.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobspec.validation import regex
from jobspec.validation.cel.checking import CompileError
from jobspec.validation.cel.constants import CONVERSIONS, fold
from jobspec.validation.cel.syntax import Call, ListOf, Literal, MapOf, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from jobspec.validation.cel.checking import CheckedExpression
    from jobspec.validation.cel.signatures import Type

_TAKE_PATTERN = ("matches", "find", "findAll")
_PRINTABLE = ("list", "map", "int", "uint", "double", "bool", "string", "timestamp", "bytes", "duration", "type", "null", "dyn")
_CLAUSES = {
    "s": _PRINTABLE,
    "d": ("int", "uint", "dyn"),
    "f": ("double", "string", "dyn"),
    "e": ("double", "string", "dyn"),
    "b": ("int", "uint", "bool", "dyn"),
    "x": ("int", "uint", "string", "bytes", "dyn"),
    "X": ("int", "uint", "string", "bytes", "dyn"),
    "o": ("int", "uint", "dyn"),
}


def validate(checked: CheckedExpression) -> None:
    """Check an expression whose types fit together. Raises CompileError for what a server refuses."""
    mixed = _nodes_in_formats(checked)
    for node in walk(checked.tree.root):
        if isinstance(node, Literal):
            _check_literal(node)
        elif isinstance(node, Call):
            _check_call(node, checked)
        elif isinstance(node, ListOf) and node.at not in mixed:
            _check_one_type([(item, index in node.optional) for index, item in enumerate(node.items)], checked)
        elif isinstance(node, MapOf) and node.at not in mixed:
            _check_one_type([(key, False) for key, _, _ in node.entries], checked)
            _check_one_type([(value, optional) for _, value, optional in node.entries], checked)


def _check_literal(node: Literal) -> None:
    if node.kind == "double" and abs(node.value) == float("inf"):
        raise CompileError(node.at, "the number is too large")


def _check_call(node: Call, checked: CheckedExpression) -> None:
    if node.function in _TAKE_PATTERN:
        _check_pattern(node)
    elif node.target is None and node.function in CONVERSIONS:
        fold(node)
    elif node.function == "format" and isinstance(node.target, Literal) and isinstance(node.arguments[0], ListOf):
        _check_format(node.target, node.arguments[0].items, checked)


def _check_pattern(node: Call) -> None:
    """Check a constant pattern; in `matches(text, pattern)`, a server takes both arguments for patterns."""
    patterns = [node.arguments[0]] if node.target is not None else node.arguments
    for each in map(fold, patterns):
        if each is not None and each.kind == "string" and (why := regex.complaint(each.value)):
            raise CompileError(each.at, f"`{each.value}` is no regular expression of RE2: {why}")


def _check_one_type(items: Sequence[tuple[Any, bool]], checked: CheckedExpression) -> None:
    """Check that the items of a list, or the keys or values of a map, are of one type; each comes with whether it is optional."""
    kinds = [_value_type(item, checked.type_at(item.at)) if optional else checked.type_at(item.at) for item, optional in items]
    for (item, _), kind in zip(items, kinds, strict=True):
        if kind != kinds[0]:
            raise CompileError(item.at, f"it is {kind}, and what stands before it {kinds[0]}: a list or a map is of one type")


def _value_type(item: Any, kind: Type) -> Type:
    if not kind.inside:
        raise CompileError(item.at, "an item with `?` is an optional value; the server falls over another one")
    return kind.inside[0]


def _nodes_in_formats(checked: CheckedExpression) -> set[int]:
    """The numbers of the nodes in targets and arguments of `format`, whose lists may hold items of several types."""
    calls = (node for node in walk(checked.tree.root) if isinstance(node, Call) and node.function == "format")
    return {part.at for call in calls for inner in (call.target, *call.arguments) if inner is not None for part in walk(inner)}


def _check_format(text: Literal, items: Sequence[Any], checked: CheckedExpression) -> None:
    used = 0
    for clause in _clauses(text):
        if used >= len(items):
            raise CompileError(text.at, f"the format has more than {len(items)} clauses, and so many values are given")
        _check_clause(clause, items[used], checked)
        used += 1
    if used < len(items):
        raise CompileError(text.at, f"the format has {used} clauses, and {len(items)} values are given")


def _clauses(text: Literal) -> Iterator[str]:
    """The letter of each clause of a format string, such as `d` for `%d`."""
    at = 0
    while (at := text.value.find("%", at)) >= 0:
        found = re.match(r"%(?:%|(?:\.[0-9]+)?([sdfebxXo]))", text.value[at:])
        if found is None:
            raise CompileError(text.at, f"`{text.value[at : at + 4]}` is no clause of a format")
        if found[1]:
            yield found[1]
        at += found.end()


def _check_clause(letter: str, item: Any, checked: CheckedExpression) -> None:
    kind = checked.type_at(item.at)
    if kind.name not in _CLAUSES[letter]:
        raise CompileError(item.at, f"`%{letter}` does not take {kind}")
    if letter == "s" and isinstance(item, (ListOf, MapOf)):
        inner = item.items if isinstance(item, ListOf) else [part for key, value, _ in item.entries for part in (key, value)]
        for each in inner:
            _check_clause(letter, each, checked)
