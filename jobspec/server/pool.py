"""Call a function for many items, several at a time, and stop at once on ^C."""

from __future__ import annotations

import queue
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    T = TypeVar("T")
    R = TypeVar("R")

_AT_A_TIME = 8


def each(items: Sequence[T], work: Callable[[T], R], *, done: Callable[[], None]) -> list[R]:
    """`[work(item) for item in items]`, several at a time; *done* is called after each. The first exception is raised at once.

    The threads are daemons, so that the process can end while a server is slow; an executor would wait for them.
    """
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    stopped = threading.Event()
    finished: queue.SimpleQueue[tuple[int, R | None, BaseException | None]] = queue.SimpleQueue()
    for number in range(len(items)):
        waiting.put(number)

    def run() -> None:
        while not stopped.is_set():
            try:
                number = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                finished.put((number, work(items[number]), None))
            except BaseException as error:
                finished.put((number, None, error))
                return

    for _ in range(min(_AT_A_TIME, len(items))):
        threading.Thread(target=run, daemon=True).start()
    results: dict[int, R] = {}
    try:
        while len(results) < len(items):
            number, result, error = finished.get()
            if error is not None:
                raise error
            results[number] = result  # type: ignore[assignment]  # without an error there is one
            done()
    finally:
        stopped.set()
    return [results[number] for number in range(len(items))]
