"""A job and the objects that its operator makes of it, as reports take them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.documents.document import Document
    from jobspec.overlays.marked_tree import MarkedTree


class Expanded:
    """One job, its objects, and who makes them."""

    __slots__ = ("job", "objects", "operator")

    def __init__(self, job: Document, objects: Sequence[MarkedTree], operator: str) -> None:
        self.job = job
        self.objects = objects
        self.operator = operator
        """Name and release, such as `training-operator 1.9.4`."""
