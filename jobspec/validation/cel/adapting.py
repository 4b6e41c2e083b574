"""Adapt a parsed expression to the CEL library: rename the functions of Kubernetes that cannot be added to it.

The library accepts no further overloads of its own functions (`indexOf`, `string`), and no functions that return an optional value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.protobuf.any_pb2 import Any as Packed
from google.protobuf.message import Message

from jobspec.validation.cel.messages import Expr, ParsedExpr
from jobspec.validation.cel.syntax import Name, Select, walk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.validation.cel.checking import CheckedExpression
    from jobspec.validation.cel.signatures import Type
    from jobspec.validation.cel.syntax import Tree

#: Functions of the library, by the name and the number of arguments, and what Python's implementation of them is called.
_RENAMED = {
    ("indexOf", 1): "indexIn",
    ("lastIndexOf", 1): "lastIndexIn",
    ("cel.@mapInsert", 2): "mapInsert",
    ("cel.@mapInsert", 3): "mapInsert",
}
_RETURNS_OPTIONAL = (("validate", 1), ("named", 1))


def adapted(tree: Tree, checked: CheckedExpression) -> bytes:
    """The serialized expression, with functions of the library only. Raises RuntimeError if it has no counterpart for one."""
    _refuse_opaque_types(tree, checked)
    message = ParsedExpr()
    message.CopyFrom(tree.message)
    for expr in _expressions(message.expr):
        if expr.HasField("call_expr"):
            _adapt_call(expr, checked)
    packed = Packed(type_url=f"type.googleapis.com/{message.DESCRIPTOR.full_name}", value=message.SerializeToString())
    return packed.SerializeToString()


def _refuse_opaque_types(tree: Tree, checked: CheckedExpression) -> None:
    """Raises RuntimeError for the name of a type that the library lacks."""
    for node in walk(tree.root):
        is_of_net = isinstance(node, Select) and isinstance(node.operand, Name) and node.operand.name == "net"
        if is_of_net and checked.type_at(node.at).name == "type":
            raise RuntimeError(f"the CEL library has no type `net.{node.field}`")


def _expressions(message: Any) -> Iterator[Any]:
    """All messages `Expr` in a message, the inner ones first."""
    for field, value in message.ListFields():
        if field.message_type is not None:
            for each in (value,) if isinstance(value, Message) else value:
                yield from _expressions(each)
    if isinstance(message, Expr):
        yield message


def _adapt_call(expr: Any, checked: CheckedExpression) -> None:
    call = expr.call_expr
    form = (call.function, len(call.args))
    if form in _RETURNS_OPTIONAL and call.HasField("target"):
        _wrap(expr, "optional.ofNonZeroValue")
    elif form in _RENAMED:
        call.function = _RENAMED[form]
    elif len(call.args) == 1 and call.function in ("int", "string"):
        _adapt_conversion(call, checked.type_at(call.args[0].id))


def _wrap(expr: Any, function: str) -> None:
    """Make an expression the argument of a function."""
    inner = Expr()
    inner.CopyFrom(expr)
    expr.call_expr.Clear()
    expr.call_expr.function = function
    expr.call_expr.args.add().CopyFrom(inner)


def _adapt_conversion(call: Any, argument: Type) -> None:
    """Replace the conversions that the library lacks by functions in Python."""
    if call.function == "string" and argument.name in ("ip", "cidr"):
        call.function = "ip.text"
    elif call.function == "int" and argument.name == "duration":
        _wrap(call.args[0], "string")
        call.function = "nanosecondsIn"
