"""The ConfigMap in which the trainer keeps the runtime as it was when the job began, from 2.3 on.

Follows `createRuntimeSnapshot`, github.com/kubeflow/trainer pkg/runtime/core, 2.3.0. What the cluster adds to the runtime's metadata (its
uid, its times, who manages its fields) is left out.
"""

from __future__ import annotations

from jobspec.apis.releases import is_at_least
from jobspec.documents.marked_tree import LateTree, MarkedTree, changed, text, with_mappings
from jobspec.operators.made import as_go_writes, as_typed
from jobspec.operators.trainer.train_job import JobOfTrainer, core_object
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.apis.releases import Target


def snapshot_name(job: str, target: Target) -> str:
    """Return the name of the ConfigMap in which the trainer keeps the runtime of a job.

    If the release of the trainer keeps none, return an empty string.
    """
    return f"{job}-runtime-snapshot" if is_at_least(target["trainer"], "2.3.0") else ""


def snapshot(job: JobOfTrainer, target: Target) -> dict[str, Any]:
    """The ConfigMap with the runtime, whose text is made for the first who looks at it."""
    place = job.runtime.value["metadata"].value["name"]
    runtime = LateTree(lambda: _written(job.runtime, target), place.mark, place.key)
    return core_object("ConfigMap", snapshot_name(text(job.name), target), data={"runtime": runtime})


def _written(runtime: MarkedTree, target: Target) -> str:
    """The text of a stored runtime."""
    from jobspec.documents.writer import write

    return write([_sorted(_typed(runtime, target).data())])


def _typed(runtime: MarkedTree, target: Target) -> MarkedTree:
    kind, path = (text(runtime, "apiVersion"), text(runtime, "kind")), ("spec", "template", "spec")
    runtime = with_mappings(as_go_writes(runtime, shapes.part(*kind, target)), ("spec", "template", "metadata"))
    return changed(runtime, path, lambda tree: as_typed(tree, shapes.part(*kind, target, path)))


def _sorted(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: _sorted(data[name]) for name in sorted(data)}
    return [_sorted(each) for each in data] if isinstance(data, list) else data
