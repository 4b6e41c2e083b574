"""The API server's walk over one object: unknown fields, null pruning, defaults, types, formats, limits, required fields, list keys.

Follows `SchemaValidator.Validate`, k8s.io/kube-openapi pkg/validation/validate, as k8s.io/apiextensions-apiserver 0.36 calls it, with
`pruning.Prune` before and `ValidateListSetsAndMaps` behind. The order of the server's steps decides what is an error: unknown fields
count everywhere, even in `status`, whose values a create drops; a null is dropped before anything looks at it; a default stands in
before keys are compared. What the server decodes into Go types (*typed*: all metadata, and built-in kinds as a whole) knows neither
list keys nor an item that is null, and its quantities and times are those of Go's own parsers.
"""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.validation.problem import Problem, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.shapes import Shape


_SUGGESTIONS = 100  # for misspelt fields of one object; beyond, the object is something else, and each costs a search


def schema_problems(data: dict[str, Any], shape: Shape, *, typed: bool = False) -> list[Problem]:
    """Everything that the schema has against an object."""
    return list(_object(data, shape, (), typed=typed))


def schema_problems_at(value: Any, shape: Shape, path: Path) -> list[Problem]:
    """What a shape has against one value of a custom resource."""
    return list(_value(value, shape, path, typed=False))


def typed_problems_at(value: Any, shape: Shape, path: Path) -> list[Problem]:
    """What a shape has against one value that the server decodes into a Go type; nothing against one that is absent or null."""
    return [] if value is None else list(_value(value, shape, path, typed=True))


def _value(value: Any, shape: Shape, path: Path, *, typed: bool) -> Iterator[Problem]:
    kind = shape.type
    if kind == "object":
        if isinstance(value, dict):
            yield from _object(value, shape, path, typed=typed)
        else:
            yield _mistyped(value, shape, path)
    elif kind == "array":
        if isinstance(value, list):
            yield from _list(value, shape, path, typed=typed)
        else:
            yield _mistyped(value, shape, path)
    elif kind == "bare":
        yield from _dropped(value, None, path)
    elif kind == "any":
        yield from _anything(value, shape, path, typed=typed)
    else:
        yield from _scalar(value, shape, path, typed=typed)


def _anything(value: Any, shape: Shape, path: Path, *, typed: bool) -> Iterator[Problem]:
    """A value of any type, of whose fields or items something may be known all the same."""
    if isinstance(value, dict):
        yield from _object(value, shape, path, typed=typed)
    elif isinstance(value, list) and shape.items:
        yield from _list(value, shape, path, typed=typed)
    elif shape.conditions:
        yield from _conditions(value, shape, path)


def _conditions(value: Any, shape: Shape, path: Path) -> Iterator[Problem]:
    """The limits, formats and choices that only custom kinds have."""
    from jobspec.validation import conditions

    yield from conditions.broken_conditions(value, shape, path)


def _object(data: dict[str, Any], shape: Shape, path: Path, *, typed: bool) -> Iterator[Problem]:
    unknown: list[Problem] = []
    if shape.fields is None:
        yield from _map(data, shape, path, typed=typed)
    else:
        yield from _fields(data, shape, path, unknown, typed=typed)
    if shape.required:
        yield from _absent(data, shape, path, {problem.meant for problem in unknown})
    if shape.least is not None or shape.most is not None or shape.conditions:
        yield from _as_a_whole(data, shape, path)


def _fields(data: dict[str, Any], shape: Shape, path: Path, unknown: list[Problem], *, typed: bool) -> Iterator[Problem]:
    """The problems of an object's fields; those that the schema does not know are *unknown* from then on."""
    fields = shape.fields
    assert fields is not None
    for name, value in data.items():
        child = fields.get(name)
        if child is not None and type(value) is child.plain:
            continue
        if child is None:
            if not shape.open:
                from jobspec.validation.complaints import unknown_field

                unknown.append(unknown_field(name, shape, path, suggest=len(unknown) < _SUGGESTIONS))
                yield unknown[-1]
        elif name == "status" and not path and not shape.keeps_status:
            yield from _decoded(value, child, (name,)) if typed else _dropped(value, child, (name,))
        elif value is not None:
            yield from _value(value, child, (*path, name), typed=typed or child.meta)
        elif child.nullable and child.conditions:
            yield from _conditions(value, child, (*path, name))


