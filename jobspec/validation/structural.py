"""The API server's walk over one object: unknown fields, null pruning, defaults, types, formats, required fields, list keys.

The order of the server's own steps decides what is an error: unknown fields count everywhere, even in `status`, whose
values a create drops; a null is dropped before anything looks at it; a default stands in before keys are compared.
What the server decodes into Go types (*typed*: all metadata, and built-in kinds as a whole) knows neither list keys nor
an item that is null, and its quantities and times are those of Go's own parsers.
"""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.validation import formats
from jobspec.validation.wording import (
    LOST_HINT,
    closest,
    describe,
    did_you_mean,
    lost_message,
    quantity_hint,
    takes,
    type_hint,
    where_instead,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.shapes import Shape


_SUGGESTIONS = 100  # for misspelt fields of one object; beyond, the object is something else, and each costs a search


class Problem:
    """What is wrong at a path: about its key (a field that should not be there) or about its value."""

    __slots__ = ("at_key", "hint", "message", "path", "rule")

    def __init__(self, rule: str, path: Path, message: str, hint: str = "", *, at_key: bool = False) -> None:
        self.rule = rule
        self.path = path
        self.message = message
        self.hint = hint
        self.at_key = at_key


def problems(data: dict[str, Any], shape: Shape, *, typed: bool = False) -> list[Problem]:
    """Everything that the schema has against an object; where its indentation was lost, that one thing alone."""
    found = list(_object(data, shape, (), typed=typed))
    lost = [problem for problem in found if problem.rule == "wrong-indentation"]
    return lost[:1] or found


def problems_at(value: Any, shape: Shape, path: Path) -> list[Problem]:
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
            yield _wrong_type(value, shape, path)
    elif kind == "array":
        if isinstance(value, list):
            yield from _list(value, shape, path, typed=typed)
        else:
            yield _wrong_type(value, shape, path)
    elif kind == "bare":
        yield from _pruned(value, None, path)
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


def _object(data: dict[str, Any], shape: Shape, path: Path, *, typed: bool) -> Iterator[Problem]:
    fields = shape.fields
    if fields is None:
        yield from _map(data, shape, path, typed=typed)
        return
    meant: set[str] = set()
    empty: list[str] | None = None
    for name, value in data.items():
        child = fields.get(name)
        if child is not None and type(value) is child.plain:
            continue
        if child is None:
            if shape.open:
                continue
            empty = _empty(data) if empty is None else empty
            problem = _unknown(name, data, shape, path, empty, suggest=len(meant) < _SUGGESTIONS)
            meant.add(problem.hint or name)
            yield problem
        elif name == "status" and not path and not shape.keeps_status:
            yield from _decoded(value, child, (name,)) if typed else _pruned(value, child, (name,))
        elif value is not None:
            yield from _value(value, child, (*path, name), typed=typed or child.meta)
    if shape.required:
        yield from _absent(data, shape, path, meant)
    if shape.least is not None or shape.replicas:
        yield from _as_a_whole(data, shape, path)


def _absent(data: dict[str, Any], shape: Shape, path: Path, meant: set[str]) -> Iterator[Problem]:
    """The required fields that are not there; one that an unknown field was *meant* for is told with that."""
    assert shape.fields
    for name in shape.required:
        if data.get(name) is None and did_you_mean(name) not in meant and not (name in data and shape.fields[name].nullable):
            yield _missing(name, data, path)


def _as_a_whole(data: dict[str, Any], shape: Shape, path: Path) -> Iterator[Problem]:
    """Whether an object has as many fields as it needs, nulls dropped and defaults filled in, and a number of replicas that can be."""
    assert shape.fields
    given = sum(data.get(name) is not None or child.default is not None for name, child in shape.fields.items())
    problem = _size(given, "field", shape, path)
    if problem:
        yield problem
    if shape.replicas and not path:
        yield from _scale(data, shape.replicas)


def _map(data: dict[str, Any], shape: Shape, path: Path, *, typed: bool) -> Iterator[Problem]:
    values = shape.values
    if values is None:
        return
    empty = _empty(data)
    for name, value in data.items():
        if value is None or type(value) is values.plain:
            continue
        before = None if isinstance(value, dict) else _lost_parent(name, data, shape, empty)
        if before:
            yield _lost(name, before, (*path, Key(name)))
        else:
            yield from _value(value, values, (*path, Key(name)), typed=typed)


def _list(items: list[Any], shape: Shape, path: Path, *, typed: bool) -> Iterator[Problem]:
    assert shape.items
    for index, item in enumerate(items):
        if type(item) is not shape.items.plain and (item is not None or not (typed or shape.items.nullable)):
            yield from _value(item, shape.items, (*path, index), typed=typed)
    problem = _size(len(items), "item", shape, path)
    if problem:
        yield problem
    if typed:
        return
    if shape.keys:
        yield from _repeated([_keys(item, shape) for item in items], path, " and ".join(f"`{key}`" for key in shape.keys))
    elif shape.unique:
        yield from _repeated([(type(item).__name__, str(item)) for item in items], path, "value")


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
            same = f"has the same {what} ({', '.join(name)})" if what != "value" else f"is the same value ({name[1]})"
            yield Problem("duplicate-item", (*path, index), f"item {index} {same} as item {first[name]}", "remove one of the two")
        first.setdefault(name, index)


def _scalar(value: Any, shape: Shape, path: Path, *, typed: bool) -> Iterator[Problem]:
    kind = type(value)
    expected = shape.type
    if kind is float and expected == "integer" and value.is_integer():
        most = (1 << _BITS.get(shape.format, 63)) - 1
        yield Problem("out-of-range", path, f"{name_of(path)} takes {-most - 1:,} to {most:,}, not {value:,.0f}")
    elif not (
        (kind is str and expected in ("string", "int-or-string"))
        or (kind is int and expected in ("integer", "int-or-string", "number"))
        or (kind is bool and expected == "boolean")
        or (kind is float and (expected == "number" or (typed and shape.format == "quantity")))
    ):
        yield _wrong_type(value, shape, path)
    else:
        problem = _format(value, shape, path, typed=typed) or (_number if kind is not str else _text)(value, shape, path)
        if problem:
            yield problem


_BITS = {"int32": 31, "int64": 63}


def _format(value: Any, shape: Shape, path: Path, *, typed: bool) -> Problem | None:
    name = name_of(path)
    if shape.format in _BITS:
        most = (1 << _BITS[shape.format]) - 1
        if not -most - 1 <= value <= most:
            return Problem("out-of-range", path, f"{name} takes {-most - 1:,} to {most:,}, not {value:,}")
    elif shape.format and isinstance(value, str) and not (formats.TYPED_CHECKS if typed else formats.CHECKS)[shape.format](value):
        message = f"{name} takes {formats.EXAMPLES[shape.format]}, not {describe(value)}"
        return Problem("wrong-format", path, message, quantity_hint(value) if shape.format == "quantity" else "")
    return None


def _number(value: Any, shape: Shape, path: Path) -> Problem | None:
    if (shape.minimum is None or value >= shape.minimum) and (shape.maximum is None or value <= shape.maximum):
        return None
    limits = f"at least {shape.minimum}" if shape.maximum is None else f"{shape.minimum} to {shape.maximum}"
    return Problem("out-of-range", path, f"{name_of(path)} takes {limits}, not {value}")


def _text(value: str, shape: Shape, path: Path) -> Problem | None:
    if shape.enum and value not in shape.enum:
        choices = ", ".join(f"`{choice}`" if choice else "an empty text" for choice in shape.enum)
        message = f"{name_of(path)} takes one of {choices}, not {describe(value)}"
        return Problem("unsupported-choice", path, message, closest(value, shape.enum))
    return _size(len(value), "character", shape, path) or (_pattern(value, shape, path) if shape.pattern else None)


def _pattern(value: str, shape: Shape, path: Path) -> Problem | None:
    import re

    regex = re.sub(r"(?<!\\)\$$", r"\\Z", shape.pattern)  # in RE2, `$` is the end of the text, not a line's
    if re.search(regex, value, re.ASCII):
        return None
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


def _scale(data: dict[str, Any], path: list[str]) -> Iterator[Problem]:
    """The scale subresource reads its number of replicas from the object, and wants it to be one."""
    value: Any = data
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    if type(value) is int and value < 0:
        steps = (*path[:-2], Key(path[-2]), path[-1])
        yield Problem("out-of-range", steps, f"`{path[-1]}` cannot be negative, as {value} is")


def _pruned(value: Any, shape: Shape | None, path: Path) -> Iterator[Problem]:
    """What stands in a custom resource's `status` is dropped, whatever it is, but only after unknown fields were refused."""
    if isinstance(value, dict) and not (shape and shape.type == "any" and shape.fields is None and shape.values is None):
        fields = shape.fields if shape and shape.fields is not None else {}
        for name, inner in value.items():
            if name in fields:
                yield from _pruned(inner, fields[name], (*path, name))
            elif shape and shape.values:
                yield from _pruned(inner, shape.values, (*path, Key(name)))
            elif not (shape and shape.open):
                yield _unknown(name, value, shape, path, _empty(value), suggest=True)
    elif isinstance(value, list) and not (shape and shape.open and shape.items is None):
        for index, item in enumerate(value):
            yield from _pruned(item, shape.items if shape else None, (*path, index))


def _decoded(value: Any, shape: Shape, path: Path) -> Iterator[Problem]:
    """A built-in kind's `status` is dropped as well, once it has been decoded."""
    for problem in _value(value, shape, path, typed=True) if value is not None else ():
        if problem.rule != "missing-field":
            yield problem


def _missing(name: str, data: dict[str, Any], path: Path) -> Problem:
    where = f" of {name_of(path)}" if path else ""
    empty = "is empty" if name in data else "is missing"
    return Problem("missing-field", (*path, name) if name in data else path, f"the required field `{name}`{where} {empty}", at_key=True)


def _unknown(name: str, data: dict[str, Any], shape: Shape | None, path: Path, empty: list[str], *, suggest: bool) -> Problem:
    message = f"{name_of(path)} has no field `{name}`" if path else f"there is no field `{name}` here"
    if not shape or shape.fields is None:
        return Problem("unknown-field", (*path, name), message, at_key=True)
    before = _lost_parent(name, data, shape, empty)
    if before:
        return _lost(name, before, (*path, name))
    return Problem("unknown-field", (*path, name), message, where_instead(name, shape) if suggest else "", at_key=True)


def _empty(data: dict[str, Any]) -> list[str]:
    """The keys without a value, beside which what belongs inside may stand."""
    return [key for key, value in data.items() if value is None]


def _lost_parent(name: str, data: dict[str, Any], shape: Shape, empty: list[str]) -> str:
    """The empty key above *name* of which *name* is a field, so that it should stand inside; empty where there is none."""
    found = ""
    for key in empty:
        child = shape.values if shape.fields is None else shape.fields.get(key)
        if child and child.fields and name in child.fields and _stands_before(key, name, data):
            found = key
    return found


def _stands_before(one: str, other: str, data: dict[str, Any]) -> bool:
    return next(key for key in data if key in (one, other)) == one


def _lost(name: str, before: str, path: Path) -> Problem:
    return Problem("wrong-indentation", path, lost_message(name, before), LOST_HINT, at_key=True)


def _wrong_type(value: Any, shape: Shape, path: Path) -> Problem:
    return Problem("wrong-type", path, f"{name_of(path)} takes {takes(shape)}, not {describe(value)}", type_hint(value, shape))


def name_of(path: Path) -> str:
    """What a sentence calls the value at *path*: its field, `containers[0]`, or the object as a whole."""
    if not path:
        return "the manifest"
    if isinstance(path[-1], int):
        return f"`{path[-2] if len(path) > 1 else ''}[{path[-1]}]`"
    return f"`{path[-1]}`"
