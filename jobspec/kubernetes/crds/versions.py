"""Check the subresources, printer columns and selectable fields of a CRD's versions.

Follows `ValidateCustomResourceDefinitionSubresources`, `ValidateCustomResourceColumnDefinition` and
`ValidateCustomResourceSelectableFields`, k8s.io/apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go, 1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jobspec.diagnostics.places import Data, Path
from jobspec.diagnostics.problems import Problems
from jobspec.kubernetes.cel.paths import place_of, tokens_of
from jobspec.kubernetes.crds.decoding import are_alike, decoded, plain
from jobspec.kubernetes.crds.schema_walk import invalid

Schema = dict[str, Any]
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("int32", "int64", "float", "double", "byte", "date", "date-time", "password")
_SCALE = (("specReplicasPath", (".spec.",)), ("statusReplicasPath", (".status.",)), ("labelSelectorPath", (".spec.", ".status.")))
_MAX_SELECTABLE = 8


def subresource_problems(subresources: Data, path: Path) -> Problems:
    """Yield the problems of the scale subresource."""
    scale = subresources.get("scale")
    if not isinstance(scale, dict):
        return
    for name, starts in _SCALE:
        value = scale.get(name) or ""
        if not value and name != "labelSelectorPath":
            yield invalid((*path, "scale"), f"the scale subresource needs `{name}`")
        elif value and not value.startswith(starts):
            yield invalid((*path, "scale", name), f"`{value}` must start with {' or '.join(f'`{start}`' for start in starts)}")


def column_problems(columns: Sequence[Data], path: Path) -> Problems:
    """Yield the problems of additional printer columns."""
    for index, column in enumerate(columns):
        at: Path = (*path, index)
        yield from (invalid(at, f"a column needs `{name}`") for name in ("name", "type", "jsonPath") if not column.get(name))
        kind, form, place = column.get("type"), column.get("format"), column.get("jsonPath")
        if kind and kind not in _COLUMN_TYPES:
            yield invalid((*at, "type"), f"`{kind}` is not a type of a column; the types are {', '.join(_COLUMN_TYPES)}")
        if form and form not in _COLUMN_FORMATS:
            yield invalid((*at, "format"), f"`{form}` is not a format of a column; the formats are {', '.join(_COLUMN_FORMATS)}")
        if place and not place.startswith("."):
            yield invalid((*at, "jsonPath"), f"`{place}` must start with a dot", f"write `.{place}`")


def selectable_problems(versions: Sequence[Data], path: Path) -> Problems:
    """Yield the problems of the selectable fields of each version.

    Fields that all versions share are checked once.
    """
    fields = [plain(version.get("selectableFields") or []) for version in versions]
    if not any(fields):
        return
    schemas = [decoded((version.get("schema") or {}).get("openAPIV3Schema")) for version in versions]
    shared = all(each == fields[0] for each in fields)
    fits = shared == are_alike(schemas)
    for index, each in enumerate(fields[:1] if shared else fields):
        at: Path = (*path, index, "selectableFields")
        if each and not fits:
            both = "where they and the schemas are the same in all versions, or differ both"
            yield invalid(at, f"the server accepts selectable fields only {both}")
        elif each:
            yield from _selectable(each, schemas[index], at)


def _selectable(fields: Sequence[dict[str, str]], schema: Data, path: Path) -> Problems:
    seen = set()
    for index, field in enumerate(fields):
        text = field.get("jsonPath", "")
        at: Path = (*path, index, "jsonPath")
        tokens = tokens_of(text) if "[" not in text else None
        place = place_of(tokens, schema) if tokens else None
        if not text:
            yield invalid((*path, index), "a selectable field needs `jsonPath`")
        elif place is None:
            yield invalid(at, f"`{text}` is not a path of a field of the schema")
        else:
            steps, found = place
            if steps[0] == "metadata":
                yield invalid(at, "a selectable field cannot be in metadata")
            if found.get("type") not in ("string", "boolean", "integer"):
                yield invalid(at, f"`{text}` must be a string, an integer or a boolean")
            if text in seen:
                yield invalid(at, f"duplicate `{text}`")
            seen.add(text)
    if len(seen) > _MAX_SELECTABLE:
        yield invalid(path, f"there can be at most {_MAX_SELECTABLE} selectable fields, and {len(seen)} are given")
