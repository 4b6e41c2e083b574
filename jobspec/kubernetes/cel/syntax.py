"""CEL expressions as syntax trees.

Follows the node kinds of `Expr`, cel/expr/syntax.proto of github.com/google/cel-spec.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple


class Literal(NamedTuple):
    """A constant. *kind* is the name of its type.

    *at* is the number of the node, here and in all other nodes.
    """

    at: int
    kind: str
    value: Any


class Name(NamedTuple):
    """An identifier: a variable, or the name of a type."""

    at: int
    name: str


class Select(NamedTuple):
    """`operand.field`, or `has(operand.field)` with *is_test*."""

    at: int
    operand: Any
    field: str
    is_test: bool


class Call(NamedTuple):
    """A call of a function, or of a member function on *target*.

    Operators are functions with names such as `_+_`.
    """

    at: int
    function: str
    target: Any
    arguments: tuple[Any, ...]


class ListOf(NamedTuple):
    """A list; *optional* are the indices of the items written with `?`, which may be absent."""

    at: int
    items: tuple[Any, ...]
    optional: tuple[int, ...]


class MapOf(NamedTuple):
    """A map. Each entry is a key, a value, and True if it is written with `?`.

    An entry with `?` may be absent.
    """

    at: int
    entries: tuple[tuple[Any, Any, bool], ...]


class Message(NamedTuple):
    """A message, constructed from the values of its fields; *name* is that of its type."""

    at: int
    name: str
    fields: tuple[str, ...]
    values: tuple[Any, ...]


class Comprehension(NamedTuple):
    """The loop that a macro such as `all` is expanded to.

    The accumulator *result_name* begins as *start*, and becomes *step* for each item of *source* while *condition* holds; *result* is
    the value of the loop.
    """

    at: int
    variables: tuple[str, ...]
    source: Any
    result_name: str
    start: Any
    condition: Any
    step: Any
    result: Any


class SyntaxTree(NamedTuple):
    """A parsed expression: nodes, text, each node's offset in the text, the library's message."""

    root: Any
    text: str
    offsets: dict[int, int]
    message: Any

    def position(self, at: int) -> str:
        """Return line and column of a node."""
        before = self.text[: self.offsets.get(at, 0)]
        return f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def walk(node: Any) -> Iterator[Any]:
    """Give a node and all nodes below it."""
    yield node
    for child in children(node):
        yield from walk(child)


def children(node: Any) -> Iterator[Any]:
    """Yield the nodes directly below a node."""
    return (child for child in _CHILDREN[type(node)](node) if child is not None)


def names_of(node: Any) -> tuple[str, ...]:
    """Return the names on the way to a node's value, such as `request.userInfo`.

    If the node is no chain of names, return none.
    """
    if isinstance(node, Name):
        return (node.name,)
    if isinstance(node, Select):
        inner, field = names_of(node.operand), node.field
    elif isinstance(node, Call) and node.function in ("_[_]", "_?._", "_[?_]") and isinstance(node.arguments[1], Literal):
        inner, field = names_of(node.arguments[0]), node.arguments[1].value
    else:
        return ()
    return (*inner, field) if inner and isinstance(field, str) else ()


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
