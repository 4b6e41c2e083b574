"""Which process of a job this is; in which environments it refuses to begin; and who is missed when some do not come."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.reference import ROOT
from tests.trainer import idx, jobs
from trainer.config import Refusal, parse
from trainer.processes import Place, place, threads

TRAINJOB = {"PET_NNODES": "2", "PET_NPROC_PER_NODE": "1", "PET_NODE_RANK": "0", "PET_MASTER_ADDR": "127.0.0.1", "PET_MASTER_PORT": "29500"}
PYTORCHJOB = {
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "23456",
    "WORLD_SIZE": "2",
    "RANK": "1",
    "PET_NODE_RANK": "1",
    "PET_NNODES": "2",
    "PET_NPROC_PER_NODE": "auto",
}
TORCHRUN = {
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "29500",
    "WORLD_SIZE": "4",
    "RANK": "3",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "2",
    "GROUP_RANK": "1",
}


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, Place()),
        (PYTORCHJOB, Place(rank=1, world_size=2, node_rank=1)),
        (TORCHRUN, Place(rank=3, world_size=4, local_rank=1, local_world_size=2, node_rank=1)),
        (TORCHRUN | TRAINJOB | {"PET_NPROC_PER_NODE": "2"}, Place(rank=3, world_size=4, local_rank=1, local_world_size=2, node_rank=1)),
        ({"PET_NNODES": "1", "PET_NPROC_PER_NODE": "1"}, Place()),
        ({"PET_NNODES": "1", "PET_NPROC_PER_NODE": "gpu"}, Place()),
        (PYTORCHJOB | {"PET_NNODES": "1:2"}, Place(rank=1, world_size=2, node_rank=1)),
        (PYTORCHJOB | {"PET_NNODES": "1:1"}, Place(rank=1, world_size=2, node_rank=1)),  # a Master, which min:max does not count
    ],
)
def test_where_an_environment_puts_a_process(environment: dict[str, str], expected: Place) -> None:
    assert place(environment, parse([])) == expected


@pytest.mark.parametrize(
    ("environment", "why"),
    [
        (TRAINJOB, "PET_NNODES is 2 and RANK is not set: each pod would train alone; start the program with torchrun"),
        ({"PET_NNODES": "1:1"}, "PET_NNODES is 1:1 and RANK is not set: each pod would train alone"),
        ({"PET_NNODES": "1:3"}, "PET_NNODES is 1:3 and RANK is not set: each pod would train alone; start the program with torchrun"),
        ({"PET_NPROC_PER_NODE": "4"}, "PET_NPROC_PER_NODE is 4 and LOCAL_RANK is not set: one process of 4 would start"),
        (PYTORCHJOB | {"PET_NPROC_PER_NODE": "4", "WORLD_SIZE": "8"}, "PET_NPROC_PER_NODE is 4 and LOCAL_RANK is not set"),
        (PYTORCHJOB | {"WORLD_SIZE": "8"}, "WORLD_SIZE is 8 and PET_NNODES 2: one process a node would never be complete"),
        (PYTORCHJOB | {"PET_NNODES": "3:4"}, "WORLD_SIZE is 2 and PET_NNODES 3:4: one process a node would never be complete"),
        (PYTORCHJOB | {"WORLD_SIZE": "8", "PET_NNODES": "2:4"}, "WORLD_SIZE is 8 and PET_NNODES 2:4"),
        ({"PET_NNODES": "many"}, "PET_NNODES: expected a number of nodes, or min:max, got 'many'"),
        ({"RANK": "0"}, "RANK is set and WORLD_SIZE is not: set both, or neither for a single process"),
        ({"WORLD_SIZE": "1"}, "WORLD_SIZE is set and RANK is not: set both, or neither for a single process"),
        ({"LOCAL_RANK": "0"}, "LOCAL_RANK is set and RANK is not"),
        ({"RANK": "2", "WORLD_SIZE": "two"}, "WORLD_SIZE: expected a number of 0 or more, got 'two'"),
        (PYTORCHJOB | {"RANK": "2"}, "RANK is 2 and WORLD_SIZE 2: ranks count from 0"),
        (TORCHRUN | {"LOCAL_RANK": "2"}, "LOCAL_RANK is 2 and LOCAL_WORLD_SIZE 2: ranks count from 0"),
        (PYTORCHJOB | {"MASTER_ADDR": ""}, "WORLD_SIZE is 2 and MASTER_ADDR is not set: the processes cannot find each other"),
        (PYTORCHJOB | {"MASTER_PORT": "http"}, "MASTER_PORT: expected a port's number, got 'http'"),
        (PYTORCHJOB | {"MASTER_PORT": "65536"}, "MASTER_PORT: expected a port's number, got '65536'"),
        (PYTORCHJOB | {"MASTER_PORT": "0"}, "MASTER_PORT: expected a port's number, got '0'"),
    ],
)
def test_an_environment_in_which_processes_would_hang_or_train_apart(environment: dict[str, str], why: str) -> None:
    with pytest.raises(Refusal) as refusal:
        place(environment, parse([]))
    assert str(refusal.value).startswith(why)
    assert "\n" not in str(refusal.value)


def test_nccl_where_gpus_are_forbidden() -> None:
    with pytest.raises(Refusal, match="--backend nccl talks between GPUs and --no-cuda forbids them"):
        place({}, parse(["--backend=nccl", "--no-cuda"]))


def _started(environment: dict[str, str], folder: Path, *flags: str) -> subprocess.Popen[str]:
    folder.mkdir()
    bare = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-m", "trainer", *flags]
    return subprocess.Popen(command, cwd=folder, env=bare | environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    ("environment", "flags", "remedy"),
    [
        (TRAINJOB, [], "torchrun"),
        (TRAINJOB | {"PET_NNODES": "1:2"}, [], "torchrun"),
        (PYTORCHJOB | {"PET_NPROC_PER_NODE": "2", "WORLD_SIZE": "4"}, [], "torchrun"),
        (PYTORCHJOB | {"WORLD_SIZE": "4"}, [], "torchrun"),
        (PYTORCHJOB, ["--backend=nccl"], "--backend gloo"),
    ],
)
def test_two_such_processes_end_within_two_seconds_and_neither_trains(
    environment: dict[str, str], flags: list[str], remedy: str, tmp_path: Path
) -> None:
    idx.write(tmp_path / "data", train=100, test=10)
    before = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    pods = [_started(environment, tmp_path / str(rank), "--data-dir=../data", *flags) for rank in range(2)]
    said = [pod.communicate(timeout=30) for pod in pods]
    # Seconds of work, which a busy machine does not stretch: nothing waits here.
    assert sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before < 2 * len(pods)
    assert [pod.returncode for pod in pods] == [2, 2]
    assert all(remedy in errors and not output for output, errors in said)
    assert not [each for pod in ("0", "1") for each in (tmp_path / pod).iterdir()]


@pytest.mark.parametrize("environment", [{}, {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "x", "MASTER_PORT": "1"}], ids=["one", "two"])
def test_mpi_where_torch_has_none(environment: dict[str, str], tmp_path: Path) -> None:
    process = jobs.start(tmp_path, "--backend=mpi", environment=environment)
    assert process.ends() == 2
    download, error = process.log.read_text().splitlines()
    assert download.startswith("trainer: fashion-mnist is not in data: downloading it from https://")
    assert error == "trainer: --backend mpi: this torch was built without MPI, as all of PyPI are; say --backend gloo or nccl"


def test_a_rendezvous_says_who_did_not_come(tmp_path: Path) -> None:
    came = jobs.start_job(tmp_path, 4, "--rendezvous-timeout=2", come=2)
    assert [process.ends(seconds=20) for process in came] == [138, 138]
    assert all("processes 2, 3 of 4 (they count from 0)" in each.log.read_text() for each in came)


def test_a_rendezvous_without_the_first_process_says_so(tmp_path: Path) -> None:
    job = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "9", "WORLD_SIZE": "2", "RANK": "1"}
    worker = jobs.start(tmp_path, "--rendezvous-timeout=2", environment=job)
    assert worker.ends(seconds=20) == 138
    assert "waited 2 s in vain for process 0 at 127.0.0.1:9; look at the pod of rank 0" in worker.log.read_text()


def test_a_process_that_waits_for_others_hears_that_it_is_to_end(tmp_path: Path) -> None:
    job = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "9", "WORLD_SIZE": "2", "RANK": "1"}
    worker = jobs.start(tmp_path, environment=job)
    worker.says("waiting for process 0 at 127.0.0.1:9")
    worker.process.send(signal.SIGTERM)
    assert worker.ends(seconds=20) == 143


def test_threads_are_the_share_of_a_process() -> None:
    here = len(os.sched_getaffinity(0))
    assert threads(Place(), "max 100000\n") == here
    assert threads(Place(), "100000 100000\n") == 1
    assert threads(Place(local_world_size=1000), "max") == 1
