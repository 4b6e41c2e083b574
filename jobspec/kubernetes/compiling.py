"""Compile the structural schema of a CRD's version to shapes.

A raw shape is an entry of the table that `shapes.linked` takes; it refers to other entries by index.
"""

from __future__ import annotations

from typing import Any

from jobspec.go.text_formats import CHECKS
from jobspec.kubernetes.cel.paths import uses_old_self
from jobspec.schemas.shapes import ATTRIBUTES, BITS, SIZES, Shape, is_plain, linked

Schema = dict[str, Any]
Raw = dict[str, Any]
_OWN = ("apiVersion", "kind")
_META = 1  # the index of the shape of metadata in each table
INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_LISTS = ("anyOf", "oneOf", "allOf")


def root_shape(schema: Schema, metadata: Shape, *, subresources: Raw) -> Shape:
    """Return the shape of a kind's objects from the schema and subresources of a version.

    *metadata*: the shape of any object's metadata.
    """
    return linked(root_table(schema, metadata, subresources=subresources))[0]


def root_table(schema: Schema, metadata: Shape, *, subresources: Raw) -> list[Any]:
    """Return the raw shapes of a kind's objects.

    The first shape is that of the objects, the second is *metadata* itself.
    """
    table = _Table([{}, metadata])
    raw = _raw(schema, table, is_resource=True)
    raw["required"] = [name for name in raw["required"] if name not in _OWN]
    raw["keeps_status"] = subresources.get("status") is None
    raw["scale"] = {key: path.removeprefix(".").split(".") for key, path in (subresources.get("scale") or {}).items() if path}
    table[0] = raw
    return table


def shape_of(schema: Schema, metadata: Shape, *, is_branch: bool = False) -> Shape:
    """Return the shape of the values of a part of a schema.

    All limits, formats and choices of a branch of `anyOf` are `conditions`.
    """
    table = _Table([{}, metadata])
    table[0] = _raw(schema, table, is_branch=is_branch)
    return linked(table)[0]


class _Table(list[Any]):
    """Raw shapes, and the schemas that they are of."""

    def __init__(self, rows: list[Any]) -> None:
        super().__init__(rows)
        self.known: dict[tuple[int, bool, bool], int] = {}
        """The indices of shapes by the identities of their schemas, and how they were made. Equal parts of a CRD's schema are one."""


def _add_shape(schema: Schema, table: _Table, *, is_open: bool = False, is_branch: bool = False) -> int:
    """Return the index of the raw shape of a schema. A new one is added to the table before those inside it."""
    key = id(schema), is_open, is_branch
    if key not in table.known:
        table.known[key] = _new_shape(schema, table, is_open=is_open, is_branch=is_branch)
    return table.known[key]


def _new_shape(schema: Schema, table: _Table, *, is_open: bool = False, is_branch: bool = False) -> int:
    table.append({})
    index = len(table) - 1
    table[index] = _raw(schema, table, is_open=is_open, is_branch=is_branch)
    return index


def _raw(schema: Schema, table: _Table, *, is_open: bool = False, is_branch: bool = False, is_resource: bool = False) -> Raw:
    is_open = is_open or is_branch or bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    is_embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    kind = "int-or-string" if schema.get("x-kubernetes-int-or-string") else schema.get("type") or "any"
    raw: Raw = {"type": kind, "open": is_open, "nullable": bool(schema.get("nullable")), "embedded": is_embedded}
    if schema.get("default") is not None:
        raw["default"] = schema["default"]
    if kind in ("object", "any"):
        _add_fields(raw, schema, table, is_branch=is_branch, is_resource=(is_resource or is_embedded) and not is_branch)
    if kind in ("array", "any") and isinstance(schema.get("items"), dict):
        raw["items"] = _add_shape(schema["items"], table, is_open=is_open, is_branch=is_branch)
        list_type = schema.get("x-kubernetes-list-type")
        raw |= {"keys": schema.get("x-kubernetes-list-map-keys") or []} if list_type == "map" else {}
        raw["unique"] = list_type == "set"
    raw |= limits_of(kind, schema, is_branch=is_branch)
    _add_branches(raw, schema, table)
    raw["rules"] = [rule for rule in schema.get("x-kubernetes-validations") or () if rule and rule.get("rule")]
    inside = [*raw.get("fields", {}).values(), *(raw[key] for key in ("values", "items") if key in raw)]
    inner = [table[index] for index in inside if index != _META]
    is_seen = _is_seen(raw, table)
    raw["ruled_on_create"] = is_seen and (any(map(_holds_on_create, raw["rules"])) or any(each["ruled_on_create"] for each in inner))
    raw["ruled_on_update"] = is_seen and (bool(raw["rules"]) or any(each["ruled_on_update"] for each in inner))
    raw["combined"] = bool(raw.get("branches")) or any(each["combined"] for each in inner)
    raw["embeds"] = is_embedded or any(each["embeds"] for each in inner)
    return {**raw, "plain": True} if is_plain(raw) else raw


