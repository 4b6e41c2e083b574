"""Check an object against its schema as an API server does: unknown fields, types, limits, formats, required fields, list keys.

Follows `SchemaValidator.Validate`, k8s.io/kube-openapi pkg/validation/validate, as k8s.io/apiextensions-apiserver 0.36 calls it, with
`pruning.Prune` before and `ValidateListSetsAndMaps` after. The order of the server's steps matters:

- It refuses unknown fields everywhere, even in `status`, before a create drops `status`.
- It prunes nulls before it checks anything.
- It fills in the defaults of list-map keys before it compares them.

*typed* is what the server decodes into Go types, all metadata and built-in kinds as a whole: there, list keys are not checked, items may
be null, and Go's own functions parse quantities and times. The words of the problems are in `problems`.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Data, Key, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go import formats
from jobspec.kubernetes import problems
from jobspec.schemas.shapes import BITS, TYPES, Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_MAX_SUGGESTIONS = 100  # for the unknown fields of one object: each costs a search


def schema_problems(data: Data, shape: Shape, *, typed: bool = False) -> list[Problem]:
    """Return the problems of an object against its schema."""
    return list(_object_problems(data, shape, (), typed=typed))


def schema_problems_at(value: Any, shape: Shape, path: Path) -> list[Problem]:
    """Return the problems of a value inside a custom resource."""
    return list(_value_problems(value, shape, path, typed=False))


def typed_problems_at(value: Any, shape: Shape, path: Path) -> list[Problem]:
    """Return the problems of a value that the server decodes into a Go type.

    None means absent or null, and has no problems.
    """
    return [] if value is None else list(_value_problems(value, shape, path, typed=True))


def _value_problems(value: Any, shape: Shape, path: Path, *, typed: bool) -> Problems:
    kind = shape.type
    if kind == "object" and isinstance(value, dict):
        yield from _object_problems(value, shape, path, typed=typed)
    elif kind == "array" and isinstance(value, list):
        yield from _list_problems(value, shape, path, typed=typed)
    elif kind in ("object", "array"):
        yield problems.wrong_type(value, shape, path)
    elif kind == "bare":
        yield from unknown_fields(value, None, path)
    elif kind == "any":
        yield from _anything(value, shape, path, typed=typed)
    else:
        yield from _scalar_problems(value, shape, path, typed=typed)


def _anything(value: Any, shape: Shape, path: Path, *, typed: bool) -> Problems:
    """Yield the problems of a value without a type.

    Its schema may still have fields, items or conditions.
    """
    if isinstance(value, dict):
        yield from _object_problems(value, shape, path, typed=typed)
    elif isinstance(value, list) and shape.items:
        yield from _list_problems(value, shape, path, typed=typed)
    elif shape.conditions:
        yield from _conditions(value, shape, path)


def _conditions(value: Any, shape: Shape, path: Path) -> Problems:
    """The problems by limits, formats and choices that only custom kinds have."""
    from jobspec.kubernetes.conditions import broken_conditions

    yield from broken_conditions(value, shape, path)


def _object_problems(data: Data, shape: Shape, path: Path, *, typed: bool) -> Problems:
    unknown: list[Problem] = []
    if shape.fields is None:
        yield from _map(data, shape, path, typed=typed)
    else:
        yield from _fields(data, shape, path, unknown, typed=typed)
    if shape.required:
        yield from _missing_fields(data, shape, path, {problem.meant for problem in unknown})
    if shape.least is not None or shape.most is not None or shape.conditions:
        yield from _as_a_whole(data, shape, path)


def _fields(data: Data, shape: Shape, path: Path, unknown: list[Problem], *, typed: bool) -> Problems:
    """The problems of an object's fields; those about unknown fields are added to *unknown*."""
    fields = shape.fields
    assert fields is not None
    for name, value in data.items():
        child = fields.get(name)
        if child is not None and type(value) is child.plain:
            continue
        if child is None:
            if not shape.open:
                unknown.append(problems.unknown_field(name, value, shape, path, suggest=len(unknown) < _MAX_SUGGESTIONS))
                yield unknown[-1]
        elif name == "status" and not path and not shape.keeps_status:
            found = typed_problems_at(value, child, (name,)) if typed else unknown_fields(value, child, (name,))  # and then it is dropped
            yield from (problem for problem in found if problem.rule != "missing-field")
        elif value is not None:
            yield from _value_problems(value, child, (*path, name), typed=typed or child.meta)
        elif child.nullable and child.conditions:
            yield from _conditions(value, child, (*path, name))


def _missing_fields(data: Data, shape: Shape, path: Path, meant: set[str]) -> Problems:
    """Yield the missing required fields, except those *meant* by an unknown field.

    The hint of the unknown field names them.
    """
    for name in shape.required:
        if data.get(name) is None and name not in meant and not (name in data and _can_be_null(name, shape)):
            yield problems.missing_field(name, data, path)


