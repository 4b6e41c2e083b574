"""One process trains: what it learns, what it says, what it leaves."""

import json
import os
import pty
import re
import termios
from pathlib import Path
from typing import Any

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.nn import functional

from tests.trainer import idx, jobs
from trainer.config import Config
from trainer.networks import NETWORKS
from trainer.optimizers import optimizer, scheduler


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return idx.write(tmp_path_factory.mktemp("few"), train=1000, test=130)


def events(output: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]


def test_it_learns_the_digits(tmp_path: Path) -> None:
    idx.write(tmp_path / "data", train=6000, test=1000)
    process = jobs.start(tmp_path, "--dataset=mnist", "--data-dir=data", "--optimizer=adadelta", "--lr=1", "--gamma=0.5", "--epochs=3")
    assert process.ends(seconds=120) == 0
    accuracies = re.findall(r"^accuracy=(\d\.\d{4})$", process.log.read_text(), re.MULTILINE)
    assert len(accuracies) == 3
    assert float(accuracies[-1]) > 0.97


def test_what_a_run_says_and_leaves(few: Path, tmp_path: Path) -> None:
    process = jobs.start(tmp_path, f"--data-dir={few}", "--epochs=2", "--log-interval=5", "--save-model", "--output-dir=out", "--dir=board")
    assert process.ends() == 0
    said = events(tmp_path / "out")
    assert [(each["event"], each.get("step"), each.get("images")) for each in said] == [
        ("run", 0, None),
        *[("train", step, step * 64) for step in (0, 5, 10, 15)],
        ("test", 16, None),
        *[("train", 16 + step, step * 64) for step in (0, 5, 10, 15)],
        ("test", 32, None),
        ("end", None, None),
    ]
    assert (
        said[0]["config"]
        == Config(epochs=2, log_interval=5, save_model=True, output_dir="out", dir="board", data_dir=str(few)).model_dump()
    )
    assert [each["time"] for each in said] == sorted(each["time"] for each in said)
    losses = {each["step"]: each["loss"] for each in said if each["event"] == "train"}
    accuracies = {each["epoch"]: each["accuracy"] for each in said if each["event"] == "test"}
    assert process.log.read_text() == (
        "World Size: 1. Rank: 0\n"
        f"Train Epoch: 1 [0/1000 (0%)]\tloss={losses[0]:.4f}\n"
        f"Train Epoch: 1 [320/1000 (32%)]\tloss={losses[5]:.4f}\n"
        f"Train Epoch: 1 [640/1000 (64%)]\tloss={losses[10]:.4f}\n"
        f"Train Epoch: 1 [960/1000 (96%)]\tloss={losses[15]:.4f}\n"
        f"\naccuracy={accuracies[1]:.4f}\n\n"
        f"Train Epoch: 2 [0/1000 (0%)]\tloss={losses[16]:.4f}\n"
        f"Train Epoch: 2 [320/1000 (32%)]\tloss={losses[21]:.4f}\n"
        f"Train Epoch: 2 [640/1000 (64%)]\tloss={losses[26]:.4f}\n"
        f"Train Epoch: 2 [960/1000 (96%)]\tloss={losses[31]:.4f}\n"
        f"\naccuracy={accuracies[2]:.4f}\n\n"
    )
    board = EventAccumulator(str(tmp_path / "board")).Reload()
    assert {each.step: each.value for each in board.Scalars("loss")} == pytest.approx(losses)
    assert {each.step: each.value for each in board.Scalars("accuracy")} == pytest.approx(accuracies)
    weights = torch.load(tmp_path / "out" / "model.pt", weights_only=True)
    assert {name: tuple(each.shape) for name, each in weights.items() if name.startswith("conv")} == {
        "conv1.weight": (20, 1, 5, 5),
        "conv1.bias": (20,),
        "conv2.weight": (50, 20, 5, 5),
        "conv2.bias": (50,),
    }


def test_a_terminal_gets_a_bar_and_no_log_lines(few: Path, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 120))
    process = jobs.start(tmp_path, f"--data-dir={few}", terminal=os.ttyname(theirs))
    assert process.ends() == 0
    shown = os.read(ours, 100_000).decode()
    os.close(theirs)
    os.close(ours)
    assert re.search(r"Epoch 1: 100%.*1000/1000 .* images/s, loss=\d\.\d{4}", shown)
    assert re.search(r"Epoch 1: accuracy=0\.\d{4}", shown)
    assert "Train Epoch" not in shown


def test_bfloat16_learns_too(tmp_path: Path) -> None:
    idx.write(tmp_path / "data", train=320, test=10)
    flags = ("--data-dir=data", "--lr=0.05", "--momentum=0.9", "--log-interval=1", "--batch-size=16")
    processes = [jobs.start(tmp_path, *flags, "--amp"), jobs.start(tmp_path, *flags, "--output-dir=exact")]
    assert [each.ends() for each in processes] == [0, 0]
    losses, exact = ([each["loss"] for each in events(tmp_path / name) if each["event"] == "train"] for name in ("output", "exact"))
    assert sum(losses[-3:]) < sum(losses[:3])
    assert losses == pytest.approx(exact, rel=0.2)
    assert losses != exact


def test_a_missing_folder_of_images_and_one_that_cannot_be_written(few: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    missing = jobs.start(tmp_path / "1", "--no-download")
    unwritable = jobs.start(tmp_path / "2", f"--data-dir={few}", f"--output-dir={tmp_path}/file/output")
    assert [missing.ends(), unwritable.ends()] == [2, 2]
    assert "trainer: data: the files of fashion-mnist" in missing.log.read_text()
    assert f"trainer: {tmp_path}/file/output: cannot make this folder: Not a directory" in unwritable.log.read_text()


@pytest.mark.parametrize(("name", "parameters"), [("cnn", 431_080), ("cnn-dropout", 1_199_882)])
def test_the_networks_are_the_guides(name: str, parameters: int) -> None:
    torch.manual_seed(1)
    model = NETWORKS[name]().eval()
    assert sum(each.numel() for each in model.parameters()) == parameters
    inputs = torch.rand(4, 1, 28, 28)
    weights = dict(model.named_parameters())

    def layer(name: str, x: torch.Tensor) -> torch.Tensor:
        apply = functional.conv2d if name.startswith("conv") else functional.linear
        return functional.relu(apply(x, weights[f"{name}.weight"], weights[f"{name}.bias"]))

    x = layer("conv1", inputs)
    if name == "cnn":
        x = functional.max_pool2d(x, 2)
    x = functional.max_pool2d(layer("conv2", x), 2)
    x = functional.linear(layer("fc1", x.flatten(1)), weights["fc2.weight"], weights["fc2.bias"])
    torch.testing.assert_close(model(inputs), functional.log_softmax(x, 1))


def test_adadelta_slows_down_after_each_epoch_and_sgd_does_not() -> None:
    parameters = [torch.nn.Parameter(torch.zeros(1))]
    rates = {}
    for name in ("sgd", "adadelta"):
        config = Config.model_validate({"optimizer": name, "lr": 0.5, "gamma": 0.5})
        rule = optimizer(config, parameters)
        decay = scheduler(config, rule)
        rates[name] = []
        for _ in range(3):
            rates[name].append(rule.param_groups[0]["lr"])
            rule.step()
            decay.step()
    assert rates == {"sgd": [0.5, 0.5, 0.5], "adadelta": [0.5, 0.25, 0.125]}
