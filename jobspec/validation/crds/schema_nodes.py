"""Walk a CRD's schema: the schemas inside it, each with its path and its context.

Follows the recursion in `ValidateCustomResourceDefinitionOpenAPISchema` and `specStandardValidatorV3`, k8s.io/apiextensions-apiserver
pkg/apis/apiextensions/validation/validation.go, 1.36.
"""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.validation.crds.decode import BRANCHES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

    Schema = dict[str, Any]

_META = ("apiVersion", "kind", "metadata")


class SchemaContext:
    """What the schemas around a schema say about it."""

    __slots__ = ("default_hint", "in_meta", "is_root", "uncorrelated")

    def __init__(self, *, is_root: bool = False, in_meta: bool = False, default_hint: str = "", uncorrelated: bool = False) -> None:
        self.is_root = is_root
        self.in_meta = in_meta
        """It is inside `apiVersion`, `kind` or `metadata` of an object."""
        self.default_hint = default_hint
        """Why it cannot have a default; empty where it can."""
        self.uncorrelated = uncorrelated
        """It is inside a list that is no map, so an item cannot be correlated with an old one."""

    def inside(self, *, in_meta: bool = False, default_hint: str = "", uncorrelated: bool = False) -> SchemaContext:
        """The context of an inner schema."""
        return SchemaContext(
            in_meta=self.in_meta or in_meta,
            default_hint=self.default_hint or default_hint,
            uncorrelated=self.uncorrelated or uncorrelated,
        )


def children(schema: Schema, path: Path, context: SchemaContext) -> Iterator[tuple[Schema, Path, SchemaContext]]:
    """The schemas of fields, map values and items, with their paths and contexts."""
    is_resource = context.is_root or bool(schema.get("x-kubernetes-embedded-resource"))
    for name, child in (schema.get("properties") or {}).items():
        in_meta = is_resource and name in _META
        why = f"`{name}` of an object as a whole cannot have defaults" if context.is_root and in_meta else ""
        yield child, (*path, "properties", Key(name)), context.inside(in_meta=in_meta, default_hint=why)
    if isinstance(schema.get("additionalProperties"), dict):
        why = "the values of a map in metadata cannot have defaults" if context.in_meta else ""
        yield schema["additionalProperties"], (*path, "additionalProperties"), context.inside(default_hint=why)
    if isinstance(schema.get("items"), dict):
        yield schema["items"], (*path, "items"), context.inside(uncorrelated=schema.get("x-kubernetes-list-type") != "map")


def branches(schema: Schema, path: Path) -> Iterator[tuple[Schema, Path]]:
    """The schemas in `allOf`, `anyOf`, `oneOf` and `not`, with their paths."""
    for keyword in BRANCHES:
        for index, branch in enumerate(schema.get(keyword) or ()):
            yield branch, (*path, keyword, index)
    if "not" in schema:
        yield schema["not"], (*path, "not")


def nodes(schema: Schema, path: Path = ()) -> Iterator[tuple[Schema, Path]]:
    """A schema and all schemas inside it, with their paths."""
    yield schema, path
    for child, at, _ in children(schema, path, SchemaContext()):
        yield from nodes(child, at)
    for branch, at in branches(schema, path):
        yield from nodes(branch, at)
