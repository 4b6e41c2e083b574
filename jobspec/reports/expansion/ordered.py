"""Expanded objects with their fields in the order in which people write them."""

from __future__ import annotations

from jobspec import shapes
from jobspec.arrange import arrange
from jobspec.kinds import COMPONENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.overlays.marked_tree import MarkedTree
    from jobspec.shapes import Shape
    from jobspec.targets import Target

#: Kind of an object that jobspec has no schema of -> where a schema of ours has an object of its shape.
_INSIDE: dict[str, tuple[tuple[str, str], Path]] = {
    "Pod": (("kubeflow.org/v1", "PyTorchJob"), ("spec", "pytorchReplicaSpecs", "Worker", "template")),
    "Job": (("jobset.x-k8s.io/v1alpha2", "JobSet"), ("spec", "replicatedJobs", 0, "template")),
}


def ordered(tree: MarkedTree, target: Target) -> MarkedTree:
    """An object with its fields in the order of its kind."""
    return _like(tree, arrange(tree.data(), _shape(tree.value["apiVersion"].value, tree.value["kind"].value, target)))


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


def _like(tree: MarkedTree, data: Any) -> MarkedTree:
    """A tree with the keys of its mappings in the order of *data*, which are the same."""
    if isinstance(data, dict):
        return tree.with_value({name: _like(tree.value[name], child) for name, child in data.items()})
    if isinstance(data, list):
        return tree.with_value([_like(child, inner) for child, inner in zip(tree.value, data, strict=True)])
    return tree
