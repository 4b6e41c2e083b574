"""The document after a mutating webhook, which comes before the schema check.

The webhook decodes a document into Go's types and encodes it again. So a missing required field gets Go's zero: an empty text, 0, an
object of zeros; a list stays absent. A null item of a list becomes such a zero, too, and a quantity gets its canonical form.

Follows `defaulterForType.Handle`, sigs.k8s.io/controller-runtime pkg/webhook/admission, as JobSet 0.8.2 to 0.12.0 and trainer 2.2.0 to
2.3.0 use it.
"""

from __future__ import annotations

from jobspec.documents.document import Document
from jobspec.go.formats import is_parsed_quantity, is_quantity
from jobspec.kinds import JOBSET, TRAINJOB
from jobspec.schemas import shapes
from jobspec.targets import reached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.schemas.shapes import Shape
    from jobspec.targets import Target

_ZEROS = {"string": "", "integer": 0, "boolean": False, "int-or-string": 0}


def is_rewritten(document: Document, target: Target, *, update: bool) -> bool:
    """Whether a mutating webhook rewrites the document: JobSet's on a create, the trainer's from 2.2 on."""
    kind = document.group_kind
    return (kind == JOBSET and not update) or (kind == TRAINJOB and reached(target["trainer"], "2.2.0"))


def rewritten(document: Document, target: Target) -> Document:
    """The document as the webhook writes it; the same object where nothing changes."""
    shape = shapes.load(document.api_version, document.kind, target)
    spec = document.data.get("spec")
    child = shape.at(("spec",)) if shape else None
    changed = _rewritten(spec, child) if child else spec
    if changed is spec:
        return document
    return document.changed({**document.data, "spec": changed})


def _rewritten(value: Any, shape: Shape) -> Any:
    if isinstance(value, list) and shape.items:
        items = [_item(item, shape.items) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if not isinstance(value, dict):
        return _quantity(value) if shape.format == "quantity" else value
    if shape.fields is None:
        inner = {name: _rewritten(each, shape.values) if shape.values else each for name, each in value.items()}
    else:
        inner = {name: _rewritten(each, shape.fields[name]) if name in shape.fields else each for name, each in value.items()}
        for name, child in shape.fields.items():
            if value.get(name) is None and child.default is None and (name in shape.required or child.unset == "zero"):
                zero = _zero(child) if child.unset != "nothing" else None
                if zero is not None:
                    inner[name] = zero
    return value if inner.keys() == value.keys() and all(inner[name] is value[name] for name in value) else inner


def _item(item: Any, shape: Shape) -> Any:
    zero = _zero(shape) if item is None else None
    return _rewritten(item, shape) if zero is None else zero


def _quantity(value: Any) -> Any:
    """A quantity in a form that the schema takes, where Go can read it: Go also takes floats, blanks around it, and `Gi` for 0."""
    if isinstance(value, float):
        return repr(value)
    if not isinstance(value, str) or is_quantity(value) or not is_parsed_quantity(value):
        return value
    return value.strip() if is_quantity(value.strip()) else "0"


def _zero(shape: Shape) -> Any:
    """Go's zero of a shape; None where that is nil, or where the schema refuses it, so that the value is missing all the same."""
    if shape.type == "object" and shape.fields is not None:
        zero: dict[str, Any] = _rewritten({}, shape)
        return zero if shape.unset == "zero" or shape.required == [name for name in shape.required if name in zero] else None
    if shape.enum or shape.pattern or shape.least or (shape.minimum or 0) > 0 or shape.format == "date-time":
        return None
    return _ZEROS.get(shape.type)
