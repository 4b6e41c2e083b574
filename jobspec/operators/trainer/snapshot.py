"""The text of the runtime as it was when the job began, which the trainer keeps in a ConfigMap from 2.3 on.

Follows `createRuntimeSnapshot`, github.com/kubeflow/trainer pkg/runtime/core, 2.3.0. What the cluster adds to the runtime's metadata (its
uid, its times, who manages its fields) is left out.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import text
from jobspec.documents.writer import write
from jobspec.operators.edits import changed
from jobspec.operators.go_types import as_go_writes
from jobspec.operators.trainer.written import as_typed
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.targets import Target


def written(runtime: MarkedTree, target: Target) -> str:
    """The text of a stored runtime."""
    return write([_sorted(_typed(runtime, target).data())])


def _typed(runtime: MarkedTree, target: Target) -> MarkedTree:
    shape = shapes.load(text(runtime, "apiVersion"), text(runtime, "kind"), target)
    template = shape and shape.at(("spec", "template", "spec"))
    assert template
    runtime = as_go_writes(runtime, shape)
    runtime = changed(runtime, ("spec", "template", "metadata"), lambda tree: tree)
    return changed(runtime, ("spec", "template", "spec"), lambda tree: as_typed(tree, template))


def _sorted(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: _sorted(data[name]) for name in sorted(data)}
    return [_sorted(each) for each in data] if isinstance(data, list) else data
