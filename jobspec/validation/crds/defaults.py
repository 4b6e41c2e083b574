"""Whether the defaults of a CRD's schema fit the schema that they stand in.

A server looks at a default as it is written: no other default stands in, no null is dropped, and a text or a list passes for any
type but a number's where there is a `format`. `x-kubernetes-int-or-string` counts for nothing.
"""

from __future__ import annotations

from jobspec.diagnostics import Key, spell
from jobspec.validation.cel import evaluation
from jobspec.validation.crds.schema import has_known_type
from jobspec.validation.given import embedded, values
from jobspec.validation.given.complete import child_of
from jobspec.validation.structural import Problem, name_of, typed_problems_at
from jobspec.validation.text_formats import CHECKS
from jobspec.validation.wording import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.shapes import Shape

    Schema = dict[str, Any]

_META = ("apiVersion", "kind", "metadata")
_RESOURCE: Schema = {"x-kubernetes-embedded-resource": True}
_DEFAULT: Path = ("default",)
_EITHER = "x-kubernetes-int-or-string"
_LEFT_TO_FORMATS = ("array", "boolean", "object")


def problems(schema: Schema, meta: Shape, path: Path = (), steps: Path | None = None) -> Iterator[Problem]:
    """What stands against the defaults in a structural schema; in the values of maps, the server does not look at them.

    *meta* is the shape of metadata; *steps* lead from an object to its kind or metadata, where the schema is of such.
    """
    default = schema.get("default")
    if default is not None:
        found = _of_default(default, schema, meta) if steps is None else _of_part(default, schema, meta, steps)
        yield from (_told(problem, path) for problem in found)
    for name, child in (schema.get("properties") or {}).items():
        is_meta = bool(schema.get("x-kubernetes-embedded-resource")) and name in _META
        inside = (name,) if is_meta else None if steps is None else (*steps, name)
        yield from problems(child, meta, (*path, "properties", Key(name)), inside)
    if isinstance(schema.get("items"), dict):
        yield from problems(schema["items"], meta, (*path, "items"), None if steps is None else (*steps, 0))


def _told(problem: Problem, path: Path) -> Problem:
    where = f" in `{spell(problem.path)}`" if problem.path else ""
    rule = problem.rule if problem.rule == "rule-not-evaluated" else "invalid-crd"
    return Problem(
        rule, (*path, "default", *problem.path), f"the default does not fit its own schema{where}: {problem.message}", problem.hint
    )


def _of_default(default: Any, schema: Schema, meta: Shape) -> Iterator[Problem]:
    yield from _unknown(default, schema, ())
    yield from _of_resources(list(_resources(default, schema, ())), meta) or _as_value(default, schema)


def _of_part(default: Any, schema: Schema, meta: Shape, steps: Path) -> Iterator[Problem]:
    """What stands against a default inside the kind or metadata of an object, where no field is unknown."""
    whole = default
    for step in reversed(steps):
        whole = [whole] if step == 0 else {step: whole}
    found = _of_resources([({"apiVersion": "v1", "kind": "Any", **whole}, ())], meta)
    yield from (_inside(problem, steps) for problem in found[:1]) if found else _as_value(default, schema)


def _inside(problem: Problem, steps: Path) -> Problem:
    """A problem of the object around a default as one of the default."""
    return Problem(problem.rule, problem.path[len(steps) :], problem.message, problem.hint)


def _unknown(value: Any, schema: Schema | None, path: Path, *, kept: bool = False) -> Iterator[Problem]:
    """Fields that the server would drop; *kept* says that the list around the value keeps what its schema does not name."""
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
            yield from _unknown(inner, child_of(schema, name), (*path, name))
        elif "additionalProperties" in schema:
            yield from _unknown(inner, child_of(schema, name), (*path, Key(name)))
        elif not kept:
            yield Problem("unknown-field", (*path, name), f"there is no field `{name}`")


def _resources(value: Any, schema: Schema, path: Path) -> Iterator[tuple[dict[str, Any], Path]]:
    """The objects in a default, the outer ones first."""
    if isinstance(value, dict):
        if schema.get("x-kubernetes-embedded-resource"):
            yield value, path
        for name, inner in value.items():
            child = child_of(schema, name)
            if child is not None:
                step = name if name in (schema.get("properties") or {}) else Key(name)
                yield from _resources(inner, child, (*path, step))
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for index, item in enumerate(value):
            yield from _resources(item, schema["items"], (*path, index))