def _absent(data: dict[str, Any], shape: Shape, path: Path, meant: set[str]) -> Iterator[Problem]:
    """The required fields that are missing; one that an unknown field was *meant* for is reported with that."""
    for name in shape.required:
        if data.get(name) is None and name not in meant and not (name in data and _takes_null(name, shape)):
            from jobspec.validation.complaints import missing_field

            yield missing_field(name, data, path)


def _takes_null(name: str, shape: Shape) -> bool:
    child = shape.values if shape.fields is None else shape.fields.get(name)
    return child.nullable if child else shape.open


def _as_a_whole(data: dict[str, Any], shape: Shape, path: Path) -> Iterator[Problem]:
    """Whether an object has as many fields as it has to, nulls dropped and defaults filled in."""
    from jobspec.validation.defaults import filled

    whole = filled(data, shape)
    problem = _size(len(whole), "field", shape, path)
    if problem:
        yield problem
    elif shape.conditions:
        yield from _conditions(whole, shape, path)


def _map(data: dict[str, Any], shape: Shape, path: Path, *, typed: bool) -> Iterator[Problem]:
    values = shape.values
    if values is None:
        return
    for name, value in data.items():
        if value is None:
            if values.nullable and values.conditions:
                yield from _conditions(value, values, (*path, Key(name)))
        elif type(value) is not values.plain:
            yield from _value(value, values, (*path, Key(name)), typed=typed)


def _list(items: list[Any], shape: Shape, path: Path, *, typed: bool) -> Iterator[Problem]:
    inner = shape.items
    assert inner
    for index, item in enumerate(items):
        if type(item) is inner.plain:
            continue
        if item is not None or not (typed or inner.nullable or inner.default is not None):
            yield from _value(item, inner, (*path, index), typed=typed)
        elif inner.nullable and inner.conditions:
            yield from _conditions(item, inner, (*path, index))
    problem = _size(len(items), "item", shape, path)
    if problem:
        yield problem
    elif shape.conditions:
        yield from _conditions(items, shape, path)
    if typed:
        return
    if shape.keys:
        yield from _repeated([_keys(item, shape) for item in items], path, " and ".join(f"`{key}`" for key in shape.keys))
    elif shape.unique:
        yield from _repeated([_identity(item, inner) for item in items], path, "value")


def _identity(item: Any, shape: Shape) -> tuple[str, ...]:
    """What tells an item of a set apart: its type and text, or, of objects and lists, all of it with its defaults."""
    if not isinstance(item, (dict, list)):
        return type(item).__name__, str(item)
    import json

    from jobspec.validation.defaults import filled

    return type(item).__name__, "", json.dumps(filled(item, shape), sort_keys=True)


def _keys(item: Any, shape: Shape) -> tuple[str, ...] | None:
    """What tells a list-map's item apart, the defaults of its keys filled in; None where it is no object or lacks one."""
    if not isinstance(item, dict):
        return None
    assert shape.items and shape.items.fields
    found = []
    for key in shape.keys:
        value = shape.items.fields[key].default if item.get(key) is None else item[key]
        if value is None:
            return None
        found.append(str(value) or '""')
    return tuple(found)


def _repeated(names: list[tuple[str, ...] | None], path: Path, what: str) -> Iterator[Problem]:
    first: dict[tuple[str, ...], int] = {}
    for index, name in enumerate(names):
        if name is None:
            continue
        if name in first:
            yield Problem(
                "duplicate-item", (*path, index), f"item {index} {_same(name, what)} as item {first[name]}", "remove one of the two"
            )
        first.setdefault(name, index)


def _same(name: tuple[str, ...], what: str) -> str:
    if what != "value":
        return f"has the same {what} ({', '.join(name)})"
    return f"is the same value ({name[1]})" if name[1] else "is the same value"


