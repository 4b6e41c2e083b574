"""Shapes: the structural schema of a kind, loaded from its compiled file.

A compiled file is one JSON object: `apiVersion`, `kind`, `component`, `release`, and `shapes`, a table in which each distinct shape stands
once, with the attributes that are not absent. Shapes refer to others by index; that of the kind is the first. The file of a kind without a
model of ours is for all releases of its component, and instead of `release` has `releases`, each with the index of the kind's shape in it;
null stands for the shape of an object's metadata.
"""

from __future__ import annotations

from jobspec.apis.kinds import find
from jobspec.apis.releases import NEWEST, release_of
from jobspec.apis.shipped import load as load_json
from jobspec.apis.shipped import path as data_path
from jobspec.diagnostics.places import Key, Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from jobspec.apis.releases import Target

    #: A row of a compiled file: the attributes of a shape.
    Raw = dict[str, Any]
    #: Python's `type`, under a name that no attribute of `Shape` has.
    PythonType = type

_PLAIN: dict[str, type] = {"string": str, "boolean": bool}
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
#: The keyword for rules in CEL.
VALIDATIONS = "x-kubernetes-validations"
#: The keyword for the size of a type in a schema, after `min` and `max`.
SIZES = {"string": "Length", "array": "Items", "object": "Properties"}
#: The attribute of a shape for each limit of a size in a schema: `minLength` is `least`.
ATTRIBUTES = {word + size: name for word, name in (("min", "least"), ("max", "most")) for size in SIZES.values()}
#: The bits of an integer format, besides the sign.
BITS = {"int32": 31, "int64": 63}


class Shape:
    """The values that the server accepts at one place.

    *type* is an OpenAPI type, `int-or-string`, `any`, or `bare`: anything without fields.
    """

    type: str = ""
    name: str = ""
    """The Go name of the type, for messages; empty where there is none."""
    fields: dict[str, Shape] | None = None
    """Of an object: its fields in the order that people write them."""
    values: Shape | None = None
    """Of a map: the shape of each value. An object with neither takes any content."""
    items: Shape | None = None
    plain: PythonType | None = None
    """The Python type whose values all fit; None where more than the type is checked."""
    required: list[str] = []  # noqa: RUF012 (nobody changes it)
    """The required fields without a default."""
    format: str = ""
    pattern: str = ""
    enum: list[Any] = []  # noqa: RUF012 (nobody changes it)
    minimum: int | None = None
    maximum: int | None = None
    least: int | None = None
    """The fewest characters, items or fields."""
    most: int | None = None
    default: Any = None
    defaulted: dict[str, Shape] = {}  # noqa: RUF012 (nobody changes it)
    """Of an object: its fields that have a default."""
    keys: list[str] = []  # noqa: RUF012 (nobody changes it)
    """The list-map keys that the server enforces."""
    unique: bool = False
    """Whether a list is a set, in which no item may stand twice."""
    merge: list[str] = []  # noqa: RUF012 (nobody changes it)
    """The keys by which overlays merge the list's items; Kubernetes' patches know the first alone."""
    unset: str = ""
    """What Go writes for an absent field: `zero`, `null` or `nothing`; empty where `required` decides."""
    pointer: bool = False
    """Whether a text, number or boolean is a pointer in Go, which distinguishes its zero value from an absent one."""
    one_of: list[str] = []  # noqa: RUF012 (nobody changes it)
    """Of an object: the fields of which it can have only one."""
    use: str = ""
    """Of a field that later releases removed: what replaces it."""
    nullable: bool = False
    """Whether null is a value like others, in a list or as a required field."""
    open: bool = False
    """Of an object with fields: whether unknown fields are allowed, with any content."""
    keeps_status: bool = False
    """Of a kind without the status subresource: `status` is a field like others."""
    meta: bool = False
    """Whether it is the object's own metadata, which has rules of its own."""
    scale: dict[str, list[str]] = {}  # noqa: RUF012 (nobody changes it)
    """The paths that the scale subresource reads, under their names in a CRD."""
    rules: list[dict[str, Any]] = []  # noqa: RUF012 (nobody changes it)
    """CEL rules on the value, as a CRD has them: `rule`, `message` and so on."""
    ruled_on_create: bool = False
    """Whether the value or one inside it has a CEL rule that is evaluated for new objects."""
    ruled_on_update: bool = False
    """Whether the value or one inside it has any CEL rule; transition rules are evaluated for updates only."""
    parsed: bool = False
    """Whether the value or one inside it is a quantity, a time or an int-or-string, which operators parse in Go."""
    conditions: dict[str, Any] = {}  # noqa: RUF012 (nobody changes it)
    """Limits, formats and choices that the attributes above cannot hold, under their names in a CRD; our own kinds have none."""
    branches: dict[str, list[tuple[Shape, str]]] = {}  # noqa: RUF012 (nobody changes it)
    """The shapes under `anyOf`, `oneOf`, `allOf` and `not`, each with its text; our own kinds have none."""
    combined: bool = False
    """Whether the value or one inside it has branches."""
    embedded: bool = False
    """Whether the value is an object with a kind and metadata of its own."""
    embeds: bool = False
    """Whether the value or one inside it is such an object."""

    def changed(self, **attributes: Any) -> Shape:
        """Return the same shape with other attributes."""
        made = Shape()
        made.__dict__ = {**self.__dict__, **attributes}
        return made

    def at(self, path: Path) -> Shape | None:
        """Return the shape of the value at *path*; None if the schema has no such place."""
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


