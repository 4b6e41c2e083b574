"""Compile the CEL expressions of a schema: the CEL types of the schema's values, and the problems of an expression on them.

Follows `SchemaDeclType`, k8s.io/apiserver pkg/cel/common/schemas.go, and `Compile`, k8s.io/apiextensions-apiserver
pkg/apiserver/schema/cel/compilation.go, 1.36. The cost of expressions is not estimated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobspec.validation.cel import syntax
from jobspec.validation.cel.checking import CheckedExpression, CompileError
from jobspec.validation.cel.paths import RESOURCE, spellings
from jobspec.validation.cel.signatures import DYN, STRING, Type, list_of, map_of, optional_of
from jobspec.validation.cel.validators import validate

if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]

_TEXTS = {"byte": "bytes", "duration": "duration", "date": "timestamp", "date-time": "timestamp"}
_SCALARS = {"boolean": "bool", "integer": "int", "number": "double"}


class Compilation(NamedTuple):
    """The result of compiling an expression."""

    error: str = ""
    """Why a server refuses the expression; empty where it does not."""
    uses_old_self: bool = False
    is_too_deep: bool = False
    """The expression was not compiled, because the CEL library cannot parse expressions so deep."""


class SchemaTypes:
    """The CEL types of the values of a schema and of all schemas inside it."""

    def __init__(self, schema: Schema, *, is_resource: bool = True) -> None:
        self._fields: dict[str, dict[str, Type]] = {}
        self._types: dict[int, Type | None] = {}
        self._add(schema, is_resource=is_resource)

    def of(self, schema: Schema) -> SchemaTypes | None:
        """The types to compile the rules of an inner schema with; None where CEL does not see its values, since they have no type.

        An inner schema outside of what CEL sees has types of its own.
        """
        types = self if id(schema) in self._types else SchemaTypes(schema, is_resource=False)
        return types if types._types[id(schema)] is not None else None

    def compile(self, text: str, schema: Schema, *, result: str, optional_old_self: bool) -> Compilation:
        """Compile an expression on a value of *schema*, whose result has to be of the type *result*."""
        kind = self._types[id(schema)]
        assert kind is not None
        try:
            tree = syntax.parse(text)
        except RuntimeError as error:
            return Compilation(is_too_deep=True) if syntax.is_too_deep(error) else Compilation(_first_line(str(error)))
        try:
            checked = CheckedExpression(tree, {"self": kind, "oldSelf": optional_of(kind) if optional_old_self else kind}, self._fields)
            validate(checked)
        except CompileError as error:
            return Compilation(f"{tree.position(error.at)}: {error}")
        wrong = "" if checked.result == Type(result) else f"it gives {checked.result}, not {result}"
        return Compilation(wrong, uses_old_self="oldSelf" in checked.variables)

    def _add(self, schema: Schema, *, is_resource: bool = False) -> Type | None:
        """Add a schema and those inside it. Gives its type, None where CEL does not see its values."""
        found = self._type(schema, is_resource=is_resource or bool(schema.get("x-kubernetes-embedded-resource")))
        self._types[id(schema)] = found
        return found

    def _type(self, schema: Schema, *, is_resource: bool) -> Type | None:
        if schema.get("x-kubernetes-int-or-string"):
            return DYN
        kind = schema.get("type")
        if kind == "array":
            items = self._add(schema["items"])
            return items and list_of(items)
        if kind == "object":
            if isinstance(schema.get("additionalProperties"), dict):
                values = self._add(schema["additionalProperties"])
                return values and map_of(STRING, values)
            return self._object(schema.get("properties") or {}, is_resource=is_resource)
        if kind == "string":
            return Type(_TEXTS.get(schema.get("format") or "", "string"))
        return Type(_SCALARS[kind]) if kind in _SCALARS else None

    def _object(self, fields: Schema, *, is_resource: bool) -> Type:
        own = Type(f"object {len(self._fields)}")
        self._fields[own.name] = {}
        for name, child in {**fields, **(RESOURCE if is_resource else {})}.items():
            kind = self._add(child)
            if kind is not None:
                self._fields[own.name] |= dict.fromkeys(spellings(name), kind)
        return own


def _first_line(message: str) -> str:
    """The first line of the library's message, without the name of its input."""
    return message.splitlines()[0].rpartition("<input>:")[2] or message.splitlines()[0]
