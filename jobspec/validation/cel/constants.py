"""Constant folding: what conversions make of constants, such as `duration('1h')`, and which of them fail.

Follows `maybeOptimizeConstUnary`, cel-go interpreter/decorators.go, and `ConvertToType` of the types in cel-go common/types.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobspec.validation import formats, text_formats
from jobspec.validation.cel.checking import CompileError
from jobspec.validation.cel.syntax import Call, ListOf, Literal, MapOf

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_INT64 = 1 << 63
_SECONDS = (-62_135_596_800, 253_402_300_799)  # of the years 1 to 9999
_BOOLEANS = ("1", "t", "T", "true", "TRUE", "True", "0", "f", "F", "false", "FALSE", "False")


def fold(node: Any) -> Literal | None:
    """The constant that a node folds to: a literal, a conversion of a constant, a list or map of constants; None for other nodes.

    Raises CompileError for a conversion that fails.
    """
    if isinstance(node, Literal):
        return node
    if isinstance(node, (ListOf, MapOf)):
        return _fold_aggregate(node)
    if not isinstance(node, Call) or node.target is not None or node.function not in CONVERSIONS:
        return None
    inner = fold(node.arguments[0])
    if inner is None:
        return None
    try:
        if inner.kind not in _CONVERTIBLE.get(node.function, (inner.kind,)):
            raise ValueError
        return Literal(node.at, *CONVERSIONS[node.function](inner))
    except (ValueError, OverflowError):
        raise CompileError(inner.at, f"{_describe(inner)} cannot be made a value of type {node.function}") from None


def _describe(one: Literal) -> str:
    if one.kind == "null":
        return "null"
    return f"a {one.kind}" if one.value is None else f'"{one.value}"' if isinstance(one.value, str) else str(one.value)


def _fold_aggregate(node: ListOf | MapOf) -> Literal | None:
    inner = node.items if isinstance(node, ListOf) else [part for key, value, _ in node.entries for part in (key, value)]
    is_constant = all(fold(part) is not None for part in inner)
    return Literal(node.at, "list" if isinstance(node, ListOf) else "map", None) if is_constant else None


def _as_bool(one: Literal) -> tuple[str, Any]:
    if one.kind == "string" and one.value not in _BOOLEANS:
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
    """The whole seconds from 1970 to a time. Raises ValueError for a text that is no time."""
    from datetime import UTC, datetime

    found = re.fullmatch(r"(\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)(?:[.,]\d+)?(?:Z|([+-])(\d+):(\d+))", text, re.ASCII)
    if not found or not formats.is_time(text) or found[1] == "0000":
        raise ValueError
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    ahead = int(f"{found[7]}1") * (int(found[8]) * 60 + int(found[9])) * 60 if found[7] else 0
    return int(datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()) - ahead


_NUMBERS = ("int", "uint", "double", "string")
#: The types of constants that each conversion takes; `dyn(...)` hides them from the type checker.
_CONVERTIBLE: dict[str, tuple[str, ...]] = {
    "bool": ("bool", "string"),
    "bytes": ("bytes", "string"),
    "double": _NUMBERS,
    "duration": ("duration", "int", "string"),
    "int": (*_NUMBERS, "duration", "timestamp"),
    "string": (*_NUMBERS, "bool", "bytes", "duration", "timestamp"),
    "timestamp": ("int", "string", "timestamp"),
    "uint": _NUMBERS,
}
#: The type and the value that each conversion makes of a constant.
CONVERSIONS: dict[str, Callable[[Literal], tuple[str, Any]]] = {
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
