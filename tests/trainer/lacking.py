"""Run the trainer without each of some packages: in forks of one process, since importing torch takes seconds of work.

`python -m tests.trainer.lacking PACKAGE...` imports each package once the run without it is over, and prints how all runs ended.
"""

import importlib
import json
import os
import runpy
import sys
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any


def _without(package: str) -> tuple[int, str, str]:
    """The exit code and the output of a fork in which the package cannot be imported."""
    names = (f"{package}.out", f"{package}.err")
    pid = os.fork()
    if not pid:
        for number, name in enumerate(names, 1):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), number)
        modules: dict[str, Any] = sys.modules
        modules[package] = None
        sys.argv = ["trainer"]
        runpy.run_module("trainer", run_name="__main__", alter_sys=True)
        sys.exit(0)
    _, status = os.waitpid(pid, 0)
    out, err = (Path(name).read_text() for name in names)
    return os.waitstatus_to_exitcode(status), out, err


if __name__ == "__main__":
    ended = {}
    for before, package in pairwise(["sys", *sys.argv[1:]]):
        if find_spec(before):
            importlib.import_module(before)
        ended[package] = _without(package)
    sys.stdout.write(json.dumps(ended))
