"""The defaults in a CRD's schema, checked against that schema.

Follows `ValidateDefaults`, k8s.io/apiextensions-apiserver pkg/apiserver/schema/defaulting/validation.go, 1.36.

A default is checked as it is written: it is not defaulted itself, and nulls in it are not pruned. A string or a list passes for any
type but a number's if there is a `format`. `x-kubernetes-int-or-string` is ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jobspec.diagnostics.places import Data, Key, Path, spell
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go.text_formats import CHECKS
from jobspec.kubernetes.compiling import shape_of
from jobspec.kubernetes.conditions import broken_branch
from jobspec.kubernetes.correlation import Correlated
from jobspec.kubernetes.crds.keywords import has_known_type
from jobspec.kubernetes.crds.parts import unless_sound
from jobspec.kubernetes.crds.schema_walk import META_FIELDS
from jobspec.kubernetes.embedded_objects import resource_problems
from jobspec.kubernetes.problems import describe, name_of
from jobspec.kubernetes.rules import broken_rules
from jobspec.kubernetes.structural import typed_problems_at
from jobspec.schemas.shapes import TYPES, Shape

Schema = dict[str, Any]
_DEFAULT: Path = ("default",)
_EITHER = "x-kubernetes-int-or-string"
_LEFT_TO_FORMATS = ("array", "boolean", "object")


@unless_sound
def default_problems(schema: Schema, path: Path, meta: Shape, steps: Path | None = None) -> Problems:
    """Yield the problems of the defaults in a structural schema, except those in maps' values.

    *meta* is the shape of `metadata`. Inside `apiVersion`, `kind` or `metadata` of an object, *steps* is the path from the object.
    """
    default = schema.get("default")
    if default is not None:
        found = _default(default, schema, meta) if steps is None else _default_in_meta(default, schema, meta, steps)
        yield from (_at_default(problem, path) for problem in found)
    for name, child in (schema.get("properties") or {}).items():
        is_meta = bool(schema.get("x-kubernetes-embedded-resource")) and name in META_FIELDS
        inside = (name,) if is_meta else None if steps is None else (*steps, name)
        yield from default_problems(child, (*path, "properties", Key(name)), meta, inside)
    if isinstance(schema.get("items"), dict):
        yield from default_problems(schema["items"], (*path, "items"), meta, None if steps is None else (*steps, 0))


def _at_default(problem: Problem, path: Path) -> Problem:
    where = f" in `{spell(problem.path)}`" if problem.path else ""
    rule = problem.rule if problem.rule == "rule-not-evaluated" else "invalid-crd"
    message = f"the default does not fit its own schema{where}: {problem.message}"
    return Problem(rule, (*path, "default", *problem.path), message, problem.hint)


def _default(default: Any, schema: Schema, meta: Shape) -> Problems:
    yield from _pruned_fields(default, schema, ())
    yield from _as_resources(list(_embedded_resources(default, schema, ())), meta) or _as_value(default, schema, meta)


def _default_in_meta(default: Any, schema: Schema, meta: Shape, steps: Path) -> Problems:
    """Yield the problems of a default inside `apiVersion`, `kind` or `metadata` of an object.

    Unknown fields are pruned there.
    """
    whole = default
    for step in reversed(steps):
        whole = [whole] if step == 0 else {step: whole}
    found = _as_resources([({"apiVersion": "v1", "kind": "Any", **whole}, ())], meta)
    from_default = (problem.moved_to(problem.path[len(steps) :]) for problem in found[:1])
    yield from from_default if found else _as_value(default, schema, meta)


def _child_of(schema: Schema, name: str) -> Schema | None:
    """The schema of an object's field or of a map's values; None where there is none."""
    fields, others = schema.get("properties") or {}, schema.get("additionalProperties")
    return fields.get(name, others if isinstance(others, dict) else None)


def _pruned_fields(value: Any, schema: Schema | None, path: Path, *, kept: bool = False) -> Problems:
    """Yield the fields that the server would prune.

    *kept*: the list around the value preserves unknown fields.
    """
    if isinstance(value, list):
        kept = schema is not None and (kept or bool(schema.get("x-kubernetes-preserve-unknown-fields")))
        items = (schema or {}).get("items")
        for index, item in enumerate(value) if items or not kept else ():
            yield from _pruned_fields(item, items, (*path, index), kept=kept)
    elif isinstance(value, dict):
        yield from _unknown_fields(value, schema or {}, path, kept=kept)


def _unknown_fields(value: Data, schema: Schema, path: Path, *, kept: bool) -> Problems:
    kept = kept or bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    own = META_FIELDS if schema.get("x-kubernetes-embedded-resource") else ()
    for name, inner in value.items():
        if name in own:
            continue
        if name in (schema.get("properties") or {}):
            yield from _pruned_fields(inner, _child_of(schema, name), (*path, name))
        elif "additionalProperties" in schema:
            yield from _pruned_fields(inner, _child_of(schema, name), (*path, Key(name)))
        elif not kept:
            yield Problem("unknown-field", (*path, name), f"unknown field `{name}`")


def _embedded_resources(value: Any, schema: Schema, path: Path) -> Iterator[tuple[Data, Path]]:
    """The embedded resources in a default, with their paths, the outer ones first."""
    if isinstance(value, dict) and schema.get("x-kubernetes-embedded-resource"):
        yield value, path
    for inner, child, at in _values_in(value, schema, path):
        yield from _embedded_resources(inner, child, at)


def _values_in(value: Any, schema: Schema, path: Path) -> Iterator[tuple[Any, Schema, Path]]:
    """Yield the fields, map values and items of a value that have a schema.

    Each comes with its schema and its path.
    """
    if isinstance(value, dict):
        for name, inner in value.items():
            child = _child_of(schema, name)
            if child is not None:
                yield inner, child, (*path, name if name in (schema.get("properties") or {}) else Key(name))
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for index, item in enumerate(value):
            yield item, schema["items"], (*path, index)


def _as_resources(found: list[tuple[Data, Path]], meta: Shape) -> list[Problem]:
    """The problems of embedded resources as objects; if one cannot be decoded, only why."""
    undecodable = [problem for value, path in found for problem in _decoding(value, path, meta)]
    return undecodable or [problem for value, path in found for problem in _resource(value, path)]


def _decoding(value: Data, path: Path, meta: Shape) -> Problems:
    for name in META_FIELDS[:2]:
        if name in value and not isinstance(value[name], str):
            yield Problem("wrong-type", (*path, name), f"expected a string, got {describe(value[name])}")
    found = typed_problems_at(value.get("metadata"), meta, (*path, "metadata"))
    yield from (problem for problem in found if problem.rule != "unknown-field")  # which the server prunes in metadata


def _resource(value: Data, path: Path) -> Problems:
    for name in META_FIELDS[:2]:
        if name not in value:
            yield Problem("missing-field", path, f"missing required field `{name}`", lacks=name)
    yield from resource_problems(value, path)


def _as_value(default: Any, schema: Schema, meta: Shape) -> Problems:
    """Yield the problems of a default by its schema and CEL rules.

    They are evaluated as for a create, and as for an update of the same value.
    """
    found = [*_types(default, schema, _DEFAULT), *broken_branch(default, shape_of(_as_checked(schema), meta, is_branch=True), _DEFAULT)]
    yield from (problem.moved_to(problem.path[len(_DEFAULT) :]) for problem in found)
    if not found:
        shape = shape_of(schema, meta)
        yield from list(broken_rules(default, shape)) or broken_rules(default, shape, before=Correlated(default, default, shape))


def _as_checked(schema: Any) -> Any:
    """Return the schema that a default is checked against.

    It has no int-or-string and loose types. Formats without a type are those of strings.
    """
    if isinstance(schema, list):
        return [_as_checked(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    kind, form = schema.get("type"), schema.get("format")
    is_loose = not has_known_type(schema) or (kind in _LEFT_TO_FORMATS and form)
    dropped = (_EITHER, "type") if is_loose else (_EITHER,)
    made = {keyword: _as_checked(inner) for keyword, inner in schema.items() if keyword not in dropped}
    if isinstance(form, str) and form and "type" not in made and form.replace("-", "") not in CHECKS:
        made["format"] = "password"
    return made


def _types(value: Any, schema: Schema, path: Path) -> Problems:
    """Wrong types, nulls and missing fields in a value."""
    kind, form = schema.get("type"), schema.get("format") or ""
    if not has_known_type(schema):
        return  # the schema has been reported already
    if value is None:
        if kind and not schema.get("nullable"):
            yield Problem("wrong-type", path, f"{name_of(path)} cannot be null")
    elif form and not kind and not isinstance(value, (str, list)):
        yield Problem("wrong-type", path, f"expected `{form}`, got {describe(value)}")
    elif kind and type(value) not in TYPES[kind] and not (form and kind not in ("integer", "number") and isinstance(value, (str, list))):
        yield Problem("wrong-type", path, f"expected `{kind}`, got {describe(value)}")
    else:
        for inner, child, at in _values_in(value, schema, path):
            yield from _types(inner, child, at)