def _of_resources(found: list[tuple[dict[str, Any], Path]], meta: Shape) -> list[Problem]:
    """What stands against objects, as far as any object is the same; of what cannot be decoded the server says nothing more."""
    wrong = [problem for value, path in found for problem in _decoding(value, path, meta)]
    return wrong or [problem for value, path in found for problem in _resource(value, path)]


def _decoding(value: dict[str, Any], path: Path, meta: Shape) -> Iterator[Problem]:
    for name in _META[:2]:
        if name in value and not isinstance(value[name], str):
            yield Problem("wrong-type", (*path, name), f"it takes text, not {describe(value[name])}")
    yield from _without_unknown(typed_problems_at(value.get("metadata"), meta, (*path, "metadata")))


def _resource(value: dict[str, Any], path: Path) -> Iterator[Problem]:
    for name in _META[:2]:
        if name not in value:
            yield Problem("missing-field", path, f"the required field `{name}` is missing")
    for problem in embedded.problems([value], {"items": _RESOURCE}):
        yield Problem(problem.rule, (*path, *problem.path[1:]), problem.message, problem.hint)


def _without_unknown(found: list[Problem]) -> list[Problem]:
    """The server drops what it does not know of metadata."""
    return [problem for problem in found if problem.rule not in ("unknown-field", "wrong-indentation")]


def _as_value(default: Any, schema: Schema) -> Iterator[Problem]:
    """What the schema asks of its default; its rules have to hold where the value is new, and where it was there."""
    found = [*_types(default, schema, _DEFAULT), *values.problems(default, _as_judged(schema), _DEFAULT)]
    yield from (_inside(problem, _DEFAULT) for problem in found)
    if not found:
        alone = list(evaluation.problems(default, schema, is_resource=False))
        yield from alone or evaluation.problems(default, schema, default, is_resource=False)


def _as_judged(schema: Any) -> Any:
    """The schema by which a default is judged: what leaves the type of a value open is gone, and without a type all formats are texts'."""
    if isinstance(schema, list):
        return [_as_judged(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    kind, form = schema.get("type"), schema.get("format")
    is_loose = not has_known_type(schema) or (kind in _LEFT_TO_FORMATS and form)
    made = {
        keyword: _as_judged(inner) for keyword, inner in schema.items() if keyword not in ((_EITHER, "type") if is_loose else (_EITHER,))
    }
    if isinstance(form, str) and form and "type" not in made and form.replace("-", "") not in CHECKS:
        made["format"] = "password"
    return made


def _types(value: Any, schema: Schema, path: Path) -> Iterator[Problem]:
    """Types, nulls, and required fields that the schema describes."""
    kind, form = schema.get("type"), schema.get("format") or ""
    if not has_known_type(schema):
        return  # which has been said of the schema
    if value is None:
        if kind and not schema.get("nullable"):
            yield Problem("wrong-type", path, f"{name_of(path)} cannot be null")
    elif form and not kind and not isinstance(value, (str, list)):
        yield Problem("wrong-type", path, f"it takes `{form}`, not {describe(value)}")
    elif kind and not values.has_type(value, kind) and not _passes(value, kind, form):
        yield Problem("wrong-type", path, f"it takes `{kind}`, not {describe(value)}")
    elif isinstance(value, dict):
        yield from _fields(value, schema, path)
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for index, item in enumerate(value):
            yield from _types(item, schema["items"], (*path, index))


def _passes(value: Any, kind: str, form: str) -> bool:
    """Whether a text or a list passes for a value of another type, because of its format."""
    return bool(form) and kind not in ("integer", "number") and isinstance(value, (str, list))


def _fields(value: dict[str, Any], schema: Schema, path: Path) -> Iterator[Problem]:
    fields = schema.get("properties") or {}
    for name in schema.get("required") or ():
        if name in fields and name not in value:
            yield Problem("missing-field", path, f"the required field `{name}` is missing")
    for name, inner in value.items():
        child = child_of(schema, name)
        if child is not None:
            yield from _types(inner, child, (*path, name if name in fields else Key(name)))
