"""Processes that are killed at some moment of their way."""

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path


class Killing:
    """Starts work on a folder in a child and kills it at a random moment; *whole* is a folder in which it may come to its end at first."""

    def __init__(self, work: Callable[[Path], int], whole: Path) -> None:
        self._work = work
        self._chance = random.Random(1)
        self.seen: list[bool] = []
        start = time.monotonic()
        assert os.waitpid(self._started(whole), 0)[1] == 0
        self._usual = time.monotonic() - start  # on a machine whose load changes, hence corrected by what is seen

    def _started(self, folder: Path) -> int:
        child = os.fork()
        if child == 0:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            os._exit(self._work(folder))
        return child

    def kill_in(self, folder: Path) -> None:
        """Begin the work on a folder, and kill it."""
        child = self._started(folder)
        time.sleep(self._chance.uniform(0, 1.2 * self._usual))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

    def note(self, *, whole: bool) -> None:
        """Take in whether the work was done before the kill, so that both go on to be seen."""
        self.seen.append(whole)
        self._usual *= 0.8 if whole else 1.3
