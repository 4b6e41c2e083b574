"""The CEL rules of a CRD's schema: that they compile, that `oldSelf` has a counterpart, and that a server can afford them.

Follows `ValidateCustomResourceDefinitionOpenAPISchema` (its part on `XValidations`) and `CELSchemaContext`,
k8s.io/apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go and cel_validation.go, 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

from jobspec.diagnostics.places import Data, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.kubernetes.cel.paths import spellings
from jobspec.kubernetes.crds.parts import once_for_each
from jobspec.kubernetes.crds.schema_walk import SchemaContext, children, invalid
from jobspec.schemas.shapes import VALIDATIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.kubernetes.cel.cost import Steps
    from jobspec.kubernetes.cel.types import Compilation, SchemaTypes

Schema = dict[str, Any]
BUDGET = 10_000_000
"""What an expression may cost, for all values that an object can have of its schema (`StaticEstimatedCostLimit`)."""
_BUDGET_OF_ALL = 100_000_000
"""What all expressions of a schema may cost (`StaticEstimatedCRDCostLimit`)."""


class _Around(NamedTuple):
    """A list or a map around a value, with the keyword that limits it and its limit."""

    path: Path
    keyword: str
    limit: int | None


class _Ruled(NamedTuple):
    """A schema with rules."""

    path: Path
    schema: Schema
    context: SchemaContext
    around: tuple[_Around, ...]
    types: SchemaTypes | None = None
    """Its CEL types; None where CEL does not see its values, or those around them."""


class _Limit(NamedTuple):
    """A place where a limit would make rules cheaper.

    It is inside a value, or, without steps, a list or a map around the value.
    """

    path: Path
    keyword: str
    steps: Steps | None


class _RuleExpression(NamedTuple):
    """A rule, or the expression of its message, that compiles."""

    path: Path
    at: _Ruled
    compiled: Compilation
    is_message: bool

    def cost(self, limits: Sequence[_Limit] = (), number: int = 0) -> int:
        """Return the highest cost of the expression, as if some places had the limit *number*.

        A rule costs that for each value of its schema; a message is made once.
        """
        assert self.compiled.estimate
        cost = self.compiled.estimate({each.steps: number for each in limits if each.steps is not None}).cost
        return cost if self.is_message else cost * self._most_values([each.path for each in limits if each.steps is None], number)

    def _most_values(self, limited: Sequence[Path], number: int) -> int:
        """Return how many values an object can have.

        That is as many as a request has room for, unless all lists and maps around the value have limits.
        """
        limits = [number if each.path in limited and (each.limit is None or each.limit > number) else each.limit for each in self.at.around]
        if None not in limits:
            return prod(max(each or 0, 0) for each in limits)
        assert self.at.types
        return self.at.types.most_values(self.at.schema)

    def limits(self) -> list[_Limit]:
        """Return the places where a limit may make the expression cheaper."""
        assert self.compiled.estimate
        found = [] if self.is_message else [_Limit(each.path, each.keyword, None) for each in self.at.around]
        for steps, keyword in self.compiled.estimate({}).limits.items():
            path = _path_of(steps, self.at.path, self.at.schema)
            if path is not None:
                found.append(_Limit(path, keyword, steps))
        return found


def rule_problems(schema: Schema, invalid_at: Sequence[Path], release: str, *, is_stored: bool) -> Problems:
    """Yield the problems of the rules of a structural schema.

    Rules of schemas that hold one of the paths *invalid_at* are skipped. If the schema *is_stored* already, the cost of a single
    expression has no limit.
    """
    outermost = list(_outermost(_Ruled((), schema, SchemaContext(is_root=True), ())))
    if not outermost:
        return
    try:
        from jobspec.kubernetes.cel.types import SchemaTypes
    except ImportError:
        message = "the rules were not checked: the CEL library is not installed (cel-expr-python)"
        yield Problem("rule-not-evaluated", (*outermost[0].path, VALIDATIONS), message)
        return
    expressions: list[_RuleExpression] = []
    for each in outermost:
        for ruled in _ruled(each, SchemaTypes(each.schema, release, is_resource=each.context.is_root)):
            if not any(other[: len(ruled.path)] == ruled.path for other in invalid_at):
                yield from _problems_of_rules(ruled, expressions, is_stored=is_stored)
    yield from _cost_problems(expressions, is_stored=is_stored)


def _outermost(at: _Ruled) -> Iterator[_Ruled]:
    """Yield the outermost schemas with rules.

    The server declares the CEL types of each of them separately.
    """
    if at.schema.get(VALIDATIONS):
        yield at
    else:
        for inner in _inner_schemas(at):
            yield from _outermost(inner)


def _ruled(at: _Ruled, types: SchemaTypes | None) -> Iterator[_Ruled]:
    """The schemas with rules: a schema and those inside it."""
    types = types and types.of(at.schema)
    if at.schema.get(VALIDATIONS):
        yield at._replace(types=types)
    for inner in _inner_schemas(at):
        yield from _ruled(inner, types)


def _inner_schemas(at: _Ruled) -> Iterator[_Ruled]:
    """The schemas directly inside a schema that have rules, or have some inside."""
    schema, kind = at.schema, at.schema.get("type")
    limit = "maxItems" if kind == "array" else "maxProperties" if kind == "object" and "additionalProperties" in schema else ""
    around = (*at.around, _Around(at.path, limit, schema.get(limit))) if limit else at.around
    for child, path, context in children(schema, at.path, at.context):
        if _has_rules(child):
            yield _Ruled(path, child, context, around)


@once_for_each
def _has_rules(schema: Schema) -> bool:
    return VALIDATIONS in schema or any(_has_rules(child) for child, _, _ in children(schema, (), SchemaContext()))


def _problems_of_rules(at: _Ruled, expressions: list[_RuleExpression], *, is_stored: bool) -> Problems:
    """Yield the problems of a schema's rules, except their cost.

    Expressions that compile are added to *expressions*.
    """
    for index, rule in enumerate(at.schema[VALIDATIONS]):
        path: Path = (*at.path, VALIDATIONS, index)
        if at.types is None:
            yield invalid((*path, "rule"), "the rule does not compile: the schema does not say what the value is")
            continue
        optional = bool(rule.get("optionalOldSelf"))
        for field, result in (("rule", "bool"), ("messageExpression", "string")):
            if not rule.get(field):
                continue
            compiled = at.types.compile(rule[field], at.schema, result=result, optional_old_self=optional, is_stored=is_stored)
            yield from _problems_of_expression(field, rule, compiled, at.context, path)
            if compiled.estimate:
                expressions.append(_RuleExpression((*path, field), at, compiled, is_message=field != "rule"))
            if compiled.error:
                break


def _problems_of_expression(field: str, rule: Data, compiled: Compilation, context: SchemaContext, path: Path) -> Problems:
    what = "rule" if field == "rule" else "expression"
    if compiled.is_too_deep:
        message = f"the {what} was not checked: it is nested deeper than the CEL library parses"
        yield Problem("rule-not-evaluated", (*path, field), message)
    elif compiled.error:
        yield invalid((*path, field), f"the {what} does not compile: {compiled.error}")
    elif what == "rule" and compiled.uses_old_self and context.uncorrelated:
        message = "`oldSelf` cannot be used here: the old item of the list is not known"
        yield invalid((*path, field), message, "make the list a map: `x-kubernetes-list-type: map`")
    elif what == "rule" and rule.get("optionalOldSelf") is not None and not compiled.uses_old_self:
        yield invalid((*path, "optionalOldSelf"), "it needs a rule that uses `oldSelf`")


def _cost_problems(expressions: Sequence[_RuleExpression], *, is_stored: bool) -> Problems:
    """The expressions that cost too much; if there is none, whether they do together."""
    costs = [each.cost() for each in expressions]
    too_costly = [(each, cost) for each, cost in zip(expressions, costs, strict=True) if cost > BUDGET and not is_stored]
    for each, cost in too_costly:
        what = "messageExpression" if each.is_message else "rule"
        message = f"estimated {what} cost exceeds the budget by a factor of {_factor(cost, BUDGET)}"
        yield invalid(each.path, message, _remedy(each, BUDGET))
    if not too_costly and sum(costs) > _BUDGET_OF_ALL:
        most = max(costs)
        costliest = expressions[costs.index(most)]
        message = f"estimated cost of all rules together exceeds the budget by a factor of {_factor(sum(costs), _BUDGET_OF_ALL)}"
        remedy = _remedy(costliest, _BUDGET_OF_ALL - (sum(costs) - most))
        place = _schema_place(costliest.at.path)
        yield invalid((), message, f"those of {f'`{place}`' if place else 'the object itself'} cost most: {remedy}")


def _factor(cost: int, budget: int) -> str:
    factor = cost / budget
    return "more than 100" if factor > 100 else f"{factor:f}" if factor < 1.5 else f"{factor:.1f}"


def _remedy(expression: _RuleExpression, budget: int) -> str:
    """Return the limits that make an expression cheap enough.

    Their number is the largest round one that does.
    """
    for number in (1000, 100, 10):
        limits = _affordable_limits(expression, number, budget)
        if limits:
            return f"set limits such as {' and '.join(f'`{each.keyword}: {number}` at `{_schema_place(each.path)}`' for each in limits)}"
    return "set limits of the lists, maps and texts that are used, and simplify the rules"


def _affordable_limits(expression: _RuleExpression, number: int, budget: int) -> list[_Limit]:
    """Return the fewest places where the limit *number* makes an expression cheap enough.

    If no limits do, return none.
    """
    found = expression.limits()
    if expression.cost(found, number) > budget:
        return []
    for each in sorted(found, key=lambda one: expression.cost([other for other in found if other != one], number)):
        rest = [other for other in found if other != each]
        if expression.cost(rest, number) <= budget:
            found = rest
    return found


def _path_of(steps: Steps, path: Path, schema: Schema) -> Path | None:
    """Return the path of the schema of a value inside *schema*.

    If the schema lacks a field that every object has, return None.
    """
    for step in steps:
        if step in ("@items", "@values"):
            keyword = "items" if schema["type"] == "array" else "additionalProperties"
            path, schema = (*path, keyword), schema[keyword]
        else:
            name = next((name for name in schema.get("properties") or () if spellings(name)[-1:] == (step,)), None)
            if name is None:
                return None
            path, schema = (*path, "properties", name), schema["properties"][name]
    return path


def _schema_place(path: Path) -> str:
    """The values of a schema, by its path: `spec.hosts[].name`, `spec.labels.*`."""
    text, names = "", iter(path)
    for keyword in names:
        text += {"items": "[]", "additionalProperties": ".*"}.get(str(keyword)) or f".{next(names)}"
    return text.removeprefix(".")
