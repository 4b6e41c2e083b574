"""Structures to CustomResourceDefinitions (`apiextensions.k8s.io/v1`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobspec.models.base import QUANTITY
from jobspec.schemas.structure import structure_of

if TYPE_CHECKING:
    from typing import Any

    from jobspec.models.base import Model, Resource
    from jobspec.schemas.structure import Structure

_LIMITS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_AS_THEY_ARE = ("description", "pattern", "enum", "default", *_LIMITS)
_RULES = "x-kubernetes-validations"


def crd(model: type[Model], release: str) -> dict[str, Any]:
    """The CustomResourceDefinition of a kind at a release of its operator."""
    resource: Resource = model.RESOURCE  # type: ignore[attr-defined]
    root = schema(structure_of(model, release))
    root["properties"]["metadata"] = {"type": "object"}  # the API server's own
    version = {"name": resource.version, "served": True, "storage": True, "schema": {"openAPIV3Schema": root}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {
            "group": resource.group,
            "names": _names(resource),
            "scope": resource.scope,
            "versions": [version | _columns(resource) | _subresources(resource)],
        },
    }


def schema(structure: Structure) -> dict[str, Any]:
    """A structure and those inside it as an `openAPIV3Schema`."""
    made: dict[str, Any] = {key: structure[key] for key in _AS_THEY_ARE if structure.get(key) is not None}
    made |= _type(structure)
    if structure.get("fields"):
        made["properties"] = {name: schema(child) for name, child in structure["fields"].items()}
    if "required" in structure:
        made["required"] = structure["required"]
    if "values" in structure:
        made["additionalProperties"] = schema(structure["values"])
    if "items" in structure:
        made["items"] = schema(structure["items"])
    made |= _list_type(structure)
    if "rules" in structure:
        made[_RULES] = structure["rules"]
    return made


def _type(structure: Structure) -> dict[str, Any]:
    kind, form = structure["type"], structure.get("format", "")
    if kind == "int-or-string":
        pattern = {"pattern": QUANTITY} if form == "quantity" else {}
        return {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True, **pattern}
    if kind == "any":
        return {"x-kubernetes-preserve-unknown-fields": True}
    free = kind == "object" and "fields" not in structure and "values" not in structure
    return {"type": kind} | ({"format": form} if form else {}) | ({"x-kubernetes-preserve-unknown-fields": True} if free else {})


def _list_type(structure: Structure) -> dict[str, Any]:
    if "keys" in structure:
        return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": structure["keys"]}
    if "unique" in structure:
        return {"x-kubernetes-list-type": "set"}
    if "atomic" in structure:
        return {"x-kubernetes-list-type" if structure["type"] == "array" else "x-kubernetes-map-type": "atomic"}
    if "granular" in structure:
        return {"x-kubernetes-map-type": "granular"}
    return {}


def _names(resource: Resource) -> dict[str, str]:
    singular = resource.kind.lower()
    return {"kind": resource.kind, "listKind": f"{resource.kind}List", "plural": resource.plural, "singular": singular}


def _columns(resource: Resource) -> dict[str, Any]:
    columns = [
        {"name": column.name, "type": column.type, "jsonPath": column.path}
        | ({"description": column.description} if column.description else {})
        for column in resource.columns
    ]
    return {"additionalPrinterColumns": columns} if columns else {}


def _subresources(resource: Resource) -> dict[str, Any]:
    made: dict[str, Any] = {"status": {}} if resource.status else {}
    if resource.scale:
        made["scale"] = resource.scale.paths
    return {"subresources": made} if made else {}
