"""Plain data as the server's decoder leaves it in Go types: what it cannot decode is taken out, and null is what Go makes of it.

A field that is null, unknown or of a wrong type is gone. In lists and maps null is the zero value of the type, and so is an item of a wrong
type, so that the other items keep their indexes. Quantities are texts.
"""

from __future__ import annotations

from jobspec.diagnostics import Path
from jobspec.schemas.shapes import BITS, TYPES, Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_ZEROS: dict[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False, "int-or-string": 0}


def decode_as_go(value: Any, shape: Shape) -> Any:
    """A value as it is decoded; None where that is not possible, or where it is null."""
    if value is None:
        return None
    if shape.type == "object":
        return _object(value, shape) if isinstance(value, dict) else None
    if shape.type == "array":
        return _list(value, shape.items) if isinstance(value, list) else None
    return value if shape.type == "any" else _scalar(value, shape)


def _list(value: list[Any], items: Shape | None) -> list[Any]:
    if items is None:
        return value
    plain = items.plain
    return [item if type(item) is plain else _inside(item, items) for item in value]


def _object(value: dict[str, Any], shape: Shape) -> dict[str, Any]:
    if shape.fields is None:
        return _map(value, shape.values)
    fields, found = shape.fields, {}
    for name, each in value.items():
        field = fields.get(name)
        if field is not None and (type(each) is field.plain or (each := decode_as_go(each, field)) is not None):
            found[name] = each
    return found


def _map(value: dict[str, Any], values: Shape | None) -> dict[str, Any]:
    plain = values.plain if values else None
    made = {key: each if type(each) is plain else _inside(each, values) for key, each in value.items()}
    return {key: each for key, each in made.items() if each is not None}


def _inside(item: Any, shape: Shape | None) -> Any:
    """An item of a list or a value of a map; None for a quantity that is none."""
    if shape is None or type(item) is shape.plain:
        return item
    found = decode_as_go(item, shape)
    if found is not None or (shape.format == "quantity" and item is not None):
        return found
    return {} if shape.type == "object" else [] if shape.type == "array" else "0" if shape.format == "quantity" else _ZEROS[shape.type]


def _scalar(value: Any, shape: Shape) -> Any:
    kind = type(value)
    if shape.format == "quantity":
        return _quantity(value)
    if kind not in TYPES[shape.type]:
        return value if kind is list and shape.format == "byte" else None
    if kind is int and shape.format in BITS and not -(1 << BITS[shape.format]) <= value < 1 << BITS[shape.format]:
        return None
    return value


def _quantity(value: Any) -> str | None:
    """The text of a quantity as it stands in JSON, where a number is written as Python writes it."""
    from jobspec.go.formats import is_parsed_quantity

    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value)
    return text if is_parsed_quantity(text) else None


# Read fields of a document in which anything may stand, as Go has them once decoded: what is absent, null or of a wrong type is empty.


def mapping(data: Any, *steps: str) -> dict[str, Any]:
    """The mapping at the end of some steps through mappings; an empty one where there is none."""
    found = at(data, steps)
    return found if isinstance(found, dict) else {}


def items(data: Any, *steps: str) -> list[Any]:
    """The items of the list at the end of some steps through mappings; none where there is no list."""
    found = at(data, steps)
    return found if isinstance(found, list) else []


def at(data: Any, steps: Path) -> Any:
    """The value at the end of some steps through mappings; None where there is none."""
    for step in steps:
        data = data.get(step) if isinstance(data, dict) else None
    return data


def structs(data: Any, *steps: str) -> list[dict[str, Any]]:
    """The items of the list of mappings at the end of some steps."""
    return [mapping(item) for item in items(data, *steps)]


def text(data: dict[str, Any], name: str) -> str:
    """The text in a field."""
    value = data.get(name)
    return value if isinstance(value, str) else ""


def texts(data: dict[str, Any], name: str) -> list[str]:
    """The items of the list of texts in a field."""
    return [item if isinstance(item, str) else "" for item in items(data, name)]


def number(data: dict[str, Any], name: str) -> int | None:
    """The number in a field; None where there is none."""
    value = data.get(name)
    return None if isinstance(value, bool) or not isinstance(value, int | float) else int(value)


def string_map(data: dict[str, Any], name: str) -> dict[str, str]:
    """The map of texts in a field: labels, annotations."""
    return {key: value if isinstance(value, str) else "" for key, value in mapping(data, name).items()}


def is_given(data: dict[str, Any], name: str) -> bool:
    """Whether a field of Go that can be nil is set."""
    return data.get(name) is not None
