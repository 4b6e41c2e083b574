"""The group of the job's processes: how they meet, what they tell each other, and how they part."""

import os
import re
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from trainer.config import Config, Refusal
from trainer.processes import Place

if TYPE_CHECKING:  # torch, which takes seconds, is imported by the first that needs it
    from torch import Tensor
    from torch.distributed.distributed_c10d import Store, Work

#: How long a process waits in a collective for the others. A process that ends is noticed at once; this bounds a hang.
PATIENCE = timedelta(minutes=10)


class Lost(Exception):
    """The other processes of the job did not come, or have gone."""


@contextmanager
def joined(place: Place, config: Config) -> Iterator[None]:
    """The process group of all processes, for as long as the block runs; nothing for a single process."""
    import torch.distributed as dist

    if config.backend == "mpi" and not dist.is_mpi_available():
        raise Refusal("--backend mpi: this torch was built without MPI, as all of PyPI are; say --backend gloo or nccl")
    if place.world_size == 1:
        yield
        return
    _begin(place, config)
    with _others():
        yield
        barrier()  # the first process holds the store: it may leave last only
    dist.destroy_process_group()


def _begin(place: Place, config: Config) -> None:
    import torch.distributed as dist

    if config.backend == "mpi":
        dist.init_process_group("mpi")  # mpirun numbers its processes
        if (dist.get_rank(), dist.get_world_size()) != (place.rank, place.world_size):
            counted = f"rank {dist.get_rank()} of {dist.get_world_size()}"
            raise Refusal(f"--backend mpi: MPI calls this process {counted} and the environment {place.rank} of {place.world_size}")
        return
    store = _meet(place, os.environ, config.rendezvous_timeout)
    # With NCCL, what is on the CPU (votes, checkpoints) goes over gloo, so that it never waits for the GPU.
    backend = {"gloo": "gloo", "nccl": "cpu:gloo,cuda:nccl"}[config.backend]
    with _others():
        dist.init_process_group(backend, store=store, rank=place.rank, world_size=place.world_size, timeout=PATIENCE)


class _Patience:
    """How long a process waits for others, and a word now and then on whom it waits for."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds
        self.deadline = time.monotonic() + seconds
        self.word = time.monotonic() + 2

    def left(self) -> float:
        return self.deadline - time.monotonic()

    def wait(self, whom: str) -> None:
        """Say whom this process waits for, every half minute."""
        if time.monotonic() > self.word:
            self.word = time.monotonic() + 30
            print(f"waiting for {whom}", file=sys.stderr, flush=True)
        time.sleep(0.1)


def _meet(place: Place, environment: Mapping[str, str], seconds: int) -> "Store":
    """The store on which all processes have signed; a `Lost` says who did not within *seconds*."""
    from torch.distributed import DistError, PrefixStore  # type: ignore[attr-defined]  # they are there, unlisted

    patience = _Patience(seconds)
    attempt = environment.get("TORCHELASTIC_RESTART_COUNT", "0")  # torchrun's agent keeps its store over restarts
    store = PrefixStore(f"trainer/{attempt}", _store(place, environment, patience))
    missing = list(range(place.world_size))
    try:
        store.set(f"came/{place.rank}", "")
        while missing := [rank for rank in missing if not store.check([f"came/{rank}"])]:
            if patience.left() < 0:
                raise Lost(f"waited {seconds} s in vain for {_named(missing, place)}; look at the pods of those ranks")
            patience.wait(_named(missing, place))
    except DistError as error:
        raise Lost(f"process 0 ended while this one waited for {_named(missing, place)}; its log says why") from error
    return store


def _named(ranks: list[int], place: Place) -> str:
    return f"process{'es' * (len(ranks) > 1)} {', '.join(map(str, ranks))} of {place.world_size} (they count from 0)"


def _store(place: Place, environment: Mapping[str, str], patience: _Patience) -> "Store":
    """The store at `MASTER_ADDR`: process 0 holds it, or torchrun's agent does."""
    from torch.distributed import DistError, TCPStore  # type: ignore[attr-defined]  # they are there, unlisted

    address, port = environment["MASTER_ADDR"], int(environment["MASTER_PORT"])
    held = place.rank == 0 and environment.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
    while True:
        # Between two tries a signal's handler can run.
        once = timedelta(seconds=max(1.0, min(3.0, patience.left())))
        try:
            store = TCPStore(address, port, is_master=held, timeout=once, wait_for_workers=False)
            store.set_timeout(PATIENCE)
            return store
        except DistError as error:
            if held:
                raise Lost(f"process 0 cannot listen on port {port} (MASTER_PORT): {error}") from error
            if patience.left() < 0:
                raise Lost(f"waited {patience.seconds} s in vain for process 0 at {address}:{port}; look at the pod of rank 0") from error
            patience.wait(f"process 0 at {address}:{port}")


@contextmanager
def _others() -> Iterator[None]:
    """Turn a collective's failure into a `Lost`: another process has ended, or did not answer."""
    import torch.distributed as dist

    try:
        yield
    except RuntimeError as error:  # gloo's failures have no type of their own
        if isinstance(error, dist.DistError) or re.search(r"gloo|nccl|[Cc]onnection|[Tt]imed out", str(error)):
            why = re.sub(r"^\[.*?\] ", "", str(error)).partition(". ")[0]
            raise Lost(f"another process of the job has ended or does not answer; its log says why ({why})") from error
        raise


def together() -> bool:
    """Whether there are several processes."""
    import torch.distributed as dist

    several: bool = dist.is_available() and dist.is_initialized()
    return several


def barrier() -> None:
    """Wait until every process is here."""
    import torch

    total(torch.zeros(1))


def total(values: "Tensor") -> "Tensor":
    """The sum of *values* over all processes."""
    import torch.distributed as dist

    if together():
        dist.all_reduce(values)  # collective
    return values


def everyone(values: "Tensor", place: Place) -> "list[Tensor]":
    """The *values* of every process, by rank."""
    import torch
    import torch.distributed as dist

    if not together():
        return [values]
    found = [torch.empty_like(values) for _ in range(place.world_size)]
    dist.all_gather(found, values)  # collective
    return found


def from_first(content: bytes, place: Place) -> bytes:
    """What the first process gave as *content*."""
    import torch
    import torch.distributed as dist

    if not together():
        return content
    size = torch.tensor([len(content)])
    dist.broadcast(size, 0)  # collective
    if not size.item():
        return b""
    values = torch.frombuffer(bytearray(content), dtype=torch.uint8) if place.rank == 0 else torch.empty(int(size), dtype=torch.uint8)
    dist.broadcast(values, 0)  # collective
    return bytes(values.numpy())


class Termination:
    """Whether the job is to end: SIGTERM to any of its processes asks for it."""

    def __init__(self) -> None:
        self.asked_to_end = False
        self._votes: Tensor | None = None
        self._voting: Work | None = None
        signal.signal(signal.SIGTERM, self._note)

    def _note(self, *_: object) -> None:
        self.asked_to_end = True

    def agreed(self) -> bool:
        """Called by every process after each of its steps: all of them get the same answer after the same step.

        The vote of one step is counted after the next, so that nobody waits for it.
        """
        import torch
        import torch.distributed as dist

        if not together():
            return self.asked_to_end
        yes = False
        if self._voting and self._votes is not None:
            self._voting.wait()
            yes = bool(self._votes.item())
        self._votes = torch.tensor([int(self.asked_to_end)], dtype=torch.int32)
        self._voting = dist.all_reduce(self._votes, async_op=True)  # collective, on the CPU: no GPU waits for it
        return yes
