"""All files below `schemas/` that are generated: from the models, and from `schemas/kubernetes.json`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

from jobspec.apis.cel_rules import is_transition
from jobspec.apis.kinds import built_in, find
from jobspec.apis.releases import RELEASES
from jobspec.apis.sibling_kinds import API_VERSION, SIBLINGS, SiblingKind
from jobspec.models import PyTorchJob, roots
from jobspec.models.base import QUANTITY, Column, Model, Resource
from jobspec.schemas import json_schema
from jobspec.schemas.shapes import ATTRIBUTES, VALIDATIONS, is_plain, schema_path
from jobspec.schemas.structure import Structure, facts_of, releases_of, structure_of, structure_of_builtin


def files() -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file below `schemas/`, with `/` in paths."""
    for model in roots():
        resource: Resource = model.RESOURCE  # type: ignore[attr-defined]
        kind = find(resource.api_version, resource.kind)
        assert kind and (kind.component, kind.namespaced) == (resource.component, resource.scope == "Namespaced"), resource
        releases = list(RELEASES[resource.component])
        for release, version in product(releases[-1:] if kind.is_builtin else releases, resource.versions):
            path = schema_path(resource.component, release, resource.api_version_of(version), resource.kind)
            if not kind.is_builtin:
                yield f"compiled/{path}", compiled(model, release, version)
            yield path, json_schema.text(model, release, version)
    for kind in built_in():
        for api_version in kind.api_versions:
            path = schema_path("kubernetes", "", api_version, kind.name)
            yield f"compiled/{path}", compiled_builtin(api_version, kind.name)
    for name, sibling in SIBLINGS.items():
        yield f"compiled/{schema_path(_PYTORCHJOB.component, '', API_VERSION, name)}", compiled_sibling(name, sibling)


# Structures to compiled schemas, the small files that `shapes` loads.


_LEFT_OUT = ("atomic", "granular", "description")  # checks and overlays do not use these facts
_OF_GO_CODE = ("required", "default")  # facts that built-in kinds have from Go code, after decoding
_LINKS = ("values", "items")


def compiled(model: type[Model], release: str, version: str) -> str:
    """Write a kind's compiled file: a line for each distinct shape.

    Shapes refer to each other by index.
    """
    resource: Resource = model.RESOURCE  # type: ignore[attr-defined]
    api_version = resource.api_version_of(version)
    document = {"apiVersion": api_version, "kind": resource.kind, "component": resource.component, "release": release}
    table = _ShapeTable([{}])
    table.rows[0] = table.flattened(_root(structure_of(model, release, version), resource))
    return _file_text(document, table)


def compiled_builtin(api_version: str, kind: str) -> str:
    """Write a built-in kind's compiled file, with one table for all releases.

    The file has the index of the kind's shape in each release.
    """
    table = _ShapeTable([])
    roots = {release: table.place(_decoded(structure_of_builtin(api_version, kind, release))) for release in releases_of(api_version, kind)}
    document = {"apiVersion": api_version, "kind": kind, "component": "kubernetes", "releases": roots}
    return _file_text(document, table)


_PYTORCHJOB: Resource = PyTorchJob.RESOURCE


def compiled_sibling(kind: str, sibling: SiblingKind) -> str:
    """Write the compiled file of a sibling of PyTorchJob, with one table for all releases."""
    table = _ShapeTable([])
    having = [release for release in RELEASES[_PYTORCHJOB.component] if sibling.is_in(release)]
    roots = {release: table.place(_sibling(kind, sibling, structure_of(PyTorchJob, release))) for release in having}
    document = {"apiVersion": API_VERSION, "kind": kind, "component": _PYTORCHJOB.component, "releases": roots}
    return _file_text(document, table)


def _sibling(kind: str, sibling: SiblingKind, pytorchjob: Structure) -> Structure:
    """Return the structure of a sibling with its own metadata and the paths of the scale subresource."""
    root = _root(sibling_structure(kind, pytorchjob), _PYTORCHJOB)
    scale = {name: [sibling.replicas if step == "pytorchReplicaSpecs" else step for step in path] for name, path in root["scale"].items()}
    without = {key: value for key, value in root.items() if key != "scale"}
    return {**without, **({"scale": scale} if sibling.is_scaled else {})}


