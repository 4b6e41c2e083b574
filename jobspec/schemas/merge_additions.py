"""Add the merge keys of kinds to a user's own OpenAPI document, which keeps what it says.

Follows `PatchStrategyAndKeyList`, `Elements` and `Field`, sigs.k8s.io/kustomize/kyaml openapi, 0.21.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from jobspec.diagnostics.places import Path
from jobspec.diagnostics.problems import Change, set_to
from jobspec.schemas.upstream import GROUP_VERSION_KIND

_STRATEGY = "x-kubernetes-patch-strategy"
_NESTED = ("items", "additionalProperties")


def additions(document: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[Change]:
    """Return the changes that add the missing parts of a document of `merge_document`.

    A list for which the document has a patch strategy keeps it.
    """
    return list(_changes(document, _Extended(document, wanted).document, ()))


def _changes(before: Any, after: Any, path: Path) -> Iterator[Change]:
    """Yield a change for each field that an object has more than before."""
    if isinstance(before, dict) and before and isinstance(after, dict):
        for name, value in after.items():
            yield from _changes(before.get(name), value, (*path, name))
    elif before != after:
        yield set_to(path, after)


class _Extended:
    """A document with the kinds of another one."""

    def __init__(self, document: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
        self.document: dict[str, Any] = deepcopy(dict(document))
        self._made: Mapping[str, Any] = wanted["definitions"]
        self._definitions = _inside(self.document, "definitions")
        self._compared: set[tuple[int, int]] = set()
        known = {kind: name for name, each in self._definitions.items() for kind in _kinds_of(each)}
        added: set[tuple[str, ...]] = set()
        for name, root in self._made.items():
            for kind in _kinds_of(root):
                if kind in known:
                    self._extend(self._definitions[known[kind]], root)
                else:
                    self._add(name)
                    added.add(kind)
        for path, each in wanted["paths"].items():
            if not added.isdisjoint(_kinds_of(each["get"])):
                _inside(self.document, "paths").setdefault(path, each)

    def _add(self, name: str) -> None:
        """Add a definition, and those that it refers to."""
        if name in self._definitions:
            self._extend(self._definitions[name], self._made[name])
        else:
            self._definitions[name] = self._made[name]
            self._add_referred(self._made[name])

    def _add_referred(self, value: Any) -> None:
        if isinstance(value, dict):
            for name, each in value.items():
                if name == "$ref":
                    self._add(_referred(each))
                else:
                    self._add_referred(each)

    def _extend(self, there: Any, wanted: Mapping[str, Any]) -> None:
        """Add to a schema what it lacks of another one."""
        there = self._definitions.get(_referred(there["$ref"])) if isinstance(there, dict) and "$ref" in there else there
        wanted = self._made[_referred(wanted["$ref"])] if "$ref" in wanted else wanted
        if not isinstance(there, dict) or (id(there), id(wanted)) in self._compared:
            return
        self._compared.add((id(there), id(wanted)))
        if _STRATEGY not in there:
            for name, value in wanted.items():
                if name.startswith("x-kubernetes-") and name != GROUP_VERSION_KIND:
                    there.setdefault(name, value)
        there.setdefault("type", wanted["type"])
        for name in _NESTED:
            if name in wanted:
                self._extend_field(there, name, wanted[name])
        for name, value in (wanted.get("properties") or {}).items():
            self._extend_field(_inside(there, "properties"), name, value)

    def _extend_field(self, there: dict[str, Any], name: str, wanted: Mapping[str, Any]) -> None:
        if isinstance(there.get(name), dict):
            self._extend(there[name], wanted)
        else:
            there[name] = wanted
            self._add_referred(wanted)


def _inside(data: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the object in a field. If there is none, add an empty one."""
    if not isinstance(data.get(name), dict):
        data[name] = {}
    found: dict[str, Any] = data[name]
    return found


def _kinds_of(schema: Any) -> Iterator[tuple[str, ...]]:
    """Yield group, version and kind of each kind that a definition or a path is of."""
    named = schema.get(GROUP_VERSION_KIND) if isinstance(schema, dict) else None
    for each in named if isinstance(named, list) else [named]:
        if isinstance(each, dict):
            yield tuple(str(each.get(part) or "") for part in ("group", "version", "kind"))


def _referred(reference: Any) -> str:
    return str(reference).rpartition("/")[2]
