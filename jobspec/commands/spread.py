"""Spread work over forked processes."""

from __future__ import annotations

import os
import pickle

from jobspec.diagnostics import JobspecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeVar

    T = TypeVar("T")
    R = TypeVar("R")


_TURNS = 8  # of each process: with fewer, one could get most of what is large


def processors() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spread(items: Sequence[T], work: Callable[[T], R]) -> list[R]:
    """`[work(item) for item in items]`, in a process for each processor where the system can fork.

    Each takes several items in a row at a turn, since neighbours often have much in common, such as the base of variants. The first item
    is worked on before the others, so that what all need is loaded once.
    """
    share = min(processors(), 16)
    if not hasattr(os, "fork"):
        return [work(item) for item in items]
    row = max(len(items) // (share * _TURNS), 1)
    places = [[at for at in range(1, len(items)) if at // row % share == number] for number in range(share)]
    done = [work(item) for item in items[:1]]
    own, *others = [[items[at] for at in taken] for taken in places]
    children = [_start(each, work) for each in others]
    try:
        parts = [[work(item) for item in own]]
    finally:
        answers = [_answer(*child) for child in children]
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer
        parts.append(answer)
    found = {at: result for taken, part in zip(places, parts, strict=True) for at, result in zip(taken, part, strict=True)}
    return [*done, *(found[at] for at in range(1, len(items)))]


def _start(items: Sequence[T], work: Callable[[T], R]) -> tuple[int, int]:
    """Fork a child that works on some items; returns its process id and the pipe for its results."""
    try:
        reading, writing = os.pipe()
        pid = os.fork()
    except OSError as error:
        raise JobspecError(f"cannot start a process for a part of the files: {error.strerror}") from None
    if pid:
        os.close(writing)
        return pid, reading
    try:
        os.close(reading)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(_pickled(items, work))
    finally:
        os._exit(0)


def _pickled(items: Sequence[T], work: Callable[[T], R]) -> bytes:
    """The results of some items, or the error that ended the work on them or the pickling of its results."""
    try:
        return pickle.dumps([work(item) for item in items])
    except Exception as error:
        import traceback

        error.add_note(f"In a worker process:\n{traceback.format_exc()}")  # pickling drops the traceback
        return pickle.dumps(error)


def _answer(pid: int, reading: int) -> list[Any] | Exception:
    with os.fdopen(reading, "rb") as pipe:
        raw = pipe.read()
    os.waitpid(pid, 0)
    if not raw:
        return JobspecError("a worker process ended before it was done")
    answer: list[Any] | Exception = pickle.loads(raw)  # noqa: S301 (our own child wrote it)
    return answer
