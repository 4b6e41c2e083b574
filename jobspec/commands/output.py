"""Output of a run: the report, on a stream or in a file, and progress on a terminal; and work spread over processes."""

from __future__ import annotations

import os
import sys

from jobspec.diagnostics import FileResult, JobspecError, counted
from jobspec.pipeline import one_by_one
from jobspec.reports.formats import report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any, TextIO, TypeVar

    from jobspec.commands.options import Options
    from jobspec.reports.text import ReadText

    T = TypeVar("T")
    R = TypeVar("R")
    #: A way to do work on many items, such as one after the other.
    Run = Callable[..., list[Any]]


_WORTH_SPREADING = 48  # files; starting processes costs about as much as checking these
_WIDTH = 100  # columns, where the terminal's are not known


def with_progress(
    items: Sequence[T], work: Callable[[T], R], *, run: Run | None = None, done_to_each: tuple[str, str] = ("checked", "file")
) -> list[R]:
    """`run(items, work)`; on a terminal, with the number of done items shown meanwhile. *done_to_each*: a verb, and what an item is."""
    run = run or how_to_run(items)
    if sys.stderr and is_terminal(sys.stderr):
        return shown(items, work, run, sys.stderr, done_to_each=done_to_each)
    return run(items, work)


def how_to_run(items: Sequence[object]) -> Run:
    """How work on so many files or variants is run: where they are many, spread over processes."""
    if len(items) < _WORTH_SPREADING or (os.cpu_count() or 1) == 1:
        return one_by_one
    return spread


def deliver(files: Sequence[FileResult], releases: Mapping[str, str], options: Options, stream: TextIO, *, read: ReadText) -> None:
    """Write the reports of a run in the wanted formats, into files or to a *stream*. Raises JobspecError for two on the stream."""
    wanted = [each.partition("=") for each in options.reports] or [(options.output, "", "")]
    if sum(not path for _, _, path in wanted) > 1:
        raise JobspecError("only one report can go to standard output; write the others as `-o FORMAT=FILE`")
    fixable = hasattr(options, "fix") and not options.overlay
    for output, _, path in wanted:
        file = path or options.output_file
        folder = _in_repository() if output in ("github", "sarif") else ""
        looks: dict[str, Any] = {}
        if file is None:
            looks = {"colour": takes_colour(stream), "links": takes_links(stream), "width": width_of(stream)}
        text = report(files, releases, output, read=read, fixable=fixable, statistics=options.statistics, folder=folder, **looks)
        if file is not None:
            write_whole(file, text)
        else:
            stream.write(text)


def _in_repository() -> str:
    """The path of the working folder in its repository; empty at the root, and outside of any."""
    from jobspec.commands.files import folders_above

    above = [*folders_above(os.curdir)]
    return os.path.relpath(os.curdir, above[-1]) if above else ""


def takes_colour(stream: TextIO) -> bool:
    """Whether to write colours: NO_COLOR and FORCE_COLOR decide (https://no-color.org, https://force-color.org), else the terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or is_terminal(stream)


def takes_links(stream: TextIO) -> bool:
    """Whether to write links (OSC 8) into the text: on a terminal with colours, but not on the console of Linux."""
    return is_terminal(stream) and takes_colour(stream) and os.environ.get("TERM") != "linux"


def is_terminal(stream: TextIO) -> bool:
    """Whether a stream is a terminal that can show colours and erase a line."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def width_of(stream: TextIO) -> int:
    """The columns of a stream's terminal, or as many as a text without one is written for."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or _WIDTH
    except (OSError, ValueError):  # no terminal; no file at all
        return _WIDTH


def write_whole(path: str, text: str) -> None:
    """Make *text* the content of a file, or leave the file as it was. Raises JobspecError where it cannot be written."""
    if not path:
        raise JobspecError("--output-file needs the name of a file")
    content = text.encode(errors="surrogateescape")
    try:
        if os.path.exists(path) and not os.path.isfile(path):  # a pipe or a device is not replaced, but written to
            with open(path, "wb") as file:
                file.write(content)
        else:
            _replace(path, content)
    except OSError as error:
        raise JobspecError(f"{path}: cannot write: {error.strerror}") from None


def _replace(path: str, content: bytes) -> None:
    """Make *content* that of a regular file in one step; a link stays, and the file that it names changes. Raises OSError."""
    place = os.path.realpath(path)
    folder, name = os.path.split(place)
    new = os.path.join(folder, f".{name}.jobspec-{os.getpid()}")
    try:
        with open(new, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(place):
            os.chmod(new, os.stat(place).st_mode & 0o7777)
        os.replace(new, place)
    except BaseException:
        if os.path.exists(new):
            os.unlink(new)
        raise


def complete_earlier(folders: Collection[str]) -> bool:
    """Complete what a run that was interrupted has begun to write in folders, and say so; whether there was any."""
    from jobspec.documents.atomic_writes import complete

    is_completed = complete(folders)
    if is_completed and sys.stderr:
        sys.stderr.write("jobspec: an earlier run that was interrupted here is completed\n")
    return is_completed


# Show the progress of a long run on a terminal.
_PATIENCE = 1.0  # seconds before anything is shown
_PAUSE = 0.1
_CLEAR = "\r\x1b[K"


def shown(items: Sequence[T], work: Callable[[T], R], run: Run, stream: TextIO, *, done_to_each: tuple[str, str]) -> list[R]:
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


# Spread work over forked processes.


_TURNS = 8  # of each process: with fewer, one could get most of what is large


def processors() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spread_if_many(items: Sequence[T], work: Callable[[T], R]) -> list[R]:
    """`[work(item) for item in items]`, spread over processes where there are many items."""
    return how_to_run(items)(items, work)


def spread(items: Sequence[T], work: Callable[[T], R]) -> list[R]:
    """`[work(item) for item in items]`, in a process for each processor where the system can fork.

    Each takes several items in a row at a turn, since neighbours often have much in common, such as the base of variants, and the next
    row when it is done. The first item is worked on before the others, so that what all need is loaded once.
    """
    share = min(processors(), 16)
    if not hasattr(os, "fork"):
        return [work(item) for item in items]
    first = [work(item) for item in items[:1]]
    size = max(len(items) // (share * _TURNS), 1)
    starts = range(1, len(items), size)
    left, filling = os.pipe()  # the numbers of the rows that nobody has taken, a byte each
    os.write(filling, bytes(range(len(starts))))
    os.close(filling)

    def take() -> Iterator[tuple[int, list[R]]]:
        """The rows that nobody else takes, each with its first item's number."""
        while number := os.read(left, 1):
            start = starts[number[0]]
            yield start, [work(item) for item in items[start : start + size]]

    children = [_start(take) for _ in range(share - 1)]
    try:
        found = dict(take())
    finally:
        os.read(left, 256)  # after an error nobody takes what is left
        os.close(left)
        answers = [_answer(*child) for child in children]
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer
        found |= answer
    return [*first, *(each for start in starts for each in found[start])]


def _start(take: Callable[[], Iterator[tuple[int, Any]]]) -> tuple[int, int]:
    """Fork a child that does a part of the work; returns its process id and the pipe for its results."""
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
            pipe.write(_pickled(take()))
    finally:
        os._exit(0)


def _pickled(rows: Iterable[object]) -> bytes:
    """The results of a part of the work and None, or the error that ended it or the pickling of its results.

    Each is pickled before the next row is taken, so that others work on it meanwhile.
    """
    import io
    import pickle

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
    import io
    import pickle

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
