"""JSON Schemas of the operators' kinds, as catalogues of schemas take them: flux-schema, Datree's CRDs-catalog and SchemaStore.

Follows `extract crd` of github.com/fluxcd/flux-schema internal/extractor, 0.11.0; github.com/datreeio/CRDs-catalog, README.md and
Utilities/auto-update-index.py; and github.com/SchemaStore/schemastore, CONTRIBUTING.md; all as of August 2026.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from jobspec.apis.kinds import PROJECT_FILE, Kind, with_schema
from jobspec.apis.releases import OPERATORS, QUEUES, Target, release_of
from jobspec.models import Project
from jobspec.models.base import Resource
from jobspec.schemas import files as crds
from jobspec.schemas import json_schema
from jobspec.schemas.kinds import releases_with, structure_of_kind
from jobspec.schemas.structure import Structure

Schema = dict[str, Any]


def catalog_files(layout: str, target: Target) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file of a catalogue in a layout."""
    yield from LAYOUTS[layout](target)


def _served(target: Target) -> Iterator[tuple[Kind, str, str]]:
    """The kinds of the operators that train, each with its API versions, and the release that serves the version."""
    for kind in with_schema():
        if kind.component in OPERATORS and kind.component != QUEUES:
            release = release_of(kind.component, target)
            yield from ((kind, version, release) for version in kind.api_versions if release in releases_with(kind, version))


def _source(kind: Kind, release: str) -> str:
    return f"{kind.component} {release}"


def _path(api_version: str, kind: Kind) -> str:
    """The path of a schema below the folder of a catalogue: `kubeflow.org/pytorchjob_v1.json`."""
    group, _, version = api_version.rpartition("/")
    return f"{group}/{kind.name.lower()}_{version}.json"


def _text(schema: Any) -> str:
    return json.dumps(schema, indent=2) + "\n"


def _document(kind: Kind, api_version: str, release: str) -> Schema:
    """The JSON Schema of a kind, whose description has the kind in its own spelling: Datree's index takes it from there."""
    structure = structure_of_kind(kind, api_version, release)
    about = f"{kind.name} of {_source(kind, release)}. {structure['description']}".strip()
    return json_schema.document({**structure, "description": about}, api_version, kind.name, f"{kind.name} ({_source(kind, release)})")


# Datree's CRDs-catalog, which kubeconform reads: a file for each version of a kind. A workflow of the catalogue adds files to its index.


def _datree(target: Target) -> Iterator[tuple[str, str]]:
    for kind, api_version, release in _served(target):
        yield _path(api_version, kind), _text(_document(kind, api_version, release))


# flux-schema: the CRD's own schema with its CEL rules and list types, no references or descriptions, objects closed. Beside
# it stands the index of its fields, with descriptions.


def _flux(target: Target) -> Iterator[tuple[str, str]]:
    for kind, api_version, release in _served(target):
        structure = structure_of_kind(kind, api_version, release)
        path = _path(api_version, kind)
        yield path, _text(_extracted(structure))
        yield f"{path.removesuffix('.json')}.fields.txt", "".join(_field_index(kind, api_version, release, structure))


def _extracted(structure: Structure) -> Schema:
    root = crds.schema({**structure, "fields": {**structure["fields"], "metadata": {"type": "object", "fields": {}, "open": True}}})
    closed = _closed(root, is_root=True)
    return {**closed, "properties": {**closed["properties"], "metadata": {"type": "object"}}}


_CHANGED = ("description", "properties", "items", "additionalProperties", "required")


