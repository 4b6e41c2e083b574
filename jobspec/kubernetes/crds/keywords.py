"""The keywords of single schemas of a CRD, whether they are structural or not. Paths begin at the CRD's schema.

Follows `ValidateCustomResourceDefinitionOpenAPISchema`, k8s.io/apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go,
1.36.
"""

from __future__ import annotations

from typing import Any

from jobspec.diagnostics.places import Data, Key, Path
from jobspec.diagnostics.problems import Problems
from jobspec.kubernetes.cel.paths import place_of, tokens_of
from jobspec.kubernetes.crds.schema_walk import SchemaContext, invalid, with_inner_schemas
from jobspec.kubernetes.problems import field_items

Schema = dict[str, Any]
#: The message for a list without `items`; the check of list maps gives the same.
NO_ITEMS = "a list needs `items`, the schema of each item"
_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED = ("id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions")
_REFUSED_EMPTY = ("$ref", "dependencies", "additionalItems")
_BEFORE_TYPE = ("id", "$schema", "$ref")
_REASONS = ("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate")
#: The keywords allowed at the root of a schema with the status subresource (`allowedAtRootSchema`).
_WITH_STATUS = (
    *("description", "type", "format", "title", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength", "minLength"),
    *("pattern", "maxItems", "minItems", "uniqueItems", "multipleOf", "required", "items", "properties", "externalDocs", "example"),
    *("x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations"),
)


def status_problems(keywords: list[str], schema: Schema) -> Problems:
    """Yield the forbidden keywords at the root of a schema with the status subresource.

    *keywords*: the keywords that are set.
    """
    is_object = schema.get("type", "object") == "object"
    if not is_object:
        yield invalid(("type",), "with the status subresource, the root of the schema needs `type: object`")
    others = [each for each in keywords if each not in (*_WITH_STATUS, "nullable") and (is_object or each in _BEFORE_TYPE)]
    if others:
        yield invalid((others[0],), f"with the status subresource, `{others[0]}` is not allowed at the root of the schema")


def is_readable(schema: Schema) -> bool:
    """True if the server can convert a schema to a structural one, schemas inside it aside.

    Follows `NewStructural`.
    """
    return not (
        any(schema.get(keyword) for keyword in _UNSUPPORTED)
        or "additionalItems" in schema
        or isinstance(schema.get("items"), list)
        or schema.get("x-kubernetes-preserve-unknown-fields") is False
    )


def has_known_type(schema: Schema) -> bool:
    """True if a schema has no type, or a type that OpenAPI knows."""
    return schema.get("type") in (None, *_TYPES)


def draft_problems(schema: Schema) -> Problems:
    """Each use of `$schema` in a schema."""
    for node, path in with_inner_schemas(schema):
        if "$schema" in node:
            yield invalid((*path, "$schema"), "`$schema` is not supported")


def problems_of_node(schema: Schema, path: Path, context: SchemaContext) -> Problems:
    """The problems of a schema, without those of the schemas inside it."""
    for keyword in _UNSUPPORTED:
        if keyword != "$schema" and (schema.get(keyword) or (keyword in schema and keyword in _REFUSED_EMPTY)):
            yield invalid((*path, keyword), f"`{keyword}` is not supported")
    if not has_known_type(schema):
        yield invalid((*path, "type"), f"`{schema['type']}` is not a type; the types are {', '.join(_TYPES)}")
    if isinstance(schema.get("items"), list):
        yield invalid((*path, "items"), "`items` takes one schema, not a list of them")
    if schema.get("uniqueItems"):
        yield invalid((*path, "uniqueItems"), "it cannot be true", "write `x-kubernetes-list-type: set`")
    if schema.get("properties") and schema.get("additionalProperties") not in (None, True):
        yield invalid((*path, "additionalProperties"), "`properties` and `additionalProperties` are mutually exclusive")
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        yield invalid((*path, "x-kubernetes-preserve-unknown-fields"), "it is true or left out")
    yield from _out_of_place(schema, path, context)
    yield from _list_and_map_types(schema, path)
    for at, rule in field_items(schema, "x-kubernetes-validations", path):
        yield from _validation_rule_problems(rule or {}, schema, at)


def _out_of_place(schema: Schema, path: Path, context: SchemaContext) -> Problems:
    if context.is_root and schema.get("nullable"):
        yield invalid((*path, "nullable"), "an object as a whole cannot be `nullable`")
    if schema.get("default") is not None and context.default_hint:
        yield invalid((*path, "default"), context.default_hint)
    if context.in_meta and schema.get("x-kubernetes-embedded-resource"):
        yield invalid((*path, "x-kubernetes-embedded-resource"), "an embedded resource is not allowed in metadata")


def _list_and_map_types(schema: Schema, path: Path) -> Problems:
    map_type, list_type = schema.get("x-kubernetes-map-type"), schema.get("x-kubernetes-list-type")
    if map_type is not None:
        yield from _needs_type(schema, path, "object", "x-kubernetes-map-type")
    if map_type not in (None, "atomic", "granular"):
        yield invalid((*path, "x-kubernetes-map-type"), f"`{map_type}` is not one of atomic, granular")
    if list_type is not None:
        yield from _needs_type(schema, path, "array", "x-kubernetes-list-type")
    if list_type == "set" and schema.get("type") == "array" and isinstance(schema.get("items"), dict):
        yield from _set_items(schema["items"], (*path, "items"))
    if list_type not in (None, "atomic", "set", "map"):
        yield invalid((*path, "x-kubernetes-list-type"), f"`{list_type}` is not one of atomic, set, map")
    if schema.get("x-kubernetes-list-map-keys") and list_type != "map":
        at = path if list_type is None else (*path, "x-kubernetes-list-type")
        yield invalid(at, "`x-kubernetes-list-map-keys` needs `x-kubernetes-list-type: map`")
    if list_type == "map":
        yield from _list_map(schema, path)
    if list_type in ("set", "map") and isinstance(schema.get("items"), dict) and schema["items"].get("nullable"):
        yield invalid((*path, "items", "nullable"), f"an item of a list of type {list_type} cannot be null")


def _needs_type(schema: Schema, path: Path, kind: str, keyword: str) -> Problems:
    if schema.get("type") != kind:
        yield invalid((*path, "type") if "type" in schema else path, f"`{keyword}` needs `type: {kind}`")


def _set_items(items: Schema, path: Path) -> Problems:
    if items.get("type") == "array" and items.get("x-kubernetes-list-type") not in (None, "atomic"):
        yield invalid((*path, "x-kubernetes-list-type"), "an item of a set must be atomic")
    if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        yield invalid(path, "an object in a set needs `x-kubernetes-map-type: atomic`")


def _list_map(schema: Schema, path: Path) -> Problems:
    keys, items = schema.get("x-kubernetes-list-map-keys") or [], schema.get("items")
    if not keys:
        yield invalid(path, "a list of type map needs `x-kubernetes-list-map-keys`")
    if not isinstance(items, dict):
        if not items:
            yield invalid(path, NO_ITEMS)
        return
    if items.get("type") != "object":
        place = (*path, "items", "type") if "type" in items else (*path, "items")
        yield invalid(place, "the items of a list of type map need `type: object`")
        return
    at: Path = (*path, "x-kubernetes-list-map-keys")
    for index, key in enumerate(keys):
        field = (items.get("properties") or {}).get(key)
        if key in keys[:index]:
            yield invalid((*at, index), f"duplicate key `{key}`")
        elif field is None:
            yield invalid((*at, index), f"the key `{key}` is not a field of the items")
        else:
            yield from _list_map_key(key, field, items, (*path, "items", "properties", Key(key)))


def _list_map_key(key: str, field: Schema, items: Schema, path: Path) -> Problems:
    if field.get("type") in ("array", "object"):
        yield invalid((*path, "type"), f"`{key}` is a key of the list, and must be a scalar")
    if key not in (items.get("required") or ()) and field.get("default") is None:
        message = f"`{key}` is a key of the list, and must be required or have a default"
        yield invalid(path, message, f"add `required: [{key}]` to the items")
    if field.get("nullable"):
        yield invalid((*path, "nullable"), f"`{key}` is a key of the list, and cannot be null")


def _validation_rule_problems(rule: Data, schema: Schema, path: Path) -> Problems:
    text, message, field_path = rule.get("rule") or "", rule.get("message") or "", rule.get("fieldPath") or ""
    if not text.strip():
        yield invalid(path, "the rule has no `rule`")
    elif message and not message.strip():
        yield invalid((*path, "message"), "the message is blank")
    elif _has_lines(message.strip()):
        yield invalid((*path, "message"), "the message cannot have several lines")
    elif _has_lines(text.strip()) and not message:
        yield invalid(path, "a rule of several lines needs a `message`")
    if rule.get("messageExpression") and not rule["messageExpression"].strip():
        yield invalid((*path, "messageExpression"), "the expression is blank")
    if rule.get("reason") is not None and rule["reason"] not in _REASONS:
        yield invalid((*path, "reason"), f"`{rule['reason']}` is not one of {', '.join(_REASONS)}")
    if field_path:
        tokens = tokens_of(field_path)
        if _has_lines(field_path) or tokens is None or place_of(tokens, schema) is None:
            yield invalid((*path, "fieldPath"), f"`{field_path}` is not a path of a field below the rule")


def _has_lines(text: str) -> bool:
    return "\n" in text or "\r" in text
