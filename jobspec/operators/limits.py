"""How much of one thing is expanded: a number that a server takes may be more than anybody could read, or a machine hold."""

from __future__ import annotations

from jobspec.diagnostics import JobspecError

MOST = 100_000


def few(number: int, what: str) -> int:
    """A number of objects, where they are few enough. Raises JobspecError otherwise; *what*: such as ``pods of Job `a` ``."""
    if number > MOST:
        raise JobspecError(f"{number} {what} are too many to expand: {MOST} are the most")
    return number
