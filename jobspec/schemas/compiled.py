"""Structures to compiled schemas, the small files that `jobspec.shapes` loads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from jobspec.cel_rules import is_transition
from jobspec.schemas.structure import structure_of

if TYPE_CHECKING:
    from typing import Any

    from jobspec.models.base import Model, Resource
    from jobspec.schemas.structure import Structure

_LEFT_OUT = ("atomic", "granular", "description")  # facts that checks and overlays do not use
_LINKS = ("values", "items")


def compiled(model: type[Model], release: str) -> str:
    """The text of a kind's compiled file: one line of JSON, with each distinct shape once; shapes refer to others by index."""
    resource: Resource = model.RESOURCE  # type: ignore[attr-defined]
    document = {"apiVersion": resource.api_version, "kind": resource.kind, "component": resource.component, "release": release}
    table = _table(_root(structure_of(model, release), resource))
    return json.dumps({**document, "shapes": table}, separators=(",", ":")) + "\n"


def _root(structure: Structure, resource: Resource) -> Structure:
    """The structure of the whole object, with what only that has: metadata of an object, and the scale subresource's paths."""
    fields = structure["fields"]
    root = {**structure, "fields": {**fields, "metadata": {**fields["metadata"], "meta": True}}}
    if resource.scale:
        root["scale"] = {name: path.strip(".").split(".") for name, path in resource.scale.paths.items()}
    return root


def _ruled(flat: dict[str, Any]) -> int:
    """When the rules of a shape are evaluated: 2 on every request, 1 on updates only, 0 if there are none."""
    return max((1 if is_transition(rule["rule"]) else 2 for rule in flat.get("rules", ())), default=0)


def _is_parsed(flat: dict[str, Any]) -> bool:
    """Whether Go programs parse the values of a shape: quantities, times and int-or-string."""
    return flat["type"] == "int-or-string" or flat.get("format") in ("quantity", "date-time")


def _children(flat: dict[str, Any]) -> list[int]:
    return [*flat.get("fields", {}).values(), *(flat[key] for key in _LINKS if key in flat)]


def _table(root: Structure) -> list[dict[str, Any]]:
    table: list[dict[str, Any]] = [{}]
    known: dict[str, int] = {}

    def place(structure: Structure) -> int:
        flat = flatten(structure)
        text = json.dumps(flat)
        if text not in known:
            known[text] = len(table)
            table.append(flat)
        return known[text]

    def flatten(structure: Structure) -> dict[str, Any]:
        flat = {key: value for key, value in structure.items() if key not in _LEFT_OUT}
        if "fields" in structure:
            flat["fields"] = {name: place(child) for name, child in structure["fields"].items()}
        flat |= {key: place(structure[key]) for key in _LINKS if key in structure}
        inner = [table[child] for child in _children(flat)]
        ruled = max([_ruled(flat), *(each.get("ruled", 0) for each in inner)])
        parsed = _is_parsed(flat) or any(each.get("parsed") for each in inner)
        return flat | ({"ruled": ruled} if ruled else {}) | ({"parsed": True} if parsed else {})

    table[0] = flatten(root)
    return table