def _can_be_null(name: str, shape: Shape) -> bool:
    child = shape.at((name,))
    return child.nullable if child else shape.open


def _as_a_whole(data: Data, shape: Shape, path: Path) -> Problems:
    """Yield the problems of an object's size and conditions.

    The server checks these without nulls and with defaults.
    """
    whole = filled(data, shape)
    if problem := _wrong_size(len(whole), "field", shape, path):
        yield problem
    elif shape.conditions:
        yield from _conditions(whole, shape, path)


def _map(data: Data, shape: Shape, path: Path, *, typed: bool) -> Problems:
    values = shape.values
    if values is None:
        return
    for name, value in data.items():
        if value is None:
            if values.nullable and values.conditions:
                yield from _conditions(value, values, (*path, Key(name)))
        elif type(value) is not values.plain:
            yield from _value_problems(value, values, (*path, Key(name)), typed=typed)


def _list_problems(items: list[Any], shape: Shape, path: Path, *, typed: bool) -> Problems:
    inner = shape.items
    assert inner
    for index, item in enumerate(items):
        if type(item) is inner.plain:
            continue
        if item is not None or not (typed or inner.nullable or inner.default is not None):
            yield from _value_problems(item, inner, (*path, index), typed=typed)
        elif inner.nullable and inner.conditions:
            yield from _conditions(item, inner, (*path, index))
    if problem := _wrong_size(len(items), "item", shape, path):
        yield problem
    elif shape.conditions:
        yield from _conditions(items, shape, path)
    if not typed and (shape.keys or shape.unique):
        yield from _duplicates(items, shape, path)


def _duplicates(items: list[Any], shape: Shape, path: Path) -> Problems:
    """The items of a list map or a set that stand in it twice."""
    first: dict[tuple[str, ...], int] = {}
    for index, item in enumerate(items):
        identity = _key_values(item, shape) if shape.keys else _set_identity(item, shape)
        if identity is None:
            continue
        if identity in first:
            yield problems.duplicate_item(index, first[identity], identity, shape.keys, path)
        first.setdefault(identity, index)


def _key_values(item: Any, shape: Shape) -> tuple[str, ...] | None:
    """Return the values of the keys of a list map's item, or their defaults.

    If it is no object or lacks a key, return None.
    """
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


def _set_identity(item: Any, shape: Shape) -> tuple[str, ...]:
    """Return the type and the text of a set's item.

    For objects and lists, the text is the JSON with defaults.
    """
    if not isinstance(item, (dict, list)):
        return type(item).__name__, str(item)
    import json

    assert shape.items
    return type(item).__name__, "", json.dumps(filled(item, shape.items), sort_keys=True)


def _scalar_problems(value: Any, shape: Shape, path: Path, *, typed: bool) -> Problems:
    if isinstance(value, list) and shape.type == "string" and (shape.format == "byte" if typed else _takes_lists(shape)):
        yield from _bytes(value, path) if typed else _list_for_text(value, shape, path)
        return
    if problem := _scalar_problem(value, shape, path, typed=typed):
        yield problem
    elif shape.conditions:
        yield from _conditions(value, shape, path)


def _list_for_text(items: list[Any], shape: Shape, path: Path) -> Problems:
    """The problems of a list in the place of a text, whose format the server checks instead of its type."""
    yield from unknown_fields(items, None, path)
    if shape.enum:
        yield problems.unsupported(items, shape.enum, path)
    if shape.conditions:
        yield from _conditions(items, shape, path)


def _bytes(items: list[Any], path: Path) -> Problems:
    """The items that are no bytes: Go takes a list of numbers where others write base64."""
    for index, item in enumerate(items):
        if item is not None and (type(item) is not int or not 0 <= item < 256):
            yield problems.no_byte(item, (*path, index))


def _takes_lists(shape: Shape) -> bool:
    if not (shape.format or shape.conditions):
        return False
    from jobspec.kubernetes.conditions import takes_lists

    return takes_lists(shape)


def _scalar_problem(value: Any, shape: Shape, path: Path, *, typed: bool) -> Problem | None:
    kind = type(value)
    if kind is float and shape.type == "integer" and value.is_integer():  # the reader makes an integer of any that has 64 bits
        return problems.beyond_bits(value, BITS.get(shape.format, 63), path)
    if kind not in TYPES[shape.type] and not (kind is float and typed and shape.format == "quantity"):
        return problems.wrong_type(value, shape, path)
    return _wrong_format(value, shape, path, typed=typed) or (_wrong_text if kind is str else _wrong_number)(value, shape, path)


