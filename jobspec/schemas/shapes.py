"""Shapes: the structural schema of a kind, loaded from its compiled file.

A compiled file is one JSON object: `apiVersion`, `kind`, `component`, `release`, and `shapes`, a table in which each distinct shape stands
once and refers to others by index; the shape of the kind is the first. The file of a built-in kind is for all releases of Kubernetes, and
instead of `release` has `releases`, each with the index of the kind's shape in it. Each shape stands on a line of its own, which is decoded
when somebody looks at the shape: a manifest uses few of the shapes of its kind.
"""

from __future__ import annotations

from jobspec import data, kinds
from jobspec.diagnostics import Path
from jobspec.targets import builtin_path, schema_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from jobspec.targets import Target

    #: What a compiled file says of a shape.
    Raw = dict[str, Any]
    #: Python's `type`, under a name that no attribute of `Shape` has.
    PythonType = type

_PLAIN: dict[str, type] = {"string": str, "boolean": bool}
#: What a string or boolean may have besides its type.
_LIMITS = frozenset(("format", "pattern", "enum", "minLength", "maxLength", "conditions", "branches", "rules"))
#: The Python types of scalars and containers, by the type of their shape; `any` and `bare` have none. A bool is an int, too.
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


def _fields(raw: Raw, table: Table) -> dict[str, Shape] | None:
    return {name: table[index] for name, index in raw["fields"].items()} if "fields" in raw else None


def _plain(raw: Raw, _: Table) -> type | None:
    return None if raw.keys() & _LIMITS else _PLAIN.get(raw["type"])


#: What an attribute of a shape is where its file does not say it.
_ABSENT: dict[str, Any] = {
    "type": "",
    "name": "",
    "required": [],
    "format": "",
    "pattern": "",
    "enum": [],
    "minimum": None,
    "maximum": None,
    "default": None,
    "keys": [],
    "unique": False,
    "merge": [],
    "unset": "",
    "pointer": False,
    "one_of": [],
    "use": "",
    "nullable": False,
    "open": False,
    "keeps_status": False,
    "meta": False,
    "scale": {},
    "rules": [],
    "parsed": False,
    "conditions": {},
    "combined": False,
    "embedded": False,
    "embeds": False,
}
#: How each of the other attributes is made of what the file says, and of the shapes beside it.
_DERIVED: dict[str, Callable[[Raw, Table], Any]] = {
    "fields": _fields,
    "values": lambda raw, table: table[raw["values"]] if "values" in raw else None,
    "items": lambda raw, table: table[raw["items"]] if "items" in raw else None,
    "plain": _plain,
    "least": lambda raw, _: raw.get("min" + SIZES.get(raw["type"], "")),
    "most": lambda raw, _: raw.get("max" + SIZES.get(raw["type"], "")),
    "defaulted": lambda raw, table: {name: table[raw["fields"][name]] for name in raw.get("defaulted", ())},
    "ruled_on_create": lambda raw, _: raw.get("ruled", 0) > 1,
    "ruled_on_update": lambda raw, _: raw.get("ruled", 0) > 0,
    "branches": lambda raw, table: {
        word: [(table[index], text) for index, text in inner] for word, inner in raw.get("branches", {}).items()
    },
}


