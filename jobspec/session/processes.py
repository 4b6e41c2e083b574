"""Do work on many items: spread over processes if there are many, with progress on a terminal."""

from __future__ import annotations

import os
import sys

from jobspec.diagnostics.grouping import grouped
from jobspec.journey.journey import one_by_one
from jobspec.session.terminal import is_terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeVar

    from jobspec.session.reading import TextLikeness

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


def alike_together(items: Sequence[T], work: Callable[[T], R], likeness: Callable[[T], TextLikeness], run: Run) -> list[R]:
    """`run(items, work)`, where items of texts that are alike are neighbours: the longest one, then the others from the shortest on.

    A process does once what alike items have in common, and it takes neighbours. What the longest and the shortest one have in common, the
    others have, too.
    """
    likenesses = list(map(likeness, items))
    order: list[int] = []
    for alike in grouped(range(len(items)), lambda at: likenesses[at][0]).values():
        *others, longest = sorted(alike, key=lambda at: likenesses[at][1])
        order += [longest, *others]
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
