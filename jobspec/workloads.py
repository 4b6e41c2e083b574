"""Training jobs of every kind seen the same way: their roles, pod templates and training containers.

Whatever comes after this module learns from here alone how one kind differs from another.
"""

from __future__ import annotations

from jobspec.diagnostics import Key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.documents.document import Document
    from jobspec.results import DocumentResult


class Role:
    """The pods of one role of a kind: where their template is, and which container trains."""

    __slots__ = ("container", "name", "path")

    def __init__(self, name: str, path: Path, container: str) -> None:
        self.name = name
        self.path = path
        """Path of the pod template in the manifest; empty where the manifest has none, since a runtime has it."""
        self.container = container
        """Name of the container that the operator requires."""

    def answers_to(self, wanted: Collection[str]) -> bool:
        """Whether pods of the *wanted* roles are meant to be these; nodes are masters and workers in one."""
        return not wanted or self.name in wanted or not self.path


class Workload:
    """A job or runtime and what belongs to it: the runtime behind a TrainJob, and on an update the object as it was."""

    __slots__ = ("document", "old", "runtime")

    def __init__(self, document: Document, *, runtime: Document | None = None, old: Document | None = None) -> None:
        self.document = document
        self.runtime = runtime
        """Of a TrainJob: the runtime that it refers to, None where that is not at hand."""
        self.old = old
        """On an update: the stored object; None on a create."""


#: (apiVersion, kind) -> its roles, in the order in which the operator ranks them.
KINDS: dict[tuple[str, str], tuple[Role, ...]] = {
    ("kubeflow.org/v1", "PyTorchJob"): (
        Role("master", ("spec", "pytorchReplicaSpecs", Key("Master"), "template"), "pytorch"),
        Role("worker", ("spec", "pytorchReplicaSpecs", Key("Worker"), "template"), "pytorch"),
    ),
    ("trainer.kubeflow.org/v1alpha1", "TrainJob"): (Role("node", (), "node"),),
}


def is_workload(document: Document | DocumentResult) -> bool:
    """Whether overlays can be applied to the document."""
    return (document.api_version, document.kind) in KINDS


def roles(document: Document) -> list[Role]:
    """The roles that a job has pods for."""
    return [role for role in KINDS[document.api_version, document.kind] if isinstance(value_at(document.data, role.path), dict)]


def value_at(data: Any, path: Path) -> Any:
    """The value at *path*, None where there is none."""
    for step in path:
        if isinstance(data, dict):
            data = data.get(step)
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            data = data[step]
        else:
            return None
    return data


def items_at(data: Any, path: Path) -> list[tuple[Path, Any]]:
    """The items of the list at *path* with the path of each, none where there is no list."""
    return [((*path, index), item) for index, item in enumerate(value_at(data, path) or ())]
