"""Structures to JSON Schema (draft-07), for editors and other validators.

They accept what the server accepts, as far as JSON Schema can: no CEL rules, no list-map keys, and `status` is checked although a create
drops it. Null is allowed wherever the server prunes it. Descriptions are at the references, not in `$defs`: different fields describe
the same shape differently.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from jobspec.models.base import QUANTITY, Model, Resource
from jobspec.schemas.merge_schema import merging_by
from jobspec.schemas.structure import Structure, placed, structure_of
from jobspec.schemas.upstream import GROUP_VERSION_KIND

Schema = dict[str, Any]
Definitions = dict[str, Any]


#: The limits of a structure that a JSON Schema and a CRD have under the same names, in the order in which they are written.
LIMITS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_AS_THEY_ARE = ("pattern", "enum", "default", *LIMITS)
_RANGES = {"int32": 2**31, "int64": 2**63}
#: A quantity as Go parses it, which reads `.` and `Gi` as zeros; one in a custom resource has to match the CRD's pattern.
_PARSED_QUANTITY = r"^\s*[+-]?[0-9]*(\.[0-9]*)?([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?\s*$"
#: A time as Go parses it, and below, one of a custom resource. JSON Schema's format `date-time` refuses some of them.
_PARSED_TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{1,2}:[0-9]{2}:[0-9]{2}([.,][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$"
_TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})([Tt].*)?$"


def json_schema(model: type[Model], release: str, version: str = "") -> Schema:
    """Return the JSON Schema of a version of a kind, the newest by default, at a release.

    Shared shapes are in `$defs`.
    """
    resource: Resource = model.RESOURCE  # type: ignore[attr-defined]
    version = version or resource.version
    title = f"{resource.kind} ({resource.component} {release})"
    structure = structure_of(model, release, version)
    return document(structure, resource.api_version_of(version), resource.kind, title, builtin=resource.component == "kubernetes")


def document(structure: Structure, api_version: str, kind: str, title: str, *, builtin: bool = False) -> Schema:
    """Return the JSON Schema of a kind's structure. *builtin*: the API server itself has the kind."""
    fields = structure["fields"]
    structure = {**structure, "fields": {**fields, "metadata": {**fields["metadata"], "meta": True}}}
    shared = _Shared(builtin=builtin)
    root = shared.object_schema(structure, typed=shared.builtin)
    for name, value in (("apiVersion", api_version), ("kind", kind)):
        root["properties"][name] = {"description": structure["fields"][name]["description"], "type": "string", "const": value}
    head = {"$schema": "http://json-schema.org/draft-07/schema#", "title": title, "description": structure["description"]}
    required = {"required": ["apiVersion", "kind", *root.get("required", ())]}
    return {**head, **root, "type": "object", **required, "$defs": dict(sorted(shared.definitions.items()))}


class _Shared:
    """The shapes in `$defs`, each once, by the name of its model.

    *typed* is what the server decodes into Go types, all metadata and *builtin* kinds: items may be null, and sets have no check. Which
    fields of a built-in kind are required, is in Go code, not in its schema.
    """

    def __init__(self, *, builtin: bool) -> None:
        self.builtin = builtin
        self.definitions: dict[str, Schema] = {}

    def schema(self, structure: Structure, *, nullable: bool, typed: bool, description: str = "", name: str = "") -> Schema:
        """Return the JSON Schema of a structure.

        *description*: the description of the list or map around it, used if the structure has none. *name*: the name of its field, for
        an object whose type has no name.
        """
        kind, typed = structure["type"], typed or structure.get("meta", False)
        description = structure.get("description") or description
        limits: Schema = {key: structure[key] for key in _AS_THEY_ARE if key in structure} | structure.get("conditions", {})
        made: Schema = {"description": description} if description else {}
        if "fields" in structure:
            if any("default" in child for child in structure["fields"].values()):
                limits.pop("minProperties", None)  # the server counts fields with defaults
            own = str(structure.get("name") or name[:1].upper() + name[1:])
            name = placed(own, self.object_schema(structure, typed=typed), self.definitions)
            made["allOf"] = [{"$ref": f"#/$defs/{name}"}]
            return made | limits | ({} if nullable else {"type": "object"})
        if "(?i)" in limits.get("pattern", ""):  # which only Go knows
            limits["pattern"] = limits["pattern"].replace("(?i)", "").replace("a-z", "a-zA-Z")
        if kind != "any":
            made["type"] = _types(structure, nullable=nullable, typed=typed)
        made |= _format(structure.get("format", ""), typed=typed) | limits
        if nullable and "enum" in made:
            made["enum"] = [*made["enum"], None]
        if "items" in structure:
            made["items"] = self.schema(structure["items"], nullable=typed, typed=typed, description=description, name=name)
        if structure.get("unique") and not typed:
            made["uniqueItems"] = True
        if "values" in structure:
            made["additionalProperties"] = self.schema(structure["values"], nullable=True, typed=typed, description=description, name=name)
        return made

    def object_schema(self, structure: Structure, *, typed: bool) -> Schema:
        """Return the JSON Schema of an object with fields, or null."""
        fields = structure["fields"]
        required = [] if self.builtin else [name for name in structure.get("required", ()) if "default" not in fields[name]]
        properties = {name: self.schema(child, nullable=name not in required, typed=typed, name=name) for name, child in fields.items()}
        made: Schema = {"type": ["object", "null"], "properties": properties}
        return made | ({"required": required} if required else {}) | {"additionalProperties": bool(structure.get("open"))}


