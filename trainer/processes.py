"""The job's processes: which of them this one is, by its environment, and what there is against training so."""

import ctypes
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from trainer.config import Config, Refusal

_TORCHRUN = "start the program with torchrun (command: [torchrun], args: [-m, trainer, ...])"


@dataclass(frozen=True)
class Place:
    """Which of the job's processes this one is."""

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0
    local_world_size: int = 1
    node_rank: int = 0


def place(environment: Mapping[str, str], config: Config) -> Place:
    """Where *environment* puts this process: alone, in a PyTorchJob's pod, or under torchrun.

    A `Refusal` says why processes in such an environment would hang, or train apart without a word.
    """
    number = _Numbers(environment)
    found = Place(
        rank=number("RANK", 0),
        world_size=number("WORLD_SIZE", 1),
        local_rank=number("LOCAL_RANK", 0),
        local_world_size=number("LOCAL_WORLD_SIZE", 1),
        node_rank=number("GROUP_RANK", number("PET_NODE_RANK", 0)),
    )
    problems = number.problems or [
        *_incomplete(environment, found),
        *([] if "LOCAL_RANK" in environment else _apart(environment, found)),
        *_no_gpu(config, found),
    ]
    if problems:
        raise Refusal("\n".join(problems))
    return found


class _Numbers:
    """Integers of an environment, and what is wrong with those that are none."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self.problems: list[str] = []

    def __call__(self, name: str, default: int) -> int:
        text = self.environment.get(name, str(default))
        if not re.fullmatch("[0-9]+", text):
            self.problems.append(f"{name}: expected a number of 0 or more, got {text!r}")
            return default
        return int(text)


def _incomplete(environment: Mapping[str, str], found: Place) -> Iterator[str]:
    """Parts of the rendezvous that are missing, or contradict each other."""
    for one, other in (("RANK", "WORLD_SIZE"), ("WORLD_SIZE", "RANK"), ("LOCAL_RANK", "RANK")):
        if one in environment and other not in environment:
            yield f"{one} is set and {other} is not: set both, or neither for a single process"
    if found.rank >= found.world_size and "WORLD_SIZE" in environment:
        yield f"RANK is {found.rank} and WORLD_SIZE {found.world_size}: ranks count from 0"
    if found.local_rank >= found.local_world_size and "LOCAL_WORLD_SIZE" in environment:
        yield f"LOCAL_RANK is {found.local_rank} and LOCAL_WORLD_SIZE {found.local_world_size}: ranks count from 0"
    if found.world_size > 1:
        for name in ("MASTER_ADDR", "MASTER_PORT"):
            if not environment.get(name):
                yield f"WORLD_SIZE is {found.world_size} and {name} is not set: the processes cannot find each other"
        port = environment.get("MASTER_PORT", "")
        if port and not (re.fullmatch("[0-9]{1,5}", port) and 0 < int(port) < 65536):
            yield f"MASTER_PORT: expected a port's number, got {port!r}"


def _apart(environment: Mapping[str, str], found: Place) -> Iterator[str]:
    """What an operator prepared for torchrun, where this process was started without it."""
    nodes, per_node = environment.get("PET_NNODES", "1"), environment.get("PET_NPROC_PER_NODE", "1")
    if not re.fullmatch("[0-9]+(:[0-9]+)?", nodes):
        yield f"PET_NNODES: expected a number of nodes, or min:max, got {nodes!r}"
        return
    fewest, most = int(nodes.split(":")[0]), int(nodes.split(":")[-1])
    if (most > 1 or ":" in nodes) and "RANK" not in environment:
        yield f"PET_NNODES is {nodes} and RANK is not set: each pod would train alone; {_TORCHRUN}, or give a PyTorchJob a Master"
    if per_node.isdecimal() and int(per_node) > 1:
        yield f"PET_NPROC_PER_NODE is {per_node} and LOCAL_RANK is not set: one process of {per_node} would start; {_TORCHRUN}"
    # With min:max the operator counts the workers alone, and a Master comes besides.
    elif "PET_NNODES" in environment and "RANK" in environment and not fewest <= found.world_size <= most + (":" in nodes):
        yield f"WORLD_SIZE is {found.world_size} and PET_NNODES {nodes}: one process a node would never be complete; {_TORCHRUN}"


def _no_gpu(config: Config, found: Place) -> Iterator[str]:
    """NCCL needs a GPU of its own for each process."""
    if config.backend != "nccl":
        return
    gpus = 0 if config.no_cuda else _gpus()
    if config.no_cuda:
        yield "--backend nccl talks between GPUs and --no-cuda forbids them: leave one of them out, or say --backend gloo"
    elif not gpus:
        yield "--backend nccl: there is no NVIDIA GPU here; set nvidia.com/gpu: 1 in the container's limits, or say --backend gloo"
    elif found.local_world_size > gpus:
        yield f"--backend nccl: {gpus} GPU(s) for {found.local_world_size} processes on this node; start fewer, or say --backend gloo"


def _gpus() -> int:
    """How many GPUs NVIDIA's driver shows to this process, asked without torch."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    return count.value if driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 else 0


def threads(place: Place, quota: str) -> int:
    """How many threads this process may compute with: its share of the node's CPUs, or of the container's *quota* (cgroup's `cpu.max`)."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit, _, period = quota.partition(" ")
    if limit.isdecimal():
        cpus = min(cpus, round(int(limit) / int(period)))
    return max(1, cpus // place.local_world_size)


def keep_memory() -> None:
    """Let glibc keep what one step frees for the next, instead of giving it back and having it cleared anew: a seventh of a step's time."""
    with suppress(AttributeError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(-3, 1 << 30)  # M_MMAP_THRESHOLD: below so many bytes, memory is of the heap
        mallopt(-1, 1 << 30)  # M_TRIM_THRESHOLD: up to so many bytes, the heap keeps what is free at its end
