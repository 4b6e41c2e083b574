"""The types of a schema's values as CEL checks rules against them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobspec.validation.cel import constants, syntax
from jobspec.validation.cel.checking import CheckedExpression, CompileError
from jobspec.validation.cel.paths import RESOURCE, spellings
from jobspec.validation.cel.signatures import DYN, STRING, Type, list_of, map_of, optional_of

if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]

_TEXTS = {"byte": "bytes", "duration": "duration", "date": "timestamp", "date-time": "timestamp"}
_SCALARS = {"boolean": "bool", "integer": "int", "number": "double"}


class Compilation(NamedTuple):
    """What is known of an expression on a value."""

    error: str = ""
    """Why a server does not take it; empty where it does."""
    uses_old_self: bool = False
    """It uses `oldSelf`."""
    is_too_deep: bool = False
    """Nobody looked at it, since the library does not go so deep."""


class SchemaTypes:
    """The types of the values of a schema, and of those inside of it."""

    def __init__(self, schema: Schema, *, is_resource: bool = True) -> None:
        self._fields: dict[str, dict[str, Type]] = {}
        self._kinds: dict[int, Type | None] = {}
        self._kind(schema, is_resource=is_resource)

    def of(self, schema: Schema) -> SchemaTypes | None:
        """The types of a schema inside: these, or types of its own where these do not name it; None where it is nothing to CEL."""
        types = self if id(schema) in self._kinds else SchemaTypes(schema, is_resource=False)
        return types if types._kinds[id(schema)] is not None else None

    def expression(self, text: str, schema: Schema, *, gives: str, optional: bool) -> Compilation:
        """What a server has against an expression on a value of *schema*; with *optional*, `oldSelf` is an optional value."""
        kind = self._kinds[id(schema)]
        assert kind is not None
        try:
            tree = syntax.parse(text)
        except RuntimeError as error:
            return Compilation(is_too_deep=True) if syntax.is_too_deep(error) else Compilation(_first(str(error)))
        try:
            checked = CheckedExpression(tree, {"self": kind, "oldSelf": optional_of(kind) if optional else kind}, self._fields)
            constants.check_constants(checked)
        except CompileError as mistake:
            return Compilation(f"{tree.position(mistake.at)}: {mistake}")
        wrong = "" if checked.result == Type(gives) else f"it gives {checked.result}, not {gives}"
        return Compilation(wrong, uses_old_self="oldSelf" in checked.variables)

    def _kind(self, schema: Schema, *, is_resource: bool = False) -> Type | None:
        """What values of a schema are to CEL; None for what it does not see."""
        found = self._kind_of(schema, is_resource=is_resource or bool(schema.get("x-kubernetes-embedded-resource")))
        self._kinds[id(schema)] = found
        return found

    def _kind_of(self, schema: Schema, *, is_resource: bool) -> Type | None:
        if schema.get("x-kubernetes-int-or-string"):
            return DYN
        kind = schema.get("type")
        if kind == "array":
            items = self._kind(schema["items"])
            return items and list_of(items)
        if kind == "object":
            if isinstance(schema.get("additionalProperties"), dict):
                values = self._kind(schema["additionalProperties"])
                return values and map_of(STRING, values)
            return self._object(schema.get("properties") or {}, is_resource=is_resource)
        if kind == "string":
            return Type(_TEXTS.get(schema.get("format") or "", "string"))
        return Type(_SCALARS[kind]) if kind in _SCALARS else None

    def _object(self, fields: Schema, *, is_resource: bool) -> Type:
        own = Type(f"object {len(self._fields)}")
        self._fields[own.name] = {}
        for name, child in {**fields, **(RESOURCE if is_resource else {})}.items():
            kind = self._kind(child)
            if kind is not None:
                self._fields[own.name] |= dict.fromkeys(spellings(name), kind)
        return own


def _first(error: str) -> str:
    """The first line of the library's words, without what frames it."""
    return error.splitlines()[0].rpartition("<input>:")[2] or error.splitlines()[0]
