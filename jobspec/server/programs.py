"""Child processes that end with this process, even where it is killed, and their temporary folder, which is removed then."""

from __future__ import annotations

import os
import subprocess
import tempfile
from contextlib import contextmanager

from jobspec.diagnostics import JobspecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Program = subprocess.Popen[bytes]

#: Reads process ids until its input is closed, then kills the processes and removes the folder that is its `$0`.
_GUARD = 'ids=; while read -r id; do ids="$ids $id"; done; kill -9 $ids; sleep 1; rm -rf "$0"'


class Programs:
    """Running programs."""

    def __init__(self, place: str, folder: str, guard: Program) -> None:
        self.place = place
        """The folder with the programs."""
        self.folder = folder
        """Their working directory, which only the user can read."""
        self._guard = guard
        assert guard.stdin
        self._to_guard = guard.stdin
        self._running: dict[str, Program] = {}

    def start(self, name: str, *arguments: str) -> None:
        """Start a program in its own session, which ^C does not reach. Raises JobspecError where it cannot be started."""
        command = [os.path.join(self.place, name), *arguments]
        with open(self._log(name), "wb") as log:
            try:
                program = subprocess.Popen(  # noqa: S603 (the programs that the user named)
                    command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
                )
            except OSError as error:
                raise JobspecError(f"cannot start {command[0]}: {error.strerror}") from None
        self._running[name] = program
        self._to_guard.write(b"%d\n" % program.pid)

    def ended(self) -> str:
        """The name of a program that has ended by itself; empty where all are running."""
        return next((name for name, program in self._running.items() if program.poll() is not None), "")

    def last_line(self, name: str) -> str:
        """The last line that a program printed."""
        with open(self._log(name), encoding="utf-8", errors="replace") as log:
            lines = log.read().splitlines()
        return lines[-1] if lines else "it says nothing"

    def end(self) -> None:
        """Kill all programs, then the guard; nothing that they hold is kept."""
        for some in (list(self._running.values()), [self._guard]):
            for program in some:
                program.kill()
            for program in some:
                program.wait()
        self._to_guard.close()

    def _log(self, name: str) -> str:
        return os.path.join(self.folder, f"{name}.log")


@contextmanager
def programs(place: str) -> Iterator[Programs]:
    """A runner for the programs in the folder *place*. They end with the block; a guard process ends them where this one is killed."""
    with tempfile.TemporaryDirectory(prefix="jobspec-", ignore_cleanup_errors=True) as folder:
        guard = subprocess.Popen(  # noqa: S603 (a script of ours)
            ["/bin/sh", "-c", _GUARD, folder],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        running = Programs(os.path.abspath(place), folder, guard)
        try:
            yield running
        finally:
            running.end()
