"""Expanded objects with their fields in the order in which people write them."""

from __future__ import annotations

from jobspec.kinds import COMPONENTS
from jobspec.rendering import order_of
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.diagnostics import Path
    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.schemas.shapes import Shape
    from jobspec.targets import Target

#: Kind of an object that jobspec has no schema of -> where a schema of ours has an object of its shape.
_INSIDE: dict[str, tuple[tuple[str, str], Path]] = {
    "Pod": (("kubeflow.org/v1", "PyTorchJob"), ("spec", "pytorchReplicaSpecs", "Worker", "template")),
    "Job": (("jobset.x-k8s.io/v1alpha2", "JobSet"), ("spec", "replicatedJobs", 0, "template")),
}


def ordered(objects: Sequence[MarkedTree], target: Target) -> list[MarkedTree]:
    """Objects with their fields in the order of their kinds."""
    order = _Order()
    kinds = [(each.value["apiVersion"].value, each.value["kind"].value) for each in objects]
    shape_of = {kind: _shape(*kind, target) for kind in dict.fromkeys(kinds)}
    return [order(each, shape_of[kind]) for each, kind in zip(objects, kinds, strict=True)]


class _Order:
    """Orders the fields of trees; of a thousand pods, nearly all have the same fields in the same places."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[tuple[int, tuple[str, ...]], list[str]] = {}

    def __call__(self, tree: MarkedTree, shape: Shape | None) -> MarkedTree:
        value = tree.value
        if isinstance(value, dict):
            fields = shape.fields if shape else None
            return tree.with_value({name: self(value[name], _inside(shape, fields, name)) for name in self._names(value, shape)})
        if isinstance(value, list):
            items = shape.items if shape else None
            return tree.with_value([self(each, items) for each in value])
        return tree

    def _names(self, value: dict[str, MarkedTree], shape: Shape | None) -> list[str]:
        key = (id(shape), tuple(value))
        if key not in self._known:
            self._known[key] = order_of(value, shape)
        return self._known[key]


def _inside(shape: Shape | None, fields: dict[str, Shape] | None, name: str) -> Shape | None:
    return fields.get(name) if fields is not None else shape.values if shape else None


def _shape(api_version: str, kind: str, target: Target) -> Shape | None:
    if (api_version, kind) in COMPONENTS:
        return shapes.load(api_version, kind, target)
    if kind not in _INSIDE:
        return None
    around, path = _INSIDE[kind]
    whole = shapes.load(*around, target)
    spec = whole.at((*path, "spec")) if whole else None
    assert spec
    fields = {"apiVersion": 1, "kind": 1, "metadata": 2, "spec": 3}
    return shapes.link([{"type": "object", "fields": fields}, {"type": "string"}, shapes.load_metadata(target), spec])