def _closed(schema: Schema, *, is_root: bool = False, is_optional: bool = False) -> Schema:
    """A schema of a CRD as a validator of JSON Schema reads it: objects with fields closed, null where the server drops it."""
    made = {name: value for name, value in schema.items() if name not in _CHANGED}
    if made.pop("x-kubernetes-int-or-string", False):
        made.pop("anyOf")
        made["oneOf"] = [{"type": "string"}, {"type": "integer"}, *([{"type": "null"}] if is_optional else [])]
    elif is_optional and "type" in made:
        made["type"] = [made["type"], "null"]
        if "enum" in made:
            made["enum"] = [*made["enum"], None]
    if "properties" in schema:
        required = [name for name in schema.get("required", ()) if "default" not in schema["properties"][name]]
        made |= {"required": required} if required else {}
        kept = {*required, *(("apiVersion", "kind") if is_root else ())}
        made["properties"] = {name: _closed(each, is_optional=name not in kept) for name, each in schema["properties"].items()}
        if not is_root and not made.get("x-kubernetes-preserve-unknown-fields"):
            made["additionalProperties"] = False
    if "items" in schema:
        made["items"] = _closed(schema["items"])
    if "additionalProperties" in schema:
        made["additionalProperties"] = _closed(schema["additionalProperties"], is_optional=True)
    return made


def _field_index(kind: Kind, api_version: str, release: str, structure: Structure) -> Iterator[str]:
    """Yield the lines of a field index.

    Follows `FlattenMap`, github.com/fluxcd/flux-schema internal/fields, 0.11.0.
    """
    yield f"# schema source: {_source(kind, release)}\n"
    yield f"apiVersion <string> enum={api_version}\n"
    yield f"kind <string> enum={kind.name}{'' if kind.namespaced else ' (cluster-scoped)'}\n"
    yield "metadata.name <string> (required)\n"
    if kind.namespaced:
        yield "metadata.namespace <string> (required)\n"
    below = {name: each for name, each in structure["fields"].items() if name not in ("apiVersion", "kind", "metadata")}
    yield from _fields_below({**structure, "fields": below}, "")


def _fields_below(structure: Structure, prefix: str) -> Iterator[str]:
    for name, each in sorted(structure["fields"].items()):
        words = [f"{prefix}{name}", f"<{_index_type(each)}>"]
        words += ["(required)"] if name in structure.get("required", ()) else []
        words += list(_annotations(each))
        about = " ".join(each.get("description", "").split())
        yield " ".join(words) + (f"\t# {about}" if about else "") + "\n"
        inner, step = (each["items"], "[].") if "items" in each else (each["values"], ".<key>.") if "values" in each else (each, ".")
        if inner.get("fields"):
            yield from _fields_below(inner, f"{prefix}{name}{step}")


def _index_type(structure: Structure) -> str:
    kind = str(structure["type"])
    if "items" in structure:
        inner = structure["items"]["type"]
        return f"[]{inner if inner not in ('any', 'int-or-string') else 'object'}"
    if "values" in structure:
        inner = structure["values"]["type"]
        return f"map[string]{inner}" if inner not in ("any", "int-or-string") else "object (free-form)"
    return "object (free-form)" if kind == "object" and not structure.get("fields") else kind


_SIZES = {"string": "Length", "array": "Items"}


def _annotations(structure: Structure) -> Iterator[str]:
    kind = structure["type"]
    if "enum" in structure:
        yield "enum=" + "|".join(str(each) for each in structure["enum"])
    if "default" in structure:
        yield f"default={_compact(structure['default'])}"
    if structure.get("format") and kind != "int-or-string":
        yield f"format={structure['format']}"
    if "pattern" in structure:
        yield f"pattern={_compact(structure['pattern'])}"
    for word, least in (("min", "minimum"), ("max", "maximum")):
        name = f"{word}{_SIZES[kind]}" if kind in _SIZES else least
        if name in structure:
            yield f"{word}={structure[name]}"
    if any(rule["rule"].strip() in ("self == oldSelf", "oldSelf == self") for rule in structure.get("rules", ())):
        yield "(immutable)"


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


# SchemaStore: a file for each kind, whatever versions it has, that Ajv takes in strict mode. The entries of its catalogue stand in a file
# of their own, since a person places them among the others.


_STORE = "https://www.schemastore.org"


