"""Show the progress of a long run on a terminal."""

from __future__ import annotations

import os

from jobspec.diagnostics.wording import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TextIO, TypeVar

    T = TypeVar("T")
    R = TypeVar("R")


_PATIENCE = 1.0  # seconds before anything is shown
_PAUSE = 0.1
_CLEAR = "\r\x1b[K"


def shown(
    items: Sequence[T], work: Callable[[T], R], run: Callable[..., list[Any]], stream: TextIO, *, done_to_each: tuple[str, str]
) -> list[R]:
    """`run(items, work)`; meanwhile a line on *stream*, such as `checked 3 of 9 files`, shows the number of done ones, and is erased then.

    A timer's signal draws the line. Processes that *run* forks have no timer; they set a byte for each item in shared memory.
    """
    import mmap
    import signal

    done = mmap.mmap(-1, max(len(items), 1))
    drawn = False
    verb, noun = done_to_each
    total = counted(len(items), noun)

    def mark_done(numbered: tuple[int, T]) -> R:
        number, item = numbered
        answer = work(item)
        done[number] = 1
        return answer

    def draw(*_: object) -> None:
        nonlocal drawn
        drawn = True
        os.write(stream.fileno(), f"{_CLEAR}{verb} {done[:].count(1)} of {total}".encode())

    before = signal.signal(signal.SIGALRM, draw)
    signal.setitimer(signal.ITIMER_REAL, _PATIENCE, _PAUSE)
    try:
        return run(list(enumerate(items)), mark_done)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if drawn:
            os.write(stream.fileno(), _CLEAR.encode())
