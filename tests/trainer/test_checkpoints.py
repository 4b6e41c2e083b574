"""Training that is interrupted goes on as if nothing had been."""

import errno
import json
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.trainer import idx, jobs
from trainer.checkpoints import write
from trainer.config import Refusal

#: All that has a state: dropout's random numbers, Adadelta's averages, a learning rate that decays; and a last batch that is smaller.
FLAGS = ("--model=cnn-dropout", "--optimizer=adadelta", "--lr=1", "--epochs=2", "--log-interval=1", "--batch-size=16", "--save-model")


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return idx.write(tmp_path_factory.mktemp("digits"), train=250, test=50)


@pytest.fixture(scope="module")
def uninterrupted(digits: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("uninterrupted")
    assert jobs.start(folder, f"--data-dir={digits}", *FLAGS).ends() == 0
    return folder / "output"


def _results(output: Path) -> list[dict[str, Any]]:
    """The losses and accuracies of every step, in their last version."""
    lines = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    found = {(each["event"], each["step"]): each for each in lines if each["event"] in ("train", "test")}
    return [{name: each[name] for name in ("epoch", "step", "loss")} | {"accuracy": each.get("accuracy")} for each in found.values()]


def _same(one: Path, other: Path) -> bool:
    """Whether two runs ended with the same weights, optimizer, scheduler, position and random numbers, to the last bit."""
    ours, theirs = (torch.load(folder / "checkpoint.pt", weights_only=True) for folder in (one, other))
    return _plain({**ours, "config": None}) == _plain({**theirs, "config": None}) and _results(one) == _results(other)


def _plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.contiguous().flatten().view(torch.uint8).tolist() if value.dim() else value.item()
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("after", ["Train Epoch: 1 [80/", "Train Epoch: 1 [240/", "accuracy=", "Train Epoch: 2 [32/"])
def test_sigterm_finishes_the_step_saves_and_exits_with_143_and_the_next_start_goes_on(
    after: str, digits: Path, uninterrupted: Path, tmp_path: Path
) -> None:
    first = jobs.start(tmp_path, f"--data-dir={digits}", *FLAGS)
    first.says(after)
    first.process.send(signal.SIGTERM)
    assert first.ends() == 143
    assert "Traceback" not in first.log.read_text()
    again = jobs.start(tmp_path, f"--data-dir={digits}", *FLAGS)
    assert again.ends() == 0
    assert "Going on in epoch" in again.log.read_text()
    assert _same(tmp_path / "output", uninterrupted)
    assert (tmp_path / "output" / "model.pt").exists()


def test_a_kill_loses_no_more_than_the_steps_since_the_last_checkpoint(digits: Path, uninterrupted: Path, tmp_path: Path) -> None:
    first = jobs.start(tmp_path, f"--data-dir={digits}", *FLAGS, "--checkpoint-every=5")
    first.says("Train Epoch: 2 [80/")
    first.process.send(signal.SIGKILL)
    assert first.ends() == -9
    again = jobs.start(tmp_path, f"--data-dir={digits}", *FLAGS, "--checkpoint-every=5")
    assert again.ends() == 0
    began = [json.loads(line)["step"] for line in (tmp_path / "output" / "metrics.jsonl").read_text().splitlines() if '"run"' in line]
    assert began in ([0, 20], [0, 25], [0, 30])
    assert _same(tmp_path / "output", uninterrupted)


def test_a_full_disk_leaves_the_old_checkpoint(digits: Path, tmp_path: Path) -> None:
    assert jobs.start(tmp_path, f"--data-dir={digits}", "--epochs=1").ends() == 0
    before = (tmp_path / "output" / "checkpoint.pt").read_bytes()
    full = jobs.start(tmp_path, f"--data-dir={digits}", "--epochs=2", largest_file=1_000_000)
    assert full.ends() == 2
    why = "trainer: output/checkpoint.pt could not be written: File too large; what it held before is still there"
    assert why in full.log.read_text()
    assert (tmp_path / "output" / "checkpoint.pt").read_bytes() == before
    assert sorted(each.name for each in (tmp_path / "output").iterdir()) == ["checkpoint.pt", "metrics.jsonl"]
    assert jobs.start(tmp_path, f"--data-dir={digits}", "--epochs=2").ends() == 0


def test_a_disk_that_is_full_from_the_start_is_named(digits: Path, tmp_path: Path) -> None:
    full = jobs.start(tmp_path, f"--data-dir={digits}", largest_file=200)
    assert full.ends() == 2
    assert full.log.read_text().endswith("\ntrainer: output/metrics.jsonl could not be written: File too large\n")
    assert "Traceback" not in full.log.read_text()


def test_what_is_already_trained_is_not_trained_again(digits: Path, uninterrupted: Path, tmp_path: Path) -> None:
    checkpoint = uninterrupted / "checkpoint.pt"
    process = jobs.start(tmp_path, f"--data-dir={digits}", *FLAGS, f"--resume={checkpoint}")
    assert process.ends() == 0
    assert process.log.read_text() == "World Size: 1. Rank: 0\nAll 2 epochs are trained already; train from scratch with --resume never\n"
    assert (tmp_path / "output" / "model.pt").read_bytes() == (uninterrupted / "model.pt").read_bytes()


def test_never_begins_anew(digits: Path, tmp_path: Path) -> None:
    for _ in range(2):
        process = jobs.start(tmp_path, f"--data-dir={digits}", "--resume=never")
        assert process.ends() == 0
        assert "Train Epoch: 1 [0/250 (0%)]" in process.log.read_text()


@pytest.mark.parametrize(
    ("flags", "content", "why"),
    [
        (
            ["--lr=0.5"],
            None,
            "is of another training (--lr 1.0 there and 0.5 here): give the same flags, another --output-dir, or --resume",
        ),
        (["--model=cnn", "--seed=2"], None, "(--model cnn-dropout there and cnn here, --seed 1 there and 2 here)"),
        ([], b"nothing", "is not a checkpoint of this program, or is damaged; give another one with --resume, or begin again"),
        ([], b"", "is not a checkpoint of this program, or is damaged"),
        (["--resume=nowhere.pt"], None, "nowhere.pt cannot be read: No such file or directory; give another one with --resume"),
    ],
)
def test_a_checkpoint_that_does_not_fit(
    flags: list[str], content: bytes | None, why: str, digits: Path, uninterrupted: Path, tmp_path: Path
) -> None:
    (tmp_path / "output").mkdir()
    given = (uninterrupted / "checkpoint.pt").read_bytes() if content is None else content
    (tmp_path / "output" / "checkpoint.pt").write_bytes(given)
    process = jobs.start(tmp_path, f"--data-dir={digits}", *FLAGS, *flags)
    assert process.ends() == 2
    assert why in process.log.read_text()
    assert (tmp_path / "output" / "checkpoint.pt").read_bytes() == given


def test_a_checkpoint_cannot_run_code(digits: Path, tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "ran",)

    (tmp_path / "output").mkdir()
    torch.save({"config": Evil()}, tmp_path / "output" / "checkpoint.pt")
    process = jobs.start(tmp_path, f"--data-dir={digits}")
    assert process.ends() == 2
    assert "is not a checkpoint of this program, or is damaged" in process.log.read_text()
    assert not (tmp_path / "ran").exists()


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write(path, b"old")
    write(path, b"new")
    assert path.read_bytes() == b"new"
    (tmp_path / ".file.partial").mkdir()
    with pytest.raises(Refusal, match="Is a directory; what it held before is still there") as refusal:
        write(path, b"newer")
    assert isinstance(refusal.value.__cause__, OSError) and refusal.value.__cause__.errno == errno.EISDIR
    assert path.read_bytes() == b"new"
