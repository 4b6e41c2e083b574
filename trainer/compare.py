"""Train with one process and with several, and compare: steps of each process, time, accuracy.

By default on the numbers of guide 002: 48 steps an epoch of one process, 16 of each of three, six epochs. All other flags are
those of `python -m trainer`, and go to both runs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.config import Refusal, parse
from trainer.plot import events

if TYPE_CHECKING:
    from collections.abc import Sequence

#: 60,000 images in 48 steps, learning as fast as guide 000: so few steps at the default rate lead nowhere.
GUIDE = ("--batch-size=1250", "--epochs=6", "--lr=0.1", "--momentum=0.9", "--log-interval=4")


def main(argv: Sequence[str] | None = None) -> int:
    """Do both runs, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m trainer.compare", description=__doc__, allow_abbrev=False)
    parser.add_argument("--processes", metavar="N", type=int, default=3, help="processes of the second run (default: %(default)s)")
    parser.add_argument("--output-dir", metavar="TEXT", type=Path, default=Path("compare"), help="(default: %(default)s)")
    own, flags = parser.parse_known_args(argv)
    if own.processes < 2:
        parser.error(f"--processes: expected an integer of at least 2, got {own.processes}")
    try:
        parse([*GUIDE, *flags])
        folders = [_trained(count, [*GUIDE, *flags], own.output_dir / str(count)) for count in (1, own.processes)]
        sys.stdout.write(_table([_row(folder) for folder in folders]))
    except Refusal as problem:
        sys.stderr.write(f"{problem}\n")
        return 2
    sys.stdout.write(f"their curves: python -m trainer.plot {' '.join(map(str, folders))}\n")
    return 0


def _trained(processes: int, flags: Sequence[str], folder: Path) -> Path:
    """Train from the start with all processes on this machine, its processors shared among them; the folder of the run."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    own = ["--resume=never", f"--output-dir={folder}", f"--dir={folder / 'logs'}"]
    environment = os.environ | {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // processes))}
    command = [*torchrun, "-m", "trainer", *flags, *own]
    done = subprocess.run(command, env=environment, check=False)  # noqa: S603 - our own program, with flags that parse has taken
    if done.returncode:
        raise Refusal(f"the run of {processes} process(es) failed, see above")
    return folder


def _row(folder: Path) -> dict[str, str]:
    """One run in numbers, each under its column's name."""
    held = events(folder / "metrics.jsonl")
    last = {event["event"]: event for event in held}
    first_test = next(event for event in held if event["event"] == "test")
    processes = last["run"]["world_size"]
    return {
        "processes": str(processes),
        "images a step": str(processes * last["run"]["config"]["batch_size"]),
        "steps an epoch": str(first_test["step"]),
        "steps of each": str(last["test"]["step"]),
        "seconds": f"{last['end']['seconds']:.1f}",
        "accuracy": f"{last['test']['accuracy']:.4f}",
    }


def _table(rows: Sequence[dict[str, str]]) -> str:
    lines = [list(rows[0]), *(list(row.values()) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) + "\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
