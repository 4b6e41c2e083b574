"""The API server's walk over one object: unknown fields, null pruning, defaults, types, formats, required fields, list keys.

The order of the server's own steps decides what is an error: unknown fields count everywhere, even in `status`, whose
values a create drops; a null is dropped before anything looks at it; a default stands in before keys are compared.
"""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.validation import formats
from jobspec.validation.wording import LOST_HINT, closest, describe, lost_message, quantity_hint, takes, type_hint, where_instead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.shapes import Shape


class Problem:
    """What is wrong at a path: about its key (a field that should not be there) or about its value."""

    __slots__ = ("at_key", "hint", "message", "path", "rule")

    def __init__(self, rule: str, path: Path, message: str, hint: str = "", *, at_key: bool = False) -> None:
        self.rule = rule
        self.path = path
        self.message = message
        self.hint = hint
        self.at_key = at_key


def problems(data: dict[str, Any], shape: Shape) -> list[Problem]:
    """Everything that the schema has against an object; where its indentation was lost, that one thing alone."""
    found = list(_object(data, shape, ()))
    lost = [problem for problem in found if problem.rule == "wrong-indentation"]
    return lost[:1] or found


def problems_at(value: Any, shape: Shape, path: Path) -> list[Problem]:
    """What a shape has against one value of an object; nothing against a value that is absent or null."""
    return [] if value is None else list(_value(value, shape, path))


def _value(value: Any, shape: Shape, path: Path) -> Iterator[Problem]:
    kind = shape.type
    if kind == "object":
        if isinstance(value, dict):
            yield from _object(value, shape, path)
        else:
            yield _wrong_type(value, shape, path)
    elif kind == "array":
        if isinstance(value, list):
            yield from _list(value, shape, path)
        else:
            yield _wrong_type(value, shape, path)
    elif kind != "any":
        yield from _scalar(value, shape, path)


def _object(data: dict[str, Any], shape: Shape, path: Path) -> Iterator[Problem]:
    fields = shape.fields
    if fields is None:
        yield from _map(data, shape, path)
        return
    for name, value in data.items():
        child = fields.get(name)
        if child is None:
            yield _unknown(name, data, shape, path)
        elif name == "status" and not path:
            yield from _unknown_only(value, child, (name,))
        elif value is not None:
            yield from _value(value, child, (*path, name))
    for name in shape.required:
        if data.get(name) is None:
            yield _missing(name, data, path)
    if shape.replicas and not path:
        yield from _scale(data, shape.replicas)


def _map(data: dict[str, Any], shape: Shape, path: Path) -> Iterator[Problem]:
    values = shape.values
    if values is None:
        return
    for name, value in data.items():
        if value is None:
            continue
        before = None if isinstance(value, dict) else _lost_parent(name, data, shape)
        if before:
            yield _lost(name, before, (*path, Key(name)))
        else:
            yield from _value(value, values, (*path, Key(name)))


def _list(items: list[Any], shape: Shape, path: Path) -> Iterator[Problem]:
    assert shape.items
    for index, item in enumerate(items):
        yield from _value(item, shape.items, (*path, index))
    if shape.keys:
        yield from _repeated([_keys(item, shape) for item in items], path, " and ".join(f"`{key}`" for key in shape.keys))
    elif shape.unique:
        yield from _repeated([(type(item).__name__, str(item)) for item in items], path, "value")


def _keys(item: Any, shape: Shape) -> tuple[str, ...] | None:
    """What tells a list-map's item apart, the defaults of its keys filled in; None where it is no object."""
    if not isinstance(item, dict):
        return None
    assert shape.items and shape.items.fields
    found = []
    for key in shape.keys:
        value = item.get(key)
        found.append(str(shape.items.fields[key].default if value is None else value))
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


