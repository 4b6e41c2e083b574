"""What an operator makes of a job: the objects in the order in which they come, what it refuses to make, and how many there may be.

A number that a server takes may be more than anybody could read, or a machine hold.
"""

from __future__ import annotations

from jobspec.diagnostics import JobspecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from jobspec.diagnostics import Diagnostic
    from jobspec.overlays.marked_tree import MarkedTree

MOST = 100_000


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


def numbers(count: int, what: str, *, ends: bool = False) -> Iterable[int]:
    """The numbers of *count* objects, from 0. *ends*: the first and the last alone, which stand for all between.

    Raises JobspecError as `few` does, unless only the ends are wanted.
    """
    if ends:
        return range(count) if count < 3 else (0, count - 1)
    return range(few(count, what))


def few(number: int, what: str) -> int:
    """A number of objects, where they are few enough. Raises JobspecError otherwise; *what*: such as ``pods of Job `a` ``."""
    if number > MOST:
        raise JobspecError(f"{number} {what} are too many to expand: {MOST} are the most")
    return number
