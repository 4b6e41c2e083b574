"""Run Python's modules in processes that have torch from the start: importing it takes seconds of work, and is done once for all of them.

A process serves until its standard input ends. It forks for each connection; the fork forks again, and writes the process id and the end of
what runs. See `forks.py` for who asks.
"""

import atexit
import importlib
import json
import os
import resource
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from tests.support.reference import ROOT
from tests.trainer import forks

_IMPORTED = ("trainer.training", "torch._dynamo", "torch.distributed.run")


@dataclass(frozen=True)
class Server:
    """A server that runs."""

    socket: str
    python: str
    """A program whose runs are forks; what a fork itself starts as Python is one, too."""


@cache
def server() -> Server:
    """The server of this process and of the processes that it starts, until this one ends."""
    variables = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.trainer.fork_server"]
    process = subprocess.Popen(command, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    folder = process.stdout.readline().strip()
    assert folder, "the server has not started"
    atexit.register(process.communicate)
    return Server(f"{folder}/socket", f"{folder}/python")


def _serve() -> None:
    for name in _IMPORTED:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with tempfile.TemporaryDirectory() as name, socket.socket(socket.AF_UNIX) as listener:
        python = Path(name, "python")
        python.write_text(f'#!/bin/sh\nexec {sys.executable} -IS {forks.__file__} {name}/socket "$@"\n')
        python.chmod(0o755)
        sys.executable = str(python)
        listener.bind(f"{name}/socket")
        listener.listen()
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
        while listener in select.select([listener, 0], [], [])[0]:
            connection, _ = listener.accept()
            if not os.fork():
                try:
                    listener.close()
                    _attend(connection)
                finally:
                    os._exit(0)
            connection.close()


def _attend(connection: socket.socket) -> None:
    """Run what is asked for, tell its end, and kill it where the other side is gone."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, streams, _, _ = socket.recv_fds(connection, 1, 3)
    asked = json.loads(connection.makefile().readline())
    pid = os.fork()
    if not pid:
        connection.close()
        _run(streams, asked)
    for stream in (*range(3), *streams):
        os.close(stream)
    connection.sendall(b"%d\n" % pid)
    poll = select.poll()
    poll.register(connection, 0)  # its end is reported in any case
    poll.register(os.pidfd_open(pid), select.POLLIN)
    if any(number == connection.fileno() for number, _ in poll.poll()):
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def _run(streams: list[int], asked: dict[str, Any]) -> NoReturn:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    resource.setrlimit(resource.RLIMIT_FSIZE, (asked["largest_file"], asked["largest_file"]))
    atexit._clear()  # what is there is the server's
    code = 1
    try:
        code = _python(asked["arguments"])
        atexit._run_exitfuncs()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _python(arguments: list[str]) -> int:
    """What `python [-u] -m MODULE ...` does; gives the exit code."""
    _, module, *_ = words = arguments[arguments.index("-m") :]
    sys.argv = words[1:]
    sys.modules.pop(module, None)  # is imported, and runs as the program
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            sys.stderr.write(f"{end.code}\n")
            return 1
        return end.code or 0
    return 0


if __name__ == "__main__":
    _serve()