class Shape:
    """What the server accepts at one place. *type* is an OpenAPI type, `int-or-string`, `any`, or `bare`: anything without fields.

    Its attributes are set when one of them is first read: a manifest uses few of the shapes of its kind. Threads share shapes, and one that
    finds an attribute missing sets all of them again, to equal values.
    """

    type: str
    name: str
    """The Go name of the type, for messages; empty where there is none."""
    fields: dict[str, Shape] | None
    """Of an object: its fields in the order that people write them."""
    values: Shape | None
    """Of a map: the shape of each value. An object with neither takes any content."""
    items: Shape | None
    plain: PythonType | None
    """The Python type whose values all fit; None where more than the type is checked."""
    required: list[str]
    """The required fields without a default."""
    format: str
    pattern: str
    enum: list[Any]
    minimum: int | None
    maximum: int | None
    least: int | None
    """The fewest characters, items or fields."""
    most: int | None
    default: Any
    defaulted: dict[str, Shape]
    """Of an object: its fields that have a default."""
    keys: list[str]
    """The list-map keys that the server enforces."""
    unique: bool
    """Whether a list is a set, in which no item may stand twice."""
    merge: list[str]
    """The keys by which overlays merge the list's items."""
    unset: str
    """What Go writes for an absent field: `zero`, `null` or `nothing`; empty where `required` decides."""
    pointer: bool
    """Whether a text, number or boolean is a pointer in Go, which tells its zero from none."""
    one_of: list[str]
    """Of an object: the fields of which it can have only one."""
    use: str
    """Of a field that later releases removed: what replaces it."""
    nullable: bool
    """Whether null is a value like others, in a list or as a required field."""
    open: bool
    """Of an object with fields: whether unknown fields are allowed, with any content."""
    keeps_status: bool
    """Of a kind without the status subresource: `status` is a field like others."""
    meta: bool
    """Whether it is the object's own metadata, which has rules of its own."""
    scale: dict[str, list[str]]
    """The paths that the scale subresource reads, under their names in a CRD."""
    rules: list[dict[str, Any]]
    """CEL rules on the value, as a CRD has them: `rule`, `message` and so on."""
    ruled_on_create: bool
    """Whether the value or one inside it has a CEL rule that is evaluated for new objects."""
    ruled_on_update: bool
    """Whether the value or one inside it has any CEL rule; transition rules are evaluated for updates only."""
    parsed: bool
    """Whether the value or one inside it is a quantity, a time or an int-or-string, which operators parse in Go."""
    conditions: dict[str, Any]
    """Limits, formats and choices that the attributes above cannot hold, under their names in a CRD; our own kinds have none."""
    branches: dict[str, list[tuple[Shape, str]]]
    """The shapes under `anyOf`, `oneOf`, `allOf` and `not`, each with its text; our own kinds have none."""
    combined: bool
    """Whether the value or one inside it has branches."""
    embedded: bool
    """Whether the value is an object with a kind and metadata of its own."""
    embeds: bool
    """Whether the value or one inside it is such an object."""

    __slots__ = ("_table", "_written", "raw", *_ABSENT, *_DERIVED)

    def __init__(self, written: Any, table: Table) -> None:
        self._written = written
        self._table = table

    def __getattr__(self, name: str) -> Any:
        if name not in Shape.__slots__:
            raise AttributeError(name)
        table = self._table
        self.raw = raw = table.decode(self._written)
        for each, absent in _ABSENT.items():
            setattr(self, each, raw.get(each, absent))
        for each, derived in _DERIVED.items():
            setattr(self, each, derived(raw, table))
        return getattr(self, name)

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


def _as_it_is(raw: Raw) -> Raw:
    return raw


class Table(dict[int, Shape]):
    """The shapes of a file, by index; each is made when it is first asked for."""

    __slots__ = ("_written", "decode")

    def __init__(self, written: Sequence[Any], decode: Callable[[Any], Raw] = _as_it_is) -> None:
        """*written*: each shape as *decode* takes it; a shape of another table is used as it is."""
        self._written = written
        self.decode = decode

    def __missing__(self, index: int) -> Shape:
        written = self._written[index]
        return self.setdefault(index, written if isinstance(written, Shape) else Shape(written, self))


def is_of_type(value: Any, shape: Shape) -> bool:
    """Whether a value is of the type that a shape has; where it has none, any value is."""
    kind = type(value)
    return shape.type not in TYPES or kind in TYPES[shape.type] or (kind is float and shape.type == "integer")


_END = "\n]}\n"  # of a compiled file, behind the line of its last shape
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
        _loaded[name] = _read(name)[1][0]
    return _loaded[name]


def releases(api_version: str, kind: str) -> list[str]:
    """The releases of Kubernetes that serve a built-in kind, oldest first."""
    return list(_in_releases(api_version, kind))


def _in_releases(api_version: str, kind: str) -> dict[str, Shape]:
    """The shapes of a built-in kind by the releases that serve it."""
    name = builtin_path(api_version, kind)
    if name not in _builtin:
        file, table = _read(name)
        _builtin[name] = {release: table[index] for release, index in file["releases"].items()}
    return _builtin[name]


def _read(name: str) -> tuple[dict[str, Any], Table]:
    """What a compiled file says of its kind, and its shapes."""
    path = data.path("schemas", "compiled", *name.split("/"))
    decode, text = data.decoder(path), data.text(path)
    if not text.endswith(_END):  # broken, or in another layout
        whole = decode(text)
        return whole, Table(whole["shapes"])
    head, *lines = text.removesuffix(_END).split("\n")
    return decode(f"{head}]}}"), Table(lines, decode)


def load_metadata(target: Target) -> Shape:
    """The shape of an object's metadata, which is the same for all kinds."""
    small = load("v1", "ConfigMap", target)
    metadata = small and small.at(("metadata",))
    assert metadata
    return metadata


def link(table: Sequence[Raw | Shape]) -> Shape:
    """The first shape of a compiled table, whose entries refer to others by index; shapes of other tables are used as they are."""
    return Table(table)[0]
