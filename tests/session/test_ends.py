"""How a run ends: workers end with their parent, a reader may close the pipe, and paths that cannot be read or written are named."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from jobspec.session import spreading
from tests.support.manifests import JOB, write
from tests.support.processes import command, environment, run_here

_HEADER = b"Content-Length: %d\r\n\r\n%s"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")
def test_workers_end_with_their_parent() -> None:
    reading, writing = os.pipe()
    parent = os.fork()
    if not parent:

        def work(number: int) -> int:
            os.write(writing, f"{os.getpid()}\n".encode())
            end = time.monotonic() + (60 if number else 0)
            while time.monotonic() < end:
                pass
            return number

        spreading.processors = lambda: 3
        spreading.spread(range(9), work)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        pids = {int(pipe.readline()) for _ in range(4)}
        workers = pids - {parent}
        assert len(workers) == 2
        os.kill(parent, signal.SIGTERM)
        os.waitpid(parent, 0)
        assert pipe.read() == ""  # the pipe is closed once the last of them has ended


@pytest.mark.parametrize("asked", ["explain", "list targets", "--help"])
def test_a_reader_that_closes_the_pipe_is_no_error(asked: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        command(*asked.split()), stdout=writing, stderr=subprocess.PIPE, text=True, env=environment(), timeout=60, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_verdict_whose_reader_closes_the_pipe_keeps_its_exit_code(tmp_path: Path) -> None:
    write(tmp_path, {"bad.yaml": JOB.replace("replicas: 1", "replicas: one")})
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command("validate", "bad.yaml"), cwd=tmp_path, stdout=writing, env=environment(), timeout=60, check=False)
    os.close(writing)
    assert done.returncode == 1


def test_an_empty_path_is_named_as_such() -> None:
    done = run_here("lint", "")
    assert (done.returncode, done.stderr) == (2, "jobspec: an empty path names no file: is a variable of the shell unset?\n")


@pytest.mark.skipif(not hasattr(os, "geteuid") or not shutil.which("setpriv"), reason="no user can be taken that may not write")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    text = JOB.replace("replicas: 1", "replicaz: 1")
    write(tmp_path, {"jobs/bad.yaml": text})
    (tmp_path / "jobs").chmod(0o555)
    for folder in (tmp_path, *tmp_path.parents[:3]):
        if os.geteuid() == 0 and folder != Path("/tmp"):
            folder.chmod(0o555 if folder.name == "jobs" else 0o755)
    as_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*as_user, *command("lint", "--fix", "jobs/bad.yaml")], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (2, f"jobspec: {tmp_path}/jobs: cannot write: Permission denied; nothing is changed\n")
    assert (tmp_path / "jobs" / "bad.yaml").read_text() == text


def test_the_language_server_ends_without_a_word() -> None:
    pytest.importorskip("pygls")
    said = [
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{}}}',
        b'{"jsonrpc":"2.0","method":"initialized","params":{}}',
        b'{"jsonrpc":"2.0","id":2,"method":"shutdown"}',
        b'{"jsonrpc":"2.0","method":"exit"}',
    ]
    with subprocess.Popen(
        command("lsp"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as server:
        assert server.stdin
        assert server.stdout
        for each in said[:-1]:
            server.stdin.write(_HEADER % (len(each), each))
        server.stdin.flush()
        answers = b""
        while b'"id": 2' not in answers:
            answers += server.stdout.read1()  # type: ignore[attr-defined]
        server.stdin.write(_HEADER % (len(said[-1]), said[-1]))
        server.stdin.flush()
        _, errors = server.communicate(timeout=60)
    assert (server.returncode, errors) == (0, b"")
