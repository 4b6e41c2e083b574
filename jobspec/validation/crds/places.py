"""The schemas inside of a CRD's schema, each with its path and what is known of its surroundings; and how a mistake in a CRD is told."""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.validation.crds.decode import BRANCHES
from jobspec.validation.structural import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

    Schema = dict[str, Any]

_META = ("apiVersion", "kind", "metadata")


def wrong(path: Path, message: str, hint: str = "") -> Problem:
    """A mistake in a CRD."""
    return Problem("invalid-crd", path, message, hint)


class Place:
    """What is known of the surroundings of a schema."""

    __slots__ = ("default_hint", "in_meta", "is_root", "uncorrelated")

    def __init__(self, *, is_root: bool = False, in_meta: bool = False, default_hint: str = "", uncorrelated: bool = False) -> None:
        self.is_root = is_root
        self.in_meta = in_meta
        """In the kind or metadata of an object."""
        self.default_hint = default_hint
        """Why no default can be given; empty where one can."""
        self.uncorrelated = uncorrelated
        """In a list whose items nothing tells to be the old ones."""

    def inside(self, *, in_meta: bool = False, default_hint: str = "", uncorrelated: bool = False) -> Place:
        """The place of a schema inside of this one."""
        return Place(
            in_meta=self.in_meta or in_meta,
            default_hint=self.default_hint or default_hint,
            uncorrelated=self.uncorrelated or uncorrelated,
        )


def children(schema: Schema, path: Path, place: Place) -> Iterator[tuple[Schema, Path, Place]]:
    """The schemas of values inside, branches left out."""
    is_resource = place.is_root or bool(schema.get("x-kubernetes-embedded-resource"))
    for name, child in (schema.get("properties") or {}).items():
        in_meta = is_resource and name in _META
        why = f"`{name}` of an object as a whole cannot have defaults" if place.is_root and in_meta else ""
        yield child, (*path, "properties", Key(name)), place.inside(in_meta=in_meta, default_hint=why)
    if isinstance(schema.get("additionalProperties"), dict):
        why = "the values of a map in metadata cannot have defaults" if place.in_meta else ""
        yield schema["additionalProperties"], (*path, "additionalProperties"), place.inside(default_hint=why)
    if isinstance(schema.get("items"), dict):
        yield schema["items"], (*path, "items"), place.inside(uncorrelated=schema.get("x-kubernetes-list-type") != "map")


def branches(schema: Schema, path: Path) -> Iterator[tuple[Schema, Path]]:
    """The branches of `allOf` and its like."""
    for keyword in BRANCHES:
        for index, branch in enumerate(schema.get(keyword) or ()):
            yield branch, (*path, keyword, index)
    if "not" in schema:
        yield schema["not"], (*path, "not")


def nodes(schema: Schema, path: Path = ()) -> Iterator[tuple[Schema, Path]]:
    """A schema and all that are inside of it."""
    yield schema, path
    for child, at, _ in children(schema, path, Place()):
        yield from nodes(child, at)
    for branch, at in branches(schema, path):
        yield from nodes(branch, at)
