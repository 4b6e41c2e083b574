"""Parse CEL expressions to syntax trees by the CEL library.

Loading the library, and protobuf with it, takes long: only what parses or evaluates an expression imports this module.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from cel_expr_python import cel
from google.protobuf import message_factory
from google.protobuf.any_pb2 import Any as Packed
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as _Field
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError

from jobspec.kubernetes.cel.syntax import Call, Comprehension, ListOf, Literal, MapOf, Message, Name, Select, SyntaxTree

#: The extensions of CEL that Kubernetes has (`baseOpts`, k8s.io/apiserver pkg/cel/environment/base.go).
EXTENSIONS = """\
extensions:
- name: sets
- name: two-var-comprehensions
- name: optional
- name: lists
- name: strings
  version: 2
"""
_TOO_DEEP = "recursion limit exceeded"


@lru_cache(maxsize=1024)
def parse(text: str, within: cel.Env | None = None) -> SyntaxTree:
    """Parse an expression with the macros of Kubernetes, or of another environment.

    Results are kept, since folders repeat CRDs and policies. Raises RuntimeError with the library's message for a syntax error, or an
    expression too deep for the library.
    """
    packed = Packed.FromString((within or _environment()).compile(text, disable_check=True).serialize())
    try:
        message = ParsedExpr.FromString(packed.value)
    except DecodeError:
        raise RuntimeError(_TOO_DEEP) from None
    return SyntaxTree(_node(message.expr), text, {each.key: each.value for each in message.source_info.positions}, message)


def is_too_deep(error: RuntimeError) -> bool:
    """True if parsing failed at a limit of the library, not at a mistake in the expression."""
    return "recursion" in str(error)


@cache
def _environment() -> cel.Env:
    return cel.NewEnv(config=cel.NewEnvConfigFromYaml(EXTENSIONS))


def _node(expr: Any) -> Any:
    """The node of a message `Expr`."""
    kind = next(field.name for field, _ in expr.ListFields() if field.name != "id")
    return _NODES[kind](expr.id, getattr(expr, kind))


def _literal(at: int, constant: Any) -> Literal:
    ((field, value),) = constant.ListFields()
    kind = field.name.removesuffix("_value").removesuffix("64")
    return Literal(at, kind, None if kind == "null" else value)


def _call(at: int, call: Any) -> Call:
    target = _node(call.target) if call.HasField("target") else None
    return Call(at, call.function.lstrip("."), target, tuple(map(_node, call.args)))


def _struct(at: int, struct: Any) -> MapOf | Message:
    if struct.message_name:
        entries = struct.entries
        return Message(at, struct.message_name, tuple(each.field_key for each in entries), tuple(_node(each.value) for each in entries))
    return MapOf(at, tuple((_node(each.map_key), _node(each.value), each.optional_entry) for each in struct.entries))


def _comprehension(at: int, loop: Any) -> Comprehension:
    variables = tuple(name for name in (loop.iter_var, loop.iter_var2) if name)
    parts = map(_node, (loop.accu_init, loop.loop_condition, loop.loop_step, loop.result))
    return Comprehension(at, variables, _node(loop.iter_range), loop.accu_var, *parts)


_NODES: dict[str, Callable[[int, Any], Any]] = {
    "const_expr": _literal,
    "ident_expr": lambda at, ident: Name(at, ident.name.lstrip(".")),
    "select_expr": lambda at, select: Select(at, _node(select.operand), select.field, select.test_only),
    "call_expr": _call,
    "list_expr": lambda at, listed: ListOf(at, tuple(map(_node, listed.elements)), tuple(listed.optional_indices)),
    "struct_expr": _struct,
    "comprehension_expr": _comprehension,
}

# The protobuf messages of a parsed CEL expression, `cel.expr.ParsedExpr`.
#
# Follows cel/expr/syntax.proto of github.com/google/cel-spec. No Python package has these messages, so they are built from a table of the
# fields that are used here; protobuf keeps all others.


#: Each message with its fields: number, name and type, which begins with `*` where the field is repeated.
_MESSAGES = {
    "ParsedExpr": "2 expr Expr, 3 source_info SourceInfo",
    "SourceInfo": "4 positions *Position",
    "Position": "1 key int64, 2 value int32",
    "Expr": """2 id int64, 3 const_expr Constant, 4 ident_expr Ident, 5 select_expr Select, 6 call_expr Call, 7 list_expr CreateList,
        8 struct_expr CreateStruct, 9 comprehension_expr Comprehension""",
    "Constant": """1 null_value int64, 2 bool_value bool, 3 int64_value int64, 4 uint64_value uint64, 5 double_value double,
        6 string_value string, 7 bytes_value bytes""",
    "Ident": "1 name string",
    "Select": "1 operand Expr, 2 field string, 3 test_only bool",
    "Call": "1 target Expr, 2 function string, 3 args *Expr",
    "CreateList": "1 elements *Expr, 2 optional_indices *int32",
    "CreateStruct": "1 message_name string, 2 entries *Entry",
    "Entry": "2 field_key string, 3 map_key Expr, 4 value Expr, 5 optional_entry bool",
    "Comprehension": """1 iter_var string, 8 iter_var2 string, 2 iter_range Expr, 3 accu_var string, 4 accu_init Expr,
        5 loop_condition Expr, 6 loop_step Expr, 7 result Expr""",
}


def _file() -> FileDescriptorProto:
    file = FileDescriptorProto(name="cel/expr/syntax.proto", package="cel.expr")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, field, kind in map(str.split, fields.split(",")):
            made = message.field.add(number=int(number), name=field)
            made.label = _Field.LABEL_REPEATED if kind[0] == "*" else _Field.LABEL_OPTIONAL
            scalar = kind.lstrip("*").upper()
            if f"TYPE_{scalar}" in _Field.Type.keys():  # noqa: SIM118 (an enumeration of protobuf, not a mapping)
                made.type = _Field.Type.Value(f"TYPE_{scalar}")
            else:
                made.type_name = f".cel.expr.{kind.lstrip('*')}"
    return file


_classes: dict[str, Any] = message_factory.GetMessages([_file()])
ParsedExpr, Expr, Constant = (_classes[f"cel.expr.{name}"] for name in ("ParsedExpr", "Expr", "Constant"))
