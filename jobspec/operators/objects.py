"""What an operator makes of a job: the objects in the order in which they come, and what it refuses to make."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobspec.diagnostics import Diagnostic
    from jobspec.overlays.marked_tree import MarkedTree


class Expansion:
    """The objects that an operator creates for one job, and the diagnostics of what it does not create."""

    __slots__ = ("counts", "diagnostics", "objects")

    def __init__(
        self, objects: Sequence[MarkedTree] = (), diagnostics: Sequence[Diagnostic] = (), *, counts: Mapping[str, int] | None = None
    ) -> None:
        self.objects = objects
        """Whole objects, with `apiVersion`, `kind`, `metadata` and `spec`; those that a server may refuse are there, too."""
        self.diagnostics = diagnostics
        self.counts = counts or {}
        """The number of pods of each role: replica types in small letters, replicated jobs by name."""
