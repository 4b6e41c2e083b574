"""What stands behind a text with `${name}`: where a parameter or the matrix has its value."""

from __future__ import annotations

from jobspec.overlays.parameters import pieces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Literal

    from jobspec.diagnostics import Mark
    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.gitops.project import Project
    from jobspec.gitops.variants import Variant
    from jobspec.overlays.overlay import Overlay

    Kind = Literal["parameter", "matrix", "hash"]


class Cause:
    """A value that another one is made of."""

    __slots__ = ("kind", "mark", "name", "value")

    def __init__(self, kind: Kind, name: str, value: object, mark: Mark) -> None:
        self.kind = kind
        self.name = name
        """Of the parameter, of the matrix's values, or of the field that is hashed."""
        self.value = value
        self.mark = mark
        """Where it is given: in the project, or as a default in the overlay; of a hash the field itself."""


class Causes:
    """The causes of the values of one variant."""

    __slots__ = ("_found",)

    def __init__(self, variant: Variant, project: Project) -> None:
        found: dict[str, list[Cause]] = {}
        matrix = _matrix_causes(variant, project)
        for tree in (variant.entry, *filter(None, [project.defaults])):
            _collect(_without(tree, "matrix"), matrix, found)
        for overlay in variant.overlays:
            _collect(_without(overlay.spec, "parameters"), _parameter_causes(overlay), found)
        self._found = found

    def of(self, mark: Mark) -> list[Cause]:
        """The causes of what is written at a place, and theirs."""
        own = self._found.get(str(mark), [])
        return [cause for each in own for cause in (each, *self.of(each.mark))]


def _without(tree: MarkedTree, name: str) -> MarkedTree:
    return tree.with_value({key: child for key, child in tree.value.items() if key != name})


def _matrix_causes(variant: Variant, project: Project) -> dict[str, Cause]:
    """The matrix's values of a variant, each where the matrix lists it."""
    matrix = variant.entry.get("matrix")
    return {
        name: Cause("matrix", name, variant.values[name], each.mark)
        for name, listed in (matrix.value.items() if matrix and matrix.value else ())
        for each in reversed(listed.value)
        if (each.value if isinstance(each.value, bool) else project.spelled(each)) == variant.values[name]
    }


def _parameter_causes(overlay: Overlay) -> dict[str, Cause]:
    """The values of an overlay's parameters, each where it is given; of one without a value there is nothing to tell."""
    defaults = {name: each.get("default") for name, each in overlay.spec.entries("parameters")}
    places = {**{name: default.mark for name, default in defaults.items() if default}, **overlay.given}
    return {name: Cause("parameter", name, overlay.values[name], mark) for name, mark in places.items()}


def _collect(tree: MarkedTree, causes: Mapping[str, Cause], found: dict[str, list[Cause]]) -> None:
    """Add the causes of all texts and keys inside a tree, by their places."""
    for mark, text in _texts(tree):
        named = list(dict.fromkeys(part for part, is_name in pieces(text) if is_name and part in causes))
        if named:
            found[str(mark)] = [causes[name] for name in named]


def _texts(tree: MarkedTree) -> Iterator[tuple[Mark, str]]:
    if isinstance(tree.value, str):
        yield tree.mark, tree.value
    children: Sequence[MarkedTree] = tree.value if isinstance(tree.value, list) else ()
    for child in children:
        yield from _texts(child)
    for key, child in tree.value.items() if isinstance(tree.value, dict) else ():
        if child.key:
            yield child.key, key
        yield from _texts(child)
