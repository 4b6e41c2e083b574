"""The defaults and the CEL rules in a CRD's schema, checked against that schema.

Follows `ValidateDefaults`, k8s.io/apiextensions-apiserver pkg/apiserver/schema/defaulting/validation.go, 1.36.

A default is checked as it is written: it is not defaulted itself, and nulls in it are not pruned. A string or a list passes for any
type but a number's if there is a `format`. `x-kubernetes-int-or-string` is ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jobspec.diagnostics import Key, Path, Problem, spell
from jobspec.go.text_formats import CHECKS
from jobspec.kubernetes.compiling import shape_of
from jobspec.kubernetes.conditions import broken_branch
from jobspec.kubernetes.correlation import Correlated
from jobspec.kubernetes.crds.structural import SchemaContext, children, has_known_type, invalid
from jobspec.kubernetes.custom_resources import resource_problems
from jobspec.kubernetes.problems import describe, name_of
from jobspec.kubernetes.rules import broken_rules
from jobspec.kubernetes.structural import typed_problems_at
from jobspec.schemas.shapes import TYPES, Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.kubernetes.cel.types import Compilation, SchemaTypes

    Schema = dict[str, Any]
    Typed = tuple[Path, Schema, SchemaContext, SchemaTypes | None]


_META = ("apiVersion", "kind", "metadata")
_DEFAULT: Path = ("default",)
_EITHER = "x-kubernetes-int-or-string"
_LEFT_TO_FORMATS = ("array", "boolean", "object")


def default_problems(schema: Schema, meta: Shape, path: Path = (), steps: Path | None = None) -> Iterator[Problem]:
    """The problems of the defaults in a structural schema; it does not check those in the values of maps.

    *meta* is the shape of `metadata`. Inside `apiVersion`, `kind` or `metadata` of an object, *steps* is the path from the object.
    """
    default = schema.get("default")
    if default is not None:
        found = _default(default, schema, meta) if steps is None else _default_in_meta(default, schema, meta, steps)
        yield from (_at_default(problem, path) for problem in found)
    for name, child in (schema.get("properties") or {}).items():
        is_meta = bool(schema.get("x-kubernetes-embedded-resource")) and name in _META
        inside = (name,) if is_meta else None if steps is None else (*steps, name)
        yield from default_problems(child, meta, (*path, "properties", Key(name)), inside)
    if isinstance(schema.get("items"), dict):
        yield from default_problems(schema["items"], meta, (*path, "items"), None if steps is None else (*steps, 0))


def _at_default(problem: Problem, path: Path) -> Problem:
    where = f" in `{spell(problem.path)}`" if problem.path else ""
    rule = problem.rule if problem.rule == "rule-not-evaluated" else "invalid-crd"
    return Problem(
        rule, (*path, "default", *problem.path), f"the default does not fit its own schema{where}: {problem.message}", problem.hint
    )


def _default(default: Any, schema: Schema, meta: Shape) -> Iterator[Problem]:
    yield from _unknown(default, schema, ())
    yield from _as_resources(list(_resources(default, schema, ())), meta) or _as_value(default, schema, meta)


def _default_in_meta(default: Any, schema: Schema, meta: Shape, steps: Path) -> Iterator[Problem]:
    """The problems of a default inside `apiVersion`, `kind` or `metadata` of an object; unknown fields are pruned there."""
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


def _unknown(value: Any, schema: Schema | None, path: Path, *, kept: bool = False) -> Iterator[Problem]:
    """The fields that the server would prune; *kept* if the list around the value preserves unknown fields."""
    if isinstance(value, list):
        kept = schema is not None and (kept or bool(schema.get("x-kubernetes-preserve-unknown-fields")))
        items = (schema or {}).get("items")
        for index, item in enumerate(value) if items or not kept else ():
            yield from _unknown(item, items, (*path, index), kept=kept)
    elif isinstance(value, dict):
        yield from _unknown_fields(value, schema or {}, path, kept=kept)


def _unknown_fields(value: dict[str, Any], schema: Schema, path: Path, *, kept: bool) -> Iterator[Problem]:
    kept = kept or bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    own = _META if schema.get("x-kubernetes-embedded-resource") else ()
    for name, inner in value.items():
        if name in own:
            continue
        if name in (schema.get("properties") or {}):
            yield from _unknown(inner, _child_of(schema, name), (*path, name))
        elif "additionalProperties" in schema:
            yield from _unknown(inner, _child_of(schema, name), (*path, Key(name)))
        elif not kept:
            yield Problem("unknown-field", (*path, name), f"unknown field `{name}`")


def _resources(value: Any, schema: Schema, path: Path) -> Iterator[tuple[dict[str, Any], Path]]:
    """The embedded resources in a default, with their paths, the outer ones first."""
    if isinstance(value, dict) and schema.get("x-kubernetes-embedded-resource"):
        yield value, path
    for inner, child, at in _values_in(value, schema, path):
        yield from _resources(inner, child, at)


def _values_in(value: Any, schema: Schema, path: Path) -> Iterator[tuple[Any, Schema, Path]]:
    """The fields, map values and items of a value that have a schema, each with it and with its path."""
    if isinstance(value, dict):
        for name, inner in value.items():
            child = _child_of(schema, name)
            if child is not None:
                yield inner, child, (*path, name if name in (schema.get("properties") or {}) else Key(name))
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for index, item in enumerate(value):
            yield item, schema["items"], (*path, index)


def _as_resources(found: list[tuple[dict[str, Any], Path]], meta: Shape) -> list[Problem]:
    """The problems of embedded resources as objects; if one cannot be decoded, only why."""
    undecodable = [problem for value, path in found for problem in _decoding(value, path, meta)]
    return undecodable or [problem for value, path in found for problem in _resource(value, path)]


def _decoding(value: dict[str, Any], path: Path, meta: Shape) -> Iterator[Problem]:
    for name in _META[:2]:
        if name in value and not isinstance(value[name], str):
            yield Problem("wrong-type", (*path, name), f"it takes text, not {describe(value[name])}")
    found = typed_problems_at(value.get("metadata"), meta, (*path, "metadata"))
    yield from (problem for problem in found if problem.rule != "unknown-field")  # which the server prunes in metadata


def _resource(value: dict[str, Any], path: Path) -> Iterator[Problem]:
    for name in _META[:2]:
        if name not in value:
            yield Problem("missing-field", path, f"missing required field `{name}`")
    yield from resource_problems(value, path)


def _as_value(default: Any, schema: Schema, meta: Shape) -> Iterator[Problem]:
    """The problems of a default by the schema and its CEL rules, as a new value and as an update of itself."""
    found = [*_types(default, schema, _DEFAULT), *broken_branch(default, shape_of(_as_checked(schema), meta, is_branch=True), _DEFAULT)]
    yield from (problem.moved_to(problem.path[len(_DEFAULT) :]) for problem in found)
    if not found:
        shape = shape_of(schema, meta)
        yield from list(broken_rules(default, shape)) or broken_rules(default, shape, before=Correlated(default, default, shape))


def _as_checked(schema: Any) -> Any:
    """The schema that a default is checked against: without int-or-string and loose types; formats without a type are those of strings."""
    if isinstance(schema, list):
        return [_as_checked(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    kind, form = schema.get("type"), schema.get("format")
    is_loose = not has_known_type(schema) or (kind in _LEFT_TO_FORMATS and form)
    made = {
        keyword: _as_checked(inner) for keyword, inner in schema.items() if keyword not in ((_EITHER, "type") if is_loose else (_EITHER,))
    }
    if isinstance(form, str) and form and "type" not in made and form.replace("-", "") not in CHECKS:
        made["format"] = "password"
    return made


def _types(value: Any, schema: Schema, path: Path) -> Iterator[Problem]:
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


# Check the CEL rules of a CRD's schema: that they compile, and use `oldSelf` only where values correlate with stored ones.
#
# Follows `ValidateCustomResourceDefinitionOpenAPISchema` (its part on `XValidations`) and `CELSchemaContext`,
# k8s.io/apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go and cel_validation.go, 1.36. The cost of rules is not
# estimated.


RULES = "x-kubernetes-validations"


def rule_problems(schema: Schema, invalid_at: Sequence[Path]) -> Iterator[Problem]:
    """The problems of the rules of a structural schema; it skips the rules of schemas that hold one of the paths *invalid_at*."""
    outermost = list(_outermost(schema, (), SchemaContext(is_root=True)))
    if not outermost:
        return
    try:
        from jobspec.kubernetes.cel.types import SchemaTypes
    except ImportError:
        message = "the rules were not checked: the CEL library is not installed (cel-expr-python)"
        yield Problem("rule-not-evaluated", (*outermost[0][0], RULES), message)
        return
    for path, schema_with_rules, context in outermost:
        for typed in _typed(schema_with_rules, path, context, SchemaTypes(schema_with_rules, is_resource=context.is_root)):
            if not any(other[: len(typed[0])] == typed[0] for other in invalid_at):
                yield from _problems_of_rules(*typed)


def _outermost(schema: Schema, path: Path, context: SchemaContext) -> Iterator[tuple[Path, Schema, SchemaContext]]:
    """The outermost schemas with rules; the server declares the CEL types of each of them separately."""
    if schema.get(RULES):
        yield path, schema, context
    else:
        for child, at, inside in children(schema, path, context):
            yield from _outermost(child, at, inside)


def _typed(schema: Schema, path: Path, context: SchemaContext, types: SchemaTypes | None) -> Iterator[Typed]:
    """A schema and those inside it, each with its CEL types; None where CEL does not see its values, or those around them."""
    types = types and types.of(schema)
    yield path, schema, context, types
    for child, at, inside in children(schema, path, context):
        yield from _typed(child, at, inside, types)


def _problems_of_rules(path: Path, schema: Schema, context: SchemaContext, types: SchemaTypes | None) -> Iterator[Problem]:
    for index, rule in enumerate(schema.get(RULES) or ()):
        at: Path = (*path, RULES, index)
        if types is None:
            yield invalid((*at, "rule"), "the rule does not compile: the schema does not say what the value is")
            continue
        compiled = types.compile(rule["rule"], schema, result="bool", optional_old_self=bool(rule.get("optionalOldSelf")))
        yield from _problems_of_rule(rule, compiled, context, at)
        if not compiled.error and rule.get("messageExpression"):
            yield from _problems_of_message(rule, schema, types, at)


def _problems_of_rule(rule: dict[str, Any], compiled: Compilation, context: SchemaContext, path: Path) -> Iterator[Problem]:
    if compiled.is_too_deep:
        yield Problem("rule-not-evaluated", (*path, "rule"), "the rule was not checked: it is nested deeper than the CEL library parses")
    elif compiled.error:
        yield invalid((*path, "rule"), f"the rule does not compile: {compiled.error}")
    elif compiled.uses_old_self and context.uncorrelated:
        message = "`oldSelf` cannot be used here: nothing tells which item of the list is the old one"
        yield invalid((*path, "rule"), message, "make the list a map: `x-kubernetes-list-type: map`")
    elif rule.get("optionalOldSelf") is not None and not compiled.uses_old_self:
        yield invalid((*path, "optionalOldSelf"), "it needs a rule that uses `oldSelf`")


def _problems_of_message(rule: dict[str, Any], schema: Schema, types: SchemaTypes, path: Path) -> Iterator[Problem]:
    at: Path = (*path, "messageExpression")
    optional = bool(rule.get("optionalOldSelf"))
    compiled = types.compile(rule["messageExpression"], schema, result="string", optional_old_self=optional)
    if compiled.is_too_deep:
        yield Problem("rule-not-evaluated", at, "the expression was not checked: it is nested deeper than the CEL library parses")
    elif compiled.error:
        yield invalid(at, f"the expression does not compile: {compiled.error}")
