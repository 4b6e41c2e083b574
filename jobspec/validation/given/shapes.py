"""The structural schema of a CRD's version as a shape that the walk takes; what it asks of values stays with `values`."""

from __future__ import annotations

from jobspec import shapes
from jobspec.shapes import Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.targets import Target

    Schema = dict[str, Any]

_OWN = ("apiVersion", "kind")


def root_shape(schema: Schema, target: Target, *, has_status: bool) -> Shape:
    """The shape of a kind's objects; *has_status* says that the version has the status subresource."""
    shape = _with_fields(schema, target, is_resource=True, is_open=_is_open(schema))
    shape.keeps_status = not has_status
    shape.required = [name for name in shape.required if name not in _OWN]
    return shape


def meta_shape(target: Target) -> Shape:
    """The shape of an object's metadata."""
    claim = shapes.load("v1", "PersistentVolumeClaim", target)
    meta = claim and claim.at(("metadata",))
    assert meta
    return meta


def is_atom(schema: Schema) -> bool:
    """Whether a schema is of a value with nothing inside, so that a set of them is told by its texts."""
    return schema.get("type") in ("string", "integer", "number", "boolean") or bool(schema.get("x-kubernetes-int-or-string"))


def _is_open(schema: Schema) -> bool:
    return bool(schema.get("x-kubernetes-preserve-unknown-fields"))


def _shape(schema: Schema, target: Target, *, is_open: bool = False) -> Shape:
    is_open = is_open or _is_open(schema)
    if schema.get("type") == "object":
        if schema.get("properties") or schema.get("x-kubernetes-embedded-resource"):
            return _with_fields(schema, target, is_resource=bool(schema.get("x-kubernetes-embedded-resource")), is_open=is_open)
        return _map(schema, target, is_open=is_open)
    if schema.get("type") == "array":
        return _list(schema, target, is_open=is_open)
    if not schema.get("type") and not schema.get("x-kubernetes-int-or-string"):
        return _untyped(schema, target, is_open=is_open)
    kind = schema.get("type") or "int-or-string"
    shape = Shape({"type": kind, "nullable": schema.get("nullable", False)})
    shape.default = schema.get("default")
    return shape


def _untyped(schema: Schema, target: Target, *, is_open: bool) -> Shape:
    """Anything; what a schema says of fields holds for an object, what it says of items for a list."""
    has_fields = bool(schema.get("properties"))
    shape = _with_fields(schema, target, is_resource=False, is_open=is_open) if has_fields else _map(schema, target, is_open=is_open)
    shape.type = "any"
    if isinstance(schema.get("items"), dict):
        shape.items = _items(schema, target, is_open=is_open)
    return shape


def _with_fields(schema: Schema, target: Target, *, is_resource: bool, is_open: bool) -> Shape:
    fields = {name: _shape(child, target) for name, child in (schema.get("properties") or {}).items()}
    required = list(schema.get("required") or ())
    if is_resource:
        known = {name: fields.get(name) or Shape({"type": "string"}) for name in _OWN}
        fields = {**known, **fields, "metadata": meta_shape(target)}
        required += [name for name in _OWN if name not in required]
    shape = Shape(
        {"type": "object", "open": is_open or bool(schema.get("additionalProperties")), "nullable": schema.get("nullable", False)}
    )
    shape.fields = fields
    shape.required = [name for name in required if name in fields and fields[name].default is None]
    shape.default = schema.get("default")
    return shape


def _map(schema: Schema, target: Target, *, is_open: bool) -> Shape:
    """An object without named fields: a map, free content where the schema says so, and empty where it says nothing."""
    shape = Shape({"type": "object", "open": is_open, "nullable": schema.get("nullable", False)})
    shape.default = schema.get("default")
    others = schema.get("additionalProperties")
    if isinstance(others, dict):
        shape.values = _shape(others, target)
    elif others is not None:
        shape.values = Shape({"type": "bare"})
    elif not is_open:
        shape.fields = {}
    return shape


def _list(schema: Schema, target: Target, *, is_open: bool) -> Shape:
    keys = schema.get("x-kubernetes-list-map-keys") if schema.get("x-kubernetes-list-type") == "map" else None
    unique = schema.get("x-kubernetes-list-type") == "set" and is_atom(schema["items"])
    shape = Shape({"type": "array", "keys": keys or [], "unique": unique, "nullable": schema.get("nullable", False)})
    shape.default = schema.get("default")
    shape.items = _items(schema, target, is_open=is_open)
    return shape


def _items(schema: Schema, target: Target, *, is_open: bool) -> Shape:
    shape = _shape(schema["items"], target, is_open=is_open)
    shape.nullable = shape.nullable or shape.default is not None
    return shape