def _types(structure: Structure, *, nullable: bool, typed: bool) -> str | list[str]:
    kinds = ["integer", "string"] if structure["type"] == "int-or-string" else [structure["type"]]
    if typed and structure.get("format") == "quantity":
        kinds = ["number", "string"]
    kinds += ["null"] if nullable else []
    return kinds[0] if len(kinds) == 1 else kinds


def _format(name: str, *, typed: bool) -> Schema:
    if name in _RANGES:
        return {"minimum": -_RANGES[name], "maximum": _RANGES[name] - 1}
    if name == "quantity":
        return {"pattern": _PARSED_QUANTITY if typed else QUANTITY}
    return {"pattern": _PARSED_TIME if typed else _TIME} if name == "date-time" else {}


def text(model: type[Model], release: str, version: str) -> str:
    """Write a kind's JSON Schema file."""
    return json.dumps(json_schema(model, release, version), indent=1) + "\n"


# Structures to OpenAPI definitions with merge keys, as kustomize's `openapi: {path: ...}` reads them.
#
# Such a file replaces the document that is built into kustomize, so the definitions are added to one that knows the built-in kinds.


_PREFIX = "dev.jobspec"


def with_kinds(base: dict[str, Any], kinds: Iterable[tuple[type[Model], str]]) -> dict[str, Any]:
    """Add kinds at their releases to *base*, a Swagger 2.0 document.

    Definitions of the same kinds are replaced.
    """
    definitions: Definitions = {}
    paths: dict[str, Any] = {}
    for model, release in kinds:
        resource: Resource = model.RESOURCE  # type: ignore[attr-defined]
        name = _add_definition(structure_of(model, release), f"{_PREFIX}.{resource.component}", definitions)
        kind = {"group": resource.group, "kind": resource.kind, "version": resource.version}
        root = definitions.pop(name) | {GROUP_VERSION_KIND: [kind]}
        # the names that the document has for the kind, so that references to it find ours
        names = [each for each, definition in base["definitions"].items() if kind in definition.get(GROUP_VERSION_KIND, [])]
        definitions |= dict.fromkeys(names or [name], root)
        paths[_path(resource)] = {"get": {"description": f"one {resource.kind}", "responses": {}, GROUP_VERSION_KIND: kind}}
    return {**base, "paths": {**paths, **base.get("paths", {})}, "definitions": {**base["definitions"], **definitions}}


def _path(resource: Resource) -> str:
    """The URL of an object; kustomize learns from it whether the object has a namespace."""
    within = "namespaces/{namespace}/" if resource.scope == "Namespaced" else ""
    return f"/apis/{resource.api_version}/{within}{resource.plural}/{{name}}"


def _add_definition(structure: Structure, prefix: str, definitions: Definitions) -> str:
    """Add the definition of an object, once; gives its name."""
    properties = {name: _schema(child, prefix, definitions) for name, child in structure["fields"].items()}
    made: dict[str, Any] = {"type": "object", "properties": properties}
    if "required" in structure:
        made["required"] = structure["required"]
    return placed(f"{prefix}.{structure['name']}", made, definitions)


def _schema(structure: Structure, prefix: str, definitions: Definitions) -> dict[str, Any]:
    if "fields" in structure:
        return {"$ref": f"#/definitions/{_add_definition(structure, prefix, definitions)}"}
    made: dict[str, Any] = _scalar_schema(structure["type"], structure.get("format", ""))
    if "items" in structure:
        made["items"] = _schema(structure["items"], prefix, definitions)
    if "values" in structure:
        made["additionalProperties"] = _schema(structure["values"], prefix, definitions)
    return made | _merging(structure)


def _scalar_schema(kind: str, form: str) -> dict[str, Any]:
    if kind == "int-or-string":
        return {"type": "string", "format": "int-or-string"} | ({"pattern": QUANTITY} if form == "quantity" else {})
    return ({} if kind == "any" else {"type": kind}) | ({"format": form} if form else {})


def _merging(structure: Structure) -> dict[str, Any]:
    """Return how patches merge a list: by the keys of overlays.

    That is so even if the release's CRD declares none. kustomize does not support a key that is a list, such as `targetJobs`.
    """
    keys = structure.get("merge", [])
    if not keys or any("items" in structure["items"]["fields"][key] for key in keys):
        return {}
    return merging_by(keys)
