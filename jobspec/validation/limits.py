"""The limits, formats and choices of a CRD's schema in a raw shape.

A limit that the shape has an attribute for becomes that attribute (integer limits, lengths, choices of texts). All others (exclusive
limits, fractions, formats of text, patterns) are `conditions`, under their names in the CRD; a branch has all its limits there.
"""

from __future__ import annotations

from jobspec.shapes import BITS, SIZES
from jobspec.validation.text_formats import CHECKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]
    Raw = dict[str, Any]

_QUANTITY = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
_MAX_EXACT = (1 << 53) - 1  # the server holds limits as float64
_STRICT = ("exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_KEYWORDS = (
    *("minimum", "maximum", *_STRICT),
    *(limit + size for limit in ("min", "max") for size in SIZES.values()),
    *("format", "pattern", "enum"),
)


def limits_of(kind: str, schema: Schema, *, is_branch: bool) -> Raw:
    """The attributes and `conditions` of a raw shape; *kind* is the type of the shape."""
    plain = {} if is_branch else {**_plain_number(kind, schema), **_plain_text(kind, schema), **_plain_size(kind, schema)}
    conditions = {word: schema[word] for word in _KEYWORDS if schema.get(word) is not None and word not in plain}
    if conditions.get("format") and conditions["format"].replace("-", "") not in (*CHECKS, *BITS, "float"):
        del conditions["format"]
    made = {word: value for word, value in plain.items() if value is not None}
    return made | ({"conditions": conditions} if conditions else {})


def _plain_number(kind: str, schema: Schema) -> Raw:
    """The format of an integer, and its limits if they are whole numbers that fit it."""
    if kind != "integer":
        return {}
    bits = BITS.get(schema.get("format") or "", 63)
    plain: Raw = {"format": "int32" if bits == 31 else "int64"}
    limits = {word: schema[word] for word in ("minimum", "maximum") if schema.get(word) is not None}
    if any(schema.get(word) for word in _STRICT) or not all(_is_whole(limit, bits) for limit in limits.values()):
        return plain
    return plain | {word: int(limit) for word, limit in limits.items()}


def _is_whole(limit: float, bits: int) -> bool:
    return limit == int(limit) and abs(limit) <= min(_MAX_EXACT, (1 << bits) - 1)


def _plain_text(kind: str, schema: Schema) -> Raw:
    """The format `date-time` and the choices of a text; `quantity` instead of the pattern of quantities."""
    if kind == "int-or-string" and schema.get("pattern") == _QUANTITY:
        return {"format": "quantity", "pattern": None}
    if kind != "string":
        return {}
    plain: Raw = {"format": "date-time"} if schema.get("format") == "date-time" else {}
    choices = schema.get("enum")
    if choices and not schema.get("nullable") and all(isinstance(choice, str) for choice in choices):
        plain["enum"] = choices
    return plain


def _plain_size(kind: str, schema: Schema) -> Raw:
    words = [bound + SIZES[kind] for bound in ("min", "max")] if kind in SIZES else []
    return {word: schema[word] for word in words if schema.get(word) is not None}
