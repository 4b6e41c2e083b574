"""The curves of runs, and what is said where there are none."""

import json
import re
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.processes import program
from tests.support.reference import ROOT
from trainer.config import Refusal
from trainer.plot import Run, draw, events, main, read

RUN = {"event": "run", "time": 0.0, "config": {}, "world_size": 1, "step": 0}
END = {"event": "end", "time": 9.0, "seconds": 9.0}


def _train(epoch: int, step: int, loss: float) -> dict[str, Any]:
    return {"event": "train", "time": 1.0, "epoch": epoch, "step": step, "images": 64 * step, "loss": loss, "images_per_second": 1.0}


def _test(epoch: int, step: int, loss: float, accuracy: float) -> dict[str, Any]:
    return {"event": "test", "time": 2.0, "epoch": epoch, "step": step, "loss": loss, "accuracy": accuracy}


WHOLE = [
    RUN,
    _train(1, 0, 2.0),
    _train(1, 2, 1.0),
    _test(1, 4, 0.9, 0.5),
    _train(2, 4, 0.8),
    _train(2, 6, 0.7),
    _test(2, 8, 0.6, 0.75),
    END,
]


def _written(folder: Path, lines: list[dict[str, Any]]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_a_run_over_its_epochs(tmp_path: Path) -> None:
    expected = Run(
        "one",
        train_loss=[(0.0, 2.0), (0.5, 1.0), (1.0, 0.8), (1.5, 0.7)],
        test_loss=[(1, 0.9), (2, 0.6)],
        accuracy=[(1, 0.5), (2, 0.75)],
    )
    assert read(_written(tmp_path, WHOLE), "one") == expected
    assert read(tmp_path / "metrics.jsonl", "one") == expected


def test_an_epoch_that_has_not_ended_is_as_long_as_the_first(tmp_path: Path) -> None:
    assert read(_written(tmp_path, WHOLE[:6]), "one").train_loss[-1] == (1.5, 0.7)


def test_a_resumed_run_does_again_what_came_after_its_checkpoint(tmp_path: Path) -> None:
    resumed = {**RUN, "step": 4}
    again = [_train(2, 4, 0.5), _train(2, 6, 0.5), _test(2, 8, 0.4, 0.8), END]
    held = events(_written(tmp_path, [*WHOLE, resumed, *again]) / "metrics.jsonl")
    assert held == [*WHOLE[:4], resumed, *again]


def test_an_epoch_that_is_evaluated_again_counts_once(tmp_path: Path) -> None:
    resumed = {**RUN, "step": 4}  # from a checkpoint of its last step, which is before the evaluation
    again = {**WHOLE[3], "time": 3.0}
    assert events(_written(tmp_path, [*WHOLE[:4], resumed, again]) / "metrics.jsonl") == [*WHOLE[:3], resumed, again]


def test_a_run_from_the_start_makes_all_before_void(tmp_path: Path) -> None:
    other = [RUN, _train(1, 0, 3.0), _test(1, 4, 3.0, 0.1)]
    assert read(_written(tmp_path, [*WHOLE, *other]), "one") == Run("one", [(0.0, 3.0)], [(1, 3.0)], [(1, 0.1)])


def test_a_line_that_is_being_written_is_left_out(tmp_path: Path) -> None:
    file = _written(tmp_path, WHOLE) / "metrics.jsonl"
    with file.open("a") as open_file:
        open_file.write('{"event": "tr')
    assert events(file) == WHOLE


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "metrics.jsonl: no such file; a run writes it into its --output-dir"),
        ("", "metrics.jsonl: the run has not finished an epoch yet"),
        (json.dumps(RUN) + "\n", "metrics.jsonl: the run has not finished an epoch yet"),
        (json.dumps(RUN) + "\nEpoch 1\n", "metrics.jsonl:2: expected a JSON object, got 'Epoch 1'"),
    ],
)
def test_a_run_that_cannot_be_drawn(text: str | None, words: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "metrics.jsonl").write_text(text)
    with pytest.raises(Refusal) as refusal:
        read(tmp_path, "one")
    assert str(refusal.value) == f"{tmp_path}/{words}"


def test_the_picture_has_a_line_for_each_curve_of_each_run(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run = read(_written(tmp_path, WHOLE), "one")
    loss, accuracy = draw([run, Run("two", run.train_loss, run.test_loss, run.accuracy)]).axes
    assert loss.get_legend_handles_labels()[1] == ["one, training", "one, test", "two, training", "two, test"]
    assert accuracy.get_legend_handles_labels()[1] == ["one, 75.00% at last", "two, 75.00% at last"]
    raw, smooth, test, *_ = (np.asarray(line.get_xydata()) for line in loss.get_lines())
    assert len(loss.get_lines()) == 6
    assert raw.tolist() == [list(point) for point in run.train_loss]
    assert smooth == pytest.approx(raw)  # points that far apart stay as they are
    assert test.tolist() == [list(point) for point in run.test_loss]
    one, two = accuracy.get_lines()
    assert one.get_color() != two.get_color()


def test_the_smooth_line_is_the_mean_of_a_tenth_of_an_epoch(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    trains = [_train(1, 3 * number, 0.0 if number % 3 else 6.0) for number in range(20)]
    run = read(_written(tmp_path, [RUN, *trains, _test(1, 100, 0.5, 0.5)]), "one")
    smooth = draw([run]).axes[0].get_lines()[1]
    assert np.asarray(smooth.get_ydata()) == pytest.approx(np.array([3, *[2] * 18, 3]))


def test_the_command_writes_a_picture_of_several_runs(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name in ("one", "three"):
        _written(tmp_path / name, WHOLE)
    command = [sys.executable, "-m", "trainer.plot", "one", "three", "-o", "both.png"]
    done = program(*command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)})
    assert (done.returncode, done.stdout, done.stderr) == (0, "both.png\n", "")
    picture = (tmp_path / "both.png").read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", picture[16:24]) == (1500, 630)


def test_runs_of_one_name_are_distinguished_by_their_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        _written(tmp_path / name / "output", WHOLE)
    assert main(["a/output", "b/output", "-o", "both.svg"]) == 0
    texts = re.findall(r"<!-- (.*), training -->", (tmp_path / "both.svg").read_text())
    assert texts == ["a/output", "b/output"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "nowhere: no such file; a run writes it into its --output-dir\n"),
        (["one", "-o", "no/where.png"], "no/where.png: [Errno 2] No such file or directory: 'no/where.png'\n"),
        (["one", "-o", "curves.xyz"], "curves.xyz: Format 'xyz' is not supported"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    _written(tmp_path / "one", WHOLE)
    assert main(arguments) == 2
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.startswith(words)
    assert errors.count("\n") == 1
