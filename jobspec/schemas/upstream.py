"""OpenAPI documents of Kubernetes releases to one table of structures, in which each distinct structure stands once.

The table is `schemas/kubernetes.json`: under `releases`, for each release, `GROUP/VERSION KIND` and the index of the kind's structure;
under `structures`, mappings as in `structure`, which refer to others by index. It holds facts, no sentences of upstream's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from jobspec.apis import kinds

if TYPE_CHECKING:
    from jobspec.schemas.structure import Structure

    Document = Mapping[str, Any]

GROUP_VERSION_KIND = "x-kubernetes-group-version-kind"
_REFERENCE = "#/definitions/"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
#: Definitions that Go parses by code of its own, which OpenAPI does not describe.
_PARSED: dict[str, Structure] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": "int-or-string", "format": "quantity"},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"type": "int-or-string", "format": "int32"},
    "io.k8s.apimachinery.pkg.runtime.RawExtension": {"type": "any"},
    f"{_META}FieldsV1": {"type": "any"},
    f"{_META}MicroTime": {"type": "string", "format": "micro-time"},
    f"{_META}Time": {"type": "string", "format": "date-time"},
}
_SCALARS = ("string", "boolean", "integer", "number")
_FORMATS = ("int32", "int64", "byte")
_ZEROS: tuple[Any, ...] = ("", 0, False, {}, [])


def upstream_kinds() -> list[tuple[str, str]]:
    """List `apiVersion` and `kind` of the built-in kinds, except CustomResourceDefinition.

    The definition of CustomResourceDefinition refers to itself.
    """
    return [(version, kind.name) for kind in kinds.built_in() for version in kind.api_versions if kind.group != "apiextensions.k8s.io"]


def table(releases: Mapping[str, tuple[Document, Iterable[Document]]]) -> str:
    """Write the table of structures for all releases.

    Each release comes with its document of version 2, and its documents of version 3, which know defaults.
    """
    made = _StructureTable()
    roots = {release: made.roots(document, _defaults(others)) for release, (document, others) in releases.items()}
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in made.rows)
    head = ",\n".join(f"{json.dumps(release)}:{json.dumps(found, separators=(',', ':'))}" for release, found in roots.items())
    return f'{{"releases":{{\n{head}\n}},\n"structures":[\n{lines}\n]}}\n'


def _defaults(documents: Iterable[Document]) -> dict[tuple[str, str], Any]:
    """Return the defaults of fields by definition and field.

    Zeros are left out: they mean the same as an absent field in Go.
    """
    return {
        (name, field): schema["default"]
        for document in documents
        for name, definition in document.get("components", {}).get("schemas", {}).items()
        for field, schema in definition.get("properties", {}).items()
        if schema.get("default") not in (None, *_ZEROS)
    }


class _StructureTable:
    """The rows so far, each once."""

    def __init__(self) -> None:
        self.rows: list[Structure] = []
        self._known: dict[str, int] = {}

    def roots(self, document: Document, defaults: Mapping[tuple[str, str], Any]) -> dict[str, int]:
        """Return the row of each kind that a release's document has."""
        by_kind = {
            (f"{each['group']}/{each['version']}".lstrip("/"), each["kind"]): name
            for name, definition in document["definitions"].items()
            for each in definition.get(GROUP_VERSION_KIND, ())
            if name.endswith(f".{each['kind']}")
        }
        release = _Release(self, document["definitions"], defaults)
        return {" ".join(kind): release.definition(by_kind[kind]) for kind in upstream_kinds() if kind in by_kind}

    def place(self, row: Structure) -> int:
        """Return the index of a row. A new row is added."""
        text = json.dumps(row)
        if text not in self._known:
            self._known[text] = len(self.rows)
            self.rows.append(row)
        return self._known[text]


class _Release:
    """The definitions of one release."""

    def __init__(self, table: _StructureTable, definitions: Mapping[str, Any], defaults: Mapping[tuple[str, str], Any]) -> None:
        self._table = table
        self._definitions = definitions
        self._defaults = defaults
        self._placed: dict[str, int] = {}

    def definition(self, name: str) -> int:
        """Return the row of a definition."""
        if name not in self._placed:
            self._placed[name] = self._table.place(_PARSED[name] if name in _PARSED else self._object(name))
        return self._placed[name]

    def _object(self, name: str) -> Structure:
        definition = self._definitions[name]
        properties = definition.get("properties", {})
        fields = {field: self._field(name, field, schema) for field, schema in properties.items()}
        row: Structure = {"type": "object", "definition": name, "fields": fields}
        if definition.get("required"):
            row["required"] = definition["required"]
        return row | _extensions(definition)

    def _field(self, name: str, field: str, schema: Document) -> int:
        default = self._defaults.get((name, field))
        if default is None:
            return self._value(schema)
        return self._table.place({**self._table.rows[self._value(schema)], "default": default})

    def _value(self, schema: Document) -> int:
        if "$ref" in schema:
            found = self.definition(schema["$ref"].removeprefix(_REFERENCE))
            own = _extensions(schema)
            return self._table.place({**self._table.rows[found], **own}) if own else found
        kind = schema["type"]
        if kind == "array":
            return self._table.place({"type": kind, "items": self._value(schema["items"])} | _extensions(schema))
        if kind == "object":
            return self._table.place({"type": kind, "values": self._value(schema["additionalProperties"])} | _extensions(schema))
        assert kind in _SCALARS, schema
        form = schema.get("format", "")
        return self._table.place({"type": kind} | ({"format": form} if form in _FORMATS else {}))


def _extensions(schema: Document) -> Structure:
    """How the server merges a list or an object."""
    keys = schema.get("x-kubernetes-list-map-keys", [])
    key = schema.get("x-kubernetes-patch-merge-key", "")
    merge = keys or ([key] if key and "merge" in schema.get("x-kubernetes-patch-strategy", "") else [])
    kind = schema.get("x-kubernetes-list-type")
    found = {"keys": keys, "merge": merge, "unique": kind == "set", "atomic": "atomic" in (kind, schema.get("x-kubernetes-map-type"))}
    return {word: value for word, value in found.items() if value}
