"""Values that the schema takes and a webhook cannot read, since it decodes them into Go's types."""

from __future__ import annotations

from jobspec import shapes
from jobspec.admission.rule import Finding
from jobspec.diagnostics import Diagnostic, Key
from jobspec.validation.formats import is_parsed_quantity, is_time
from jobspec.validation.wording import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.shapes import Shape
    from jobspec.targets import Target
    from jobspec.validation.verdict import Verdict
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

_UNDECODABLE = "undecodable-value"
_NO_GROUP = '""'
#: Optional fields that Go writes even where they are nil.
_WRITTEN = {"ProjectedVolumeSource": "sources", "TypedLocalObjectReference": "apiGroup", "TypedObjectReference": "apiGroup"}


def undecodable_value(workload: Workload, target: Target) -> Iterator[Finding]:
    """A webhook reads quantities, times and port numbers as Go does, which is stricter than what the schema asks of them.

    An exponent is an integer of 64 bits (`1e3`, not `1e1.5`), a number that can be a name instead has 32 bits. A mutating webhook
    reads `status`, too, which the server drops only afterwards.
    """
    document = workload.document
    shape = shapes.load(document.api_version, document.kind, target)
    if shape:
        yield from _in(document.data, shape, ())
        if document.data.get("status") is not None and _is_rewritten(workload, target):
            yield from _mistyped(document.data["status"], shape.at(("status",)), ("status",))


def _in(value: Any, shape: Shape, path: Path) -> Iterator[Finding]:
    """Quantities, times and numbers in *value*, which is of the right types, that Go cannot read."""
    if isinstance(value, dict):
        fields = shape.fields
        for name, inner in value.items():
            child = shape.values if fields is None else fields.get(name)
            if child and child.parsed and (path or name != "status"):
                yield from _in(inner, child, (*path, Key(name) if fields is None else name))
    elif isinstance(value, list):
        if shape.items and shape.items.parsed:
            for index, item in enumerate(value):
                yield from _in(item, shape.items, (*path, index))
    elif why := _unreadable(value, shape):
        yield Finding(path, f"the operator cannot read {why}")


def _unreadable(value: Any, shape: Shape) -> str:
    """What Go cannot read a scalar as, and why; empty where it can."""
    if isinstance(value, str) and shape.format == "quantity" and not is_parsed_quantity(value):
        return f"the quantity `{value}`, whose exponent is no integer that it can hold"
    if isinstance(value, str) and shape.format == "date-time" and not is_time(value):
        return f"the time `{value}`, which would be one as `2026-01-31T12:00:00Z`"
    is_number = isinstance(value, int) and shape.type == "int-or-string" and shape.format != "quantity"
    return f"the number {value}, which needs more than 32 bits" if is_number and value not in _INTEGERS["int32"] else ""


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


def becomes_null(workload: Workload, target: Target) -> Iterator[Finding]:
    """A few optional fields are `null` once a mutating webhook has written the object, and the server refuses that. Write them out."""
    document = workload.document
    shape = shapes.load(document.api_version, document.kind, target)
    found = list(_nulls(document.data.get("spec"), shape.at(("spec",)), ("spec",))) if shape else []
    if found and _is_rewritten(workload, target):
        yield from found


def _is_rewritten(workload: Workload, target: Target) -> bool:
    from jobspec.admission.defaulting import is_rewritten

    return is_rewritten(workload.document, target, update=workload.old is not None)


def _nulls(value: Any, shape: Shape | None, path: Path) -> Iterator[Finding]:
    if isinstance(value, list) and shape and shape.items:
        for index, item in enumerate(value):
            yield from _nulls(item, shape.items, (*path, index))
    elif isinstance(value, dict) and shape:
        field = _WRITTEN.get(shape.name)
        if field and value.get(field) is None:
            message = f"the operator writes the missing `{field}` here as null, which the server refuses"
            yield Finding((*path, field), message, f"write `{field}: {'[]' if field == 'sources' else _NO_GROUP}`")
        for name, inner in value.items():
            child = shape.values if shape.fields is None else shape.fields.get(name)
            yield from _nulls(inner, child, (*path, Key(name) if shape.fields is None else name))


def undecodable(as_new: Verdict) -> list[Diagnostic]:
    """What keeps a webhook from decoding an update, where an older schema let values in that are of other types than its own.

    *as_new* is the verdict on the document as a new object, in which the values that an update does not touch count, too.
    """
    return [
        Diagnostic(
            _UNDECODABLE,
            f"{each.message}; the server lets that stay, since the update does not touch it, and the operator cannot read it",
            each.mark,
            field=each.field,
            document=each.document,
            hint=each.hint,
        )
        for each in as_new.diagnostics
        if each.rule == "wrong-type"
    ]
