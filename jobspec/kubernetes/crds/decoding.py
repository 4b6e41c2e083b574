"""Decode the schemas of a CRD as the server does: report what cannot be decoded, and drop what the decoder drops.

Follows `JSONSchemaProps`, k8s.io/apiextensions-apiserver pkg/apis/apiextensions/v1/types_jsonschema.go and marshal.go, 1.36. A schema
becomes a Go struct, so null and zero values equal absent ones. `items` and `additionalProperties` have unmarshalers of their own, which
ignore unknown fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jobspec.diagnostics.places import Key, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.documents.shared_parts import shared
from jobspec.kubernetes.crds.parts import once_for_each, unless_sound
from jobspec.kubernetes.crds.schema_walk import BRANCHES, MAPS, NESTED, UNMARSHALED, has_schemas
from jobspec.kubernetes.problems import name_of
from jobspec.kubernetes.structural import typed_problems_at
from jobspec.schemas.shapes import Shape

Schema = dict[str, Any]
_ANYTHING = ("default", "example")
_POINTERS = ("not", "maximum", "minimum", "maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties", "multipleOf")
#: Keywords whose empty value differs from an absent one.
_MEANINGFUL_EMPTY = frozenset(
    (
        *(*_ANYTHING, *UNMARSHALED, *_POINTERS, "$ref", "dependencies", "externalDocs"),
        *("x-kubernetes-preserve-unknown-fields", "x-kubernetes-list-type", "x-kubernetes-map-type"),
    )
)
#: Keywords whose empty and absent values mean the same, though the decoded schema still distinguishes them.
COUNTED = ("properties", "required", "x-kubernetes-list-map-keys", "x-kubernetes-validations")
_KEPT = frozenset((*_MEANINGFUL_EMPTY, *COUNTED))
_KEYWORDS = frozenset(
    (
        *(*MAPS, *BRANCHES, *_KEPT, "$schema", "id", "type", "title", "description", "format", "pattern", "enum", "nullable"),
        *("uniqueItems", "exclusiveMinimum", "exclusiveMaximum", "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"),
    )
)


@unless_sound
def decode_problems(schema: Any, path: Path, shape: Shape, *, loose: bool = False) -> Problems:
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
    yield from decode_problems(schema.get("not"), (*path, "not"), shape, loose=loose)
    for keyword in UNMARSHALED:
        inner = schema.get(keyword)
        if isinstance(inner, dict):
            yield from decode_problems(inner, (*path, keyword), shape, loose=True)
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
                yield from decode_problems(inner, place, shape, loose=loose)
    elif value is not None:
        what = "an object of names to schemas" if wanted is dict else "a list of schemas"
        yield Problem("wrong-type", path, f"{name_of(path)}: expected {what}")


@once_for_each
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
        elif keyword in NESTED and isinstance(value, dict):
            made[keyword] = decoded(value, kept=kept)
        elif keyword in NESTED and isinstance(value, list) and value:
            made[keyword] = [decoded(inner, kept=kept) for inner in value]
        elif keyword != "items":
            made[keyword] = value
    return shared(made)


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
    made = decoded(schema)
    return [name for name, value in schema.items() if value or isinstance(value, (list, dict)) or name in made]
