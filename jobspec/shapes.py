"""Shapes: the structural schema of a kind, loaded from its compiled file.

A compiled file is one JSON object: `apiVersion`, `kind`, `component`, `release`, and `shapes`, a table in which each distinct shape stands
once and refers to others by index; the shape of the kind is the first. The file of a built-in kind is for all releases of Kubernetes, and
instead of `release` has `releases`, each with the index of the kind's shape in it.
"""

from __future__ import annotations

from jobspec import data, kinds
from jobspec.targets import builtin_path, schema_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.targets import Target


_PLAIN: dict[str, type] = {"string": str, "boolean": bool}
#: What a string or boolean may have besides its type.
_LIMITS = frozenset(("format", "pattern", "enum", "minLength", "maxLength", "conditions", "branches", "rules"))
#: The Python types of values of a type; a bool is an int, too.
#: The Python types of scalars and containers, by the type of their shape; `any` and `bare` have none.
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "int-or-string": (int, str),
}
#: What the limits of a type's size are called in schemas, behind `min` and `max`.
SIZES = {"string": "Length", "array": "Items", "object": "Properties"}
#: The bits of an integer format, besides the sign.
BITS = {"int32": 31, "int64": 63}


class Shape:
    """What the server accepts at one place. *type* is an OpenAPI type, `int-or-string`, `any`, or `bare`: anything without fields.

    The attributes are set when the first of them is read, since a manifest uses few of the shapes of its kind. Each is set once, to its
    final value: threads share shapes, and one that finds an attribute missing sets them all again, to equal values.
    """

    defaulted: dict[str, Shape]

    __slots__ = (
        "_raw",
        "_table",
        "branches",
        "combined",
        "conditions",
        "default",
        "defaulted",
        "embedded",
        "embeds",
        "enum",
        "fields",
        "format",
        "items",
        "keeps_status",
        "keys",
        "least",
        "maximum",
        "merge",
        "meta",
        "minimum",
        "most",
        "name",
        "nullable",
        "one_of",
        "open",
        "parsed",
        "pattern",
        "plain",
        "pointer",
        "required",
        "ruled_on_create",
        "ruled_on_update",
        "rules",
        "scale",
        "type",
        "unique",
        "unset",
        "use",
        "values",
    )

    def __init__(self, raw: dict[str, Any], table: Sequence[Shape] = ()) -> None:
        self._raw = raw
        self._table = table

    def __getattr__(self, name: str) -> Any:
        if name not in Shape.__slots__:
            raise AttributeError(name)
        if name == "defaulted":
            self.defaulted = self._with_default()
        else:
            self._fill()
        return getattr(self, name)

    def _fill(self) -> None:
        raw = self._raw
        self.type: str = raw["type"]
        self.name: str = raw.get("name", "")
        """The Go name of the type, for messages; empty where there is none."""
        self.fields: dict[str, Shape] | None = (
            {name: self._table[index] for name, index in raw["fields"].items()} if "fields" in raw else None
        )
        """Of an object: its fields in the order that people write them."""
        self.values: Shape | None = self._table[raw["values"]] if "values" in raw else None
        """Of a map: the shape of each value. An object with neither takes any content."""
        self.items: Shape | None = self._table[raw["items"]] if "items" in raw else None
        self.plain: type | None = None if raw.keys() & _LIMITS else _PLAIN.get(raw["type"])
        """The Python type whose values all fit; None where more than the type is checked."""
        self.required: list[str] = raw.get("required", [])
        """The required fields without a default."""
        self.format: str = raw.get("format", "")
        self.pattern: str = raw.get("pattern", "")
        self.enum: list[Any] = raw.get("enum", [])
        self.minimum: int | None = raw.get("minimum")
        self.maximum: int | None = raw.get("maximum")
        size = SIZES.get(raw["type"], "")
        self.least: int | None = raw.get("min" + size)
        """The fewest characters, items or fields."""
        self.most: int | None = raw.get("max" + size)
        self.default: Any = raw.get("default")
        self.keys: list[str] = raw.get("keys", [])
        """The list-map keys that the server enforces."""
        self.unique: bool = raw.get("unique", False)
        """Whether a list is a set, in which no item may stand twice."""
        self.merge: list[str] = raw.get("merge", [])
        """The keys by which overlays merge the list's items."""
        self.unset: str = raw.get("unset", "")
        """What Go writes for an absent field: `zero`, `null` or `nothing`; empty where `required` decides."""
        self.pointer: bool = raw.get("pointer", False)
        """Whether a text, number or boolean is a pointer in Go, which tells its zero from none."""
        self.one_of: list[str] = raw.get("one_of", [])
        """Of an object: the fields of which it can have only one."""
        self.use: str = raw.get("use", "")
        """Of a field that later releases removed: what replaces it."""
        self.nullable: bool = raw.get("nullable", False)
        """Whether null is a value like others, in a list or as a required field."""
        self.open: bool = raw.get("open", False)
        """Of an object with fields: whether unknown fields are allowed, with any content."""
        self.keeps_status: bool = raw.get("keeps_status", False)
        """Of a kind without the status subresource: `status` is a field like others."""
        self.meta: bool = raw.get("meta", False)
        """Whether it is the object's own metadata, which has rules of its own."""
        self.scale: dict[str, list[str]] = raw.get("scale", {})
        """The paths that the scale subresource reads, under their names in a CRD."""
        self.rules: list[dict[str, Any]] = raw.get("rules", [])
        """CEL rules on the value, as a CRD has them: `rule`, `message` and so on."""
        self.ruled_on_create: bool = raw.get("ruled", 0) > 1
        """Whether the value or one inside it has a CEL rule that is evaluated for new objects."""
        self.ruled_on_update: bool = raw.get("ruled", 0) > 0
        """Whether the value or one inside it has any CEL rule; transition rules are evaluated for updates only."""
        self.parsed: bool = raw.get("parsed", False)
        """Whether the value or one inside it is a quantity, a time or an int-or-string, which operators parse in Go."""
        self.conditions: dict[str, Any] = raw.get("conditions", {})
        """Limits, formats and choices that the attributes above cannot hold, under their names in a CRD; our own kinds have none."""
        self.branches: dict[str, list[tuple[Shape, str]]] = {
            word: [(self._table[index], text) for index, text in inner] for word, inner in raw.get("branches", {}).items()
        }
        """The shapes under `anyOf`, `oneOf`, `allOf` and `not`, each with its text; our own kinds have none."""
        self.combined: bool = raw.get("combined", False)
        """Whether the value or one inside it has branches."""
        self.embedded: bool = raw.get("embedded", False)
        """Whether the value is an object with a kind and metadata of its own."""
        self.embeds: bool = raw.get("embeds", False)
        """Whether the value or one inside it is such an object."""

    def _with_default(self) -> dict[str, Shape]:
        """Of an object: its fields that have a default; the attributes of all others stay unset."""
        fields = {name: self._table[index] for name, index in self._raw.get("fields", {}).items()}
        return {name: field for name, field in fields.items() if field._raw.get("default") is not None}

    def at(self, path: Path) -> Shape | None:
        """The shape of the value at *path*; None if the schema has no such place."""
        shape: Shape | None = self
        for step in path:
            if shape is None:
                return None
            if isinstance(step, int):
                shape = shape.items
            elif shape.fields is not None:
                shape = shape.fields.get(step)
            else:
                shape = shape.values
        return shape


