"""One process against several, by one command."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.processes import program
from tests.support.reference import ROOT
from tests.trainer import idx
from tests.trainer.fork_server import server


def _compare(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    return program(server().python, "-m", "trainer.compare", *flags, cwd=folder, env={"PYTHONPATH": str(ROOT)})


@pytest.mark.slow
def test_three_processes_take_a_third_of_the_steps(tmp_path: Path) -> None:
    idx.write(tmp_path / "data", train=480, test=60)
    done = _compare(tmp_path, "--no-download", "--batch-size=10", "--epochs=2")
    assert done.returncode == 0, done.stderr
    header, one, three, curves = done.stdout.splitlines()[-4:]
    assert header.split("  ")[-1].split() == ["accuracy"]
    assert [line.split()[:4] for line in (one, three)] == [["1", "10", "48", "96"], ["3", "30", "16", "32"]]
    runs = [[json.loads(line) for line in (tmp_path / "compare" / name / "metrics.jsonl").read_text().splitlines()] for name in ("1", "3")]
    last = [{event["event"]: event for event in run} for run in runs]
    measured = [[f"{run['end']['seconds']:.1f}", f"{run['test']['accuracy']:.4f}"] for run in last]
    assert [line.split()[4:] for line in (one, three)] == measured
    assert curves == "their curves: python -m trainer.plot compare/1 compare/3"


@pytest.mark.parametrize("flags", [["--epochz=1"], ["--epochs=0"], ["--processes=1"], ["--processes=two"]], ids=str)
def test_what_cannot_be_compared_is_refused_before_any_training(flags: list[str], tmp_path: Path) -> None:
    done = _compare(tmp_path, *flags)
    assert (done.returncode, done.stdout) == (2, "")
    assert flags[0].partition("=")[0] in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_fails_ends_the_comparison(tmp_path: Path) -> None:
    done = _compare(tmp_path, "--backend=nccl", "--no-cuda")
    assert done.returncode == 2
    assert "the run of 1 process(es) failed, see above" in done.stderr
    assert "accuracy" not in done.stdout