def sibling_structure(kind: str, pytorchjob: Structure) -> Structure:
    """Return the structure of a sibling of PyTorchJob, made of PyTorchJob's at a release that has the sibling."""
    sibling = SIBLINGS[kind]
    spec = pytorchjob["fields"]["spec"]
    given = spec["fields"]
    own_fields = {name: {"description": "", **each} for name, each in sibling.own.items()}
    fields = {**own_fields, "runPolicy": given["runPolicy"], sibling.replicas: given["pytorchReplicaSpecs"]}
    if sibling.elastic and "elasticPolicy" in given:
        policy = given["elasticPolicy"]
        fields["elasticPolicy"] = {**policy, "fields": {name: policy["fields"][name] for name in sibling.elastic}}
    own = {**spec, "name": f"{kind}Spec", "fields": fields, "required": [*sibling.required, sibling.replicas]}
    root = pytorchjob["fields"]
    named = {**root["kind"], "description": root["kind"]["description"].replace("PyTorchJob", kind)}
    return {**pytorchjob, "name": kind, "description": f"A {kind}.", "fields": {**root, "kind": named, "spec": own}}


def _file_text(document: dict[str, Any], table: _ShapeTable) -> str:
    """Write a file's JSON, with a line of its own for each shape.

    The first line ends before the shapes, and the last line follows them.
    """
    head = _json({**document, "shapes": []}).removesuffix("]}")
    return "\n".join([head, ",\n".join(map(_json, table.rows)), "]}\n"])


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _decoded(structure: Structure) -> Structure:
    """Return the structure of a built-in kind for decoding.

    It has no required fields except in metadata, since Go code checks them later.
    """
    bare = _without_facts(structure, _OF_GO_CODE)
    return {**bare, "fields": {**bare["fields"], "metadata": {**structure["fields"]["metadata"], "meta": True}}}


def _without_facts(structure: Structure, facts: tuple[str, ...]) -> Structure:
    made = {key: value for key, value in structure.items() if key not in facts}
    if "fields" in structure:
        made["fields"] = {name: _without_facts(child, facts) for name, child in structure["fields"].items()}
    return made | {key: _without_facts(structure[key], facts) for key in _LINKS if key in structure}


def _root(structure: Structure, resource: Resource) -> Structure:
    """Return the structure of the root object.

    It has the object's metadata and the paths of the scale subresource.
    """
    fields = structure["fields"]
    root = {**structure, "fields": {**fields, "metadata": {**fields["metadata"], "meta": True}}}
    if resource.scale:
        root["scale"] = {name: path.strip(".").split(".") for name, path in resource.scale.paths.items()}
    return root


class _ShapeTable:
    """The shapes so far, each once. A shape comes behind the shapes that it refers to.

    The first shape of a model's file is an exception.
    """

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows
        self._known: dict[str, int] = {}

    def place(self, structure: Structure) -> int:
        """Return the index of a structure's shape."""
        flat = self._flat(structure)
        text = json.dumps(flat)
        if text not in self._known:
            self._known[text] = len(self.rows)
            self.rows.append(self._completed(flat))
        return self._known[text]

    def flattened(self, structure: Structure) -> dict[str, Any]:
        """Return a structure's shape, which refers to others by index."""
        return self._completed(self._flat(structure))

    def _flat(self, structure: Structure) -> dict[str, Any]:
        """The attributes of a shape, with the indices of the shapes inside it."""
        flat = {ATTRIBUTES.get(key, key): value for key, value in structure.items() if key not in _LEFT_OUT}
        if "fields" in structure:
            flat["fields"] = {name: self.place(child) for name, child in structure["fields"].items()}
        return flat | {key: self.place(structure[key]) for key in _LINKS if key in structure}

    def _completed(self, flat: dict[str, Any]) -> dict[str, Any]:
        """The same with the attributes that follow from the shapes inside it."""
        inner = [self.rows[child] for child in (*flat.get("fields", {}).values(), *(flat[key] for key in _LINKS if key in flat))]
        rules = flat.get("rules", ())
        on_create = any(not is_transition(rule["rule"]) for rule in rules) or any(each.get("ruled_on_create") for each in inner)
        on_update = bool(rules) or any(each.get("ruled_on_update") for each in inner)
        is_parsed = flat["type"] == "int-or-string" or flat.get("format") in ("quantity", "date-time")
        parsed = is_parsed or any(each.get("parsed") for each in inner)
        defaulted = [name for name, index in flat.get("fields", {}).items() if self.rows[index].get("default") is not None]
        found = {"plain": is_plain(flat), "defaulted": defaulted, "parsed": parsed}
        if "required" in flat:
            flat = {**flat, "required": [name for name in flat["required"] if name not in defaulted]}
        found |= {"ruled_on_create": on_create, "ruled_on_update": on_update}
        return flat | {name: value for name, value in found.items() if value}


