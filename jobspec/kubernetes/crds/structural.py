"""Whether the schemas of a CRD are structural.

Follows `ValidateStructural`, k8s.io/apiextensions-apiserver pkg/apiserver/schema/validation.go and complete.go, 1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jobspec.diagnostics.places import Key, Path, spell
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go import regex
from jobspec.kubernetes.compiling import INT_OR_STRING
from jobspec.kubernetes.crds.decoding import COUNTED
from jobspec.kubernetes.crds.keywords import NO_ITEMS, draft_problems, is_readable, problems_of_node
from jobspec.kubernetes.crds.parts import unless_sound
from jobspec.kubernetes.crds.schema_walk import SchemaContext, branches, children, has_schemas, invalid, schemas_in, with_inner_schemas

Schema = dict[str, Any]
#: Keywords that are forbidden inside `allOf`, `anyOf`, `oneOf` and `not` (`validateNestedValueValidation`).
_FORBIDDEN_INSIDE = (
    *("type", "default", "title", "description", "nullable", "additionalProperties", "x-kubernetes-preserve-unknown-fields"),
    *("x-kubernetes-embedded-resource", "x-kubernetes-int-or-string", "x-kubernetes-list-map-keys", "x-kubernetes-list-type"),
    *("x-kubernetes-map-type", "x-kubernetes-validations"),
)
_NO_OTHERS = ("additionalProperties", False)  # which the server drops there


def problems_of_structure(schema: Schema) -> tuple[list[Problem], list[Path] | None]:
    """Return the problems of a schema and of all schemas inside, and the paths of wrong ones.

    If the schema is not structural, there are no paths, but None. `$schema` is reported only if there is no other problem.
    """
    found = list(_node_problems(schema, (), SchemaContext(is_root=True)))
    inside = schemas_in(schema)
    readable = all(map(is_readable, inside))
    structure = list(_structural_problems(schema)) if readable else []
    reported = {(problem.path, problem.message) for problem in found}
    further = [problem for problem in structure if (problem.path, problem.message) not in reported]
    drafts = draft_problems(schema) if not found and any("$schema" in each for each in inside) else ()
    not_checked = [] if regex.is_available() else _patterns_not_checked(schema)
    problems = [*found, *drafts, *not_checked, *further]
    return problems, [problem.path for problem in found] if readable and not structure else None


@unless_sound
def _node_problems(schema: Schema, path: Path, context: SchemaContext) -> Problems:
    yield from problems_of_node(schema, path, context)
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


@unless_sound
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


def _patterns_not_checked(schema: Schema) -> Problems:
    """Yield a warning at the first pattern in a schema: the CEL library, which checks patterns, is not installed."""
    path = next((path for node, path in with_inner_schemas(schema) if node.get("pattern")), None)
    if path is not None:
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
