"""Several processes train together, in step, and none is left waiting."""

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.trainer import idx, jobs

#: 500 training images and 47 for testing: neither divides by two or three processes and their batches.
FLAGS = ("--lr=0.05", "--momentum=0.9", "--log-interval=1", "--batch-size=32", "--test-batch-size=10")


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return idx.write(tmp_path_factory.mktemp("digits"), train=500, test=47)


def _events(folder: Path, kind: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "output" / "metrics.jsonl").read_text().splitlines()]
    return [each for each in lines if each["event"] == kind]


def _lines(process: jobs.Process) -> list[str]:
    return re.findall("^Train Epoch.*|^accuracy.*", process.log.read_text(), re.MULTILINE)


def _weights(folder: Path) -> dict[str, torch.Tensor]:
    found: dict[str, torch.Tensor] = torch.load(folder / "output" / "checkpoint.pt", weights_only=True)["model"]
    return found


@pytest.mark.parametrize("count", [2, 3])
def test_processes_train_as_one_with_the_batches_of_all(count: int, digits: Path, tmp_path: Path) -> None:
    batch = 60 // count
    together = jobs.start_job(tmp_path, count, f"--data-dir={digits}", *FLAGS, f"--batch-size={batch}", "--save-model")
    alone = jobs.start(tmp_path / "alone", f"--data-dir={digits}", *FLAGS, "--batch-size=60")
    assert [each.ends() for each in (*together, alone)] == [0] * (count + 1)
    # Where the images divide evenly, so that none is seen twice, the mean of the gradients is the gradient of the mean.
    steps = 500 // 60
    losses, expected = ([each["loss"] for each in _events(tmp_path / name, "train")] for name in ("0", "alone"))
    assert losses[:steps] == pytest.approx(expected[:steps], rel=1e-3)
    assert [each["images"] for each in _events(tmp_path / "0", "train")] == [step * 60 for step in range(9)]
    # Each process says the same, the first alone keeps files.
    assert all(_lines(each) == _lines(together[0]) for each in together)
    assert len(_lines(together[0])) == 10
    assert [(tmp_path / str(rank) / "output").exists() for rank in range(count)] == [True] + [False] * (count - 1)
    assert f"World Size: {count}. Rank: {count - 1}" in together[-1].log.read_text()


@pytest.mark.parametrize(("count", "tests"), [(2, 47), (3, 47), (3, 2), (3, 1)])
def test_an_evaluation_is_that_of_one_process(count: int, tests: int, tmp_path: Path) -> None:
    idx.write(tmp_path / "data", train=90, test=tests)
    trained = jobs.start_job(tmp_path, count, f"--data-dir={tmp_path}/data", *FLAGS)
    assert [each.ends() for each in trained] == [0] * count
    checkpoint = torch.load(tmp_path / "0" / "output" / "checkpoint.pt", weights_only=True)
    before = {**checkpoint, "position": {"epoch": 1, "seen": 90, "step": 1}}
    torch.save(before, tmp_path / "before.pt")
    alone = jobs.start(tmp_path / "alone", f"--data-dir={tmp_path}/data", *FLAGS, f"--resume={tmp_path}/before.pt")
    assert alone.ends() == 0
    (several,), (one,) = _events(tmp_path / "0", "test"), _events(tmp_path / "alone", "test")
    assert several["accuracy"] == one["accuracy"]
    assert several["loss"] == pytest.approx(one["loss"], rel=1e-5)


@pytest.mark.parametrize("gone", [0, 2])
def test_where_one_is_killed_the_others_end_at_once_and_say_so(gone: int, digits: Path, tmp_path: Path) -> None:
    job = jobs.start_job(tmp_path, 3, f"--data-dir={digits}", *FLAGS, "--epochs=1000")
    job[1].says("Train Epoch", times=3)
    job[gone].process.send(signal.SIGKILL)
    left = [each for rank, each in enumerate(job) if rank != gone]
    assert [each.ends(seconds=20) for each in left] == [138, 138]
    assert all("trainer: another process of the job has ended or does not answer" in each.log.read_text() for each in left)


def test_where_one_has_no_images_the_other_does_not_wait(tmp_path: Path) -> None:
    idx.write(tmp_path / "0" / "data", train=50, test=10)
    job = jobs.start_job(tmp_path, 2, "--data-dir=data", "--no-download")
    assert [each.ends(seconds=20) for each in job] == [138, 2]


def test_sigterm_to_one_ends_all_after_one_step_and_they_go_on_bit_for_bit(digits: Path, tmp_path: Path) -> None:
    flags = (f"--data-dir={digits}", *FLAGS, "--model=cnn-dropout", "--epochs=2", "--batch-size=16")
    whole = jobs.start_job(tmp_path / "whole", 2, *flags)
    assert [each.ends() for each in whole] == [0, 0]
    first = jobs.start_job(tmp_path / "parts", 2, *flags)
    first[1].says("Train Epoch: 2 [64/")
    first[1].process.send(signal.SIGTERM)
    assert [each.ends() for each in first] == [143, 143]
    assert not any("Traceback" in each.log.read_text() for each in first)
    again = jobs.start_job(tmp_path / "parts", 2, *flags)
    assert [each.ends() for each in again] == [0, 0]
    assert "Going on in epoch 2" in again[1].log.read_text()
    # The second process has no file of its own: what it goes on with came from the first.
    assert not (tmp_path / "parts" / "1" / "output").exists()
    ours, theirs = _weights(tmp_path / "whole" / "0"), _weights(tmp_path / "parts" / "0")
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert _events(tmp_path / "whole" / "0", "test")[-1]["loss"] == _events(tmp_path / "parts" / "0", "test")[-1]["loss"]


@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 3)])
def test_another_number_of_processes_goes_on_with_the_rest_of_the_epoch(before: int, after: int, digits: Path, tmp_path: Path) -> None:
    flags = (f"--data-dir={digits}", *FLAGS, "--batch-size=10")
    first = jobs.start_job(tmp_path, before, *flags)
    first[0].says("Train Epoch: 1 [200/")
    first[0].process.send(signal.SIGTERM)
    assert [each.ends() for each in first] == [143] * before
    seen = torch.load(tmp_path / "0" / "output" / "checkpoint.pt", weights_only=True)["position"]["seen"]
    assert 200 < seen < 500
    again = jobs.start_job(tmp_path, after, *flags)
    assert [each.ends() for each in again] == [0] * after
    assert f"Going on in epoch 1 after {seen} images" in again[-1].log.read_text()
    images = [each["images"] for each in _events(tmp_path / "0", "train") if each["images"] >= seen]
    assert images == list(range(seen, 500, 10 * after))
    assert [each["epoch"] for each in _events(tmp_path / "0", "test")] == [1]
