"""Processes of the trainer, started as pods are: each with an environment, a folder and a log of its own."""

import os
import resource
import signal
import socket
import time
from dataclasses import dataclass
from pathlib import Path

from tests.support.reference import ROOT
from tests.trainer import forks
from tests.trainer.fork_server import server

#: What a process has of our environment.
_BARE = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
_PROGRAMS = {"python": ("-m", "trainer"), "torchrun": ("-m", "torch.distributed.run", "-m", "trainer")}


@dataclass(frozen=True)
class Process:
    """A process that runs, or has ended."""

    process: forks.Fork
    log: Path

    def says(self, text: str, *, times: int = 1, seconds: float = 60) -> None:
        """Wait until the log has *text* so many times."""
        until = time.monotonic() + seconds
        while self.log.read_text().count(text) < times:
            assert not self.process.ends(0.005) and time.monotonic() < until, self.log.read_text()

    def ends(self, *, seconds: float = 60) -> int:
        """Wait for the end; gives the exit code, or a signal's number below 0."""
        if not self.process.ends(seconds):
            self.process.send(signal.SIGKILL)
            raise AssertionError(f"still runs after {seconds} s:\n{self.log.read_text()}")
        return self.process.code()


def start(
    folder: Path,
    *flags: str,
    program: str = "python",
    environment: dict[str, str] | None = None,
    largest_file: int = resource.RLIM_INFINITY,
    terminal: str | None = None,
) -> Process:
    """Start a process in *folder*, which gets its log, or at a *terminal*; it can write no file above *largest_file* bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "log"
    log.write_text("")
    words, values = (*_PROGRAMS[program], *flags), _BARE | (environment or {})
    with open(os.devnull) as nothing, open(terminal or log, "a") as output:
        streams = (nothing.fileno(), output.fileno(), output.fileno())
        fork = forks.start(server().socket, words, folder=str(folder), environment=values, streams=streams, largest_file=largest_file)
    return Process(fork, log)


def start_job(folder: Path, count: int, *flags: str, come: int | None = None) -> list[Process]:
    """Start the processes of a PyTorchJob, in folders `0` and on; of *count* the first *come* come, all where left out."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    job = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(count), "GLOO_SOCKET_IFNAME": "lo"}
    return [start(folder / str(rank), *flags, environment={**job, "RANK": str(rank)}) for rank in range(count if come is None else come)]
