"""Whole processes side by side: the trainer against the guides' own loops, and two processes against one with two threads.

    python tests/bench/bench_trainer.py [--only NAME] [--rounds N] [--images N] [--threads N]

Prints the median wall time of each, the processor time that it took, their ratios to the first's in the same rounds, and the accuracy.
The images are scikit-learn's digits in FashionMNIST's and MNIST's files: as many and as large as theirs, so that the time is that of
the guides. Beside guide and trainer stands the arithmetic alone: what no loop on torch's kernels comes below. The load of the machine
is printed too: where others use its processors, threads that wait for each other make wall times worthless, and the processor time with
`--threads 1` is what still compares.
"""

import argparse
import os
import re
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))

from tests.trainer import idx  # noqa: E402 - a checkout is not installed

TRAINER = ["-m", "trainer", "--no-download"]


@dataclass(frozen=True)
class Contender:
    """A way to train: a command, started as many times as it has processes, each with some threads."""

    name: str
    command: list[str]
    threads: int
    processes: int = 1
    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    accuracies: list[str] = field(default_factory=list)

    def run(self, folder: Path) -> None:
        """Train once, from the start of the first process to the end of the last."""
        started, used = time.perf_counter(), _processor_time()
        running = [self._start(rank, folder) for rank in range(self.processes)]
        said = [process.communicate()[0] for process in running]
        self.seconds.append(time.perf_counter() - started)
        self.processor.append(_processor_time() - used)
        assert [process.returncode for process in running] == [0] * self.processes, said
        self.accuracies.extend(re.findall(r"accuracy=(\S+)", said[0])[-1:])

    def _start(self, rank: int, folder: Path) -> subprocess.Popen[str]:
        environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": str(self.threads)}
        if self.processes > 1:
            environment |= {"RANK": str(rank), "WORLD_SIZE": str(self.processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": PORT}
        return subprocess.Popen([sys.executable, *self.command], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)


def _processor_time() -> float:
    """What all processes that have ended took together."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def free_port() -> str:
    """A port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


PORT = free_port()


def compare(title: str, contenders: list[Contender], rounds: int, data: Path) -> None:
    """Run the contenders in turn, round by round, and print medians, and in parentheses ratios to the first."""
    for _ in range(rounds):
        for contender in contenders:
            with tempfile.TemporaryDirectory() as folder:
                (Path(folder) / "data").symlink_to(data)
                contender.run(Path(folder))
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"{title}, {rounds} rounds (load {load} on {os.cpu_count()} processors)")
    first, *_ = contenders
    for each in contenders:
        wall, processor = _against(each.seconds, first.seconds), _against(each.processor, first.processor)
        print(f"  {each.name:28} wall {wall}   processor {processor}   accuracy {' '.join(each.accuracies)}", flush=True)


def _against(times: list[float], others: list[float]) -> str:
    ratio = statistics.median(one / other for one, other in zip(times, others, strict=True))
    return f"{statistics.median(times):6.1f} s ({ratio:.2f})"


def comparisons(threads: int) -> dict[str, list[Contender]]:
    """What is compared, by name; the first of each is what the others are measured against."""
    as_004 = ["--dataset=mnist", "--model=cnn-dropout", "--optimizer=adadelta", "--lr=1.0"]
    loop, arithmetic = (str(Path(__file__).with_name(name)) for name in ("guide_loop.py", "arithmetic_loop.py"))
    return {
        "001": [
            Contender("guide", [loop, "001", "data"], threads),
            Contender("trainer", TRAINER, threads),
            Contender("arithmetic alone", [arithmetic, "001", "data"], threads),
        ],
        "004": [
            Contender("guide", [loop, "004", "data"], threads),
            Contender("trainer", [*TRAINER, *as_004], threads),
            Contender("arithmetic alone", [arithmetic, "004", "data"], threads),
        ],
        "processes": [
            Contender("one process, two threads", [*TRAINER, "--batch-size=128", "--epochs=3"], threads=2),
            Contender("two processes, one thread", [*TRAINER, "--batch-size=64", "--epochs=3"], threads=1, processes=2),
            Contender("one process, one thread", [*TRAINER, "--batch-size=128", "--epochs=3"], threads=1),
        ],
    }


def main() -> None:
    """Measure the guides 001 and 004, and two processes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=comparisons(1), help="one comparison, not all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--images", type=int, default=60_000)
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of each process that is compared with a guide")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        data = Path(name)
        for dataset in ("FashionMNIST", "MNIST"):
            idx.write(data / dataset / "raw", train=options.images, test=options.images // 6)
        for title, contenders in comparisons(options.threads).items():
            if options.only in (None, title):
                compare(title, contenders, options.rounds, data)


if __name__ == "__main__":
    main()