def _wrong_format(value: Any, shape: Shape, path: Path, *, typed: bool) -> Problem | None:
    if shape.format in BITS:
        if isinstance(value, int) and not -(1 << BITS[shape.format]) <= value < 1 << BITS[shape.format]:
            return problems.beyond_bits(value, BITS[shape.format], path)
    elif shape.format and isinstance(value, str) and not (formats.TYPED_CHECKS if typed else formats.CHECKS)[shape.format](value):
        from jobspec.kubernetes.suggestions import meant_quantity

        meant = meant_quantity(value) if shape.format == "quantity" else ""
        return problems.wrong_format(value, formats.EXAMPLES[shape.format], path, f"write `{meant}`" if meant else "", meant=meant)
    return None


def _wrong_number(value: Any, shape: Shape, path: Path) -> Problem | None:
    least, most = shape.minimum, shape.maximum
    fits = (least is None or value >= least) and (most is None or value <= most)
    return None if fits else problems.outside(value, least, most, path)


def _wrong_text(value: str, shape: Shape, path: Path) -> Problem | None:
    if shape.enum and value not in shape.enum:
        return problems.unsupported(value, shape.enum, path)
    return _wrong_size(len(value), "character", shape, path) or (_wrong_pattern(value, shape, path) if shape.pattern else None)


def _wrong_pattern(value: str, shape: Shape, path: Path) -> Problem | None:
    import re

    pattern = re.sub(r"(?<!\\)\$$", r"\\Z", shape.pattern)  # in RE2, `$` is the end of the text, not of a line
    pattern = re.sub(r"^\^\(\?i\)", "(?i)^", pattern)  # and a flag may come after `^`
    return None if re.search(pattern, value, re.ASCII) else problems.wrong_pattern(value, shape.pattern, path)


def _wrong_size(size: int, what: str, shape: Shape, path: Path) -> Problem | None:
    least, most = shape.least, shape.most
    fits = (least is None or size >= least) and (most is None or size <= most)
    return None if fits else next(problems.sized(size, what, least, most, path))


# Find the unknown fields in a value that the server drops, such as `status`: strict field validation refuses them first.
#
# Follows `pruning.PruneWithOptions`, k8s.io/apiextensions-apiserver pkg/apiserver/schema/pruning, 0.36.


def unknown_fields(value: Any, shape: Shape | None, path: Path) -> Problems:
    """Yield the unknown fields in a value and in all values inside. Types are not checked.

    If *shape* is None, every field is unknown.
    """
    if isinstance(value, dict) and not (shape and shape.type == "any" and shape.fields is None and shape.values is None):
        fields = shape.fields if shape and shape.fields is not None else {}
        for name, inner in value.items():
            if name in fields:
                yield from unknown_fields(inner, fields[name], (*path, name))
            elif shape and shape.values:
                yield from unknown_fields(inner, shape.values, (*path, Key(name)))
            elif not (shape and shape.open):
                yield problems.unknown_field(name, inner, shape, path, suggest=True)
    elif isinstance(value, list) and not (shape and shape.open and shape.items is None):
        for index, item in enumerate(value):
            yield from unknown_fields(item, shape.items if shape else None, (*path, index))


# Prune and default a custom resource: drop nulls and unknown fields, fill in defaults.
#
# Follows `defaulting.PruneNonNullableNullsWithoutDefaults`, `defaulting.Default` and `pruning.Prune`,
# k8s.io/apiextensions-apiserver pkg/apiserver/schema, 0.36.


def filled(value: Any, shape: Shape, *, prune: bool = True) -> Any:
    """Return a value of a custom resource as the server stores it, with defaults.

    Values of a wrong type stay. Without *prune*, unknown fields stay, too.
    """
    if isinstance(value, dict) and shape.fields is not None:
        return _defaulted_object(value, shape, prune=prune)
    if isinstance(value, dict) and (values := shape.values) is not None:
        made = {name: _or_default(inner, values) for name, inner in value.items()}
        return {name: filled(inner, values, prune=prune) for name, inner in made.items() if inner is not None or values.nullable}
    if isinstance(value, list) and (items := shape.items) is not None:
        return [filled(_or_default(item, items), items, prune=prune) for item in value]
    return value


def _or_default(value: Any, shape: Shape) -> Any:
    return shape.default if value is None and not shape.nullable else value


def _defaulted_object(data: Data, shape: Shape, *, prune: bool) -> Data:
    assert shape.fields is not None
    made: Data = {}
    for name, child in shape.fields.items():
        value = data.get(name)
        if value is None:
            if name in data and child.nullable:
                made[name] = None
                continue
            value = child.default
        if value is not None:
            made[name] = value if type(value) is child.plain else filled(value, child, prune=prune)
    if shape.open or not prune:
        made |= {name: value for name, value in data.items() if name not in shape.fields}
    return made
