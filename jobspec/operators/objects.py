"""What an operator makes of a job: objects in the order in which they come, values that it sets itself, and how many there may be.

The place of a value that an operator sets is the operator, not a line of a file. A number that a server takes may be more than anybody
could read, or a machine hold.
"""

from __future__ import annotations

from jobspec.diagnostics import JobspecError, Mark
from jobspec.documents.marked_tree import MarkedTree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from jobspec.diagnostics import Diagnostic

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


def operator_mark(operator: str, release: str) -> Mark:
    """The place of what an operator of a release sets itself, such as `training-operator 1.9.4`."""
    return Mark(f"{operator} {release}")


def set_by(operator: Mark, data: Any) -> MarkedTree:
    """Plain data as a tree; all of it, but for trees inside, stands at the *operator*'s place."""
    if type(data) is str:
        return MarkedTree(data, operator)
    if isinstance(data, MarkedTree):
        return data
    if isinstance(data, dict):
        return MarkedTree({key: set_by(operator, value) for key, value in data.items()}, operator)
    if isinstance(data, list):
        return MarkedTree([set_by(operator, value) for value in data], operator)
    return MarkedTree(data, operator)