def _schemastore(target: Target) -> Iterator[tuple[str, str]]:
    kinds: dict[str, list[tuple[Kind, str, str]]] = {}
    for kind, api_version, release in _served(target):
        kinds.setdefault(kind.name, []).append((kind, api_version, release))
    entries = []
    for name, versions in kinds.items():
        identity = f"{_STORE}/{name.lower()}.json"
        sources = ", ".join(dict.fromkeys(_source(kind, release) for kind, _, release in versions))
        documents = {api_version: _document(kind, api_version, release) for kind, api_version, release in versions}
        yield f"src/schemas/json/{name.lower()}.json", _text({"$id": identity, **_strict(_either(name, documents, sources))})
        files = [f"{name.lower()}-*.yaml", *(f"*.{name.lower()}.{ending}" for ending in ("yaml", "yml"))]
        entries.append(_entry(name, f"Kubernetes {name} of {sources}", files, identity))
    resource: Resource = Project.RESOURCE
    project = json_schema.json_schema(Project, release_of(resource.component, target))
    yield "src/schemas/json/jobspec.json", _text({"$id": f"{_STORE}/jobspec.json", **_strict(project)})
    entries.append(
        _entry(PROJECT_FILE, "Project file of jobspec, for training jobs on Kubernetes", [PROJECT_FILE], f"{_STORE}/jobspec.json")
    )
    entries.sort(key=lambda each: str(each["name"]).lower())
    yield "catalog-entries.json", _text(entries)


def _entry(name: str, description: str, files: list[str], url: str) -> dict[str, Any]:
    return {"name": name, "description": description, "fileMatch": files, "url": url}


def _either(name: str, documents: dict[str, Schema], sources: str) -> Schema:
    """The schema of a kind in any of its versions: the `apiVersion` of a manifest decides which schema holds."""
    if len(documents) == 1:
        return next(iter(documents.values()))
    named = {api_version.replace("/", "_"): each for api_version, each in documents.items()}
    made: Schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": f"{name} ({sources})",
        "description": f"{name} of {sources}",
        "type": "object",
        "required": ["apiVersion", "kind"],
        "properties": {"apiVersion": {"type": "string", "enum": list(documents)}, "kind": {"type": "string", "const": name}},
        "allOf": [
            {"if": {"properties": {"apiVersion": {"const": api_version}}}, "then": {"$ref": f"#/$defs/{at}"}}
            for api_version, at in zip(documents, named, strict=True)
        ],
        "$defs": {},
    }
    for at, document in named.items():
        inner = {key: value for key, value in document.items() if key not in ("$schema", "$defs")}
        parts = {at: inner} | {f"{at}_{part}": each for part, each in document["$defs"].items()}
        made["$defs"] |= {part: _with_references(each, at) for part, each in parts.items()}
    return made


def _with_references(schema: Any, prefix: str) -> Any:
    """A schema whose references to definitions have a prefix."""
    if isinstance(schema, list):
        return [_with_references(each, prefix) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _with_references(value, prefix) for key, value in schema.items()}
    reference = schema.get("$ref")
    return made | ({"$ref": reference.replace("#/$defs/", f"#/$defs/{prefix}_")} if isinstance(reference, str) else {})


#: The type that a limit is for.
_LIMITED = {"pattern": "string", "minLength": "string", "maxLength": "string", "minimum": "integer", "maximum": "integer"}


def _strict(schema: Schema) -> Schema:
    """A schema as Ajv's strict mode takes it, with the same verdicts: one type besides null, and a type where there is a limit."""
    made = {name: _strict_inside(name, each) for name, each in schema.items()}
    kinds = made.get("type")
    if isinstance(kinds, list) and len(kinds) > len({"null"} & set(kinds)) + 1:
        limits = {name: made.pop(name) for name in list(made) if name in _LIMITED}
        del made["type"]
        made["anyOf"] = [{"type": kind, **{name: each for name, each in limits.items() if _LIMITED[name] == kind}} for kind in kinds]
    elif kinds is None and made.keys() & {"minProperties", "maxProperties"}:
        made["type"] = ["object", "null"]
    return made


def _strict_inside(name: str, value: Any) -> Any:
    if name in ("properties", "$defs"):
        return {inner: _strict(each) for inner, each in value.items()}
    if name in ("allOf", "anyOf", "oneOf"):
        return [_strict(each) for each in value]
    return _strict(value) if name in ("items", "additionalProperties", "if", "then") and isinstance(value, dict) else value


LAYOUTS: dict[str, Callable[[Target], Iterator[tuple[str, str]]]] = {"flux-schema": _flux, "datree": _datree, "schemastore": _schemastore}
