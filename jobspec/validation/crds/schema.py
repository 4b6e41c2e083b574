"""What a server has against the schema of a CRD's version: whether it is structural, and what it says besides.

Paths are those inside of the schema.
"""

from __future__ import annotations

from jobspec.diagnostics import Key, spell
from jobspec.validation import regex
from jobspec.validation.cel import paths
from jobspec.validation.crds.decode import COUNTED
from jobspec.validation.structural import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from jobspec.diagnostics import Path

    Schema = dict[str, Any]

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_SCALARS = ("boolean", "integer", "number", "string")
_UNSUPPORTED = ("id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions")
_REFUSED_EMPTY = ("$ref", "dependencies", "additionalItems")
_META = ("apiVersion", "kind", "metadata")
_BEFORE_TYPE = ("id", "$schema", "$ref")
_REASONS = ("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate")
#: What can stand at the root of a schema whose `status` is judged by itself.
_WITH_STATUS = (
    *("description", "type", "format", "title", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength", "minLength"),
    *("pattern", "maxItems", "minItems", "uniqueItems", "multipleOf", "required", "items", "properties", "externalDocs", "example"),
    *("x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations"),
)
#: What says what a value is, and so cannot stand in a branch of `allOf` and its like.
_FORBIDDEN_INSIDE = (
    *("type", "default", "title", "description", "nullable", "additionalProperties", "x-kubernetes-preserve-unknown-fields"),
    *("x-kubernetes-embedded-resource", "x-kubernetes-int-or-string", "x-kubernetes-list-map-keys", "x-kubernetes-list-type"),
    *("x-kubernetes-map-type", "x-kubernetes-validations"),
)
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_NO_OTHERS = ("additionalProperties", False)  # which the server drops in a branch
_NO_ITEMS = "a list needs `items`, the schema of each item"
_BRANCHES = ("allOf", "anyOf", "oneOf")


def _wrong(path: Path, message: str, hint: str = "") -> Problem:
    return Problem("invalid-crd", path, message, hint)


def beside_status(keywords: list[str], schema: Schema) -> Iterator[Problem]:
    """What cannot stand at the root of a schema where the status subresource is."""
    is_object = schema.get("type", "object") == "object"
    if not is_object:
        yield _wrong(("type",), "with the status subresource, the root of the schema needs `type: object`")
    wrong = [each for each in keywords if each not in (*_WITH_STATUS, "nullable") and (is_object or each in _BEFORE_TYPE)]
    if wrong:
        yield _wrong((wrong[0],), f"with the status subresource, `{wrong[0]}` cannot stand at the root of the schema")


def is_readable(schema: Schema) -> bool:
    """Whether the server can make a structural schema of one, right or wrong, those inside of it left out."""
    return not (
        any(schema.get(keyword) for keyword in _UNSUPPORTED)
        or "additionalItems" in schema
        or isinstance(schema.get("items"), list)
        or schema.get("x-kubernetes-preserve-unknown-fields") is False
    )


def has_known_type(schema: Schema) -> bool:
    """Whether the type of a schema, if it has any, is one of OpenAPI's."""
    return schema.get("type") in (None, *_TYPES)


def nodes(schema: Schema, path: Path = ()) -> Iterator[tuple[Schema, Path]]:
    """A schema and all that are inside of it."""
    yield schema, path
    for child, at, _ in children(schema, path, Place()):
        yield from nodes(child, at)
    for branch, at in branches(schema, path):
        yield from nodes(branch, at)


def draft_problems(schema: Schema) -> Iterator[Problem]:
    """Where a schema names the draft of JSON Schema that it is of."""
    for node, path in nodes(schema):
        if "$schema" in node:
            yield _wrong((*path, "$schema"), "`$schema` is not supported")


def structural_problems(schema: Schema) -> Iterator[Problem]:
    """Whether a readable schema is structural."""
    yield from _root_problems(schema)
    yield from structure_problems(schema, ())
    yield from completeness_problems(schema)


def _root_problems(schema: Schema) -> Iterator[Problem]:
    """What stands against the schema of a kind as a whole."""
    untyped = schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("x-kubernetes-int-or-string")
    if schema.get("type") != "object" and ("type" in schema or not untyped):
        yield _wrong(("type",) if "type" in schema else (), "the root of the schema needs `type: object`")
    if "additionalProperties" in schema:
        yield _wrong(("additionalProperties",), "`additionalProperties` cannot stand at the root of the schema")
    metadata = (schema.get("properties") or {}).get("metadata")
    if metadata is not None:
        yield from _root_metadata(metadata)


def _root_metadata(metadata: Schema) -> Iterator[Problem]:
    """The server knows what metadata is; a schema can only limit the name and its prefix."""
    at: Path = ("properties", Key("metadata"))
    fields = metadata.get("properties") or {}
    others = metadata.keys() - {"type", "default", "properties", "items" if metadata.get("items") is None else ""}
    if others or not fields.keys() <= {"name", "generateName"}:
        yield _wrong(
            at, "`metadata` can only be limited in `name` and `generateName`; the server knows the rest", "leave `type: object` alone"
        )


def structure_problems(schema: Schema, path: Path, *, level: str = "root") -> Iterator[Problem]:
    """Whether a schema says of every value what it is, in one place; *level* is `root`, `field` or `item`."""
    kind = schema.get("type", "")
    either, kept, embedded = (
        bool(schema.get(f"x-kubernetes-{each}")) for each in ("int-or-string", "preserve-unknown-fields", "embedded-resource")
    )
    if kind == "array" and not isinstance(schema.get("items"), dict):
        yield _wrong(path, _NO_ITEMS)
    if either and kept:
        yield _wrong((*path, "x-kubernetes-preserve-unknown-fields"), "it excludes `x-kubernetes-int-or-string`")
    if either and embedded:
        yield _wrong((*path, "x-kubernetes-embedded-resource"), "it excludes `x-kubernetes-int-or-string`")
    if embedded:
        yield from _embedded_structure(schema, path, kind, kept=kept)
    elif not kind and not either and not kept and level != "root":
        yield _wrong(path, f"the schema of {'an item' if level == 'item' else 'a field'} needs a `type`")
    if level == "root" or embedded:
        yield from _meta_types(schema, path)
    yield from _value_rules(schema, path, typed=_spelt_out(schema))
    yield from _below(schema, path)


def _below(schema: Schema, path: Path) -> Iterator[Problem]:
    for name, child in (schema.get("properties") or {}).items():
        yield from structure_problems(child, (*path, "properties", Key(name)), level="field")
    for keyword, level in (("items", "item"), ("additionalProperties", "field")):
        if isinstance(schema.get(keyword), dict):
            yield from structure_problems(schema[keyword], (*path, keyword), level=level)


def _embedded_structure(schema: Schema, path: Path, kind: str, *, kept: bool) -> Iterator[Problem]:
    if kind != "object":
        yield _wrong((*path, "type") if kind else path, "an embedded resource needs `type: object`")
    if "additionalProperties" in schema:
        yield _wrong((*path, "additionalProperties"), "an embedded resource cannot have `additionalProperties`")
    if not kept and not schema.get("properties"):
        yield _wrong(path, "an embedded resource needs `properties`, or `x-kubernetes-preserve-unknown-fields: true`")


def _meta_types(schema: Schema, path: Path) -> Iterator[Problem]:
    fields = schema.get("properties") or {}
    for name, kind in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        if name in fields and fields[name].get("type") != kind:
            at: Path = (*path, "properties", Key(name))
            yield _wrong((*at, "type") if "type" in fields[name] else at, f"`{name}` of an object needs `type: {kind}`")


def _spelt_out(schema: Schema) -> list[str]:
    """Where a schema spells out that a value is an integer or a text: in `anyOf`, in the first branch of `allOf`."""
    found = ["anyOf"] if _are_int_or_string(schema.get("anyOf")) else []
    first = (schema.get("allOf") or [{}])[0]
    return [*found, "allOf"] if _are_int_or_string(first.get("anyOf")) else found


def _are_int_or_string(branches: list[Schema] | None) -> bool:
    plain = [{keyword: value for keyword, value in branch.items() if (keyword, value) != _NO_OTHERS} for branch in branches or ()]
    return plain == _INT_OR_STRING


def _value_rules(schema: Schema, path: Path, *, typed: Sequence[str] = ()) -> Iterator[Problem]:
    """The branches of a schema, and its pattern; *typed* says where types may stand in them all the same."""
    for keyword in _BRANCHES:
        if keyword == "anyOf" and "anyOf" in typed:
            continue
        for index, branch in enumerate(schema.get(keyword) or ()):
            inside = ["anyOf"] if keyword == "allOf" and "allOf" in typed and index == 0 else []
            yield from _branch(branch, (*path, keyword, index), typed=inside)
    if "not" in schema:
        yield from _branch(schema["not"], (*path, "not"))
    if schema.get("pattern") and (why := regex.complaint(schema["pattern"])):
        yield _wrong((*path, "pattern"), f"`{schema['pattern']}` is no regular expression of RE2: {why}")


def _branch(branch: Schema, path: Path, *, typed: Sequence[str] = ()) -> Iterator[Problem]:
    for keyword in _FORBIDDEN_INSIDE:
        if keyword in branch and (keyword, branch[keyword]) != _NO_OTHERS and (branch[keyword] or keyword not in COUNTED):
            hint = "say it outside of `allOf`, `anyOf`, `oneOf` and `not`"
            yield _wrong((*path, keyword), f"`{keyword}` cannot stand in a branch of a structural schema", hint)
    if "metadata" in (branch.get("properties") or {}):
        yield _wrong((*path, "properties", Key("metadata")), "`metadata` cannot be limited in a branch")
    yield from _value_rules(branch, path, typed=typed)
    for name, child in (branch.get("properties") or {}).items():
        yield from _branch(child, (*path, "properties", Key(name)))
    if isinstance(branch.get("items"), dict):
        yield from _branch(branch["items"], (*path, "items"))


def completeness_problems(schema: Schema) -> Iterator[Problem]:
    """Whether every value that the root's branches speak of is in its schema, too."""
    yield from _branches_complete(schema, schema, (), ())


def _branches_complete(rules: Schema, schema: Schema, path: Path, at: Path) -> Iterator[Problem]:
    """*path* is that of the schema, *at* that of the *rules* on it."""
    for branch, inside in branches(rules, at):
        yield from _complete(branch, schema, path, inside)


def _complete(branch: Schema, schema: Schema, path: Path, at: Path) -> Iterator[Problem]:
    yield from _branches_complete(branch, schema, path, at)
    fields, items = schema.get("properties") or {}, schema.get("items")
    if isinstance(branch.get("items"), dict):
        if isinstance(items, dict):
            yield from _complete(branch["items"], items, (*path, "items"), (*at, "items"))
        else:
            yield _wrong(path, f"`items` is missing, which `{spell((*at, 'items'))}` speaks of")
    for name, inner in (branch.get("properties") or {}).items():
        inside: Path = (*at, "properties", Key(name))
        if name in fields:
            yield from _complete(inner, fields[name], (*path, "properties", Key(name)), inside)
        else:
            yield _wrong((*path, "properties") if fields else path, f"the field `{name}` is missing, which `{spell(inside)}` speaks of")


class Place:
    """What is known of the surroundings of a schema."""

    __slots__ = ("default_hint", "in_meta", "is_root", "uncorrelated")

    def __init__(self, *, is_root: bool = False, in_meta: bool = False, default_hint: str = "", uncorrelated: bool = False) -> None:
        self.is_root = is_root
        self.in_meta = in_meta
        """In the kind or metadata of an object."""
        self.default_hint = default_hint
        """Why no default can be given; empty where one can."""
        self.uncorrelated = uncorrelated
        """In a list whose items nothing tells to be the old ones."""

    def inside(self, *, in_meta: bool = False, default_hint: str = "", uncorrelated: bool = False) -> Place:
        """The place of a schema inside of this one."""
        return Place(
            in_meta=self.in_meta or in_meta,
            default_hint=self.default_hint or default_hint,
            uncorrelated=self.uncorrelated or uncorrelated,
        )


def children(schema: Schema, path: Path, place: Place) -> Iterator[tuple[Schema, Path, Place]]:
    """The schemas of values inside, branches left out."""
    is_resource = place.is_root or bool(schema.get("x-kubernetes-embedded-resource"))
    for name, child in (schema.get("properties") or {}).items():
        in_meta = is_resource and name in _META
        why = f"`{name}` of an object as a whole cannot have defaults" if place.is_root and in_meta else ""
        yield child, (*path, "properties", Key(name)), place.inside(in_meta=in_meta, default_hint=why)
    if isinstance(schema.get("additionalProperties"), dict):
        why = "the values of a map in metadata cannot have defaults" if place.in_meta else ""
        yield schema["additionalProperties"], (*path, "additionalProperties"), place.inside(default_hint=why)
    if isinstance(schema.get("items"), dict):
        yield schema["items"], (*path, "items"), place.inside(uncorrelated=schema.get("x-kubernetes-list-type") != "map")


def branches(schema: Schema, path: Path) -> Iterator[tuple[Schema, Path]]:
    """The branches of `allOf` and its like."""
    for keyword in _BRANCHES:
        for index, branch in enumerate(schema.get(keyword) or ()):
            yield branch, (*path, keyword, index)
    if "not" in schema:
        yield schema["not"], (*path, "not")


def node_problems(schema: Schema, path: Path, place: Place) -> Iterator[Problem]:
    """What stands against one schema by itself, those inside of it left out."""
    for keyword in _UNSUPPORTED:
        if keyword != "$schema" and (schema.get(keyword) or (keyword in schema and keyword in _REFUSED_EMPTY)):
            yield _wrong((*path, keyword), f"`{keyword}` is not supported")
    if not has_known_type(schema):
        yield _wrong((*path, "type"), f"`{schema['type']}` is no type; the types are {', '.join(_TYPES)}")
    if isinstance(schema.get("items"), list):
        yield _wrong((*path, "items"), "`items` takes one schema, not a list of them")
    if schema.get("uniqueItems"):
        yield _wrong((*path, "uniqueItems"), "it cannot be true", "write `x-kubernetes-list-type: set`")
    if schema.get("properties") and schema.get("additionalProperties") not in (None, True):
        yield _wrong((*path, "additionalProperties"), "`properties` and `additionalProperties` exclude each other")
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        yield _wrong((*path, "x-kubernetes-preserve-unknown-fields"), "it is true or left out")
    yield from _out_of_place(schema, path, place)
    yield from _list_and_map_types(schema, path)
    for index, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        yield from _rule(rule or {}, schema, (*path, "x-kubernetes-validations", index))


def _out_of_place(schema: Schema, path: Path, place: Place) -> Iterator[Problem]:
    if place.is_root and schema.get("nullable"):
        yield _wrong((*path, "nullable"), "an object as a whole cannot be `nullable`")
    if schema.get("default") is not None and place.default_hint:
        yield _wrong((*path, "default"), place.default_hint)
    if place.in_meta and schema.get("x-kubernetes-embedded-resource"):
        yield _wrong((*path, "x-kubernetes-embedded-resource"), "an embedded resource cannot stand in metadata")


def _list_and_map_types(schema: Schema, path: Path) -> Iterator[Problem]:
    map_type, list_type = schema.get("x-kubernetes-map-type"), schema.get("x-kubernetes-list-type")
    if map_type is not None:
        yield from _needs_type(schema, path, "object", "x-kubernetes-map-type")
    if map_type not in (None, "atomic", "granular"):
        yield _wrong((*path, "x-kubernetes-map-type"), f"`{map_type}` is none of atomic, granular")
    if list_type is not None:
        yield from _needs_type(schema, path, "array", "x-kubernetes-list-type")
    if list_type == "set" and schema.get("type") == "array" and isinstance(schema.get("items"), dict):
        yield from _set_items(schema["items"], (*path, "items"))
    if list_type not in (None, "atomic", "set", "map"):
        yield _wrong((*path, "x-kubernetes-list-type"), f"`{list_type}` is none of atomic, set, map")
    if schema.get("x-kubernetes-list-map-keys") and list_type != "map":
        at = path if list_type is None else (*path, "x-kubernetes-list-type")
        yield _wrong(at, "`x-kubernetes-list-map-keys` needs `x-kubernetes-list-type: map`")
    if list_type == "map":
        yield from _list_map(schema, path)
    if list_type in ("set", "map") and isinstance(schema.get("items"), dict) and schema["items"].get("nullable"):
        yield _wrong((*path, "items", "nullable"), f"an item of a list of type {list_type} cannot be null")


def _needs_type(schema: Schema, path: Path, kind: str, keyword: str) -> Iterator[Problem]:
    if schema.get("type") != kind:
        yield _wrong((*path, "type") if "type" in schema else path, f"`{keyword}` needs `type: {kind}`")


def _set_items(items: Schema, path: Path) -> Iterator[Problem]:
    if items.get("type") == "array" and items.get("x-kubernetes-list-type") not in (None, "atomic"):
        yield _wrong((*path, "x-kubernetes-list-type"), "an item of a set has to be atomic")
    if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        yield _wrong(path, "an object in a set needs `x-kubernetes-map-type: atomic`")


def _list_map(schema: Schema, path: Path) -> Iterator[Problem]:
    keys, items = schema.get("x-kubernetes-list-map-keys") or [], schema.get("items")
    if not keys:
        yield _wrong(path, "a list of type map needs `x-kubernetes-list-map-keys`")
    if not isinstance(items, dict):
        if not items:
            yield _wrong(path, _NO_ITEMS)
        return
    if items.get("type") != "object":
        yield _wrong(
            (*path, "items", "type") if "type" in items else (*path, "items"), "the items of a list of type map need `type: object`"
        )
        return
    at: Path = (*path, "x-kubernetes-list-map-keys")
    for index, key in enumerate(keys):
        field = (items.get("properties") or {}).get(key)
        if key in keys[:index]:
            yield _wrong((*at, index), f"the key `{key}` stands twice")
        elif field is None:
            yield _wrong((*at, index), f"the key `{key}` is no field of the items")
        else:
            yield from _list_map_key(key, field, items, (*path, "items", "properties", Key(key)))


def _list_map_key(key: str, field: Schema, items: Schema, path: Path) -> Iterator[Problem]:
    if field.get("type") in ("array", "object"):
        yield _wrong((*path, "type"), f"`{key}` is a key of the list, and has to be a scalar")
    if key not in (items.get("required") or ()) and field.get("default") is None:
        yield _wrong(
            path, f"`{key}` is a key of the list, and has to be required or have a default", f"add `required: [{key}]` to the items"
        )
    if field.get("nullable"):
        yield _wrong((*path, "nullable"), f"`{key}` is a key of the list, and cannot be null")


def _rule(rule: dict[str, Any], schema: Schema, path: Path) -> Iterator[Problem]:
    text, message, field_path = rule.get("rule") or "", rule.get("message") or "", rule.get("fieldPath") or ""
    if not text.strip():
        yield _wrong(path, "the rule has no `rule`")
    elif message and not message.strip():
        yield _wrong((*path, "message"), "the message is blank")
    elif _has_lines(message.strip()):
        yield _wrong((*path, "message"), "the message cannot have several lines")
    elif _has_lines(text.strip()) and not message:
        yield _wrong(path, "a rule of several lines needs a `message`")
    if rule.get("messageExpression") and not rule["messageExpression"].strip():
        yield _wrong((*path, "messageExpression"), "the expression is blank")
    if rule.get("reason") is not None and rule["reason"] not in _REASONS:
        yield _wrong((*path, "reason"), f"`{rule['reason']}` is none of {', '.join(_REASONS)}")
    if field_path:
        tokens = paths.tokens_of(field_path)
        if _has_lines(field_path) or tokens is None or paths.place_of(tokens, schema) is None:
            yield _wrong((*path, "fieldPath"), f"`{field_path}` is no path of a field below the rule")


def _has_lines(text: str) -> bool:
    return "\n" in text or "\r" in text
