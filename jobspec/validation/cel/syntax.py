"""CEL expressions as trees: a library parses them, and gives its trees serialized (`cel.expr.ParsedExpr`, in protobuf's wire format)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from cel_expr_python import cel

from jobspec.validation.cel.rewriting import without_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Fields = dict[int, list[Any]]

#: What Kubernetes' CEL has besides the language itself.
EXTENSIONS = """\
extensions:
- name: sets
- name: two-var-comprehensions
- name: optional
- name: lists
- name: strings
  version: 2
"""
_CONSTANTS = {1: "null", 2: "bool", 3: "int", 4: "uint", 5: "double", 6: "string", 7: "bytes"}


class Literal(NamedTuple):
    """A constant; *kind* is the name of its type."""

    at: int
    kind: str
    value: Any


class Name(NamedTuple):
    """A variable, or the name of a type."""

    at: int
    name: str


class Select(NamedTuple):
    """`operand.field`, or with *is_test* `has(operand.field)`."""

    at: int
    operand: Any
    field: str
    is_test: bool


class Call(NamedTuple):
    """A function on a target or without one; operators are functions such as `_+_`."""

    at: int
    function: str
    target: Any
    arguments: tuple[Any, ...]


class ListOf(NamedTuple):
    """A list; *optional* are the numbers of the items that may be left out."""

    at: int
    items: tuple[Any, ...]
    optional: tuple[int, ...]


class MapOf(NamedTuple):
    """A map: each key with its value, and whether it may be left out."""

    at: int
    entries: tuple[tuple[Any, Any, bool], ...]


class Message(NamedTuple):
    """A message of protobuf, by the name of its type, with the values of its fields."""

    at: int
    name: str
    values: tuple[Any, ...]


class Comprehension(NamedTuple):
    """A loop, which is what `all` and its like are made of: *result* is in terms of what each step made of *start*."""

    at: int
    variables: tuple[str, ...]
    source: Any
    result_name: str
    start: Any
    condition: Any
    step: Any
    result: Any


class Tree(NamedTuple):
    """An expression, and the offsets in its text of its parts."""

    root: Any
    text: str
    offsets: dict[int, int]

    def place(self, at: int) -> str:
        """Line and column of a part."""
        before = self.text[: self.offsets.get(at, 0)]
        return f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def parse(text: str) -> Tree:
    """The tree of an expression. Raises RuntimeError with the library's words for what is none, or is too deep for it."""
    if "`" in without_texts(text):
        raise RuntimeError("a backtick is not supported")
    whole = _fields(_environment().compile(text, disable_check=True).serialize())
    parsed = _fields(whole[2][0])
    source = _fields(parsed[3][0]) if 3 in parsed else {}
    offsets = {_number(_fields(each), 1): _number(_fields(each), 2) for each in source.get(4, ())}
    return Tree(_expression(parsed[2][0]), text, offsets)


def is_too_deep(error: RuntimeError) -> bool:
    """Whether it is for the library's sake that an expression cannot be parsed."""
    return "recursion" in str(error)


def parts(node: Any) -> Iterator[Any]:
    """A node and all those inside of it."""
    yield node
    for child in _CHILDREN[type(node)](node):
        if child is not None:
            yield from parts(child)


_CHILDREN: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    Literal: lambda _: (),
    Name: lambda _: (),
    Select: lambda node: (node.operand,),
    Call: lambda node: (node.target, *node.arguments),
    ListOf: lambda node: node.items,
    MapOf: lambda node: tuple(part for key, value, _ in node.entries for part in (key, value)),
    Message: lambda node: node.values,
    Comprehension: lambda node: (node.source, node.start, node.condition, node.step, node.result),
}


@cache
def _environment() -> cel.Env:
    return cel.NewEnv(config=cel.NewEnvConfigFromYaml(EXTENSIONS))


def _fields(data: bytes) -> Fields:
    """The values of a message by the numbers of their fields: integers, eight bytes, or bytes of some length."""
    found: Fields = {}
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        value: int | bytes
        if kind == 0:
            value, at = _varint(data, at)
        else:
            size, at = _varint(data, at) if kind == 2 else (8, at)
            value, at = data[at : at + size], at + size
        found.setdefault(key >> 3, []).append(value)
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def _number(fields: Fields, number: int) -> int:
    value: int = fields.get(number, [0])[0]
    return value


def _text(fields: Fields, number: int) -> str:
    value: bytes = fields.get(number, [b""])[0]
    return value.decode()


def _inside(fields: Fields, number: int) -> Any:
    return _expression(fields[number][0]) if number in fields else None


def _expression(data: bytes) -> Any:
    fields = _fields(data)
    number = next(number for number in _MAKERS if number in fields)
    return _MAKERS[number](_number(fields, 2), _fields(fields[number][0]))


def _literal(at: int, fields: Fields) -> Literal:
    number = next(number for number in _CONSTANTS if number in fields)
    return Literal(at, _CONSTANTS[number], _constant(_CONSTANTS[number], fields[number][0]))


def _constant(kind: str, value: Any) -> Any:
    import struct

    if kind == "double":
        return struct.unpack("<d", value)[0]
    if kind == "int":
        return value - (1 << 64) if value >> 63 else value
    return {"null": None, "bool": bool(value), "uint": value}[kind] if isinstance(value, int) else _plain(kind, value)


def _plain(kind: str, value: bytes) -> str | bytes:
    return value.decode(errors="surrogatepass") if kind == "string" else value


def _select(at: int, fields: Fields) -> Select:
    return Select(at, _inside(fields, 1), _text(fields, 2), bool(_number(fields, 3)))


def _call(at: int, fields: Fields) -> Call:
    return Call(at, _text(fields, 2).lstrip("."), _inside(fields, 1), tuple(map(_expression, fields.get(3, ()))))


def _list(at: int, fields: Fields) -> ListOf:
    optional, data, start = [], fields.get(2, [b""])[0], 0
    while start < len(data):
        number, start = _varint(data, start)
        optional.append(number)
    return ListOf(at, tuple(map(_expression, fields.get(1, ()))), tuple(optional))


def _struct(at: int, fields: Fields) -> MapOf | Message:
    entries = [_fields(each) for each in fields.get(2, ())]
    if _text(fields, 1):
        return Message(at, _text(fields, 1), tuple(_inside(each, 4) for each in entries))
    return MapOf(at, tuple((_inside(each, 3), _inside(each, 4), bool(_number(each, 5))) for each in entries))


def _comprehension(at: int, fields: Fields) -> Comprehension:
    variables = tuple(_text(fields, number) for number in (1, 8) if number in fields)
    source, start, condition, step, result = (_inside(fields, number) for number in (2, 4, 5, 6, 7))
    return Comprehension(at, variables, source, _text(fields, 3), start, condition, step, result)


_MAKERS: dict[int, Callable[[int, Fields], Any]] = {
    3: _literal,
    4: lambda at, fields: Name(at, _text(fields, 1).lstrip(".")),
    5: _select,
    6: _call,
    7: _list,
    8: _struct,
    9: _comprehension,
}
