"""Drop the fields of a manifest that another release does not have, and list them."""

from __future__ import annotations

from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.schemas.shapes import Shape
    from jobspec.targets import Target


class Dropped:
    """A field that is not there any more."""

    __slots__ = ("path", "tree")

    def __init__(self, path: tuple[str, ...], tree: MarkedTree) -> None:
        self.path = path
        """Names of fields; the items of lists are left out."""
        self.tree = tree


def pruned(tree: MarkedTree, target: Target) -> tuple[MarkedTree, list[Dropped]]:
    """A manifest as a release has it, and what it has no field for."""
    shape = shapes.load(str(tree.value["apiVersion"].value), str(tree.value["kind"].value), target)
    assert shape
    dropped: list[Dropped] = []
    return _pruned(tree, shape, (), dropped), dropped


def _pruned(tree: MarkedTree, shape: Shape, path: tuple[str, ...], dropped: list[Dropped]) -> MarkedTree:
    if isinstance(tree.value, list) and shape.items is not None:
        return tree.with_value([_pruned(each, shape.items, path, dropped) for each in tree.value])
    if not isinstance(tree.value, dict):
        return tree
    if shape.fields is not None:
        fields = shape.fields
        dropped += [Dropped((*path, name), each) for name, each in tree.value.items() if name not in fields]
        kept = {name: _pruned(each, fields[name], (*path, name), dropped) for name, each in tree.value.items() if name in fields}
        return tree.with_value(kept)
    if shape.values is not None:
        values = shape.values
        return tree.with_value({name: _pruned(each, values, (*path, name), dropped) for name, each in tree.value.items()})
    return tree