def is_of_type(value: Any, shape: Shape) -> bool:
    """Whether a value is of the type that a shape has; where it has none, any value is."""
    kind = type(value)
    return shape.type not in TYPES or kind in TYPES[shape.type] or (kind is float and shape.type == "integer")


_loaded: dict[str, Shape] = {}
_builtin: dict[str, dict[str, Shape]] = {}


def load(api_version: str, kind: str, target: Target) -> Shape | None:
    """The shape of a kind in the releases of *target*; None for a kind without a compiled schema, or not served by the release."""
    known = kinds.find(api_version, kind)
    if not known or not known.versions:
        return None
    if known.is_builtin:
        return _in_releases(api_version, kind).get(target["kubernetes"])
    name = schema_path(known.component, target[known.component], api_version, kind)
    if name not in _loaded:
        _loaded[name] = link(_read(name)["shapes"])
    return _loaded[name]


def releases(api_version: str, kind: str) -> list[str]:
    """The releases of Kubernetes that serve a built-in kind, oldest first."""
    return list(_in_releases(api_version, kind))


def _in_releases(api_version: str, kind: str) -> dict[str, Shape]:
    """The shapes of a built-in kind by the releases that serve it."""
    name = builtin_path(api_version, kind)
    if name not in _builtin:
        file = _read(name)
        table: list[Shape] = []
        table += [Shape(raw, table) for raw in file["shapes"]]
        _builtin[name] = {release: table[index] for release, index in file["releases"].items()}
    return _builtin[name]


def _read(name: str) -> Any:
    return data.load(data.path("schemas", "compiled", *name.split("/")))


def load_metadata(target: Target) -> Shape:
    """The shape of an object's metadata, which is the same for all kinds."""
    small = load("v1", "ConfigMap", target)
    metadata = small and small.at(("metadata",))
    assert metadata
    return metadata


def link(table: Sequence[dict[str, Any] | Shape]) -> Shape:
    """The first shape of a compiled table, whose entries refer to others by index; shapes of other tables are used as they are."""
    shapes: list[Shape] = []
    shapes += [raw if isinstance(raw, Shape) else Shape(raw, shapes) for raw in table]
    return shapes[0]
