"""Check the CEL rules of a CRD's schema: that they compile, and use `oldSelf` only where values correlate with stored ones.

Follows `ValidateCustomResourceDefinitionOpenAPISchema` (its part on `XValidations`) and `CELSchemaContext`, k8s.io/apiextensions-apiserver
pkg/apis/apiextensions/validation/validation.go and cel_validation.go, 1.36. The cost of rules is not estimated.
"""

from __future__ import annotations

from jobspec.validation.crds.invalid import invalid
from jobspec.validation.crds.schema_nodes import SchemaContext, children
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.validation.cel.types import Compilation, SchemaTypes

    Schema = dict[str, Any]
    Typed = tuple[Path, Schema, SchemaContext, SchemaTypes | None]

RULES = "x-kubernetes-validations"

RULES = "x-kubernetes-validations"


def rule_problems(schema: Schema, invalid_at: Sequence[Path]) -> Iterator[Problem]:
    """The problems of the rules of a structural schema; it skips the rules of schemas that hold one of the paths *invalid_at*."""
    outermost = list(_outermost(schema, (), SchemaContext(is_root=True)))
    if not outermost:
        return
    try:
        from jobspec.validation.cel.types import SchemaTypes
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
