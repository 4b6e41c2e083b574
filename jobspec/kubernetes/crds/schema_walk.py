"""Walk a CRD's schema: the schemas inside it, each with its path and its context.

Follows the recursion in `ValidateCustomResourceDefinitionOpenAPISchema` and `specStandardValidatorV3`, k8s.io/apiextensions-apiserver
pkg/apis/apiextensions/validation/validation.go, 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

from jobspec.diagnostics.places import Key, Path
from jobspec.diagnostics.problems import Problem
from jobspec.kubernetes.problems import field_items

Schema = dict[str, Any]
META_FIELDS = ("apiVersion", "kind", "metadata")
MAPS = ("properties", "patternProperties", "definitions", "dependencies")
BRANCHES = ("allOf", "anyOf", "oneOf")
UNMARSHALED = ("items", "additionalProperties", "additionalItems")
#: Keywords with schemas inside.
NESTED = frozenset((*MAPS, *BRANCHES, *UNMARSHALED, "not"))


@dataclass(frozen=True, slots=True)
class SchemaContext:
    """The facts about a schema that the schemas around it decide."""

    _: KW_ONLY
    is_root: bool = False
    in_meta: bool = False
    """It is inside `apiVersion`, `kind` or `metadata` of an object."""
    default_hint: str = ""
    """Why it cannot have a default; empty where it can."""
    uncorrelated: bool = False
    """It is inside a list that is no map, so an item cannot be correlated with an old one."""

    def inside(self, *, in_meta: bool = False, default_hint: str = "", uncorrelated: bool = False) -> SchemaContext:
        """Return the context of an inner schema."""
        if not (self.is_root or in_meta or default_hint or uncorrelated):
            return self
        hint = self.default_hint or default_hint
        return SchemaContext(in_meta=self.in_meta or in_meta, default_hint=hint, uncorrelated=self.uncorrelated or uncorrelated)


def has_schemas(schema: Schema) -> bool:
    """True if there are schemas inside a schema."""
    return not NESTED.isdisjoint(schema)


def children(schema: Schema, path: Path, context: SchemaContext) -> list[tuple[Schema, Path, SchemaContext]]:
    """Return the schemas of fields, map values and items, with their paths and contexts."""
    found: list[tuple[Schema, Path, SchemaContext]] = []
    if not has_schemas(schema):
        return found
    is_resource = context.is_root or bool(schema.get("x-kubernetes-embedded-resource"))
    for name, child in (schema.get("properties") or {}).items():
        in_meta = is_resource and name in META_FIELDS
        why = f"`{name}` of an object as a whole cannot have defaults" if context.is_root and in_meta else ""
        found.append((child, (*path, "properties", Key(name)), context.inside(in_meta=in_meta, default_hint=why)))
    if isinstance(schema.get("additionalProperties"), dict):
        why = "the values of a map in metadata cannot have defaults" if context.in_meta else ""
        found.append((schema["additionalProperties"], (*path, "additionalProperties"), context.inside(default_hint=why)))
    if isinstance(schema.get("items"), dict):
        uncorrelated = schema.get("x-kubernetes-list-type") != "map"
        found.append((schema["items"], (*path, "items"), context.inside(uncorrelated=uncorrelated)))
    return found


def branches(schema: Schema, path: Path) -> Iterator[tuple[Schema, Path]]:
    """Yield the schemas in `allOf`, `anyOf`, `oneOf` and `not`, with their paths."""
    for keyword in BRANCHES:
        for at, branch in field_items(schema, keyword, path):
            yield branch, at
    if "not" in schema:
        yield schema["not"], (*path, "not")


def with_inner_schemas(schema: Schema) -> list[tuple[Schema, Path]]:
    """A schema and all schemas inside it, with their paths."""
    found: list[tuple[Schema, Path]] = []
    left: list[tuple[Schema, Path]] = [(schema, ())]
    context = SchemaContext()
    while left:
        node, path = left.pop()
        found.append((node, path))
        if has_schemas(node):
            left += reversed([*((child, at) for child, at, _ in children(node, path, context)), *branches(node, path)])
    return found


def schemas_in(schema: Schema) -> list[Schema]:
    """Return a schema and all schemas inside it, each value once."""
    found: dict[int, Schema] = {}
    left = [schema]
    while left:
        node = left.pop()
        if id(node) not in found:
            found[id(node)] = node
            left += [*(child for child, _, _ in children(node, (), SchemaContext())), *(branch for branch, _ in branches(node, ()))]
    return list(found.values())


def invalid(path: Path, message: str, hint: str = "") -> Problem:
    """Return a problem `invalid-crd`."""
    return Problem("invalid-crd", path, message, hint)
