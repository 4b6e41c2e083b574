"""How much of one thing is expanded: a number that a server takes may be more than anybody could read, or a machine hold."""

from __future__ import annotations

from jobspec.diagnostics import JobspecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MOST = 100_000


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
