"""Run `jobspec`, in a new process or, where only the output counts, in this one; and run other programs."""

import gc
import io
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

from jobspec.apis.releases import choose, reported
from jobspec.cli import main
from tests.support.reference import ROOT

#: The releases that the last line of a report names.
RELEASES = f"({', '.join(' '.join(each) for each in reported(choose([])).items())})"


def command(*arguments: str | Path) -> list[str]:
    """The command line of a run."""
    return [sys.executable, "-m", "jobspec", *map(str, arguments)]


def environment(**more: str) -> dict[str, str]:
    """An environment for this checkout's program, without variables that change its colours, width or buffering."""
    others = ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "PYTHONUNBUFFERED")
    kept = {name: value for name, value in os.environ.items() if name not in others}
    return {**kept, "PYTHONPATH": str(ROOT), **more}


def program(
    *words: str | Path, cwd: Path = ROOT, stdin: str = "", env: Mapping[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a program; returns its exit code and output. *options* are those of `subprocess.run`."""
    streams: dict[str, Any] = {"input": stdin, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run(list(map(str, words)), cwd=cwd, env=env or environment(), encoding="utf-8", errors="surrogateescape", **streams)


def python(code: str, *arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run code in a new interpreter."""
    return program(sys.executable, "-c", code, *arguments, **options)


def run(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run `jobspec` in a new process."""
    return program(*command(*arguments), **options)


def run_here(
    *arguments: str | Path, cwd: Path = ROOT, stdin: str = "", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `jobspec` in this process, which is quicker; for its output and exit code, not for how a process ends."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape", write_through=True) for _ in range(2))
    given = mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
    variables = mock.patch.dict(os.environ, env or environment(), clear=True)
    with chdir(cwd), variables, given, redirect_stdout(out), redirect_stderr(err):
        try:
            code = main(list(map(str, arguments)))
        finally:
            gc.enable()  # commands turn it off
    return subprocess.CompletedProcess(command(*arguments), code, _read(out), _read(err))


def _read(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()
