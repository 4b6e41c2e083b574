"""The protobuf messages of a parsed CEL expression, `cel.expr.ParsedExpr`.

Follows cel/expr/syntax.proto of github.com/google/cel-spec. No Python package has these messages, so they are built from a table of the
fields that are used here; protobuf keeps all others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.protobuf import message_factory
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as _Field
from google.protobuf.descriptor_pb2 import FileDescriptorProto

if TYPE_CHECKING:
    from typing import Any

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
ParsedExpr, Expr = _classes["cel.expr.ParsedExpr"], _classes["cel.expr.Expr"]
