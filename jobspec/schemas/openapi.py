"""Structures to OpenAPI definitions with merge keys, as kustomize's `openapi: {path: ...}` reads them.

Such a file replaces the document that is built into kustomize, so the definitions are added to one that knows the built-in kinds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobspec.models.base import QUANTITY
from jobspec.schemas.structure import placed, structure_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from jobspec.models.base import Model, Resource
    from jobspec.schemas.structure import Structure

    Definitions = dict[str, Any]

_PREFIX = "dev.jobspec"
_KIND = "x-kubernetes-group-version-kind"


def with_kinds(base: dict[str, Any], kinds: Iterable[tuple[type[Model], str]]) -> dict[str, Any]:
    """*base*, a Swagger 2.0 document, with kinds at their releases added; definitions of the same kinds are replaced."""
    definitions: Definitions = {}
    paths: dict[str, Any] = {}
    for model, release in kinds:
        resource: Resource = model.RESOURCE  # type: ignore[attr-defined]
        name = _place(structure_of(model, release), f"{_PREFIX}.{resource.component}", definitions)
        kind = {"group": resource.group, "kind": resource.kind, "version": resource.version}
        root = definitions.pop(name) | {_KIND: [kind]}
        definitions |= dict.fromkeys(_names(base, kind) or [name], root)
        paths[_path(resource)] = {"get": {"description": f"one {resource.kind}", "responses": {}, _KIND: kind}}
    return {**base, "paths": {**paths, **base.get("paths", {})}, "definitions": {**base["definitions"], **definitions}}


def _names(base: dict[str, Any], kind: dict[str, str]) -> list[str]:
    """The names that the document has for a kind, so that references to it find ours."""
    return [name for name, definition in base["definitions"].items() if kind in definition.get(_KIND, [])]


def _path(resource: Resource) -> str:
    """The URL of an object; kustomize learns from it whether the object has a namespace."""
    within = "namespaces/{namespace}/" if resource.scope == "Namespaced" else ""
    return f"/apis/{resource.api_version}/{within}{resource.plural}/{{name}}"


def _place(structure: Structure, prefix: str, definitions: Definitions) -> str:
    """Add the definition of an object, once; gives its name."""
    properties = {name: _schema(child, prefix, definitions) for name, child in structure["fields"].items()}
    made: dict[str, Any] = {"type": "object", "properties": properties}
    if "required" in structure:
        made["required"] = structure["required"]
    return placed(f"{prefix}.{structure['name']}", made, definitions)


def _schema(structure: Structure, prefix: str, definitions: Definitions) -> dict[str, Any]:
    if "fields" in structure:
        return {"$ref": f"#/definitions/{_place(structure, prefix, definitions)}"}
    made: dict[str, Any] = _scalar(structure["type"], structure.get("format", ""))
    if "items" in structure:
        made["items"] = _schema(structure["items"], prefix, definitions)
    if "values" in structure:
        made["additionalProperties"] = _schema(structure["values"], prefix, definitions)
    return made | _merging(structure)


def _scalar(kind: str, form: str) -> dict[str, Any]:
    if kind == "int-or-string":
        return {"type": "string", "format": "int-or-string"} | ({"pattern": QUANTITY} if form == "quantity" else {})
    return ({} if kind == "any" else {"type": kind}) | ({"format": form} if form else {})


def _merging(structure: Structure) -> dict[str, Any]:
    """How patches merge a list: by the keys of overlays, even if the release's CRD declares none.

    kustomize does not support a key that is a list, such as `targetJobs`.
    """
    keys = structure.get("merge", [])
    if not keys or any("items" in structure["items"]["fields"][key] for key in keys):
        return {}
    return {
        "x-kubernetes-list-map-keys": keys,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-patch-merge-key": keys[0],
        "x-kubernetes-patch-strategy": "merge",
    }
