"""Values that the schema takes and a webhook cannot read, since it decodes them into Go's types."""

from __future__ import annotations

from jobspec import shapes
from jobspec.admission.rule import Finding
from jobspec.diagnostics import Key
from jobspec.validation.formats import is_parsed_quantity, is_time
from jobspec.validation.wording import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.shapes import Shape
    from jobspec.targets import Target
    from jobspec.workloads import Workload

_INTEGERS = {"int32": range(-(2**31), 2**31), "int64": range(-(2**63), 2**63)}
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int, float),
    "boolean": (bool,),
    "int-or-string": (int, str),
}


def undecodable_value(workload: Workload, target: Target) -> Iterator[Finding]:
    """A webhook reads quantities and port numbers as Go does, which is stricter than the pattern or the type in the schema.

    An exponent is an integer of 64 bits (`1e3`, not `1e1.5`), a number that can be a name instead has 32 bits. A mutating webhook
    reads `status`, too, which the server drops only afterwards.
    """
    document = workload.document
    shape = shapes.load(document.api_version, document.kind, target)
    if shape:
        yield from _in(document.data, shape, ())
        if document.data.get("status") is not None:
            from jobspec.admission.defaulting import is_rewritten

            if is_rewritten(document, target, update=workload.old is not None):
                yield from _mistyped(document.data["status"], shape.at(("status",)), ("status",))


def _in(value: Any, shape: Shape, path: Path) -> Iterator[Finding]:
    """Quantities and numbers in *value*, which is of the right types, that Go cannot read."""
    if isinstance(value, dict):
        fields = shape.fields
        for name, inner in value.items():
            child = shape.values if fields is None else fields.get(name)
            if child and type(inner) is not child.plain and (path or name != "status"):
                yield from _in(inner, child, (*path, Key(name) if fields is None else name))
    elif isinstance(value, list):
        if shape.items and not shape.items.plain:
            for index, item in enumerate(value):
                yield from _in(item, shape.items, (*path, index))
    elif shape.type == "int-or-string":
        if isinstance(value, str) and shape.format == "quantity" and not is_parsed_quantity(value):
            yield Finding(path, f"the operator cannot read the quantity `{value}`, whose exponent is no integer that it can hold")
        elif isinstance(value, int) and shape.format != "quantity" and value not in _INTEGERS["int32"]:
            yield Finding(path, f"the operator cannot read the number {value}, which needs more than 32 bits")


def _mistyped(value: Any, shape: Shape | None, path: Path) -> Iterator[Finding]:
    """What in *value* is of another type than Go's; null and what is missing are not."""
    if value is None or shape is None:
        return
    if shape.type not in _TYPES or not isinstance(value, _TYPES[shape.type]) or (isinstance(value, bool) and shape.type != "boolean"):
        yield Finding(path, f"the operator reads `status` before the server drops it, and cannot read this value of it: {describe(value)}")
    elif isinstance(value, dict):
        for name, inner in value.items():
            child = shape.values if shape.fields is None else shape.fields.get(name)
            yield from _mistyped(inner, child, (*path, Key(name) if shape.fields is None else name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _mistyped(item, shape.items, (*path, index))
    elif not _fits(value, shape):
        yield Finding(path, f"the operator reads `status` before the server drops it, and cannot read {describe(value)} there")


def _fits(value: Any, shape: Shape) -> bool:
    if shape.type == "integer":
        limits = _INTEGERS.get(shape.format, _INTEGERS["int64"])
        return bool(limits.start <= value < limits.stop and value == int(value))  # `in` would try out every number for a float
    return shape.format != "date-time" or is_time(value)