def _scalar(value: Any, shape: Shape, path: Path, *, typed: bool) -> Iterator[Problem]:
    kind = type(value)
    expected = shape.type
    if kind is float and expected == "integer" and value.is_integer():
        most = (1 << _BITS.get(shape.format, 63)) - 1
        yield Problem("out-of-range", path, f"{name_of(path)} takes {-most - 1:,} to {most:,}, not {value:,.0f}")
    elif kind is list and expected == "string" and not typed and _is_left_to_format(shape):
        yield from _dropped(value, None, path)
    elif not (
        (kind is str and expected in ("string", "int-or-string"))
        or (kind is int and expected in ("integer", "int-or-string", "number"))
        or (kind is bool and expected == "boolean")
        or (kind is float and (expected == "number" or (typed and shape.format == "quantity")))
    ):
        yield _mistyped(value, shape, path)
    else:
        problem = _format(value, shape, path, typed=typed) or (_number if kind is not str else _text)(value, shape, path)
        if problem:
            yield problem
        elif shape.conditions:
            yield from _conditions(value, shape, path)


def _is_left_to_format(shape: Shape) -> bool:
    """Whether the server leaves a text's type to a format that it knows, and that looks at texts alone: a list passes."""
    return shape.format == "date-time" or "format" in shape.conditions


_BITS = {"int32": 31, "int64": 63}


def _format(value: Any, shape: Shape, path: Path, *, typed: bool) -> Problem | None:
    name = name_of(path)
    if shape.format in _BITS:
        most = (1 << _BITS[shape.format]) - 1
        if not -most - 1 <= value <= most:
            return Problem("out-of-range", path, f"{name} takes {-most - 1:,} to {most:,}, not {value:,}")
    elif shape.format and isinstance(value, str):
        from jobspec.validation import formats

        if not (formats.TYPED_CHECKS if typed else formats.CHECKS)[shape.format](value):
            from jobspec.validation.wording import describe, quantity_hint

            message = f"{name} takes {formats.EXAMPLES[shape.format]}, not {describe(value)}"
            return Problem("wrong-format", path, message, quantity_hint(value) if shape.format == "quantity" else "")
    return None


def _number(value: Any, shape: Shape, path: Path) -> Problem | None:
    least, most = shape.minimum, shape.maximum
    if (least is None or value >= least) and (most is None or value <= most):
        return None
    limits = f"at least {least}" if most is None else f"at most {most}" if least is None else f"{least} to {most}"
    return Problem("out-of-range", path, f"{name_of(path)} takes {limits}, not {value}")


def _text(value: str, shape: Shape, path: Path) -> Problem | None:
    if shape.enum and value not in shape.enum:
        from jobspec.validation.wording import closest, describe

        choices = ", ".join(f"`{choice}`" if choice else "an empty text" for choice in shape.enum)
        message = f"{name_of(path)} takes one of {choices}, not {describe(value)}"
        return Problem("unsupported-choice", path, message, closest(value, shape.enum))
    return _size(len(value), "character", shape, path) or (_pattern(value, shape, path) if shape.pattern else None)


def _pattern(value: str, shape: Shape, path: Path) -> Problem | None:
    import re

    regex = re.sub(r"(?<!\\)\$$", r"\\Z", shape.pattern)  # in RE2, `$` is the end of the text, not a line's
    if re.search(regex, value, re.ASCII):
        return None
    from jobspec.validation.wording import describe

    return Problem("wrong-format", path, f"{name_of(path)} has to match `{shape.pattern}`, which {describe(value)} does not")


def _size(size: int, what: str, shape: Shape, path: Path) -> Problem | None:
    """Whether a text, list or object is too short or too long."""
    if shape.least is not None and size < shape.least:
        limit = f"at least {shape.least:,} {what}{'s' * (shape.least != 1)}"
    elif shape.most is not None and size > shape.most:
        limit = f"at most {shape.most:,} {what}{'s' * (shape.most != 1)}"
    else:
        return None
    return Problem("wrong-size", path, f"{name_of(path)} takes {limit}, and has {size:,}")


def _dropped(value: Any, shape: Shape | None, path: Path) -> Iterator[Problem]:
    """The unknown fields in a value that the server drops, whatever else it holds."""
    from jobspec.validation.pruning import unknown_fields

    yield from unknown_fields(value, shape, path)


def _decoded(value: Any, shape: Shape, path: Path) -> Iterator[Problem]:
    """A built-in kind's `status` is dropped as well, once it has been decoded."""
    for problem in _value(value, shape, path, typed=True) if value is not None else ():
        if problem.rule != "missing-field":
            yield problem


def _mistyped(value: Any, shape: Shape, path: Path) -> Problem:
    from jobspec.validation.complaints import wrong_type

    return wrong_type(value, shape, path)
