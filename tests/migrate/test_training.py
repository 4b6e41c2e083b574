"""The guides' jobs train on both sides of a migration to the same loss, step by step."""

import json
import re
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.processes import command, environment, program
from tests.support.reference import ROOT

GUIDES = ROOT / "tests" / "cases" / "guides"
FLAGS = "--no-download --batch-size=10 --backend=gloo --log-interval=1 --epochs=1 --seed=3"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not (find_spec("torch") and find_spec("torchvision")), reason="torch is not installed")]


def _run(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    done = program(*command(*arguments), cwd=folder, env=environment(OMP_NUM_THREADS="1"), timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def _losses(folder: Path, job: Path, name: str, release: str, *, launched: bool = False) -> list[float]:
    """The loss of each step of a job's training; its pods start torchrun where the job is to be *launched*."""
    from tests.trainer.fork_server import server

    words = f"{server().python} {'-m torch.distributed.run ' if launched else ''}-m trainer {FLAGS} --output-dir={name}"
    _run(folder, "run", job, "--command", words, "--target", f"trainer={release}")
    lines = [json.loads(line) for line in (folder / name / "metrics.jsonl").read_text().splitlines()]
    return [each["loss"] for each in lines if each["event"] == "train"]


@pytest.mark.parametrize(("guide", "release"), [("mnist", "2.3"), ("simple", "2.0"), ("distributed", "2.3")])
def test_a_migrated_job_trains_as_before(guide: str, release: str, tmp_path: Path) -> None:
    from tests.trainer import idx

    idx.write(tmp_path / "data", train=480, test=60)
    source = tmp_path / "before.yaml"
    source.write_text(re.sub(r"--epochs[= ]\d+", "--epochs=1", (GUIDES / f"{guide}.yaml").read_text()))
    after = tmp_path / "after.yaml"
    after.write_text(_run(tmp_path, "migrate", source, "--to", "TrainJob", "--target", f"trainer={release}").stdout)
    before, then = _losses(tmp_path, source, "one", release), _losses(tmp_path, after, "two", release)
    assert len(before) >= 16
    assert before == then


def test_a_trainjob_trains_as_before_in_the_words_of_another_release(tmp_path: Path) -> None:
    from tests.trainer import idx

    idx.write(tmp_path / "data", train=480, test=60)
    source, after = tmp_path / "before.yaml", tmp_path / "after.yaml"
    source.write_text((GUIDES / "trainjob.yaml").read_text().replace("      - --epochs=3\n", ""))
    after.write_text(_run(tmp_path, "migrate", source, "--to", "trainer=2.0", "--target", "trainer=2.3").stdout)
    before = _losses(tmp_path, source, "one", "2.3", launched=True)
    assert before == _losses(tmp_path, after, "two", "2.0", launched=True)
    assert len(before) == 24
