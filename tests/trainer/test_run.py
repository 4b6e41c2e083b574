"""The guides' jobs under `jobspec run`, with the trainer on made images: ranks, steps, a killed worker and a resumed run."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import command, environment, program
from tests.support.reference import ROOT
from tests.trainer import idx
from tests.trainer.fork_server import server

GUIDES = ROOT / "tests" / "cases" / "guides"
FLAGS = "--no-download --batch-size=10 --backend=gloo"


def _trainer(flags: str) -> str:
    """The command of a pod."""
    return f"{server().python} -m trainer {FLAGS} {flags}"


def _run(folder: Path, guide: Path, flags: str, *options: str) -> subprocess.CompletedProcess[str]:
    env = environment(OMP_NUM_THREADS="1")
    done = program(*command("run", guide, "--command", _trainer(flags), *options), cwd=folder, env=env, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def _events(folder: Path, kind: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [each for each in lines if each["event"] == kind]


def _ranks(done: subprocess.CompletedProcess[str]) -> dict[str, tuple[str, str]]:
    """The rank and the world size that each pod prints."""
    found = re.findall(r"^(\S+) +\| .*World Size: (\d+)\. Rank: (\d+)", done.stdout, re.MULTILINE)
    return {pod: (rank, size) for pod, size, rank in found}


@pytest.mark.slow
def test_three_pods_take_a_third_of_the_steps_of_one(tmp_path: Path) -> None:
    idx.write(tmp_path / "data", train=480, test=60)
    alone = tmp_path / "alone.yaml"
    alone.write_text((GUIDES / "distributed.yaml").read_text().partition("    Worker:")[0])
    _run(tmp_path, alone, "--output-dir=one --log-interval=1 --epochs=2")
    together = _run(tmp_path, GUIDES / "distributed.yaml", "--output-dir=three --log-interval=1 --epochs=2")
    assert [len(_events(tmp_path / name, "train")) for name in ("one", "three")] == [2 * 48, 2 * 16]
    assert _ranks(together) == {"master-0": ("0", "3"), "worker-0": ("1", "3"), "worker-1": ("2", "3")}


@pytest.mark.slow
def test_the_nodes_of_a_trainjob_train_together(tmp_path: Path) -> None:
    idx.write(tmp_path / "data", train=480, test=60)
    job = tmp_path / "job.yaml"
    job.write_text((GUIDES / "trainjob.yaml").read_text().replace("      - --epochs=3\n", "      - --epochs=1\n"))
    launched = f"{server().python} -m torch.distributed.run -m trainer {FLAGS} --log-interval=1 --output-dir=out"
    words = command("run", job, "--command", launched)
    done = program(*words, cwd=tmp_path, env=environment(OMP_NUM_THREADS="1"), timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(_ranks(done).values()) == [("0", "2"), ("1", "2")]
    assert len(_events(tmp_path / "out", "train")) == 24


@pytest.mark.slow
def test_a_killed_worker_ends_the_others_and_all_resume_from_the_checkpoint(tmp_path: Path) -> None:
    idx.write(tmp_path / "data", train=1200, test=60)
    flags = "--output-dir=out --epochs=3 --log-interval=1 --checkpoint-every=20"
    words = command("run", GUIDES / "distributed.yaml", "--command", _trainer(flags))
    env = environment(OMP_NUM_THREADS="1")
    log = tmp_path / "log"
    with log.open("w") as said, subprocess.Popen(words, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=said, text=True) as running:
        assert running.stdout
        for line in running.stdout:
            if re.match(r"worker-1 +\| Train Epoch: 2 ", line):
                _kill("pytorchjob-distributed-training-worker-1")
                break
        running.stdout.read()
        assert running.wait(timeout=120) == 0, log.read_text()
    restarts = re.findall(r"(\S+) exited with code (\d+) and restarts", log.read_text())
    assert ("worker-1", "137") in restarts
    assert "master-0" in dict(restarts)
    runs = _events(tmp_path / "out", "run")
    assert len(runs) > 1
    assert runs[0]["step"] == 0
    assert all(each["step"] >= 40 for each in runs[1:])
    assert len(_events(tmp_path / "out", "end")) == 1


def _kill(host: str) -> None:
    """Kill the process that has this name as a pod."""
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"HOSTNAME={host}".encode() in environ.read_bytes().split(b"\0"):
                os.kill(int(environ.parent.name), signal.SIGKILL)
        except (PermissionError, FileNotFoundError, ProcessLookupError):
            continue
