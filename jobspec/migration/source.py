"""A PyTorchJob as its migration looks at it: its replica types, its policies, and what the operator makes of it."""

from __future__ import annotations

from jobspec.documents.marked_tree import text, with_marks
from jobspec.migration.nodes import nodes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.documents.document import Document
    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.migration.nodes import JobNode
    from jobspec.targets import Target


class SourceJob:
    """One PyTorchJob, and the release that it goes to."""

    __slots__ = ("document", "gang_scheduler", "nodes", "release", "replicas", "spec", "tree")

    def __init__(self, document: Document, objects: Sequence[MarkedTree], target: Target, *, gang_scheduler: str) -> None:
        """*objects*: what training-operator makes of it."""
        self.document = document
        self.release = target["trainer"]
        self.gang_scheduler = gang_scheduler
        """What schedules its pods all at once; empty where nothing does."""
        self.tree = _without_nulls(with_marks(document.data, document.marks))
        self.spec: MarkedTree = self.tree.value["spec"]
        self.replicas = dict(sorted(self.spec.entries("pytorchReplicaSpecs")))
        """Master first."""
        self.nodes: list[JobNode] = [each for each in nodes_of(objects, document.group_kind) if each.training]

    @property
    def name(self) -> str:
        """The name of the job."""
        return self.document.name

    @property
    def is_of_volcano(self) -> bool:
        """Whether Volcano schedules its pods all at once."""
        return self.gang_scheduler.lower() == "volcano"

    @property
    def lead(self) -> MarkedTree:
        """The replica type of node 0."""
        lead: MarkedTree = next(iter(self.replicas.values()))
        return lead

    @property
    def count(self) -> int:
        """How many pods it has."""
        return sum(self.count_of(name) for name in self.replicas)

    def count_of(self, name: str) -> int:
        """How many pods a replica type has."""
        given = self.replicas[name].get("replicas")
        return int(given.value) if given else 1

    def policy(self, *path: str) -> MarkedTree | None:
        """A field of the run policy."""
        return self.spec.get("runPolicy", *path)

    def restart(self, replica: MarkedTree) -> str:
        """The restart policy of a replica type, with the operator's default."""
        return text(replica, "restartPolicy") or "OnFailure"

    def is_uniform(self) -> bool:
        """Whether the pods of all replica types are the same."""
        seen = [(self.restart(each), each.value["template"].data()) for each in self.replicas.values()]
        return all(each == seen[0] for each in seen)


def _without_nulls(tree: MarkedTree) -> MarkedTree:
    """The tree without null values, which the server drops."""
    if isinstance(tree.value, dict):
        return tree.with_value({name: _without_nulls(each) for name, each in tree.value.items() if each.value is not None})
    return tree.with_value([_without_nulls(each) for each in tree.value]) if isinstance(tree.value, list) else tree
