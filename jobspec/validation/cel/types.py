"""The types of a schema's values as CEL checks rules against them: messages of a protobuf file that is made for the purpose."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from cel_expr_python import cel
from google.protobuf import descriptor_pool, duration_pb2, struct_pb2, timestamp_pb2
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto

from jobspec.validation.cel.library import is_about_numbers, typed_environment
from jobspec.validation.cel.paths import RESOURCE, spellings

if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]

_TEXTS = {"byte": "bytes", "duration": "duration", "date": "time", "date-time": "time"}
_SCALARS = {"boolean": "bool", "integer": "int", "number": "double"}
_FIELDS = {
    "bool": FieldDescriptorProto.TYPE_BOOL,
    "int": FieldDescriptorProto.TYPE_INT64,
    "double": FieldDescriptorProto.TYPE_DOUBLE,
    "string": FieldDescriptorProto.TYPE_STRING,
    "bytes": FieldDescriptorProto.TYPE_BYTES,
}
_MESSAGES = {
    "any": "google.protobuf.Value",
    "duration": "google.protobuf.Duration",
    "time": "google.protobuf.Timestamp",
    "map": "google.protobuf.Struct",
}
_CEL = {
    "bool": cel.Type.BOOL,
    "int": cel.Type.INT,
    "double": cel.Type.DOUBLE,
    "string": cel.Type.STRING,
    "bytes": cel.Type.BYTES,
    "any": cel.Type.DYN,
    "duration": cel.Type.DURATION,
    "time": cel.Type.TIMESTAMP,
}
_packages = count()

#: What a value is to CEL: the name of a scalar, `any`, a message's full name, or a list's or map's kind with that of what is inside.
Kind = "str | tuple[str, Kind]"


class Types:
    """The types of one CRD version's schema."""

    def __init__(self, schema: Schema) -> None:
        self._package = f"crd{next(_packages)}"
        self._file = FileDescriptorProto(name=f"{self._package}.proto", package=self._package, syntax="proto2")
        self._file.dependency.extend(module.DESCRIPTOR.name for module in (duration_pb2, struct_pb2, timestamp_pb2))
        self._kinds: dict[int, Any] = {}
        self._kind(schema, is_resource=True)
        descriptor_pool.Default().AddSerializedFile(self._file.SerializeToString())

    def complaint(self, text: str, schema: Schema, *, gives: str, optional: bool) -> str:
        """Why the library does not take an expression on a value of *schema*, empty where it does; *gives* is `bool` or `string`."""
        kind = self._kinds.get(id(schema))
        if kind is None:
            return "the schema does not say what the value is"
        if optional:
            text = f"cel.bind(oldSelf, optional.of(oldSelf), {text}\n)"
        try:
            result = typed_environment(_type(kind), optional=optional).compile(text).return_type()
        except RuntimeError as error:
            return "" if is_about_numbers(str(error)) else _first(str(error))
        return "" if result in (_CEL[gives], cel.Type.DYN) else f"it gives {result.name().lower()}, not {gives}"

    def _kind(self, schema: Schema, *, is_resource: bool = False) -> Any:
        """What values of a schema are to CEL; None for what it does not see."""
        found = self._kind_of(schema, is_resource=is_resource or bool(schema.get("x-kubernetes-embedded-resource")))
        self._kinds[id(schema)] = found
        return found

    def _kind_of(self, schema: Schema, *, is_resource: bool) -> Any:
        if schema.get("x-kubernetes-int-or-string"):
            return "any"
        kind = schema.get("type")
        if kind == "array":
            items = self._kind(schema["items"])
            return None if items is None else ("list", items)
        if kind == "object":
            if isinstance(schema.get("additionalProperties"), dict):
                values = self._kind(schema["additionalProperties"])
                return None if values is None else ("map", values)
            return self._message({**(schema.get("properties") or {}), **(RESOURCE if is_resource else {})})
        if kind == "string":
            return _TEXTS.get(schema.get("format") or "", "string")
        return _SCALARS.get(kind or "")

    def _message(self, fields: Schema) -> str:
        made = self._file.message_type.add(name=f"Object{len(self._file.message_type)}")
        for name, child in fields.items():
            kind = self._kind(child)
            for written in spellings(name) if kind is not None else ():
                self._field(made, written, kind)
        return f".{self._package}.{made.name}"

    def _field(self, message: DescriptorProto, name: str, kind: Any) -> None:
        number = len(message.field) + 1
        field = message.field.add(name=name, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL, json_name=f"field{number}")
        if isinstance(kind, tuple):
            inside = kind[1] if not isinstance(kind[1], tuple) else "any"  # protobuf has no lists of lists
            kind = self._entry(message, name, inside) if kind[0] == "map" else inside
            if kind != "map":
                field.label = FieldDescriptorProto.LABEL_REPEATED
        if kind in _FIELDS:
            field.type = _FIELDS[kind]
        else:
            field.type = FieldDescriptorProto.TYPE_MESSAGE
            field.type_name = f".{_MESSAGES[kind]}" if kind in _MESSAGES else kind

    def _entry(self, message: DescriptorProto, field: str, values: str) -> str:
        """The message of a map's entries, which has a name after the field; a map of anything where another has that."""
        name = "".join(f"{part[:1].upper()}{part[1:]}" for part in field.split("_")) + "Entry"
        if any(each.name == name for each in message.nested_type):
            return "map"
        entry = message.nested_type.add(name=name)
        entry.options.map_entry = True
        self._field(entry, "key", "string")
        self._field(entry, "value", values)
        return f".{self._package}.{message.name}.{name}"


def _type(kind: Any) -> cel.Type:
    if isinstance(kind, tuple):
        inside = _type(kind[1])
        return cel.Type.List(inside) if kind[0] == "list" else cel.Type.Map(cel.Type.STRING, inside)
    return _CEL[kind] if kind in _CEL else cel.Type(kind.removeprefix("."))


def _first(complaint: str) -> str:
    """The first line of the library's words, without what frames it."""
    return complaint.splitlines()[0].rpartition("<input>:")[2] or complaint.splitlines()[0]