def _scalar(value: Any, shape: Shape, path: Path) -> Iterator[Problem]:
    kind = type(value)
    expected = shape.type
    if not (
        (kind is str and expected in ("string", "int-or-string"))
        or (kind is int and expected in ("integer", "int-or-string", "number"))
        or (kind is bool and expected == "boolean")
        or (kind is float and expected == "number")
    ):
        yield _wrong_type(value, shape, path)
    elif shape.format:
        yield from _format(value, shape, path)
    elif shape.pattern and kind is str:
        yield from _pattern(value, shape, path)
    elif shape.enum and value not in shape.enum:
        choices = ", ".join(f"`{choice}`" for choice in shape.enum)
        yield Problem("unsupported-choice", path, f"{_name(path)} takes {choices}, not {describe(value)}", closest(value, shape.enum))
    elif kind is int and ((shape.minimum is not None and value < shape.minimum) or (shape.maximum is not None and value > shape.maximum)):
        limits = f"at least {shape.minimum}" if shape.maximum is None else f"{shape.minimum} to {shape.maximum}"
        yield Problem("out-of-range", path, f"{_name(path)} takes {limits}, not {value}")


_BITS = {"int32": 31, "int64": 63}


def _format(value: Any, shape: Shape, path: Path) -> Iterator[Problem]:
    name = _name(path)
    if shape.format in _BITS:
        most = (1 << _BITS[shape.format]) - 1
        if not -most - 1 <= value <= most:
            yield Problem("out-of-range", path, f"{name} holds {_BITS[shape.format] + 1} bits: at most {most:,}, not {value:,}")
    elif isinstance(value, str) and not formats.CHECKS[shape.format](value):
        message = f"{name} takes {formats.EXAMPLES[shape.format]}, not {describe(value)}"
        yield Problem("wrong-format", path, message, quantity_hint(value) if shape.format == "quantity" else "")


def _pattern(value: str, shape: Shape, path: Path) -> Iterator[Problem]:
    import re

    regex = re.sub(r"(?<!\\)\$$", r"\\Z", shape.pattern)  # in RE2, `$` is the end of the text, not a line's
    if not re.search(regex, value, re.ASCII):
        yield Problem("wrong-format", path, f"{_name(path)} has to match `{shape.pattern}`, which {describe(value)} does not")


def _scale(data: dict[str, Any], path: list[str]) -> Iterator[Problem]:
    """The scale subresource reads its number of replicas from the object, and wants it to be one."""
    value: Any = data
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    if type(value) is int and value < 0:
        steps = (*path[:-2], Key(path[-2]), path[-1])
        yield Problem("out-of-range", steps, f"`{path[-1]}` cannot be negative, as {value} is")


def _unknown_only(value: Any, shape: Shape, path: Path) -> Iterator[Problem]:
    """A create drops `status` whatever it holds, but only after unknown fields were refused."""
    for problem in _value(value, shape, path):
        if problem.rule == "unknown-field":
            yield problem


def _missing(name: str, data: dict[str, Any], path: Path) -> Problem:
    where = f" of {_name(path)}" if path else ""
    empty = "is empty" if name in data else "is missing"
    return Problem("missing-field", (*path, name) if name in data else path, f"the required field `{name}`{where} {empty}", at_key=True)


def _unknown(name: str, data: dict[str, Any], shape: Shape, path: Path) -> Problem:
    before = _lost_parent(name, data, shape)
    if before:
        return _lost(name, before, (*path, name))
    assert shape.fields is not None
    message = f"{_name(path)} has no field `{name}`" if path else f"there is no field `{name}` here"
    return Problem("unknown-field", (*path, name), message, where_instead(name, shape), at_key=True)


def _lost_parent(name: str, data: dict[str, Any], shape: Shape) -> str:
    """The empty key above *name* of which *name* is a field, so that it should stand inside; empty where there is none."""
    found = ""
    for key, value in data.items():
        if key == name:
            break
        if value is None:
            child = shape.values if shape.fields is None else shape.fields.get(key)
            if child and child.fields and name in child.fields:
                found = key
    return found


def _lost(name: str, before: str, path: Path) -> Problem:
    return Problem("wrong-indentation", path, lost_message(name, before), LOST_HINT, at_key=True)


def _wrong_type(value: Any, shape: Shape, path: Path) -> Problem:
    return Problem("wrong-type", path, f"{_name(path)} takes {takes(shape)}, not {describe(value)}", type_hint(value, shape))


def _name(path: Path) -> str:
    """What a sentence calls the value at *path*: its field, `containers[0]`, or the object as a whole."""
    if not path:
        return "the manifest"
    if isinstance(path[-1], int):
        return f"`{path[-2] if len(path) > 1 else ''}[{path[-1]}]`"
    return f"`{path[-1]}`"
