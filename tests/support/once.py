"""What takes long to make is made once in a run, by whichever of its processes needs it first."""

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(name: str, make: Callable[[Path], object], places: pytest.TempPathFactory, worker: str) -> Path:
    """A folder that *make* has filled; *worker* is the process among those that share a run, `master` where there is only one."""
    shared = places.getbasetemp() if worker == "master" else places.getbasetemp().parent
    folder = shared / name
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / f"{name}.made").exists():
            folder.mkdir()
            make(folder)
            (shared / f"{name}.made").touch()
    return folder
