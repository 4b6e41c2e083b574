"""Run command lines of `jobspec` with the code of one tree: `python worker.py TREE INPUTS RUNS RESULTS`.

It imports nothing else of the tests, since an older tree has other ones. A forked process for each batch keeps what one batch leaves in
memory away from the next; the first command line of a batch imports the modules that it needs, as a new process would.
"""

import gc
import hashlib
import io
import json
import os
import re
import shutil
import signal
import sys
import traceback
from collections import deque
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

_BATCH = 100  # command lines: with fewer, most of the time would be spent on imports
_PATIENCE = 120  # seconds that a command line may take
_LONG = 50_000  # bytes: of a longer file that a command writes, the digest is kept
_ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "COLUMNS": "120",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}
_CALLS = re.compile(r"^(Traceback \(most recent call last\):\n)(?: .*\n)+", re.MULTILINE)

Run = dict[str, Any]


class Place(NamedTuple):
    """Where command lines run, and whose code they run."""

    tree: Path
    inputs: Path
    scratch: Path


def main(tree: Path, inputs: Path, runs: Path, results: Path) -> None:
    """Write a line of JSON for each command line, in their order."""
    sys.path[0] = str(tree)
    found = find_spec("jobspec")
    assert found and found.origin and Path(found.origin).is_relative_to(tree), found
    scratch = results.with_suffix(".scratch")
    scratch.mkdir()
    recorded = _all_recorded([json.loads(line) for line in runs.read_text().splitlines()], Place(tree, inputs, scratch))
    results.write_text("".join(recorded))
    shutil.rmtree(scratch)


def _all_recorded(runs: list[Run], place: Place) -> list[str]:
    """The recordings of all command lines, from as many processes as there are processors."""
    found = {}
    left = deque(_batches(runs))
    working: dict[int, list[tuple[int, Run]]] = {}
    while left or working:
        while left and len(working) < len(os.sched_getaffinity(0)):
            batch = left.popleft()
            working[_start(batch, place)] = batch
        pid, status = os.wait()
        batch = working.pop(pid)
        lines = (place.scratch / f"{batch[0][0]}.recorded").read_text().splitlines(keepends=True)
        if len(lines) < len(batch):
            ended = {"code": f"ended with wait status {status}", "stdout": "", "stderr": "", "files": {}}
            lines.append(json.dumps({**batch[len(lines)][1], **ended}) + "\n")
            if batch[len(lines) :]:
                left.appendleft(batch[len(lines) :])
        found |= {number: line for (number, _), line in zip(batch, lines, strict=False)}
    return [found[number] for number in range(len(runs))]


def _batches(runs: list[Run]) -> list[list[tuple[int, Run]]]:
    """The numbered command lines, those of one command together."""
    commands: dict[str, list[tuple[int, Run]]] = {}
    for number, run in enumerate(runs):
        commands.setdefault(next(iter(run["arguments"]), ""), []).append((number, run))
    return [each[at : at + _BATCH] for each in commands.values() for at in range(0, len(each), _BATCH)]


def _start(batch: list[tuple[int, Run]], place: Place) -> int:
    """Fork a process that records a batch."""
    recorded = place.scratch / f"{batch[0][0]}.recorded"
    recorded.touch()
    pid = os.fork()
    if pid == 0:
        try:
            with recorded.open("w") as lines:
                for number, run in batch:
                    lines.write(json.dumps({**run, **_recorded(run, place._replace(scratch=place.scratch / f"{number:06}"))}) + "\n")
                    lines.flush()
        finally:
            os._exit(0)
    return pid


def _recorded(run: Run, place: Place) -> dict[str, Any]:
    """What a command line gives: its exit code, what it prints, and the files that it writes."""
    source = place.inputs / run["folder"]
    place.scratch.mkdir()
    folder = place.scratch / "folder" if run["writes"] else source
    if run["writes"]:
        shutil.copytree(source, folder, symlinks=True)
    os.environ.clear()
    os.environ.update({**_ENVIRONMENT, "HOME": str(place.scratch), **run["environment"]})
    os.chdir(folder)
    streams = [place.scratch / name for name in ("stdin", "stdout", "stderr")]
    streams[0].write_text(run["stdin"])
    _redirect(streams)
    signal.alarm(_PATIENCE)
    code = _code(run["arguments"])
    signal.alarm(0)
    gc.enable()  # commands turn it off
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    stdout, stderr = (_text(path.read_bytes(), place, folder) for path in streams[1:])
    files = _written(source, folder) if run["writes"] else {}
    os.chdir(place.inputs)
    shutil.rmtree(place.scratch)
    return {"code": code, "stdout": stdout, "stderr": stderr, "files": {path: _text(each, place, folder) for path, each in files.items()}}


def _redirect(streams: list[Path]) -> None:
    """Have this process, and those that it starts, read and write these files."""
    for number, path in enumerate(streams):
        opened = os.open(path, os.O_RDWR | os.O_CREAT)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin, sys.stdout, sys.stderr = (
        io.TextIOWrapper(os.fdopen(number, mode, closefd=False), encoding="utf-8", errors="surrogateescape", write_through=True)
        for number, mode in enumerate(("rb", "wb", "wb"))
    )


def _code(arguments: list[str]) -> int | str:
    try:
        from jobspec.cli import main

        return main(arguments)
    except BaseException as error:  # also what the import of a broken tree raises, and SystemExit
        traceback.print_exc()
        return f"raised {type(error).__name__}"


def _written(source: Path, folder: Path) -> Mapping[str, bytes]:
    """The files of a folder that differ from those that it was copied from; one that is gone is `(gone)`."""
    before, after = _files_in(source), _files_in(folder)
    changed = {path: content for path, content in after.items() if before.get(path) != content}
    return {path: _shown(content) for path, content in changed.items()} | dict.fromkeys(sorted(before.keys() - after.keys()), b"(gone)")


def _shown(content: bytes) -> bytes:
    return content if len(content) < _LONG else f"{len(content)} bytes, SHA-256 {hashlib.sha256(content).hexdigest()}".encode()


def _files_in(folder: Path) -> dict[str, bytes]:
    found = {path.relative_to(folder): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name.as_posix(): path.read_bytes() for name, path in found.items() if ".git" not in name.parts}


def _text(content: bytes, place: Place, folder: Path) -> str:
    """An output without what may differ: paths, and in tracebacks the calls."""
    text = content.decode(errors="surrogateescape")
    for path, name in ((folder, "FOLDER"), (place.scratch, "SCRATCH"), (place.inputs, "INPUTS"), (place.tree, "TREE")):
        text = text.replace(str(path), name)
    return _CALLS.sub(r"\1", text)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
