"""Do work on many items: spread over processes if there are many, with progress on a terminal."""

from __future__ import annotations

import os
import sys

from jobspec.journey.journey import one_by_one
from jobspec.session.terminal import is_terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence
    from typing import Any, TypeVar

    T = TypeVar("T")
    R = TypeVar("R")
    #: A way to do work on many items, such as one after the other.
    Run = Callable[..., list[Any]]


_WORTH_SPREADING = 48  # files; starting processes costs about as much as checking these


def how_to_run(items: Sequence[object]) -> Run:
    """How work on so many files or variants is run: where they are many, spread over processes."""
    if len(items) < _WORTH_SPREADING or (os.cpu_count() or 1) == 1:
        return one_by_one
    from jobspec.session.spreading import spread

    return spread


def alike_together(items: Sequence[T], work: Callable[[T], R], likeness: Callable[[T], Hashable], run: Run) -> list[R]:
    """`run(items, work)`, where items of one *likeness* are neighbours.

    A process does once what alike items have in common, and it takes neighbours.
    """
    first: dict[Hashable, int] = {}
    order = sorted(range(len(items)), key=lambda at: first.setdefault(likeness(items[at]), at))
    done = dict(zip(order, run([items[at] for at in order], work), strict=True))
    return [done[at] for at in range(len(items))]


def with_progress(
    items: Sequence[T], work: Callable[[T], R], *, run: Run | None = None, done_to_each: tuple[str, str] = ("checked", "file")
) -> list[R]:
    """`run(items, work)`; on a terminal, with the number of done items shown meanwhile. *done_to_each*: a verb, and what an item is."""
    run = run or how_to_run(items)
    if not sys.stderr or not is_terminal(sys.stderr):
        return run(items, work)
    from jobspec.session.progress import shown

    return shown(items, work, run, sys.stderr, done_to_each=done_to_each)


def spread_if_many(items: Sequence[T], work: Callable[[T], R]) -> list[R]:
    """`[work(item) for item in items]`, spread over processes where there are many items."""
    return how_to_run(items)(items, work)
