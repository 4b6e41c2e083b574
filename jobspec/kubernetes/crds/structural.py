"""The schemas of a CRD: decoded as the server does, whether they are structural, and their single keywords.

Follows `ValidateStructural`, k8s.io/apiextensions-apiserver pkg/apiserver/schema/validation.go and complete.go, 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from jobspec.diagnostics.places import Data, Key, Path, spell
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go import regex
from jobspec.kubernetes.cel.paths import place_of, tokens_of
from jobspec.kubernetes.compiling import INT_OR_STRING
from jobspec.kubernetes.problems import field_items, name_of
from jobspec.kubernetes.structural import typed_problems_at
from jobspec.schemas.shapes import Shape

Schema = dict[str, Any]
#: Keywords that are forbidden inside `allOf`, `anyOf`, `oneOf` and `not` (`validateNestedValueValidation`).
_FORBIDDEN_INSIDE = (
    *("type", "default", "title", "description", "nullable", "additionalProperties", "x-kubernetes-preserve-unknown-fields"),
    *("x-kubernetes-embedded-resource", "x-kubernetes-int-or-string", "x-kubernetes-list-map-keys", "x-kubernetes-list-type"),
    *("x-kubernetes-map-type", "x-kubernetes-validations"),
)
_NO_OTHERS = ("additionalProperties", False)  # which the server drops there
#: The message for a list without `items`; the check of list maps gives the same.
NO_ITEMS = "a list needs `items`, the schema of each item"


def problems_of_structure(schema: Schema) -> tuple[list[Problem], list[Path] | None]:
    """Return the problems of a schema and of all schemas inside, and the paths of wrong ones.

    If the schema is not structural, there are no paths, but None. `$schema` is reported only if there is no other problem.
    """
    found = list(_node_problems(schema, (), SchemaContext(is_root=True)))
    inside = _with_inner_schemas(schema)
    readable = all(_is_readable(node) for node, _ in inside)
    structure = list(_structural_problems(schema)) if readable else []
    reported = {(problem.path, problem.message) for problem in found}
    further = [problem for problem in structure if (problem.path, problem.message) not in reported]
    problems = [*(found or _draft_problems(inside)), *_patterns_not_checked(inside), *further]
    return problems, [problem.path for problem in found] if readable and not structure else None


def _node_problems(schema: Schema, path: Path, context: SchemaContext) -> Problems:
    yield from _problems_of_node(schema, path, context)
    for child, place, inside in children(schema, path, context):
        yield from _node_problems(child, place, inside)
    for branch, place in branches(schema, path):
        yield from _node_problems(branch, place, context.inside())


def _structural_problems(schema: Schema) -> Problems:
    """Why a schema that can be converted to a structural schema is not structural."""
    yield from _root_problems(schema)
    yield from _structure(schema, ())
    yield from _branches_complete(schema, schema, (), ())


def _root_problems(schema: Schema) -> Problems:
    """The problems of the root of a schema."""
    untyped = schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("x-kubernetes-int-or-string")
    if schema.get("type") != "object" and ("type" in schema or not untyped):
        yield invalid(("type",) if "type" in schema else (), "the root of the schema needs `type: object`")
    if "additionalProperties" in schema:
        yield invalid(("additionalProperties",), "`additionalProperties` is not allowed at the root of the schema")
    metadata = (schema.get("properties") or {}).get("metadata")
    if metadata is not None:
        fields = metadata.get("properties") or {}
        others = metadata.keys() - {"type", "default", "properties", "items" if metadata.get("items") is None else ""}
        if others or not fields.keys() <= {"name", "generateName"}:
            message = "`metadata` can only be limited in `name` and `generateName`; the server knows the rest"
            yield invalid(("properties", Key("metadata")), message, "leave `type: object` alone")


def _structure(schema: Schema, path: Path, *, level: str = "root") -> Problems:
    """Check a schema and all schemas inside. *level* is `root`, `field` or `item`.

    Follows `validateStructuralInvariants`.
    """
    kind = schema.get("type", "")
    either, kept, embedded = (
        bool(schema.get(f"x-kubernetes-{each}")) for each in ("int-or-string", "preserve-unknown-fields", "embedded-resource")
    )
    if kind == "array" and not isinstance(schema.get("items"), dict):
        yield invalid(path, NO_ITEMS)
    if either and kept:
        yield invalid((*path, "x-kubernetes-preserve-unknown-fields"), "it excludes `x-kubernetes-int-or-string`")
    if either and embedded:
        yield invalid((*path, "x-kubernetes-embedded-resource"), "it excludes `x-kubernetes-int-or-string`")
    if embedded:
        yield from _embedded_structure(schema, path, kind, kept=kept)
    elif not kind and not either and not kept and level != "root":
        yield invalid(path, f"the schema of {'an item' if level == 'item' else 'a field'} needs a `type`")
    if level == "root" or embedded:
        yield from _resource_fields(schema, path)
    if has_schemas(schema) or "pattern" in schema:
        yield from _value_rules(schema, path, typed=_int_or_string_keywords(schema))
        for child, at, _ in children(schema, path, SchemaContext()):
            yield from _structure(child, at, level="item" if at[len(path)] == "items" else "field")


def _embedded_structure(schema: Schema, path: Path, kind: str, *, kept: bool) -> Problems:
    if kind != "object":
        yield invalid((*path, "type") if kind else path, "an embedded resource needs `type: object`")
    if "additionalProperties" in schema:
        yield invalid((*path, "additionalProperties"), "an embedded resource cannot have `additionalProperties`")
    if not kept and not schema.get("properties"):
        yield invalid(path, "an embedded resource needs `properties`, or `x-kubernetes-preserve-unknown-fields: true`")


def _resource_fields(schema: Schema, path: Path) -> Problems:
    fields = schema.get("properties") or {}
    for name, kind in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        if name in fields and fields[name].get("type") != kind:
            at: Path = (*path, "properties", Key(name))
            yield invalid((*at, "type") if "type" in fields[name] else at, f"`{name}` of an object needs `type: {kind}`")


def _int_or_string_keywords(schema: Schema) -> list[str]:
    """Return the keywords that hold the permitted pattern for int-or-string.

    It is in `anyOf`, or in the first schema of `allOf`.
    """
    found = ["anyOf"] if _are_int_or_string(schema.get("anyOf")) else []
    first = (schema.get("allOf") or [{}])[0]
    return [*found, "allOf"] if _are_int_or_string(first.get("anyOf")) else found


def _are_int_or_string(branches: list[Schema] | None) -> bool:
    plain = [{keyword: value for keyword, value in branch.items() if (keyword, value) != _NO_OTHERS} for branch in branches or ()]
    return plain == INT_OR_STRING


def _value_rules(schema: Schema, path: Path, *, typed: Sequence[str]) -> Problems:
    """Check the value validation of a schema: `allOf`, `anyOf`, `oneOf`, `not`, and its pattern.

    *typed*: the keywords in which types are permitted, as part of the int-or-string pattern.
    """
    for branch, at in branches(schema, path):
        if at[len(path)] != "anyOf" or "anyOf" not in typed:
            yield from _branch(branch, at, typed=["anyOf"] if "allOf" in typed and at == (*path, "allOf", 0) else [])
    if schema.get("pattern") and regex.is_available() and (why := regex.complaint(schema["pattern"])):
        yield invalid((*path, "pattern"), f"`{schema['pattern']}` is not a regular expression of RE2: {why}")


def _patterns_not_checked(inside: Sequence[tuple[Schema, Path]]) -> Problems:
    """Yield a warning at the first pattern if the CEL library is not installed.

    The library checks patterns. *inside*: the schemas inside a schema.
    """
    path = next((path for node, path in inside if node.get("pattern")), None)
    if path is not None and not regex.is_available():
        message = "the patterns of the schema are not checked: the CEL library is not installed (cel-expr-python)"
        yield Problem("rule-not-evaluated", (*path, "pattern"), message)


def _branch(branch: Schema, path: Path, *, typed: Sequence[str] = ()) -> Problems:
    for keyword in _FORBIDDEN_INSIDE:
        if keyword in branch and (keyword, branch[keyword]) != _NO_OTHERS and (branch[keyword] or keyword not in COUNTED):
            hint = "move it out of `allOf`, `anyOf`, `oneOf` and `not`"
            yield invalid((*path, keyword), f"`{keyword}` is not allowed in a branch of a structural schema", hint)
    if "metadata" in (branch.get("properties") or {}):
        yield invalid((*path, "properties", Key("metadata")), "`metadata` cannot be limited in a branch")
    yield from _value_rules(branch, path, typed=typed)
    for name, child in (branch.get("properties") or {}).items():
        yield from _branch(child, (*path, "properties", Key(name)))
    if isinstance(branch.get("items"), dict):
        yield from _branch(branch["items"], (*path, "items"))


def _branches_complete(rules: Schema, schema: Schema, path: Path, at: Path) -> Problems:
    """Yield the fields and items that branches restrict and the *schema* at *path* lacks.

    The branches of *rules*, at the path *at*, are `allOf`, `anyOf`, `oneOf` and `not`. Follows `validateStructuralCompleteness`.
    """
    for branch, inside in branches(rules, at):
        yield from _complete(branch, schema, path, inside)


def _complete(branch: Schema, schema: Schema, path: Path, at: Path) -> Problems:
    yield from _branches_complete(branch, schema, path, at)
    fields, items = schema.get("properties") or {}, schema.get("items")
    if isinstance(branch.get("items"), dict):
        if isinstance(items, dict):
            yield from _complete(branch["items"], items, (*path, "items"), (*at, "items"))
        else:
            yield invalid(path, f"`items` is missing, which `{spell((*at, 'items'))}` refers to")
    for name, inner in (branch.get("properties") or {}).items():
        inside: Path = (*at, "properties", Key(name))
        if name in fields:
            yield from _complete(inner, fields[name], (*path, "properties", Key(name)), inside)
        else:
            yield invalid((*path, "properties") if fields else path, f"the field `{name}` is missing, which `{spell(inside)}` refers to")


# Check single schemas of a CRD, whether they are structural or not. Paths begin at the CRD's schema.
#
# Follows `ValidateCustomResourceDefinitionOpenAPISchema`, k8s.io/apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go,
# 1.36.
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


def _is_readable(schema: Schema) -> bool:
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


def _draft_problems(inside: Sequence[tuple[Schema, Path]]) -> Problems:
    """Each use of `$schema` in the schemas *inside* a schema."""
    for node, path in inside:
        if "$schema" in node:
            yield invalid((*path, "$schema"), "`$schema` is not supported")


def _problems_of_node(schema: Schema, path: Path, context: SchemaContext) -> Problems:
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


# Walk a CRD's schema: the schemas inside it, each with its path and its context.
#
# Follows the recursion in `ValidateCustomResourceDefinitionOpenAPISchema` and `specStandardValidatorV3`, k8s.io/apiextensions-apiserver
# pkg/apis/apiextensions/validation/validation.go, 1.36.
META_FIELDS = ("apiVersion", "kind", "metadata")


@dataclass(frozen=True, slots=True)
class SchemaContext:
    """The facts about a schema that the schemas around it decide."""

    _: KW_ONLY
    is_root: bool = False
    in_meta: bool = False
    """It is inside `apiVersion`, `kind` or `metadata` of an object."""
    default_hint: str = ""
    """Why it cannot have a default; empty where it can."""
    uncorrelated: bool = False
    """It is inside a list that is no map, so an item cannot be correlated with an old one."""

    def inside(self, *, in_meta: bool = False, default_hint: str = "", uncorrelated: bool = False) -> SchemaContext:
        """Return the context of an inner schema."""
        if not (self.is_root or in_meta or default_hint or uncorrelated):
            return self
        hint = self.default_hint or default_hint
        return SchemaContext(in_meta=self.in_meta or in_meta, default_hint=hint, uncorrelated=self.uncorrelated or uncorrelated)


def has_schemas(schema: Schema) -> bool:
    """True if there are schemas inside a schema."""
    return not _NESTED.isdisjoint(schema)


def children(schema: Schema, path: Path, context: SchemaContext) -> list[tuple[Schema, Path, SchemaContext]]:
    """Return the schemas of fields, map values and items, with their paths and contexts."""
    found: list[tuple[Schema, Path, SchemaContext]] = []
    if not has_schemas(schema):
        return found
    is_resource = context.is_root or bool(schema.get("x-kubernetes-embedded-resource"))
    for name, child in (schema.get("properties") or {}).items():
        in_meta = is_resource and name in META_FIELDS
        why = f"`{name}` of an object as a whole cannot have defaults" if context.is_root and in_meta else ""
        found.append((child, (*path, "properties", Key(name)), context.inside(in_meta=in_meta, default_hint=why)))
    if isinstance(schema.get("additionalProperties"), dict):
        why = "the values of a map in metadata cannot have defaults" if context.in_meta else ""
        found.append((schema["additionalProperties"], (*path, "additionalProperties"), context.inside(default_hint=why)))
    if isinstance(schema.get("items"), dict):
        uncorrelated = schema.get("x-kubernetes-list-type") != "map"
        found.append((schema["items"], (*path, "items"), context.inside(uncorrelated=uncorrelated)))
    return found


def branches(schema: Schema, path: Path) -> Iterator[tuple[Schema, Path]]:
    """Yield the schemas in `allOf`, `anyOf`, `oneOf` and `not`, with their paths."""
    for keyword in BRANCHES:
        for at, branch in field_items(schema, keyword, path):
            yield branch, at
    if "not" in schema:
        yield schema["not"], (*path, "not")


def _with_inner_schemas(schema: Schema) -> list[tuple[Schema, Path]]:
    """A schema and all schemas inside it, with their paths."""
    found: list[tuple[Schema, Path]] = []
    left: list[tuple[Schema, Path]] = [(schema, ())]
    context = SchemaContext()
    while left:
        node, path = left.pop()
        found.append((node, path))
        if has_schemas(node):
            left += reversed([*((child, at) for child, at, _ in children(node, path, context)), *branches(node, path)])
    return found


# The problem of a mistake in a CustomResourceDefinition.
def invalid(path: Path, message: str, hint: str = "") -> Problem:
    """Return a problem `invalid-crd`."""
    return Problem("invalid-crd", path, message, hint)


# Decode the schemas of a CRD as the server does: report what cannot be decoded, and drop what the decoder drops.
#
# Follows `JSONSchemaProps`, k8s.io/apiextensions-apiserver pkg/apis/apiextensions/v1/types_jsonschema.go and marshal.go, 1.36. A schema
# becomes a Go struct, so null and zero values equal absent ones. `items` and `additionalProperties` have unmarshalers of their own, which
# ignore unknown fields.


MAPS = ("properties", "patternProperties", "definitions", "dependencies")
BRANCHES = ("allOf", "anyOf", "oneOf")
_UNMARSHALED = ("items", "additionalProperties", "additionalItems")
_ANYTHING = ("default", "example")
_POINTERS = ("not", "maximum", "minimum", "maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties", "multipleOf")
#: Keywords whose empty value differs from an absent one.
_MEANINGFUL_EMPTY = frozenset(
    (
        *(*_ANYTHING, *_UNMARSHALED, *_POINTERS, "$ref", "dependencies", "externalDocs"),
        *("x-kubernetes-preserve-unknown-fields", "x-kubernetes-list-type", "x-kubernetes-map-type"),
    )
)
#: Keywords whose empty and absent values mean the same, though the decoded schema still distinguishes them.
COUNTED = ("properties", "required", "x-kubernetes-list-map-keys", "x-kubernetes-validations")
_KEPT = frozenset((*_MEANINGFUL_EMPTY, *COUNTED))
#: Keywords with schemas inside.
_NESTED = frozenset((*MAPS, *BRANCHES, *_UNMARSHALED, "not"))
_KEYWORDS = frozenset(
    (
        *(*MAPS, *BRANCHES, *_KEPT, "$schema", "id", "type", "title", "description", "format", "pattern", "enum", "nullable"),
        *("uniqueItems", "exclusiveMinimum", "exclusiveMaximum", "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"),
    )
)


def decode_problems(schema: Any, shape: Shape, path: Path, *, loose: bool = False) -> Problems:
    """Yield the problems of decoding a schema and all schemas inside.

    *shape*: the shape of a schema; *loose*: ignore unknown fields.
    """
    for problem in typed_problems_at(schema, shape, path):
        if problem.rule != "missing-field" and not (loose and problem.rule == "unknown-field"):
            yield problem
    if not isinstance(schema, dict) or not has_schemas(schema):
        return
    for keyword in (*MAPS, *BRANCHES):
        wanted = dict if keyword in MAPS else list
        yield from _inner_decode_problems(schema.get(keyword), wanted, shape, (*path, keyword), loose=loose)
    yield from decode_problems(schema.get("not"), shape, (*path, "not"), loose=loose)
    for keyword in _UNMARSHALED:
        inner = schema.get(keyword)
        if isinstance(inner, dict):
            yield from decode_problems(inner, shape, (*path, keyword), loose=True)
        elif keyword == "items" and isinstance(inner, list):
            yield from _inner_decode_problems(inner, list, shape, (*path, keyword), loose=True)
        elif keyword != "items" and inner is not None and not isinstance(inner, bool):
            yield Problem("wrong-type", (*path, keyword), f"`{keyword}`: expected a schema, `true` or `false`")


def _inner_decode_problems(value: Any, wanted: Any, shape: Shape, path: Path, *, loose: bool) -> Problems:
    """Yield the problems of decoding the schemas in a mapping or list.

    *wanted*: the type that the value must have.
    """
    if isinstance(value, wanted):
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            if path[-1] != "dependencies" or isinstance(inner, dict):
                place = (*path, Key(step) if wanted is dict else step)
                yield from decode_problems(inner, shape, place, loose=loose)
    elif value is not None:
        what = "an object of names to schemas" if wanted is dict else "a list of schemas"
        yield Problem("wrong-type", path, f"{name_of(path)}: expected {what}")


def decoded(schema: Any, *, kept: frozenset[str] = _KEPT) -> Schema:
    """Remove null, unknown and empty keywords from a schema. What is no object, as null, is `{}`.

    Empty values of the keywords *kept* stay.
    """
    made: Schema = {}
    for keyword, value in schema.items() if isinstance(schema, dict) else ():
        if value is None or keyword not in _KEYWORDS or (not value and keyword not in kept):
            continue
        if keyword in MAPS:
            named = value.items() if isinstance(value, dict) else ()
            made[keyword] = {
                name: decoded(inner, kept=kept) if isinstance(inner, dict) or inner is None else inner for name, inner in named
            }
        elif keyword in _NESTED and isinstance(value, dict):
            made[keyword] = decoded(value, kept=kept)
        elif keyword in _NESTED and isinstance(value, list) and value:
            made[keyword] = [decoded(inner, kept=kept) for inner in value]
        elif keyword != "items":
            made[keyword] = value
    return made


def are_alike(schemas: Sequence[Schema]) -> bool:
    """True if decoded schemas are equal.

    Empty and absent values of the keywords in `COUNTED` count as equal.
    """
    if len(schemas) == 1:
        return True
    meant = [decoded(each, kept=_MEANINGFUL_EMPTY) for each in schemas]
    return all(each == meant[0] for each in meant)


def plain(value: Any) -> Any:
    """Remove null and zero values from a version.

    `{}` and an empty `labelSelectorPath` stay, since they are pointers in Go.
    """
    if isinstance(value, list):
        return [plain(each or {}) for each in value]
    if isinstance(value, dict):
        return {
            name: plain(inner) for name, inner in value.items() if inner or inner == {} or (inner == "" and name == "labelSelectorPath")
        }
    return value


def keywords_of(schema: Schema) -> list[str]:
    """Return the keywords that are set in a schema.

    Lists and mappings count as set even if empty.
    """
    return [name for name, value in schema.items() if value or isinstance(value, (list, dict)) or name in decoded({name: value})]
