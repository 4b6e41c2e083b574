"""Spread work on many items over forked processes."""

from __future__ import annotations

import io
import os
import pickle
import signal

from jobspec.diagnostics.errors import JobspecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, TypeVar

    T = TypeVar("T")
    R = TypeVar("R")


_LOOK = 0.25  # seconds between two looks of a process at its parent
_TURNS = 8  # of each process: with fewer, one could get most of what is large


def processors() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spread(items: Sequence[T], work: Callable[[T], R]) -> list[R]:
    """`[work(item) for item in items]`, in a process for each processor where the system can fork.

    Each takes several items in a row at a turn, since neighbours often have much in common, such as the base of variants, and the next
    row when it is done. The first item is worked on before the others, so that what all need is loaded once.
    """
    share = min(processors(), 16)
    if not hasattr(os, "fork"):
        return [work(item) for item in items]

    def end_with(parent: int) -> None:
        """End this process soon after its parent, which a signal may have ended."""
        signal.signal(signal.SIGALRM, lambda *_: None if os.getppid() == parent else os._exit(1))
        signal.setitimer(signal.ITIMER_REAL, _LOOK, _LOOK)

    first = [work(item) for item in items[:1]]
    size = max(len(items) // (share * _TURNS), 1)
    starts = range(1, len(items), size)
    left, filling = os.pipe()  # the numbers of the rows that no process has taken, a byte each
    os.write(filling, bytes(range(len(starts))))
    os.close(filling)

    def take() -> Iterator[tuple[int, list[R]]]:
        """The rows that no other process takes, each with its first item's number."""
        while number := os.read(left, 1):
            start = starts[number[0]]
            yield start, [work(item) for item in items[start : start + size]]

    children = [_start(take, end_with) for _ in range(share - 1)]
    try:
        found = dict(take())
    finally:
        os.read(left, 256)  # after an error no process takes what is left
        os.close(left)
        answers = [_answer(*child) for child in children]
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer
        found |= answer
    return [*first, *(each for start in starts for each in found[start])]


def _start(take: Callable[[], Iterator[tuple[int, Any]]], end_with: Callable[[int], None]) -> tuple[int, int]:
    """Fork a child that does a part of the work; returns its process id and the pipe for its results."""
    parent = os.getpid()
    try:
        reading, writing = os.pipe()
        pid = os.fork()
    except OSError as error:
        raise JobspecError(f"cannot start a process for a part of the files: {error.strerror}") from None
    if pid:
        os.close(writing)
        return pid, reading
    try:
        end_with(parent)
        os.close(reading)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(_pickled(take()))
    finally:
        os._exit(0)


def _pickled(rows: Iterable[object]) -> bytes:
    """The results of a part of the work and None, or the error that ended it or the pickling of its results.

    Each is pickled before the next row is taken, so that others work on it meanwhile.
    """
    written = io.BytesIO()
    pickler = pickle.Pickler(written)
    try:
        for each in rows:
            pickler.dump(each)
        pickler.dump(None)
    except Exception as error:
        import traceback

        error.add_note(f"In a worker process:\n{traceback.format_exc()}")  # pickling drops the traceback
        return pickle.dumps(error)
    return written.getvalue()


def _answer(pid: int, reading: int) -> dict[int, Any] | Exception:
    """The results of a child, or an error."""
    with os.fdopen(reading, "rb") as pipe:
        raw = pipe.read()
    os.waitpid(pid, 0)
    if not raw:
        return JobspecError("a worker process ended before it was done")
    results, found = pickle.Unpickler(io.BytesIO(raw)), {}  # noqa: S301 (our own child wrote it)
    while (each := results.load()) is not None:
        if isinstance(each, Exception):
            return each
        number, row = each
        found[number] = row
    return found
