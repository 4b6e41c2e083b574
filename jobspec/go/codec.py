"""How programs in Go decode, complete and encode values by their types.

`decode_as_go` gives plain data as a decoder leaves it: a field that is null, unknown or of a wrong type is gone. In lists and maps null is
the zero value of the type, and so is an item of a wrong type, so that the other items keep their indexes. Quantities are texts.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Path
from jobspec.go.formats import is_parsed_quantity, is_quantity
from jobspec.schemas.shapes import BITS, TYPES, Shape, is_of_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


_ZEROS: dict[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False, "int-or-string": 0}


def decode_as_go(value: Any, shape: Shape) -> Any:
    """Decode a value as Go does. If Go cannot decode the value, or if it is null, return None."""
    if shape.type == "object":
        return _decoded_object(value, shape) if isinstance(value, dict) else None
    if shape.type == "array":
        return [_decoded_entry(item, shape.items) for item in value] if isinstance(value, list) else None
    return value if value is None or shape.type == "any" else _decoded_scalar(value, shape)


def _decoded_object(value: dict[str, Any], shape: Shape) -> dict[str, Any]:
    if shape.fields is None:
        return _map(value, shape.values)
    fields, found = shape.fields, {}
    for name, each in value.items():
        field = fields.get(name)
        if field is not None and (type(each) is field.plain or (each := decode_as_go(each, field)) is not None):
            found[name] = each
    return found


def _map(value: dict[str, Any], values: Shape | None) -> dict[str, Any]:
    made = {key: _decoded_entry(each, values) for key, each in value.items()}
    return {key: each for key, each in made.items() if each is not None}


def _decoded_entry(item: Any, shape: Shape | None) -> Any:
    """Decode an item of a list or a value of a map.

    If a quantity is expected, and the text is none, return None.
    """
    if shape is None or type(item) is shape.plain:
        return item
    found = decode_as_go(item, shape)
    if found is not None or (shape.format == "quantity" and item is not None):
        return found
    return {} if shape.type == "object" else [] if shape.type == "array" else "0" if shape.format == "quantity" else _ZEROS[shape.type]


def _decoded_scalar(value: Any, shape: Shape) -> Any:
    kind = type(value)
    if shape.format == "quantity":
        return _quantity(value)
    if kind not in TYPES[shape.type]:
        return value if kind is list and shape.format == "byte" else None
    if kind is int and shape.format in BITS and not -(1 << BITS[shape.format]) <= value < 1 << BITS[shape.format]:
        return None
    return value


def _quantity(value: Any) -> str | None:
    """Return the text of a quantity as it is in JSON. A number is written as Python writes it."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value)
    return text if is_parsed_quantity(text) else None


# A value that does not keep its schema, as Go holds it once decoded.


def completed(value: Any, shape: Shape) -> Any:
    """Return a value as a Go struct has it.

    A null value and missing required fields become zeros of their types. An optional field of a wrong type becomes None.
    """
    if value is None or not is_of_type(value, shape):
        return completed({}, shape) if shape.type == "object" else () if shape.type == "array" else _ZEROS.get(shape.type)
    if isinstance(value, list) and shape.items:
        return [completed(item, shape.items) for item in value]
    if not isinstance(value, dict):
        return value
    children = {name: shape.values if shape.fields is None else shape.fields.get(name) for name in (*value, *shape.required)}
    return {name: _decoded_field(value.get(name), child, is_required=name in shape.required) for name, child in children.items()}


def _decoded_field(value: Any, shape: Shape | None, *, is_required: bool) -> Any:
    if shape is None:
        return value
    return completed(value, shape) if is_required or (value is not None and is_of_type(value, shape)) else None


# A value that a program in Go decodes and encodes again, with the zero of each required field that is missing.


