"""Processes of the trainer, started as pods are: each with an environment, a folder and a log of its own.

Importing torch takes seconds. One server imports it, and is forked for each process; the processes that torchrun starts import it anew.
"""

import multiprocessing
import os
import resource
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from tests.support.reference import ROOT

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the server's libraries read it once
_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(["trainer.training", "torch._dynamo", "torch.distributed.run"])

#: What a process has of our environment.
_BARE = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Process:
    """A process that runs, or has ended."""

    process: ForkServerProcess
    log: Path

    def says(self, text: str, *, times: int = 1, seconds: float = 60) -> None:
        """Wait until the log has *text* so many times."""
        until = time.monotonic() + seconds
        while self.log.read_text().count(text) < times:
            assert self.process.is_alive() and time.monotonic() < until, self.log.read_text()
            time.sleep(0.005)

    def ends(self, *, seconds: float = 60) -> int:
        """Wait for the end; gives the exit code, or a signal's number below 0."""
        self.process.join(seconds)
        try:
            assert self.process.exitcode is not None, f"still runs after {seconds} s:\n{self.log.read_text()}"
            return self.process.exitcode
        finally:
            self.process.kill()


def start(
    folder: Path,
    *flags: str,
    program: str = "python",
    environment: dict[str, str] | None = None,
    largest_file: int | None = None,
    terminal: str | None = None,
) -> Process:
    """Start a process in *folder*, which gets its log, or at a *terminal*; it can write no file above *largest_file* bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "log"
    log.write_text("")
    values = _BARE | (environment or {})
    process = _SERVER.Process(target=_run, args=(program, folder, terminal or log, flags, values, largest_file), daemon=True)
    process.start()
    return Process(process, log)


def start_job(folder: Path, count: int, *flags: str, come: int | None = None) -> list[Process]:
    """Start the processes of a PyTorchJob, in folders `0` and on; of *count* the first *come* come, all where left out."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    job = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(count), "GLOO_SOCKET_IFNAME": "lo"}
    return [start(folder / str(rank), *flags, environment={**job, "RANK": str(rank)}) for rank in range(count if come is None else come)]


def _run(
    program: str, folder: Path, log: str | Path, flags: tuple[str, ...], environment: dict[str, str], largest_file: int | None
) -> None:
    os.chdir(folder)
    output = os.open(log, os.O_WRONLY | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
    os.environ.clear()
    os.environ.update(environment)
    if largest_file is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
    sys.exit(_PROGRAMS[program](flags))


def _python(flags: Sequence[str]) -> int:
    """`python -m trainer`."""
    from trainer.__main__ import main

    return main(flags)


def _torchrun(flags: Sequence[str]) -> None:
    """`torchrun -m trainer`."""
    from torch.distributed.run import main

    main(["-m", "trainer", *flags])


_PROGRAMS = {"python": _python, "torchrun": _torchrun}
