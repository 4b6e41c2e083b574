"""Draw the loss and accuracy curves of runs as one picture, from their `metrics.jsonl`."""

from __future__ import annotations

import argparse
import json
import math
import sys
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainer.config import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Curve = list[tuple[float, float]]

#: Told apart by people who do not see red or green.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555")

#: A point of the smooth line is the mean of all that are so many epochs around it.
WINDOW = 0.1


@dataclass(frozen=True)
class Run:
    """What one run measured, over the epochs it had done by then."""

    name: str
    train_loss: Curve
    test_loss: Curve
    accuracy: Curve


def main(argv: Sequence[str] | None = None) -> int:
    """Read the runs that the command line names, and write their picture."""
    parser = argparse.ArgumentParser(prog="python -m trainer.plot", description=__doc__)
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="+", help="the output folder of a run, or its metrics.jsonl")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, default=Path("curves.png"), help="(default: %(default)s)")
    options = parser.parse_args(argv)
    try:
        draw([read(path, name) for path, name in zip(options.runs, _names(options.runs), strict=True)]).savefig(options.output)
    except Refusal as problem:
        return _refuse(str(problem))
    except ImportError as problem:
        package = (problem.name or "").partition(".")[0]
        return _refuse(f"drawing needs the package `{package}`: pip install '.[trainer-libraries]' in a clone")
    except (OSError, ValueError) as problem:  # ValueError: a kind of file that matplotlib does not write
        return _refuse(f"{options.output}: {problem}")
    sys.stdout.write(f"{options.output}\n")
    return 0


def _refuse(words: str) -> int:
    sys.stderr.write(f"{words}\n")
    return 2


def _names(paths: Sequence[Path]) -> list[str]:
    """The names of the runs' folders, or their paths where two folders have one name."""
    folders = [(path if path.is_dir() else path.parent).absolute().name for path in paths]
    return folders if len(set(folders)) == len(folders) else [str(path) for path in paths]


def read(path: Path, name: str) -> Run:
    """The run whose output folder, or whose `metrics.jsonl`, *path* is."""
    file = path / "metrics.jsonl" if path.is_dir() else path
    held = events(file)
    trains = [event for event in held if event["event"] == "train"]
    tests = [event for event in held if event["event"] == "test"]
    if not tests:
        raise Refusal(f"{file}: the run has not finished an epoch yet")
    ends = {0: 0} | {event["epoch"]: event["step"] for event in tests}
    return Run(
        name,
        [(_epochs(event, ends), event["loss"]) for event in trains],
        [(event["epoch"], event["loss"]) for event in tests],
        [(event["epoch"], event["accuracy"]) for event in tests],
    )


def events(file: Path) -> list[dict[str, Any]]:
    """The events of a `metrics.jsonl` that hold: a resumed run does again what came after its checkpoint."""
    held: list[dict[str, Any]] = []
    for event in _lines(file):
        if event["event"] == "run":
            held = [each for each in held if _steps(each) <= event["step"]]
        if event["event"] == "test":  # a checkpoint of an epoch's last step is older than its evaluation
            held = [each for each in held if each["event"] != "test" or each["epoch"] != event["epoch"]]
        held.append(event)
    return held


def _steps(event: dict[str, Any]) -> float:
    """How many steps an event tells of: the loss of training is that of the step to come, and the end is after all."""
    return float(event.get("step", math.inf) + (event["event"] == "train"))


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    except FileNotFoundError:
        raise Refusal(f"{file}: no such file; a run writes it into its --output-dir") from None
    for number, line in enumerate(lines, 1):
        if not line.endswith("\n"):
            return  # the run is writing it, or was killed there
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            raise Refusal(f"{file}:{number}: expected a JSON object, got {line.strip()!r}") from None


def _epochs(event: dict[str, Any], ends: dict[int, int]) -> float:
    """How many epochs were done at a step; one that has not ended is taken to be as long as the first."""
    start = ends[event["epoch"] - 1]
    length = ends.get(event["epoch"], start + ends[1]) - start
    return float(event["epoch"] - 1 + (event["step"] - start) / length)


def draw(runs: Sequence[Run]) -> Figure:
    """All runs in one picture: loss on the left, accuracy on the right."""
    from matplotlib.figure import Figure  # not pyplot, which looks for a display
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(10, 4.2), dpi=150, layout="constrained")
    loss, accuracy = figure.subplots(1, 2)
    for number, run in enumerate(runs):
        colour = COLOURS[number % len(COLOURS)]
        _draw_loss(loss, run, colour)
        _draw_accuracy(accuracy, run, colour)
    loss.set_title("Loss", loc="left")
    loss.set_ylim(bottom=0)
    accuracy.set_title("Accuracy on the test set", loc="left")
    accuracy.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g}%")
    for axes in (loss, accuracy):
        axes.set_xlabel("epoch")
        axes.set_xlim(left=0)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(color="#e8e8e8")
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    loss.legend(frameon=False, loc="upper right")
    accuracy.legend(frameon=False, loc="best")
    return figure


def _draw_loss(axes: Axes, run: Run, colour: str) -> None:
    axes.plot(*_columns(run.train_loss), color=colour, linewidth=0.6, alpha=0.3)
    axes.plot(*_columns(_smooth(run.train_loss)), color=colour, label=f"{run.name}, training")
    axes.plot(*_columns(run.test_loss), color=colour, linestyle="--", marker="o", label=f"{run.name}, test")


def _draw_accuracy(axes: Axes, run: Run, colour: str) -> None:
    _, last = run.accuracy[-1]
    axes.plot(*_columns(run.accuracy), color=colour, marker="o", label=f"{run.name}, {last:.2%} at last")


def _smooth(curve: Curve) -> Curve:
    places, values = _columns(curve)
    sums = [0.0, *accumulate(values)]
    near = [(bisect_left(places, place - WINDOW / 2), bisect_right(places, place + WINDOW / 2)) for place in places]
    return [(place, (sums[end] - sums[start]) / (end - start)) for place, (start, end) in zip(places, near, strict=True)]


def _columns(curve: Curve) -> tuple[list[float], list[float]]:
    return [x for x, _ in curve], [y for _, y in curve]


if __name__ == "__main__":
    sys.exit(main())
