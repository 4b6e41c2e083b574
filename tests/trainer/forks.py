"""Ask `fork_server.py` for processes that have torch from the start; as a program, stand for `python` where a path of one is wanted.

The program asks for a fork with its own arguments, folder, variables and streams, passes SIGTERM on to it, and ends as it does.
"""

import json
import os
import resource
import select
import signal
import socket
import sys
from collections.abc import Mapping, Sequence


class Fork:
    """A process that was forked; it is killed where nobody holds this value any more."""

    def __init__(self, connection: socket.socket) -> None:
        self._answers = connection.makefile()
        self._pid = int(self._answers.readline())

    def ends(self, seconds: float) -> bool:
        """Whether the process has ended after so many seconds at most."""
        return bool(select.select([self._answers], [], [], seconds)[0])

    def code(self) -> int:
        """Wait for the end; gives the exit code, or a signal's number below 0."""
        return int(self._answers.readline())

    def send(self, number: signal.Signals) -> None:
        """Send a signal, unless the process has ended."""
        if not self.ends(0):
            os.kill(self._pid, number)


def start(
    server: str,
    arguments: Sequence[str],
    *,
    folder: str,
    environment: Mapping[str, str],
    streams: Sequence[int] = (0, 1, 2),
    largest_file: int = resource.RLIM_INFINITY,
) -> Fork:
    """Have the *server*, a socket, run what `python` runs for these arguments; it can write no file above *largest_file* bytes."""
    asked = {"arguments": arguments, "folder": folder, "environment": dict(environment), "largest_file": largest_file}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(server)
        socket.send_fds(connection, [b"\n"], list(streams))
        connection.sendall(json.dumps(asked).encode() + b"\n")
        return Fork(connection)


def _stand_in(server: str, arguments: Sequence[str]) -> None:
    fork = start(server, arguments, folder=os.getcwd(), environment=os.environ)
    signal.signal(signal.SIGTERM, lambda *_: fork.send(signal.SIGTERM))
    code = fork.code()
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    _stand_in(sys.argv[1], sys.argv[2:])
