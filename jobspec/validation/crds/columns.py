"""Check the subresources, printer columns and selectable fields of a CRD's versions.

Follows `ValidateCustomResourceDefinitionSubresources`, `ValidateCustomResourceColumnDefinition` and
`ValidateCustomResourceSelectableFields`, k8s.io/apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go, 1.36.
"""

from __future__ import annotations

from jobspec.validation.cel import paths
from jobspec.validation.crds.decode import are_alike, decoded, plain
from jobspec.validation.crds.invalid import invalid
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from jobspec.diagnostics import Path

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("int32", "int64", "float", "double", "byte", "date", "date-time", "password")
_SCALE = (("specReplicasPath", (".spec.",)), ("statusReplicasPath", (".status.",)), ("labelSelectorPath", (".spec.", ".status.")))
_MAX_SELECTABLE = 8


def subresource_problems(subresources: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of the scale subresource."""
    scale = subresources.get("scale")
    if not isinstance(scale, dict):
        return
    for name, starts in _SCALE:
        value = scale.get(name) or ""
        if not value and name != "labelSelectorPath":
            yield invalid((*path, "scale"), f"the scale subresource needs `{name}`")
        elif value and not value.startswith(starts):
            yield invalid((*path, "scale", name), f"`{value}` has to begin with {' or '.join(f'`{start}`' for start in starts)}")


def column_problems(columns: Sequence[dict[str, Any]], path: Path) -> Iterator[Problem]:
    """The problems of additional printer columns."""
    for index, column in enumerate(columns):
        at: Path = (*path, index)
        for name in ("name", "type", "jsonPath"):
            if not column.get(name):
                yield invalid(at, f"a column needs `{name}`")
        kind, form, place = column.get("type"), column.get("format"), column.get("jsonPath")
        if kind and kind not in _COLUMN_TYPES:
            yield invalid((*at, "type"), f"`{kind}` is no type of a column; the types are {', '.join(_COLUMN_TYPES)}")
        if form and form not in _COLUMN_FORMATS:
            yield invalid((*at, "format"), f"`{form}` is no format of a column; the formats are {', '.join(_COLUMN_FORMATS)}")
        if place and not place.startswith("."):
            yield invalid((*at, "jsonPath"), f"`{place}` has to begin with a dot", f"write `.{place}`")


def selectable_problems(versions: Sequence[dict[str, Any]], path: Path) -> Iterator[Problem]:
    """The problems of the selectable fields of each version; fields that all versions share are checked once."""
    fields = [plain(version.get("selectableFields") or []) for version in versions]
    schemas = [decoded((version.get("schema") or {}).get("openAPIV3Schema")) for version in versions]
    shared = all(each == fields[0] for each in fields)
    fits = shared == are_alike(schemas)
    for index, each in enumerate(fields[:1] if shared else fields):
        at: Path = (*path, index, "selectableFields")
        if each and not fits:
            yield invalid(
                at, "the server takes selectable fields only where they and the schemas are the same in all versions, or differ both"
            )
        elif each:
            yield from _selectable(each, schemas[index], at)


def _selectable(fields: Sequence[dict[str, str]], schema: dict[str, Any], path: Path) -> Iterator[Problem]:
    seen = set()
    for index, field in enumerate(fields):
        text = field.get("jsonPath", "")
        at: Path = (*path, index, "jsonPath")
        tokens = paths.tokens_of(text) if "[" not in text else None
        place = paths.place_of(tokens, schema) if tokens else None
        if not text:
            yield invalid((*path, index), "a selectable field needs `jsonPath`")
        elif place is None:
            yield invalid(at, f"`{text}` is no path of a field of the schema")
        else:
            yield from _selected(text, place, at)
            if text in seen:
                yield invalid(at, f"`{text}` stands twice")
            seen.add(text)
    if len(seen) > _MAX_SELECTABLE:
        yield invalid(path, f"there can be at most {_MAX_SELECTABLE} selectable fields, and {len(seen)} are given")


def _selected(text: str, place: tuple[Path, dict[str, Any]], path: Path) -> Iterator[Problem]:
    steps, schema = place
    if steps[0] == "metadata":
        yield invalid(path, "a selectable field cannot be in metadata")
    if schema.get("type") not in ("string", "boolean", "integer"):
        yield invalid(path, f"`{text}` has to be a text, an integer or a boolean")
