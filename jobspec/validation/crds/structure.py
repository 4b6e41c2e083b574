"""Whether a CRD's schema is structural. Paths begin at the CRD's schema.

Follows `ValidateStructural`, k8s.io/apiextensions-apiserver pkg/apiserver/schema/validation.go and complete.go, 1.36.
"""

from __future__ import annotations

from jobspec.diagnostics import Key, spell
from jobspec.validation import regex
from jobspec.validation.crds.decode import BRANCHES, COUNTED
from jobspec.validation.crds.invalid import invalid
from jobspec.validation.crds.schema_nodes import branches, nodes
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from jobspec.diagnostics import Path

    Schema = dict[str, Any]

#: Keywords that are forbidden inside `allOf`, `anyOf`, `oneOf` and `not` (`validateNestedValueValidation`).
_FORBIDDEN_INSIDE = (
    *("type", "default", "title", "description", "nullable", "additionalProperties", "x-kubernetes-preserve-unknown-fields"),
    *("x-kubernetes-embedded-resource", "x-kubernetes-int-or-string", "x-kubernetes-list-map-keys", "x-kubernetes-list-type"),
    *("x-kubernetes-map-type", "x-kubernetes-validations"),
)
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_NO_OTHERS = ("additionalProperties", False)  # which the server drops there
#: The message for a list without `items`; the check of list maps gives the same.
NO_ITEMS = "a list needs `items`, the schema of each item"


def structural_problems(schema: Schema) -> Iterator[Problem]:
    """Why a schema that can be converted to a structural schema is not structural."""
    yield from _root_problems(schema)
    yield from _structure(schema, ())
    yield from _completeness(schema)


def _root_problems(schema: Schema) -> Iterator[Problem]:
    """The problems of the root of a schema."""
    untyped = schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("x-kubernetes-int-or-string")
    if schema.get("type") != "object" and ("type" in schema or not untyped):
        yield invalid(("type",) if "type" in schema else (), "the root of the schema needs `type: object`")
    if "additionalProperties" in schema:
        yield invalid(("additionalProperties",), "`additionalProperties` cannot stand at the root of the schema")
    metadata = (schema.get("properties") or {}).get("metadata")
    if metadata is not None:
        yield from _root_metadata(metadata)


def _root_metadata(metadata: Schema) -> Iterator[Problem]:
    """The schema of `metadata` can only restrict `name` and `generateName`."""
    at: Path = ("properties", Key("metadata"))
    fields = metadata.get("properties") or {}
    others = metadata.keys() - {"type", "default", "properties", "items" if metadata.get("items") is None else ""}
    if others or not fields.keys() <= {"name", "generateName"}:
        yield invalid(
            at, "`metadata` can only be limited in `name` and `generateName`; the server knows the rest", "leave `type: object` alone"
        )


def _structure(schema: Schema, path: Path, *, level: str = "root") -> Iterator[Problem]:
    """Check a schema and those inside it (`validateStructuralInvariants`); *level* is `root`, `field` or `item`."""
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
    yield from _value_rules(schema, path, typed=_int_or_string_keywords(schema))
    yield from _inner_structures(schema, path)


def _inner_structures(schema: Schema, path: Path) -> Iterator[Problem]:
    for name, child in (schema.get("properties") or {}).items():
        yield from _structure(child, (*path, "properties", Key(name)), level="field")
    for keyword, level in (("items", "item"), ("additionalProperties", "field")):
        if isinstance(schema.get(keyword), dict):
            yield from _structure(schema[keyword], (*path, keyword), level=level)


def _embedded_structure(schema: Schema, path: Path, kind: str, *, kept: bool) -> Iterator[Problem]:
    if kind != "object":
        yield invalid((*path, "type") if kind else path, "an embedded resource needs `type: object`")
    if "additionalProperties" in schema:
        yield invalid((*path, "additionalProperties"), "an embedded resource cannot have `additionalProperties`")
    if not kept and not schema.get("properties"):
        yield invalid(path, "an embedded resource needs `properties`, or `x-kubernetes-preserve-unknown-fields: true`")


def _resource_fields(schema: Schema, path: Path) -> Iterator[Problem]:
    fields = schema.get("properties") or {}
    for name, kind in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        if name in fields and fields[name].get("type") != kind:
            at: Path = (*path, "properties", Key(name))
            yield invalid((*at, "type") if "type" in fields[name] else at, f"`{name}` of an object needs `type: {kind}`")