def _add_fields(raw: Raw, schema: Schema, table: _Table, *, is_branch: bool, is_resource: bool) -> None:
    others = schema.get("additionalProperties")
    required = list(schema.get("required") or ())
    if schema.get("properties") or is_resource:
        raw["fields"] = {name: _add_shape(child, table, is_branch=is_branch) for name, child in (schema.get("properties") or {}).items()}
        raw["open"] = raw["open"] or bool(others)
    elif isinstance(others, dict):
        raw["values"] = _add_shape(others, table, is_branch=is_branch)
    elif others:
        table.append({"type": "bare", "ruled_on_create": False, "ruled_on_update": False, "combined": False, "embeds": False})
        raw["values"] = len(table) - 1
    elif others is False or not raw["open"]:
        raw["fields"] = {}
    if others is False:
        raw["open"] = False
    if is_resource:
        own = {name: raw["fields"].get(name) or _new_shape({"type": "string"}, table) for name in _OWN}
        raw["fields"] = {**own, **raw["fields"], "metadata": _place_metadata(schema, table)}
        required += [name for name in _OWN if name not in required]
    raw["defaulted"] = [name for name, index in raw.get("fields", {}).items() if index != _META and "default" in table[index]]
    raw["required"] = [name for name in required if is_branch or name not in raw["defaulted"]]


def _place_metadata(schema: Schema, table: _Table) -> int:
    """The index of the shape of an object's metadata, with the constraints that the schema adds."""
    asked = (schema.get("properties") or {}).get("metadata") or {}
    if not asked.keys() - {"type", "description"}:
        return _META
    index = _new_shape(asked, table)
    raw, known = table[index], table[_META].fields
    table += known.values()
    fields = dict(zip(known, range(len(table) - len(known), len(table)), strict=True))
    own = {name: at for name, at in raw.get("fields", {}).items() if name in known}
    defaulted = [name for name in raw.get("defaulted", ()) if name in known]
    table[index] |= {"meta": True, "open": False, "fields": {**fields, **own}, "defaulted": defaulted}
    return index


def _add_branches(raw: Raw, schema: Schema, table: _Table) -> None:
    """Set the branches of a schema.

    An `anyOf` that repeats `x-kubernetes-int-or-string` is left out.
    """
    written = {word: schema[word] for word in _LISTS if schema.get(word)}
    if schema.get("not") is not None:
        written["not"] = [schema["not"]]
    if raw["type"] == "int-or-string" and written.get("anyOf") == INT_OR_STRING:
        del written["anyOf"]
    placed = {
        word: [(_add_shape(each, table, is_branch=True), _short_json(each)) for each in branches] for word, branches in written.items()
    }
    raw |= {"branches": placed} if placed else {}


def _short_json(branch: Schema) -> str:
    """A branch as JSON, cut to 80 characters."""
    import json

    text = json.dumps(branch, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."


def _holds_on_create(rule: Raw) -> bool:
    """Whether a CEL rule is evaluated for new objects, too: it is no transition rule."""
    return not uses_old_self(rule["rule"]) or bool(rule.get("optionalOldSelf"))


def _is_seen(raw: Raw, table: list[Any]) -> bool:
    """True if a value has a CEL type.

    The server skips the rules of values without one, and the rules inside them.
    """
    inner = raw.get("items") if raw["type"] == "array" else raw.get("values")
    if inner is not None and raw["type"] in ("array", "object") and table[inner]["type"] != "bare":
        return _is_seen(table[inner], table)
    return bool(raw["type"] != "any")


# The limits, formats and choices of a CRD's schema in a raw shape.
#
# A limit that the shape has an attribute for becomes that attribute (integer limits, lengths, choices of texts). All others (exclusive
# limits, fractions, formats of text, patterns) are `conditions`, under their names in the CRD; a branch has all its limits there.


_QUANTITY = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
MAX_EXACT = (1 << 53) - 1  # of a float64, as which the server holds limits
_STRICT = ("exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_KEYWORDS = ("minimum", "maximum", *_STRICT, *ATTRIBUTES, "format", "pattern", "enum")


def limits_of(kind: str, schema: Schema, *, is_branch: bool) -> Raw:
    """Return the attributes and `conditions` of a raw shape; *kind* is the type of the shape."""
    sizes = {bound + SIZES[kind]: schema.get(bound + SIZES[kind]) for bound in ("min", "max")} if kind in SIZES else {}
    plain = {} if is_branch else {**_plain_number(kind, schema), **_plain_text(kind, schema), **sizes}
    conditions = {word: schema[word] for word in _KEYWORDS if schema.get(word) is not None and word not in plain}
    if conditions.get("format") and conditions["format"].replace("-", "") not in (*CHECKS, *BITS, "float"):
        del conditions["format"]
    made = {ATTRIBUTES.get(word, word): value for word, value in plain.items() if value is not None}
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
    return limit == int(limit) and abs(limit) <= min(MAX_EXACT, (1 << bits) - 1)


def _plain_text(kind: str, schema: Schema) -> Raw:
    """Return the format `date-time` and the choices of a string.

    The format `quantity` replaces the pattern of quantities.
    """
    if kind == "int-or-string" and schema.get("pattern") == _QUANTITY:
        return {"format": "quantity", "pattern": None}
    if kind != "string":
        return {}
    plain: Raw = {"format": "date-time"} if schema.get("format") == "date-time" else {}
    choices = schema.get("enum")
    if choices and not schema.get("nullable") and all(isinstance(choice, str) for choice in choices):
        plain["enum"] = choices
    return plain
