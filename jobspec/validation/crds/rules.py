"""Whether the CEL rules of a CRD's schema compile, with `self` of the schema's type, and stand where they can be evaluated."""

from __future__ import annotations

from jobspec.validation.cel.evaluation import RULES
from jobspec.validation.crds.places import Place, children, wrong
from jobspec.validation.structural import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.validation.cel.types import SchemaTypes

    Schema = dict[str, Any]


def problems(schema: Schema, wrong_at: Sequence[Path] = ()) -> Iterator[Problem]:
    """What stands against the rules of a structural schema; those around a place that is *wrong_at* the server leaves out."""
    ruled = list(_outermost(schema, (), Place(is_root=True)))
    if not ruled:
        return
    try:
        from jobspec.validation.cel.types import SchemaTypes
    except ImportError:
        message = "nobody looked at the rules: the CEL library is not installed (cel-expr-python)"
        yield Problem("rule-not-evaluated", (*ruled[0][0], RULES), message)
        return
    for path, node, place in ruled:
        for at, inner, around, types in _typed(node, path, place, SchemaTypes(node, is_resource=place.is_root)):
            if not any(other[: len(at)] == at for other in wrong_at):
                for index, rule in enumerate(inner.get(RULES) or ()):
                    yield from _of_rule(rule, inner, types, around, (*at, RULES, index))


def _outermost(schema: Schema, path: Path, place: Place) -> Iterator[tuple[Path, Schema, Place]]:
    """The schemas with rules around which no other has any: the server makes types of the values of each of them by itself."""
    if schema.get(RULES):
        yield path, schema, place
    else:
        for child, at, inside in children(schema, path, place):
            yield from _outermost(child, at, inside)


def _typed(schema: Schema, path: Path, place: Place, types: SchemaTypes | None) -> Iterator[tuple[Path, Schema, Place, SchemaTypes | None]]:
    """A schema and those inside of it, each with the types of its values; None where it, or one around it, is nothing to CEL."""
    types = types and types.of(schema)
    yield path, schema, place, types
    for child, at, inside in children(schema, path, place):
        yield from _typed(child, at, inside, types)


def _of_rule(rule: dict[str, Any], schema: Schema, types: SchemaTypes | None, place: Place, path: Path) -> Iterator[Problem]:
    if types is None:
        yield wrong((*path, "rule"), "the rule does not compile: the schema does not say what the value is")
        return
    optional = bool(rule.get("optionalOldSelf"))
    found = types.compile(rule["rule"], schema, result="bool", optional_old_self=optional)
    if found.is_too_deep:
        yield Problem("rule-not-evaluated", (*path, "rule"), "nobody looked at the rule: the CEL library does not go so deep")
    elif found.error:
        yield wrong((*path, "rule"), f"the rule does not compile: {found.error}")
    elif found.uses_old_self and place.uncorrelated:
        message = "`oldSelf` cannot be used here: nothing tells which item of the list is the old one"
        yield wrong((*path, "rule"), message, "make the list a map: `x-kubernetes-list-type: map`")
    elif rule.get("optionalOldSelf") is not None and not found.uses_old_self:
        yield wrong((*path, "optionalOldSelf"), "it needs a rule that uses `oldSelf`")
    if not found.error and rule.get("messageExpression"):
        said = types.compile(rule["messageExpression"], schema, result="string", optional_old_self=optional)
        if said.is_too_deep:
            message = "nobody looked at the expression: the CEL library does not go so deep"
            yield Problem("rule-not-evaluated", (*path, "messageExpression"), message)
        elif said.error:
            yield wrong((*path, "messageExpression"), f"the expression does not compile: {said.error}")
