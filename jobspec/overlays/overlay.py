"""An overlay that is ready to be applied."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from jobspec.diagnostics import Mark
    from jobspec.documents.marked_tree import MarkedTree


class Overlay:
    """A checked overlay, with values for its parameters."""

    __slots__ = ("given", "name", "override", "spec", "tree", "values")

    def __init__(self, tree: MarkedTree, values: Mapping[str, Any], given: Mapping[str, Mark] | None = None) -> None:
        self.tree = tree
        spec = tree.get("spec")
        assert spec
        self.spec = spec
        self.name = name_of(tree)
        override = spec.get("override")
        self.override = bool(override and override.value)
        self.values = values
        self.given: Mapping[str, Mark] = given or {}
        """Where a file gives parameters their values."""

    def conflicts(self) -> list[MarkedTree]:
        """The names of overlays that cannot be applied together with this one."""
        named = self.spec.get("conflicts")
        return list(named.value) if named else []


def name_of(tree: MarkedTree) -> str:
    """The `metadata.name` of an overlay, which has one."""
    name = tree.get("metadata", "name")
    assert name
    return str(name.value)
