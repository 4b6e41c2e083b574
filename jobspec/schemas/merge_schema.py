"""A small OpenAPI document by which kustomize merges lists: of each kind, only the fields on the way to lists with merge keys.

A document of a kustomization replaces the one that kustomize has inside, so that it needs the built-in kinds of a build, too. Follows
`SetSchema` and `GroupVersionKindForSchema`, sigs.k8s.io/kustomize/kyaml openapi, 0.21.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobspec.apis.kinds import find
from jobspec.apis.releases import Target
from jobspec.diagnostics.places import Path
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape
from jobspec.schemas.upstream import GROUP_VERSION_KIND

TITLE = "lists that jobspec has kustomize merge"
"""By which a document that jobspec wrote is known from one of the user's own."""
_PREFIX = "dev.jobspec"
_LEFT_OUT = ("metadata", "status")
_DEEPEST = 24  # steps from a kind to a list


@dataclass(frozen=True)
class MergedKind:
    """A kind whose lists are to be merged."""

    api_version: str
    kind: str
    shape: Shape | None = None
    """The structure of its objects; None if it is unknown."""
    pods: Sequence[Path] = ()
    """The paths of pod specs in its objects, where lists merge as those of pods do, whatever the structure says."""
    is_namespaced: bool | None = None
    """Whether its objects have a namespace; None if that is unknown."""


def merge_document(kinds: Iterable[MergedKind], target: Target) -> dict[str, Any]:
    """Return the OpenAPI document of some kinds. A kind without a list to merge is left out."""
    made = _Definitions(target)
    definitions: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for each in kinds:
        group, _, version = each.api_version.rpartition("/")
        name = {"group": group, "kind": each.kind, "version": version}
        root = made.root(each)
        if root:
            definitions[".".join(part for part in (_PREFIX, group, version, each.kind) if part)] = {**root, GROUP_VERSION_KIND: [name]}
        known = find(each.api_version, each.kind)
        namespaced = each.is_namespaced if each.is_namespaced is not None else known.namespaced if known else None
        if namespaced is not None and group:
            within = "namespaces/{namespace}/" if namespaced else ""
            about = {"description": f"one {each.kind}", "responses": {}, GROUP_VERSION_KIND: name}
            paths[f"/apis/{each.api_version}/{within}{each.kind.lower()}s/{{name}}"] = {"get": about}
    info = {"title": TITLE, "version": "1"}
    found = {**definitions, **made.definitions}
    return {"swagger": "2.0", "info": info, "paths": dict(sorted(paths.items())), "definitions": dict(sorted(found.items()))}


class _Definitions:
    """The definitions that several kinds share."""

    def __init__(self, target: Target) -> None:
        pod = shapes.load("v1", "Pod", target)
        self._pod = pod and pod.at(("spec",))
        self.definitions: dict[str, Any] = {}
        self._names: dict[str, str] = {}
        """By the text of a definition, its name."""

    def root(self, kind: MergedKind) -> dict[str, Any]:
        """Return the schema of a kind; empty if there is nothing to merge."""
        fields = {name: each for name, each in (kind.shape.fields or {} if kind.shape else {}).items() if name not in _LEFT_OUT}
        found = self._of_fields(fields, 0)
        for path in kind.pods:
            found = self._with_pod(found, path, kind.shape)
        return found

    def _of(self, shape: Shape | None, depth: int) -> dict[str, Any]:
        if shape is None or depth > _DEEPEST:
            return {}
        if shape.items is not None:
            keys = shape.merge or shape.keys
            items = self._of(shape.items, depth + 1)
            merging = merging_by(keys) if keys and _are_scalars(shape.items, keys) else {}
            return {"type": "array", "items": items or {"type": "object"}, **merging} if items or merging else {}
        if _is_pod_spec(shape):
            shape = self._pod or shape
        if shape.fields is not None:
            return self._shared(shape.name, self._of_fields(shape.fields, depth + 1))
        values = self._of(shape.values, depth + 1)
        return {"type": "object", "additionalProperties": values} if values else {}

    def _of_fields(self, fields: Mapping[str, Shape], depth: int) -> dict[str, Any]:
        inside = {name: found for name, each in fields.items() if (found := self._of(each, depth + 1))}
        return {"type": "object", "properties": inside} if inside else {}

    def _shared(self, name: str, schema: dict[str, Any]) -> dict[str, Any]:
        """Return a reference to a schema of a Go type, which is defined once."""
        if not schema or not name:
            return schema
        text = json.dumps(schema, sort_keys=True)
        if text not in self._names:
            taken = [each for each in self.definitions if each.partition("~")[0] == f"{_PREFIX}.{name}"]
            self._names[text] = f"{_PREFIX}.{name}" + (f"~{len(taken) + 1}" if taken else "")
            self.definitions[self._names[text]] = schema
        return {"$ref": f"#/definitions/{self._names[text]}"}

    def _with_pod(self, schema: dict[str, Any], path: Path, shape: Shape | None) -> dict[str, Any]:
        """Return a schema in which the lists of the pod spec at a path merge."""
        if self._has_containers(schema):
            return schema
        if not path:
            return self._of(self._pod, 0)
        schema = self._resolved(schema)
        step, rest = path[0], path[1:]
        if isinstance(step, int):
            inside = self._with_pod(schema.get("items", {}), rest, shape and shape.items)
            return {"type": "array", **schema, "items": inside}
        if shape is not None and shape.fields is None and shape.values is not None:
            inside = self._with_pod(schema.get("additionalProperties", {}), rest, shape.values)
            return {"type": "object", **schema, "additionalProperties": inside}
        inside = self._with_pod(schema.get("properties", {}).get(step, {}), rest, shape and shape.at((step,)))
        return {"type": "object", **schema, "properties": {**schema.get("properties", {}), str(step): inside}}

    def _has_containers(self, schema: dict[str, Any]) -> bool:
        return "x-kubernetes-patch-merge-key" in self._resolved(schema).get("properties", {}).get("containers", {})

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = self.definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
        return found


def _is_pod_spec(shape: Shape) -> bool:
    """True if an object is by its fields a pod spec of a CRD that says nothing of merge keys."""
    containers = shape.at(("containers",)) if shape.fields else None
    return containers is not None and not containers.merge and containers.at((0, "image")) is not None


def _are_scalars(item: Shape, keys: Sequence[str]) -> bool:
    """True if kustomize can compare the keys of items, none of which is a list."""
    return all((each := item.at((key,))) is not None and each.items is None and each.fields is None for key in keys)


def merging_by(keys: Sequence[str]) -> dict[str, Any]:
    """Return how patches merge a list by its keys."""
    return {
        "x-kubernetes-list-map-keys": list(keys),
        "x-kubernetes-list-type": "map",
        "x-kubernetes-patch-merge-key": keys[0],
        "x-kubernetes-patch-strategy": "merge",
    }
