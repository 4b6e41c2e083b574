"""Decode the schemas of a CRD as the server does: report what cannot be decoded, and drop what the decoder drops.

Follows `JSONSchemaProps`, k8s.io/apiextensions-apiserver pkg/apis/apiextensions/v1/types_jsonschema.go and marshal.go, 1.36. A schema
becomes a Go struct, so null and zero values equal absent ones. `items` and `additionalProperties` have unmarshalers of their own, which
ignore unknown fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jobspec.diagnostics import Key, Path
from jobspec.kubernetes.problems import Problem, name_of
from jobspec.kubernetes.structural import typed_problems_at
from jobspec.schemas.shapes import Shape

Schema = dict[str, Any]

MAPS = ("properties", "patternProperties", "definitions", "dependencies")
BRANCHES = ("allOf", "anyOf", "oneOf")
_UNMARSHALED = ("items", "additionalProperties", "additionalItems")
_ANYTHING = ("default", "example")
_POINTERS = ("not", "maximum", "minimum", "maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties", "multipleOf")
_TEXT_POINTERS = ("labelSelectorPath",)
#: Keywords whose empty value differs from an absent one.
_MEANINGFUL_EMPTY = (
    *(*_ANYTHING, *_UNMARSHALED, *_POINTERS, "$ref", "dependencies", "externalDocs"),
    *("x-kubernetes-preserve-unknown-fields", "x-kubernetes-list-type", "x-kubernetes-map-type"),
)
#: Keywords whose empty and absent values mean the same, though the decoded schema still distinguishes them.
COUNTED = ("properties", "required", "x-kubernetes-list-map-keys", "x-kubernetes-validations")
_KEPT = (*_MEANINGFUL_EMPTY, *COUNTED)
_KEYWORDS = frozenset(
    (
        *(*MAPS, *BRANCHES, *_KEPT, "$schema", "id", "type", "title", "description", "format", "pattern", "enum", "nullable"),
        *("uniqueItems", "exclusiveMinimum", "exclusiveMaximum", "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"),
    )
)


def decode_problems(schema: Any, shape: Shape, path: Path, *, loose: bool = False) -> Iterator[Problem]:
    """The problems of decoding a schema and those inside it. *shape* is that of a schema; *loose* ignores unknown fields."""
    for problem in typed_problems_at(schema, shape, path):
        if problem.rule != "missing-field" and not (loose and problem.rule == "unknown-field"):
            yield problem
    if not isinstance(schema, dict):
        return
    for keyword in MAPS:
        yield from _map(schema.get(keyword), shape, (*path, keyword), loose=loose)
    for keyword in BRANCHES:
        yield from _list(schema.get(keyword), shape, (*path, keyword), loose=loose)
    yield from decode_problems(schema.get("not"), shape, (*path, "not"), loose=loose)
    for keyword in _UNMARSHALED:
        inner = schema.get(keyword)
        if isinstance(inner, dict):
            yield from decode_problems(inner, shape, (*path, keyword), loose=True)
        elif keyword == "items" and isinstance(inner, list):
            yield from _list(inner, shape, (*path, keyword), loose=True)
        elif keyword != "items" and inner is not None and not isinstance(inner, bool):
            yield Problem("wrong-type", (*path, keyword), f"`{keyword}` takes a schema, `true` or `false`")


def _map(value: Any, shape: Shape, path: Path, *, loose: bool) -> Iterator[Problem]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if path[-1] != "dependencies" or isinstance(inner, dict):
                yield from decode_problems(inner, shape, (*path, Key(name)), loose=loose)
    elif value is not None:
        yield Problem("wrong-type", path, f"{name_of(path)} takes a mapping of names to schemas")


def _list(value: Any, shape: Shape, path: Path, *, loose: bool) -> Iterator[Problem]:
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from decode_problems(inner, shape, (*path, index), loose=loose)
    elif value is not None:
        yield Problem("wrong-type", path, f"{name_of(path)} takes a list of schemas")


def decoded(schema: Any, *, kept: Sequence[str] = _KEPT) -> Schema:
    """A schema without null, unknown and empty keywords; empty values of the keywords *kept* stay. A schema that is null is `{}`."""
    made: Schema = {}
    for keyword, value in (schema or {}).items():
        if value is None or keyword not in _KEYWORDS or (not value and keyword not in kept):
            continue
        if keyword in MAPS:
            made[keyword] = {
                name: decoded(inner, kept=kept) if isinstance(inner, dict) or inner is None else inner for name, inner in value.items()
            }
        elif keyword in BRANCHES:
            made[keyword] = [decoded(inner, kept=kept) for inner in value]
        elif keyword in (*_UNMARSHALED, "not") and isinstance(value, dict):
            made[keyword] = decoded(value, kept=kept)
        elif keyword != "items":
            made[keyword] = value
        elif isinstance(value, list) and value:
            made[keyword] = [decoded(inner, kept=kept) for inner in value]
    return made


def are_alike(schemas: Sequence[Schema]) -> bool:
    """Whether decoded schemas are equal, with empty and absent values of the keywords in `COUNTED` taken for equal."""
    meant = [decoded(each, kept=_MEANINGFUL_EMPTY) for each in schemas]
    return all(each == meant[0] for each in meant)


def plain(value: Any) -> Any:
    """A value of a version without null and zero values; `{}` and an empty `labelSelectorPath`, which are pointers in Go, stay."""
    if isinstance(value, list):
        return [plain(each or {}) for each in value]
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items() if inner or inner == {} or (inner == "" and name in _TEXT_POINTERS)}
    return value


def keywords_of(schema: Schema) -> list[str]:
    """The keywords that are set in a schema; lists and mappings count as set even if empty."""
    return [
        keyword for keyword, value in schema.items() if value or isinstance(value, (list, dict)) or keyword in decoded({keyword: value})
    ]
