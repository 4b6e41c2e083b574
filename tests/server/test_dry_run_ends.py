"""However a dry-run ends, by ^C in the middle or by `kill -9`: it ends at once, and nothing of it is left."""

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event

import pytest

from jobspec.diagnostics.errors import JobspecError
from jobspec.server.api_server import ApiServer
from jobspec.server.client import of_config
from jobspec.server.preparation import remove
from tests.support import quick_yaml
from tests.support.cluster import answering, assets, config_of, environment, reply, servers_in
from tests.support.reference import ROOT

pytestmark = pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="needs /proc to see what runs where")

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"


def _hear() -> None:
    """Let ^C be heard: what a shell starts in the background, as CI may be, ignores it, and so do its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def _started(*arguments: str | Path, env: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A dry-run in a process of its own, which is gone at the end."""
    command = [sys.executable, "-m", "jobspec", "dry-run", *map(str, arguments)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, env=env, stdout=pipe, stderr=pipe, text=True, preexec_fn=_hear) as process:
        try:
            yield process
        finally:
            process.kill()


def _soon(is_so: Callable[[], bool], *, seconds: float = 60) -> bool:
    deadline = time.monotonic() + seconds
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.05)
    return is_so()


def _private(scratch: Path) -> Path:
    """The folder of the two servers, once both run."""
    assert _soon(lambda: len(servers_in(scratch)) == 2)
    (private,) = [each for each in scratch.iterdir() if (each / "tokens.csv").exists()]
    return private


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing_behind(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "map.yaml").write_text(MAP)
    scratch = tmp_path / "scratch"
    with _started(tmp_path / "map.yaml", "--envtest", env=environment(tmp_path, KUBEBUILDER_ASSETS=assets())) as process:
        assert stat.S_IMODE(_private(scratch).stat().st_mode) == 0o700
        process.send_signal(number)
        assert process.wait(30) == 130
    assert servers_in(scratch) == []
    assert list(scratch.iterdir()) == []


def test_servers_do_not_outlive_a_run_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "map.yaml").write_text(MAP)
    scratch = tmp_path / "scratch"
    with _started(tmp_path / "map.yaml", "--envtest", env=environment(tmp_path, KUBEBUILDER_ASSETS=assets())) as process:
        _private(scratch)
        process.kill()
        assert process.wait(30) == -signal.SIGKILL
    assert _soon(lambda: servers_in(scratch) == [])
    assert _soon(lambda: list(scratch.iterdir()) == [])


@pytest.mark.parametrize("answered", [0, 1])
def test_an_interrupt_does_not_wait_for_a_server_that_never_answers(answered: int, tmp_path: Path) -> None:
    """Neither where the run itself waits, for the first answer, nor where several requests are under way."""
    (tmp_path / "map.yaml").write_text("---\n".join([MAP] * 20))
    asked: list[str] = []
    stalls, enough = Event(), Event()

    def answer(request: BaseHTTPRequestHandler) -> None:
        asked.append(request.path)
        if len(asked) <= answered:
            reply(request, b'{"gitVersion": "v1"}')
        else:
            stalls.set()
            enough.wait()

    with answering(answer) as port:
        (tmp_path / "kubeconfig").write_text(quick_yaml.dump(config_of(port)))
        env = environment(tmp_path, KUBECONFIG=str(tmp_path / "kubeconfig"))
        with _started(tmp_path / "map.yaml", "--context", "a", env=env) as process:
            assert stalls.wait(60)
            process.send_signal(signal.SIGINT)
            start = time.monotonic()
            out, err = process.communicate(timeout=90)
            took = time.monotonic() - start
        enough.set()
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert took < 5  # a request's own limit is a minute


def test_what_was_stored_meanwhile_is_not_waited_for_long() -> None:
    enough = Event()

    def stall(_: BaseHTTPRequestHandler) -> None:
        enough.wait()

    with answering(stall) as port, closing(of_config(config_of(port), "a server")) as client:
        start = time.monotonic()
        with pytest.raises(JobspecError, match="did not answer in time"):
            remove(ApiServer(client), ["/api/v1/namespaces/a/configmaps/a"])
        took = time.monotonic() - start
        enough.set()
    assert took < 10


def test_an_interrupt_ends_a_control_plane_that_never_answers(tmp_path: Path) -> None:
    (tmp_path / "maps.yaml").write_text("---\n".join(MAP.replace("name: a", f"name: a{number}") for number in range(500)))
    scratch = tmp_path / "scratch"
    with _started(tmp_path / "maps.yaml", "--envtest", env=environment(tmp_path, KUBEBUILDER_ASSETS=assets())) as process:
        _private(scratch)
        assert process.stderr
        assert process.stderr.readline().startswith("jobspec: asking the envtest server")
        for pid in servers_in(scratch):
            os.kill(pid, signal.SIGSTOP)
        time.sleep(0.5)  # as long as it takes for all requests to be under way
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        assert process.wait(30) == 130
        assert time.monotonic() - start < 5
    assert servers_in(scratch) == []
    assert list(scratch.iterdir()) == []
