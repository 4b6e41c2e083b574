"""Shapes: the structural schema of a kind as checks and overlays walk it, loaded from its compiled file.

A compiled file is one JSON object: `apiVersion`, `kind`, `component`, `release`, and `shapes`, a table in which each
distinct shape stands once and names others by their index; the kind's own is the first.
"""

from __future__ import annotations

from jobspec import data, kinds
from jobspec.targets import schema_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.targets import Target


_PLAIN: dict[str, type] = {"string": str, "boolean": bool}
_LIMITS = frozenset(("format", "pattern", "enum", "minLength", "maxLength", "conditions", "branches", "rules"))  # of what has a plain type
_SIZES = {"string": "Length", "array": "Items", "object": "Properties"}


class Shape:
    """What the server accepts at one place. *type* is an OpenAPI type, `int-or-string`, `any`, or `bare`: anything without fields.

    One that stands in a *table*, whose shapes it names by their index, is made ready when something first asks it: a manifest has
    to do with few of the shapes of its kind.
    """

    __slots__ = (
        "_raw",
        "_table",
        "branches",
        "combined",
        "conditions",
        "default",
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

    def __init__(self, raw: dict[str, Any], table: list[Shape] | None = None) -> None:
        self._raw = raw
        self._table: Sequence[Shape] = () if table is None else table
        if table is None:
            self._fill(raw)

    def __getattr__(self, name: str) -> Any:
        if name not in Shape.__slots__:
            raise AttributeError(name)
        self._fill(self._raw)
        return getattr(self, name)

    def _fill(self, raw: dict[str, Any]) -> None:
        self.type: str = raw["type"]
        self.name: str = raw.get("name", "")
        """The Go name of the type, for messages; empty where there is none."""
        self.fields: dict[str, Shape] | None = None
        """Of an object: its fields in the order that people write them."""
        if "fields" in raw:
            self.fields = {name: self._table[index] for name, index in raw["fields"].items()}
        self.values: Shape | None = self._table[raw["values"]] if "values" in raw else None
        """Of a map: the shape of each value. An object with neither takes any content."""
        self.items: Shape | None = self._table[raw["items"]] if "items" in raw else None
        self.plain: type | None = None
        """The Python type of which every value fits, where nothing but the type counts."""
        if self.type in _PLAIN and not raw.keys() & _LIMITS:
            self.plain = _PLAIN[self.type]
        self.required: list[str] = raw.get("required", [])
        """The required fields without a default."""
        self.format: str = raw.get("format", "")
        self.pattern: str = raw.get("pattern", "")
        self.enum: list[Any] = raw.get("enum", [])
        self.minimum: int | None = raw.get("minimum")
        self.maximum: int | None = raw.get("maximum")
        size = _SIZES.get(self.type, "")
        self.least: int | None = raw.get("min" + size)
        """The fewest characters, items or fields."""
        self.most: int | None = raw.get("max" + size)
        self.default: Any = raw.get("default")
        self.keys: list[str] = raw.get("keys", [])
        """The list-map keys that the server enforces."""
        self.unique: bool = raw.get("unique", False)
        """A set: no item twice."""
        self.merge: list[str] = raw.get("merge", [])
        """The keys that overlays merge the list's items by."""
        self.unset: str = raw.get("unset", "")
        """What Go writes for the field where it is left out: `zero`, `null` or `nothing`; empty where `required` tells."""
        self.one_of: list[str] = raw.get("one_of", [])
        """Of an object: the fields of which it can have only one."""
        self.use: str = raw.get("use", "")
        """What took the place of a field that later releases do not have."""
        self.nullable: bool = raw.get("nullable", False)
        """In a list or as a required field: null is a value like others."""
        self.open: bool = raw.get("open", False)
        """Of an object with fields: unknown ones stay, whatever they hold."""
        self.keeps_status: bool = raw.get("keeps_status", False)
        """Of a kind without the status subresource: `status` is a field like others."""
        self.meta: bool = raw.get("meta", False)
        """The object's own metadata, which has rules of its own."""
        self.scale: dict[str, list[str]] = {"specReplicasPath": raw["replicas"]} if "replicas" in raw else raw.get("scale", {})
        """The paths that the scale subresource reads, under their names in a CRD; of our own kinds, the one that requests can set."""
        self.rules: list[dict[str, Any]] = raw.get("rules", [])
        """CEL rules on the value, as a CRD has them: `rule`, `message` and so on."""
        self.ruled_on_create: bool = raw.get("ruled", 0) > 1
        """Whether a rule that looks at new objects stands here or below."""
        self.ruled_on_update: bool = raw.get("ruled", 0) > 0
        """Whether any rule stands here or below; one that compares with the stored object looks at updates alone."""
        self.parsed: bool = raw.get("parsed", False)
        """Whether a quantity, a time or a number that can be a name stands here or below: what operators read as Go does."""
        self.conditions: dict[str, Any] = raw.get("conditions", {})
        """Limits, formats and choices that the attributes above cannot say, under their names in a CRD; our own kinds have none."""
        self.branches: dict[str, list[tuple[Shape, str]]] = {}
        """The shapes under `anyOf`, `oneOf`, `allOf` and `not`, each with its text; of our own kinds, none."""
        if "branches" in raw:
            self.branches = {word: [(self._table[index], text) for index, text in inner] for word, inner in raw["branches"].items()}
        self.combined: bool = raw.get("combined", False)
        """Whether branches stand here or below."""
        self.embedded: bool = raw.get("embedded", False)
        """The value is an object with a kind and metadata of its own."""
        self.embeds: bool = raw.get("embeds", False)
        """Whether such objects stand here or below."""

    def at(self, path: Path) -> Shape | None:
        """The shape of the value at *path*, None where the schema knows no such place."""
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


_loaded: dict[str, Shape] = {}


def load(api_version: str, kind: str, target: Target) -> Shape | None:
    """The shape of a kind at *target*; None for a kind that jobspec has no schema of."""
    known = kinds.find(api_version, kind)
    if not known or not known.component:
        return None
    name = schema_path(known.component, target[known.component], api_version, kind)
    if name not in _loaded:
        _loaded[name] = link(data.load(data.path("schemas", "compiled", *name.split("/")))["shapes"])
    return _loaded[name]


def load_metadata(target: Target) -> Shape:
    """The shape of an object's metadata, which is that of any kind."""
    claim = load("v1", "PersistentVolumeClaim", target)
    metadata = claim and claim.at(("metadata",))
    assert metadata
    return metadata


def link(table: Sequence[dict[str, Any] | Shape]) -> Shape:
    """The first shape of a compiled table, whose shapes name others by their index; shapes of other tables stay as they are."""
    shapes: list[Shape] = []
    shapes += [raw if isinstance(raw, Shape) else Shape(raw, shapes) for raw in table]
    return shapes[0]
