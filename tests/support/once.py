"""Make a folder once in a test run, whichever process needs it first."""

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(name: str, make: Callable[[Path], object], places: pytest.TempPathFactory, worker: str) -> Path:
    """The folder *name*, filled by *make*; *worker* is the id of this process in the run, `master` where it is the only one."""
    shared = places.getbasetemp() if worker == "master" else places.getbasetemp().parent
    folder = shared / name
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / f"{name}.made").exists():
            folder.mkdir()
            make(folder)
            (shared / f"{name}.made").touch()
    return folder