def child_of(shape: Shape, name: str) -> Shape | None:
    """Return the shape of a field or of a map's values; None if the schema has none."""
    child = shape.at((name,))
    return None if child is None or child.type == "bare" else child


def children(value: Any, shape: Shape) -> Iterator[tuple[str | int, Shape, Any]]:
    """Yield step, shape and value of each field, map value or item that has a shape."""
    if isinstance(value, dict):
        for name, inner in value.items():
            child = child_of(shape, name)
            if child is not None:
                yield name if shape.fields is not None else Key(name), child, inner
    elif isinstance(value, list) and shape.items is not None:
        for index, item in enumerate(value):
            yield index, shape.items, item


def linked(rows: Sequence[Raw | Shape]) -> list[Shape]:
    """Make the shapes of a compiled table, whose rows refer to other rows by index.

    A row that is already a shape, of another table, is used unchanged.
    """
    table = [row if isinstance(row, Shape) else Shape() for row in rows]
    for row, shape in zip(rows, table, strict=True):
        if not isinstance(row, Shape):
            _set(shape, row, table)
    return table


def _set(shape: Shape, row: Raw, table: list[Shape]) -> None:
    shape.__dict__ = own = dict(row)
    if "fields" in row:
        own["fields"] = {name: table[index] for name, index in row["fields"].items()}
    if "defaulted" in row:
        own["defaulted"] = {name: table[row["fields"][name]] for name in row["defaulted"]}
    if "values" in row:
        own["values"] = table[row["values"]]
    if "items" in row:
        own["items"] = table[row["items"]]
    if "branches" in row:
        own["branches"] = {word: [(table[index], text) for index, text in inner] for word, inner in row["branches"].items()}
    if "plain" in row:
        own["plain"] = _PLAIN[row["type"]]


def is_plain(row: Raw) -> bool:
    """True if every value of the row's Python type fits: a string or boolean without limits."""
    return (
        row["type"] in _PLAIN
        and not any(row.get(each) for each in ("format", "pattern", "enum", "conditions", "branches", "rules"))
        and (row.get("least") is None and row.get("most") is None)
    )


def is_of_type(value: Any, shape: Shape) -> bool:
    """True if a value is of the shape's type. If the shape has no type, any value is."""
    kind = type(value)
    return shape.type not in TYPES or kind in TYPES[shape.type] or (kind is float and shape.type == "integer")


_loaded: dict[str, dict[str, Shape]] = {}


def load(api_version: str, kind: str, target: Target) -> Shape | None:
    """Return the shape of a kind in the releases of *target*.

    If the kind has no compiled schema, or the release does not serve it, return None.
    """
    known = find(api_version, kind)
    if not known:
        return None
    if known.is_builtin:
        return _in_releases(schema_path("kubernetes", "", api_version, kind)).get(target["kubernetes"])
    release = target.get(known.component) or release_of(known.component, target)
    path = schema_path(known.component, release if known.has_model else "", api_version, kind)
    return _in_releases(path).get(release)


def part(api_version: str, kind: str, target: Target, path: Path = ()) -> Shape:
    """Return the shape at a path of a kind. The releases of *target* must have it."""
    shape = load(api_version, kind, target)
    found = shape and shape.at(path)
    assert found, (api_version, kind, path)
    return found


def releases(api_version: str, kind: str) -> list[str]:
    """Return the releases that serve a kind without a model of ours, oldest first."""
    known = find(api_version, kind)
    component = "kubernetes" if not known or known.is_builtin else known.component
    return list(_in_releases(schema_path(component, "", api_version, kind)))


def _in_releases(path: str) -> dict[str, Shape]:
    """The shapes of the kind of a compiled file, by the releases that the file is for."""
    if path not in _loaded:
        file = load_json(data_path("schemas", "compiled", *path.split("/")))
        rows = file["shapes"]
        table = linked([load_metadata(NEWEST) if row is None else row for row in rows] if None in rows else rows)
        roots = file.get("releases") or {file["release"]: 0}
        _loaded[path] = {release: table[index] for release, index in roots.items()}
    return _loaded[path]


def schema_path(component: str, release: str, api_version: str, kind: str) -> str:
    """Return the path of a kind's schema below `schemas/` or `schemas/compiled/`, with `/`.

    Without a *release*, the file is for all releases.
    """
    group, _, version = api_version.rpartition("/")
    return f"{component}{release and f'-{release}'}/{group or 'core'}/{kind.lower()}_{version}.json"


def load_metadata(target: Target) -> Shape:
    """Return the shape of an object's metadata. All kinds have the same."""
    return part("v1", "ConfigMap", target, ("metadata",))
