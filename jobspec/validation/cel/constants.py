"""What a server looks at in the constants of an expression before it takes it: patterns, times, conversions, lists and formats."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobspec.validation import formats, regex, text_formats
from jobspec.validation.cel.checking import CompileError
from jobspec.validation.cel.syntax import Call, ListOf, Literal, MapOf, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from jobspec.validation.cel.checking import CheckedExpression
    from jobspec.validation.cel.signatures import Type

_INT64 = 1 << 63
_SECONDS = (-62_135_596_800, 253_402_300_799)  # of the years 1 to 9999
_TRUTHS = ("1", "t", "T", "true", "TRUE", "True", "0", "f", "F", "false", "FALSE", "False")
_HAS_CONSTANT_PATTERN = ("matches", "find", "findAll")
_WRITTEN = ("list", "map", "int", "uint", "double", "bool", "string", "timestamp", "bytes", "duration", "type", "null", "dyn")
_CLAUSES = {
    "s": _WRITTEN,
    "d": ("int", "uint", "dyn"),
    "f": ("double", "string", "dyn"),
    "e": ("double", "string", "dyn"),
    "b": ("int", "uint", "bool", "dyn"),
    "x": ("int", "uint", "string", "bytes", "dyn"),
    "X": ("int", "uint", "string", "bytes", "dyn"),
    "o": ("int", "uint", "dyn"),
}


def check_constants(checked: CheckedExpression) -> None:
    """Look at every constant of an expression. Raises CompileError for one that a server does not take."""
    mixed = _formatted(checked)
    for node in walk(checked.tree.root):
        if isinstance(node, Literal):
            _literal(node)
        elif isinstance(node, Call):
            _call(node, checked)
        elif isinstance(node, ListOf) and node.at not in mixed:
            _alike([(item, index in node.optional) for index, item in enumerate(node.items)], checked)
        elif isinstance(node, MapOf) and node.at not in mixed:
            _alike([(key, False) for key, _, _ in node.entries], checked)
            _alike([(value, optional) for _, value, optional in node.entries], checked)


def _literal(node: Literal) -> None:
    if node.kind == "double" and abs(node.value) == float("inf"):
        raise CompileError(node.at, "the number is too large")


def _call(node: Call, checked: CheckedExpression) -> None:
    if node.function in _HAS_CONSTANT_PATTERN:
        _pattern(node)
    elif node.target is None and node.function in _CONVERSIONS:
        constant(node)
    elif node.function == "format" and isinstance(node.target, Literal) and isinstance(node.arguments[0], ListOf):
        _format(node.target, node.arguments[0].items, checked)


def _pattern(node: Call) -> None:
    """The pattern; where `matches` has no target, a server takes the text for one, too."""
    patterns = [node.arguments[0]] if node.target is not None else node.arguments
    for each in map(constant, patterns):
        if each is not None and each.kind == "string" and (why := regex.complaint(each.value)):
            raise CompileError(each.at, f"`{each.value}` is no regular expression of RE2: {why}")


def constant(node: Any) -> Literal | None:
    """The constant that a node is, or that conversions of one make; None for what is none. Raises CompileError where they cannot."""
    if isinstance(node, Literal):
        return node
    if isinstance(node, (ListOf, MapOf)):
        return _constant_whole(node)
    if not isinstance(node, Call) or node.target is not None or node.function not in _CONVERSIONS:
        return None
    inner = constant(node.arguments[0])
    if inner is None:
        return None
    try:
        if inner.kind not in _TAKEN.get(node.function, (inner.kind,)):
            raise ValueError
        return Literal(node.at, *_CONVERSIONS[node.function](inner))
    except (ValueError, OverflowError):
        raise CompileError(inner.at, f"{_shown(inner)} cannot be made a value of type {node.function}") from None


def _shown(one: Literal) -> str:
    if one.kind == "null":
        return "null"
    return f"a {one.kind}" if one.value is None else f'"{one.value}"' if isinstance(one.value, str) else str(one.value)


def _constant_whole(node: ListOf | MapOf) -> Literal | None:
    inner = node.items if isinstance(node, ListOf) else [part for key, value, _ in node.entries for part in (key, value)]
    is_constant = all(constant(part) is not None for part in inner)
    return Literal(node.at, "list" if isinstance(node, ListOf) else "map", None) if is_constant else None


def _as_bool(one: Literal) -> tuple[str, Any]:
    if one.kind == "string" and one.value not in _TRUTHS:
        raise ValueError
    return "bool", one.value if one.kind == "bool" else one.value[0] in "1tT"


def _as_int(one: Literal) -> tuple[str, Any]:
    if one.kind in ("duration", "timestamp"):
        return "int", 0
    if one.kind == "string" and not re.fullmatch(r"[+-]?[0-9]+", one.value):
        raise ValueError
    made = int(one.value)
    if not -_INT64 <= made < _INT64 or (one.kind == "double" and abs(one.value) >= _INT64):
        raise OverflowError
    return "int", made


def _as_uint(one: Literal) -> tuple[str, Any]:
    if one.kind == "string" and not re.fullmatch(r"[0-9]+", one.value):
        raise ValueError
    made = int(one.value)
    if not 0 <= made < 2 * _INT64 or (one.kind == "double" and one.value < 0):
        raise OverflowError
    return "uint", made


def _as_double(one: Literal) -> tuple[str, Any]:
    if one.kind != "string":
        return "double", float(one.value)
    if re.fullmatch(r"[+-]?inf(?:inity)?|nan", one.value, re.IGNORECASE):
        return "double", float(one.value)
    text = re.sub(r"(?<=[0-9a-fA-F])_(?=[0-9a-fA-F])", "", one.value)
    if re.fullmatch(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+", text):
        return "double", float.fromhex(text)
    if not re.fullmatch(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", text):
        raise ValueError
    made = float(text)
    if abs(made) == float("inf"):
        raise OverflowError
    return "double", made


def _as_bytes(one: Literal) -> tuple[str, Any]:
    return "bytes", one.value.encode(errors="surrogatepass") if one.kind == "string" else one.value


def _as_string(one: Literal) -> tuple[str, Any]:
    return "string", one.value.decode() if one.kind == "bytes" else str(one.value)


def _as_duration(one: Literal) -> tuple[str, Any]:
    if one.kind == "int" or (one.kind == "string" and text_formats.go_nanoseconds(one.value) is None):
        raise ValueError
    return "duration", one.value


def _as_timestamp(one: Literal) -> tuple[str, Any]:
    seconds = _seconds(one.value) if one.kind == "string" else one.value if one.kind == "int" else 0
    if not _SECONDS[0] <= seconds <= _SECONDS[1]:
        raise OverflowError
    return "timestamp", one.value


def _seconds(text: str) -> int:
    """The seconds from 1970 to a time, without parts of them. Raises ValueError for what is none."""
    from datetime import UTC, datetime

    found = re.fullmatch(r"(\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)(?:[.,]\d+)?(?:Z|([+-])(\d+):(\d+))", text, re.ASCII)
    if not found or not formats.is_time(text) or found[1] == "0000":
        raise ValueError
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    ahead = int(f"{found[7]}1") * (int(found[8]) * 60 + int(found[9])) * 60 if found[7] else 0
    return int(datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()) - ahead


_NUMBERS = ("int", "uint", "double", "string")
#: The types that a conversion takes, where `dyn` hides that of a constant.
_TAKEN: dict[str, tuple[str, ...]] = {
    "bool": ("bool", "string"),
    "bytes": ("bytes", "string"),
    "double": _NUMBERS,
    "duration": ("duration", "int", "string"),
    "int": (*_NUMBERS, "duration", "timestamp"),
    "string": (*_NUMBERS, "bool", "bytes", "duration", "timestamp"),
    "timestamp": ("int", "string", "timestamp"),
    "uint": _NUMBERS,
}
_CONVERSIONS: dict[str, Callable[[Literal], tuple[str, Any]]] = {
    "bool": _as_bool,
    "bytes": _as_bytes,
    "double": _as_double,
    "duration": _as_duration,
    "dyn": lambda one: (one.kind, one.value),
    "int": _as_int,
    "string": _as_string,
    "timestamp": _as_timestamp,
    "uint": _as_uint,
}


def _alike(items: Sequence[tuple[Any, bool]], checked: CheckedExpression) -> None:
    """Whether the items of a list, or the keys or values of a map, are of one type."""
    kinds = [_optional_value_type(item, checked.type_at(item.at)) if optional else checked.type_at(item.at) for item, optional in items]
    for (item, _), kind in zip(items, kinds, strict=True):
        if kind != kinds[0]:
            raise CompileError(item.at, f"it is {kind}, and what stands before it {kinds[0]}: a list or a map is of one type")


def _optional_value_type(item: Any, kind: Type) -> Type:
    if not kind.inside:
        raise CompileError(item.at, "an item with `?` is an optional value; the server falls over another one")
    return kind.inside[0]


def _formatted(checked: CheckedExpression) -> set[int]:
    """The parts of what is given to `format`, which need not be of one type."""
    calls = (node for node in walk(checked.tree.root) if isinstance(node, Call) and node.function == "format")
    return {part.at for call in calls for inner in (call.target, *call.arguments) if inner is not None for part in walk(inner)}


def _format(text: Literal, items: Sequence[Any], checked: CheckedExpression) -> None:
    used = 0
    for clause in _clauses(text):
        if used >= len(items):
            raise CompileError(text.at, f"the format has more than {len(items)} clauses, and so many values are given")
        _clause(clause, items[used], checked)
        used += 1
    if used < len(items):
        raise CompileError(text.at, f"the format has {used} clauses, and {len(items)} values are given")


def _clauses(text: Literal) -> Iterator[str]:
    """The letters of a format's clauses."""
    at = 0
    while (at := text.value.find("%", at)) >= 0:
        found = re.match(r"%(?:%|(?:\.[0-9]+)?([sdfebxXo]))", text.value[at:])
        if found is None:
            raise CompileError(text.at, f"`{text.value[at : at + 4]}` is no clause of a format")
        if found[1]:
            yield found[1]
        at += found.end()


def _clause(letter: str, item: Any, checked: CheckedExpression) -> None:
    kind = checked.type_at(item.at)
    if kind.name not in _CLAUSES[letter]:
        raise CompileError(item.at, f"`%{letter}` does not take {kind}")
    if letter == "s" and isinstance(item, (ListOf, MapOf)):
        inner = item.items if isinstance(item, ListOf) else [part for key, value, _ in item.entries for part in (key, value)]
        for each in inner:
            _clause(letter, each, checked)
