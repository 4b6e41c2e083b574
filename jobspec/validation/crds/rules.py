"""Whether the CEL rules of a CRD's schema compile, with `self` of the schema's type, and stand where they can be evaluated."""

from __future__ import annotations

from jobspec.validation.cel.evaluation import RULES
from jobspec.validation.crds.schema import Place, children
from jobspec.validation.structural import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.validation.cel.types import Types

    Schema = dict[str, Any]


def problems(schema: Schema, wrong: Sequence[Path] = ()) -> Iterator[Problem]:
    """What stands against the rules of a structural schema; those around a place that is *wrong* the server leaves out."""
    nodes = [each for each in _nodes(schema, (), Place(is_root=True)) if not any(path[: len(each[1])] == each[1] for path in wrong)]
    if not any(node.get(RULES) for node, _, _ in nodes):
        return
    try:
        from jobspec.validation.cel.types import Types
    except ImportError:
        first = next(path for node, path, _ in nodes if node.get(RULES))
        yield Problem(
            "rule-not-evaluated", (*first, RULES), "nobody looked at the rules: the CEL library is not installed (cel-expr-python)"
        )
        return
    types = Types(schema)
    for node, path, place in nodes:
        for index, rule in enumerate(node.get(RULES) or ()):
            yield from _of_rule(rule, node, types, place, (*path, RULES, index))


def _nodes(schema: Schema, path: Path, place: Place) -> Iterator[tuple[Schema, Path, Place]]:
    yield schema, path, place
    for child, at, inside in children(schema, path, place):
        yield from _nodes(child, at, inside)


def _of_rule(rule: dict[str, Any], schema: Schema, types: Types, place: Place, path: Path) -> Iterator[Problem]:
    optional = bool(rule.get("optionalOldSelf"))
    found = types.expression(rule["rule"], schema, gives="bool", optional=optional)
    if found.is_too_deep:
        yield Problem("rule-not-evaluated", (*path, "rule"), "nobody looked at the rule: the CEL library does not go so deep")
    elif found.complaint:
        yield Problem("invalid-crd", (*path, "rule"), f"the rule does not compile: {found.complaint}")
    elif found.compares and place.uncorrelated:
        message = "`oldSelf` cannot be used here: nothing tells which item of the list is the old one"
        yield Problem("invalid-crd", (*path, "rule"), message, "make the list a map: `x-kubernetes-list-type: map`")
    elif rule.get("optionalOldSelf") is not None and not found.compares:
        yield Problem("invalid-crd", (*path, "optionalOldSelf"), "it needs a rule that uses `oldSelf`")
    if not found.complaint and rule.get("messageExpression"):
        said = types.expression(rule["messageExpression"], schema, gives="string", optional=optional)
        if said.is_too_deep:
            message = "nobody looked at the expression: the CEL library does not go so deep"
            yield Problem("rule-not-evaluated", (*path, "messageExpression"), message)
        elif said.complaint:
            yield Problem("invalid-crd", (*path, "messageExpression"), f"the expression does not compile: {said.complaint}")
