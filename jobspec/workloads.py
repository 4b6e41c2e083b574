"""Training jobs of every kind seen the same way: their roles, pod templates and training containers.

Whatever comes after this module learns from here alone how one kind differs from another.
"""

from __future__ import annotations

from jobspec.diagnostics import Key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.documents.document import Document


class Role:
    """The pods of one role of a kind: where their template is, and which container trains."""

    __slots__ = ("container", "name", "path")

    def __init__(self, name: str, path: Path, container: str) -> None:
        self.name = name
        self.path = path
        """Path of the pod template in the manifest."""
        self.container = container
        """Name of the container that the operator requires."""


#: (apiVersion, kind) -> its roles, in the order in which the operator ranks them.
KINDS: dict[tuple[str, str], tuple[Role, ...]] = {
    ("kubeflow.org/v1", "PyTorchJob"): (
        Role("master", ("spec", "pytorchReplicaSpecs", Key("Master"), "template"), "pytorch"),
        Role("worker", ("spec", "pytorchReplicaSpecs", Key("Worker"), "template"), "pytorch"),
    ),
}


def is_workload(document: Document) -> bool:
    """Whether overlays can be laid on the document."""
    return (document.api_version, document.kind) in KINDS


def roles(document: Document) -> list[Role]:
    """The roles that a job has pods for."""
    return [role for role in KINDS[document.api_version, document.kind] if isinstance(value_at(document.data, role.path), dict)]


def value_at(data: Any, path: Path) -> Any:
    """The value at *path*, None where there is none."""
    for step in path:
        data = data.get(step) if isinstance(data, dict) else None
    return data