def _int_or_string_keywords(schema: Schema) -> list[str]:
    """The keywords that hold the permitted pattern for int-or-string: `anyOf`, or `allOf` with it in its first schema."""
    found = ["anyOf"] if _are_int_or_string(schema.get("anyOf")) else []
    first = (schema.get("allOf") or [{}])[0]
    return [*found, "allOf"] if _are_int_or_string(first.get("anyOf")) else found


def _are_int_or_string(branches: list[Schema] | None) -> bool:
    plain = [{keyword: value for keyword, value in branch.items() if (keyword, value) != _NO_OTHERS} for branch in branches or ()]
    return plain == _INT_OR_STRING


def _value_rules(schema: Schema, path: Path, *, typed: Sequence[str]) -> Iterator[Problem]:
    """Check the value validation of a schema: the schemas in `allOf` and its like, and its pattern.

    *typed* are the keywords in which types are permitted, as part of the int-or-string pattern.
    """
    for keyword in BRANCHES:
        if keyword == "anyOf" and "anyOf" in typed:
            continue
        for index, branch in enumerate(schema.get(keyword) or ()):
            inside = ["anyOf"] if keyword == "allOf" and "allOf" in typed and index == 0 else []
            yield from _branch(branch, (*path, keyword, index), typed=inside)
    if "not" in schema:
        yield from _branch(schema["not"], (*path, "not"))
    if schema.get("pattern") and regex.is_available() and (why := regex.complaint(schema["pattern"])):
        yield invalid((*path, "pattern"), f"`{schema['pattern']}` is no regular expression of RE2: {why}")


def patterns_not_checked(schema: Schema) -> Iterator[Problem]:
    """A warning at the first pattern of a schema, if the CEL library, which checks patterns, is not installed."""
    path = next((path for node, path in nodes(schema) if node.get("pattern")), None)
    if path is not None and not regex.is_available():
        message = "the patterns of the schema are not checked: the CEL library is not installed (cel-expr-python)"
        yield Problem("rule-not-evaluated", (*path, "pattern"), message)


def _branch(branch: Schema, path: Path, *, typed: Sequence[str] = ()) -> Iterator[Problem]:
    for keyword in _FORBIDDEN_INSIDE:
        if keyword in branch and (keyword, branch[keyword]) != _NO_OTHERS and (branch[keyword] or keyword not in COUNTED):
            hint = "say it outside of `allOf`, `anyOf`, `oneOf` and `not`"
            yield invalid((*path, keyword), f"`{keyword}` cannot stand in a branch of a structural schema", hint)
    if "metadata" in (branch.get("properties") or {}):
        yield invalid((*path, "properties", Key("metadata")), "`metadata` cannot be limited in a branch")
    yield from _value_rules(branch, path, typed=typed)
    for name, child in (branch.get("properties") or {}).items():
        yield from _branch(child, (*path, "properties", Key(name)))
    if isinstance(branch.get("items"), dict):
        yield from _branch(branch["items"], (*path, "items"))


def _completeness(schema: Schema) -> Iterator[Problem]:
    """Fields and items that `allOf` and its like restrict, but the schema does not have (`validateStructuralCompleteness`)."""
    yield from _branches_complete(schema, schema, (), ())


def _branches_complete(rules: Schema, schema: Schema, path: Path, at: Path) -> Iterator[Problem]:
    """Compare the schemas in `allOf` and its like of *rules*, at the path *at*, with the *schema* at *path*."""
    for branch, inside in branches(rules, at):
        yield from _complete(branch, schema, path, inside)


def _complete(branch: Schema, schema: Schema, path: Path, at: Path) -> Iterator[Problem]:
    yield from _branches_complete(branch, schema, path, at)
    fields, items = schema.get("properties") or {}, schema.get("items")
    if isinstance(branch.get("items"), dict):
        if isinstance(items, dict):
            yield from _complete(branch["items"], items, (*path, "items"), (*at, "items"))
        else:
            yield invalid(path, f"`items` is missing, which `{spell((*at, 'items'))}` speaks of")
    for name, inner in (branch.get("properties") or {}).items():
        inside: Path = (*at, "properties", Key(name))
        if name in fields:
            yield from _complete(inner, fields[name], (*path, "properties", Key(name)), inside)
        else:
            yield invalid((*path, "properties") if fields else path, f"the field `{name}` is missing, which `{spell(inside)}` speaks of")
