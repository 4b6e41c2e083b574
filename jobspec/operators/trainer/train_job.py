"""A TrainJob with its runtime as the trainer's plugins see it: policies, overrides, replicated jobs, numbers and resources."""

from __future__ import annotations

from jobspec.apis.releases import is_at_least
from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.operators.made import operator_mark
from jobspec.operators.trainer.runtimes import TORCHTUNE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


PORT = 29500
"""Where the first node of a training listens."""


class JobOfTrainer:
    """A TrainJob and its runtime, both as the server stores them."""

    __slots__ = ("mark", "release", "runtime", "tree")

    def __init__(self, tree: MarkedTree, runtime: MarkedTree, release: str) -> None:
        self.tree = tree
        self.runtime = runtime
        self.release = release
        """Of the trainer."""
        self.mark = operator_mark("trainer", release)
        """The place of what the trainer sets itself."""

    @property
    def name(self) -> MarkedTree:
        """`metadata.name`."""
        found = self.tree.get("metadata", "name")
        assert found
        return found

    def named(self, value: str) -> MarkedTree:
        """A text that is made from the job's name, and stands at its place."""
        return self.name.with_value(value)

    def trainer(self, *path: str) -> MarkedTree | None:
        """The value at a path of `spec.trainer`."""
        return self.tree.get("spec", "trainer", *path)

    def policy(self, *path: str) -> MarkedTree | None:
        """The value at a path of the runtime's `mlPolicy`."""
        return self.runtime.get("spec", "mlPolicy", *path)

    def group_policy(self, *path: str) -> MarkedTree | None:
        """The value at a path of the runtime's `podGroupPolicy`."""
        return self.runtime.get("spec", "podGroupPolicy", *path)

    def is_at_least(self, release: str) -> bool:
        """Whether the trainer is of a release, or a later one."""
        return is_at_least(self.release, release)

    @property
    def is_torchtune(self) -> bool:
        """Whether the job's command is that of torchtune, and nothing more."""
        return [each.value for each in items(self.trainer("command"))] == TORCHTUNE

    @property
    def first_node(self) -> str:
        """The host name of the first node, as the plugins for torch, jax and xgboost write it: they know no other subdomain."""
        name = text(self.name)
        return f"{name}-node-0-0.{name}"


def core_object(kind: str, name: str, **fields: Any) -> dict[str, Any]:
    """An object of a core kind, such as a Secret, which the trainer makes beside the JobSet."""
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **fields}
