"""Whether the defaults of a CRD's schema fit the schema that they stand in."""

from __future__ import annotations

from jobspec.diagnostics import Key, spell
from jobspec.validation.cel import evaluation
from jobspec.validation.given import embedded, values
from jobspec.validation.given.complete import child_of
from jobspec.validation.structural import Problem, name_of
from jobspec.validation.wording import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

    Schema = dict[str, Any]

_META = ("apiVersion", "kind", "metadata")


def problems(schema: Schema, path: Path = (), *, in_meta: bool = False) -> Iterator[Problem]:
    """What stands against the defaults in a structural schema; in the values of maps, the server does not look at them."""
    default = schema.get("default")
    if default is not None:
        yield from (_told(problem, path) for problem in _of_default(default, schema, in_meta=in_meta))
    for name, child in (schema.get("properties") or {}).items():
        inside = (in_meta and not schema.get("x-kubernetes-embedded-resource")) or _is_meta(schema, name)
        yield from problems(child, (*path, "properties", Key(name)), in_meta=inside)
    if isinstance(schema.get("items"), dict):
        yield from problems(schema["items"], (*path, "items"), in_meta=in_meta)


def _is_meta(schema: Schema, name: str) -> bool:
    return bool(schema.get("x-kubernetes-embedded-resource")) and name in _META


def _told(problem: Problem, path: Path) -> Problem:
    where = f" in `{spell(problem.path)}`" if problem.path else ""
    severity = problem.rule if problem.rule == "rule-not-evaluated" else "invalid-crd"
    return Problem(
        severity, (*path, "default", *problem.path), f"the default does not fit its own schema{where}: {problem.message}", problem.hint
    )


def _of_default(default: Any, schema: Schema, *, in_meta: bool) -> Iterator[Problem]:
    found = list(_shape_problems(default, schema, (), in_meta=in_meta))
    if not found:
        found = [*values.problems(default, schema), *embedded.problems({"default": default}, {"properties": {"default": schema}})]
    yield from found
    if not found:  # the rules have to hold where it is new, and where it was there
        yield from list(evaluation.problems(default, schema, is_resource=False)) or evaluation.problems(
            default, schema, default, is_resource=False
        )


def _shape_problems(value: Any, schema: Schema, path: Path, *, in_meta: bool) -> Iterator[Problem]:
    """Types, nulls, unknown fields and missing ones; no other default stands in while a default is looked at."""
    if value is None:
        if schema.get("type") and not schema.get("nullable"):
            yield Problem("wrong-type", path, f"{name_of(path)} cannot be null")
        return
    if schema.get("type") and not values.has_type(value, schema["type"]):
        yield Problem("wrong-type", path, f"it takes `{schema['type']}`, not {describe(value)}")
    elif isinstance(value, dict):
        yield from _fields(value, schema, path, in_meta=in_meta)
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for index, item in enumerate(value):
            yield from _shape_problems(item, schema["items"], (*path, index), in_meta=in_meta)


def _fields(value: dict[str, Any], schema: Schema, path: Path, *, in_meta: bool) -> Iterator[Problem]:
    own = _META if schema.get("x-kubernetes-embedded-resource") else ()
    required = [*(schema.get("required") or ()), *(own[:2])]
    for name in dict.fromkeys(required):
        if name not in value:
            yield Problem("missing-field", path, f"the required field `{name}` is missing")
    for name, inner in value.items():
        child = child_of(schema, name)
        if child is not None:
            step = name if name in (schema.get("properties") or {}) else Key(name)
            yield from _shape_problems(inner, child, (*path, step), in_meta=in_meta)
        elif not (in_meta or name in own or schema.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in schema):
            yield Problem("unknown-field", (*path, name), f"there is no field `{name}`", at_key=True)