# Structures to CustomResourceDefinitions (`apiextensions.k8s.io/v1`).


_AS_THEY_ARE = ("description", "pattern", "enum", "default", *json_schema.LIMITS)


def crd(model: type[Model], release: str) -> dict[str, Any]:
    """Return the CustomResourceDefinition of a kind at a release of its operator."""
    resource: Resource = model.RESOURCE  # type: ignore[attr-defined]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {
            "group": resource.group,
            "names": _resource_names(resource),
            "scope": resource.scope,
            "versions": [_version(model, resource, release, version) for version in resource.versions],
        },
    }


def _version(model: type[Model], resource: Resource, release: str, version: str) -> dict[str, Any]:
    is_newest = version == resource.version
    root = schema(structure_of(model, release, version))
    root["properties"]["metadata"] = {"type": "object"}  # the API server's own
    made = {"name": version, "served": True, "storage": is_newest, "schema": {"openAPIV3Schema": root}}
    if resource.older_warning and not is_newest:
        made |= {"deprecated": True, "deprecationWarning": resource.older_warning}
    if selectable := facts_of(resource, release, version, resource.selectable):
        made["selectableFields"] = [{"jsonPath": path} for path in selectable]
    return made | _columns(facts_of(resource, release, version, resource.columns)) | _subresources(resource)


def schema(structure: Structure) -> dict[str, Any]:
    """Return a structure, with all structures inside, as an `openAPIV3Schema`."""
    made: dict[str, Any] = {key: structure[key] for key in _AS_THEY_ARE if structure.get(key) is not None}
    made |= _type(structure) | structure.get("conditions", {})
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
        made[VALIDATIONS] = structure["rules"]
    return made


def _type(structure: Structure) -> dict[str, Any]:
    kind, form = structure["type"], structure.get("format", "")
    if kind == "int-or-string":
        pattern = {"pattern": QUANTITY} if form == "quantity" else {}
        return {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True, **pattern}
    if kind == "any":
        return {"x-kubernetes-preserve-unknown-fields": True}
    free = (kind == "object" and "fields" not in structure and "values" not in structure) or structure.get("open")
    return {"type": kind} | ({"format": form} if form else {}) | ({"x-kubernetes-preserve-unknown-fields": True} if free else {})


def _list_type(structure: Structure) -> dict[str, Any]:
    if "keys" in structure:
        return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": structure["keys"]}
    if "unique" in structure:
        return {"x-kubernetes-list-type": "set"}
    keyword = "x-kubernetes-list-type" if structure["type"] == "array" else "x-kubernetes-map-type"
    merging = "atomic" if "atomic" in structure else "granular" if "granular" in structure else ""
    return {keyword: merging} if merging else {}


def _resource_names(resource: Resource) -> dict[str, Any]:
    names = {"kind": resource.kind, "listKind": f"{resource.kind}List", "plural": resource.plural, "singular": resource.kind.lower()}
    return names | ({"shortNames": list(resource.short_names)} if resource.short_names else {})


def _columns(columns: list[Column]) -> dict[str, Any]:
    words = {"name": "name", "type": "type", "jsonPath": "path", "description": "description", "priority": "priority"}
    written = [{word: value for word, field in words.items() if (value := getattr(each, field))} for each in columns]
    return {"additionalPrinterColumns": written} if written else {}


def _subresources(resource: Resource) -> dict[str, Any]:
    made: dict[str, Any] = {"status": {}} if resource.status else {}
    if resource.scale:
        made["scale"] = resource.scale.paths
    return {"subresources": made} if made else {}