def reencoded(value: Any, shape: Shape) -> Any:
    """Give required fields and null items zeros, and quantities a form that the schema takes.

    If nothing changes, return the same object.
    """
    if isinstance(value, list) and shape.items:
        items = [_item(item, shape.items) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if not isinstance(value, dict):
        return _canonical(value) if shape.format == "quantity" else value
    if shape.fields is None:
        inner = {name: reencoded(each, shape.values) if shape.values else each for name, each in value.items()}
    else:
        inner = {name: reencoded(each, shape.fields[name]) if name in shape.fields else each for name, each in value.items()}
        for name, child in shape.fields.items():
            if value.get(name) is None and child.default is None and (name in shape.required or child.unset == "zero"):
                zero = _zero_of(child) if child.unset not in ("nothing", "null") else None
                if zero is not None:
                    inner[name] = zero
    return value if inner.keys() == value.keys() and all(inner[name] is value[name] for name in value) else inner


def _item(item: Any, shape: Shape) -> Any:
    zero = _zero_of(shape) if item is None else None
    return reencoded(item, shape) if zero is None else zero


def _canonical(value: Any) -> Any:
    """Return a quantity in a form that the schema accepts, if Go can read it.

    Go also accepts floats, blanks around a quantity, and `Gi` for 0.
    """
    if isinstance(value, float):
        return repr(value)
    if not isinstance(value, str) or is_quantity(value) or not is_parsed_quantity(value):
        return value
    return value.strip() if is_quantity(value.strip()) else "0"


def _zero_of(shape: Shape) -> Any:
    """Go's zero of a shape; None where it is nil, or where the schema refuses it anyway."""
    if shape.type == "object" and shape.fields is not None:
        zero: dict[str, Any] = reencoded({}, shape)
        return zero if shape.unset == "zero" or shape.required == [name for name in shape.required if name in zero] else None
    if shape.enum or shape.pattern or shape.least or (shape.minimum or 0) > 0 or shape.format == "date-time":
        return None
    return _ZEROS.get(shape.type)


# A value as a program in Go sends it: without what is empty there, and with quantities in their canonical form.
#
# An empty text, a zero, `false` and an empty list or map are left out, but for required fields and for pointers (`GoPointer` in the
# models), which can distinguish empty from absent.


def encode_as_go(value: Any, shape: Shape | None) -> Any:
    """Write plain data as Go does. If nothing changes, return the same object.

    A null in a list of objects is an empty object, and a null in a list of strings is an empty string.
    """
    if isinstance(value, dict):
        return _encoded_object(value, shape)
    if isinstance(value, list):
        item = shape.items if shape else None
        zero: Any = {"object": {}, "string": ""}.get(item.type) if item and None in value else None
        made = [encode_as_go(zero if each is None else each, item) for each in value]
        return made if any(new is not old for new, old in zip(made, value, strict=True)) else value
    if shape is not None and shape.format == "quantity":
        from jobspec.go.quantities import canonical_quantity

        text = canonical_quantity(str(value))
        return value if text == value else text
    return value


def rewritten_quantities(value: Any, shape: Shape | None, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield the path and the new form of each quantity that Go writes in another form."""
    if shape is None:
        return
    if isinstance(value, dict):
        for name, each in value.items():
            yield from rewritten_quantities(each, shape.at((name,)), (*path, name))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from rewritten_quantities(each, shape.items, (*path, number))
    elif shape.format == "quantity" and value is not None and (text := encode_as_go(value, shape)) != value:
        yield path, text


def _encoded_object(value: dict[str, Any], shape: Shape | None) -> dict[str, Any]:
    """A mapping as Go writes it; the same object where it is written so already."""
    if shape is not None and shape.fields is None and shape.values is not None:
        values = shape.values
        changed = {name: new for name, each in value.items() if (new := encode_as_go(each, values)) is not each}
        return {**value, **changed} if changed else value
    fields, required = (shape.fields or {}, shape.required) if shape else ({}, ())
    changed, gone = {}, set()
    for name, each in value.items():
        child = fields.get(name)
        if each and child is not None and type(each) is child.plain:
            continue
        written = encode_as_go(each, child)
        if not written and name not in required and _is_left_out(written, child):
            gone.add(name)
        elif written is not each:
            changed[name] = written
    return {name: changed.get(name, each) for name, each in value.items() if name not in gone} if changed or gone else value


def _is_left_out(value: Any, shape: Shape | None) -> bool:
    """Whether Go leaves a field out that has this value."""
    if value is None:
        return True
    if isinstance(value, dict):
        return not value and shape is not None and shape.fields is None
    return not (value or (not isinstance(value, list) and shape is not None and (shape.pointer or shape.format == "quantity")))
