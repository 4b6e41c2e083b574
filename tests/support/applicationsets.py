"""Argo CD's controller of ApplicationSets, and its server of a plugin, for as long as a test wants them.

The controller asks a repository server for the folders of a repository, and that needs a Redis: both are the test's own.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

_PATIENCE = 60.0  # seconds
_HERE = "127.0.0.1"


@contextmanager
def applicationset_controller(kubeconfig: Path, folder: Path) -> Iterator[None]:
    """While this lasts, the ApplicationSets of the namespace `argocd` are heeded; *folder* is for its files and logs."""
    redis, repository, *others = _free_ports(6)
    homes = {name: folder / name.lower() for name in ("TLS_DATA_PATH", "SSH_DATA_PATH", "GPG_DATA_PATH", "GNUPGHOME")}
    for place in homes.values():
        place.mkdir(parents=True, mode=0o700)
    variables = {f"ARGOCD_{name}": str(place) for name, place in homes.items()}
    variables |= {"ARGOCD_GPG_ENABLED": "false", "ARGOCD_FAKE_IN_CLUSTER": "true", "KUBECONFIG": str(kubeconfig), "TMPDIR": str(folder)}
    with ExitStack() as stack:

        def start(name: str, *words: str, program: str = "argocd") -> None:
            log = stack.enter_context(open(folder / f"{name}.log", "wb"))
            stack.enter_context(_running([program, *words], log.fileno(), {**variables, "ARGOCD_BINARY_NAME": name}))

        words = ("--port", str(redis), "--bind", _HERE, "--save", "", "--appendonly", "no", "--dir", str(folder))
        start("redis", *words, program="redis-server")
        served = (f"--address={_HERE}", f"--port={repository}", f"--metrics-address={_HERE}", f"--metrics-port={others[0]}")
        start("argocd-repo-server", *served, f"--redis={_HERE}:{redis}", "--disable-tls")
        _wait_for(repository, folder / "argocd-repo-server.log")
        ports = zip(("metrics", "probe", "webhook"), others[1:], strict=True)
        listening = [f"--{name}-addr={_HERE}:{port}" for name, port in ports]
        asking = ("--namespace=argocd", f"--argocd-repo-server={_HERE}:{repository}", "--repo-server-plaintext")
        start("argocd-applicationset-controller", f"--kubeconfig={kubeconfig}", *asking, *listening)
        yield


@contextmanager
def plugin_server(config: str, folder: Path) -> Iterator[None]:
    """While this lasts, a config management plugin is served as in a sidecar of the repository server, which looks for its socket.

    *config* is what its `plugin.yaml` says; *folder* is for files and logs. The plugin finds the programs of this Python's environment.
    """
    sockets = Path(os.environ.get("ARGOCD_PLUGINSOCKFILEPATH", "/home/argocd/cmp-server/plugins"))
    try:
        sockets.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        pytest.skip(f"{sockets}, where Argo CD's repository server looks for plugins, cannot be made: {error.strerror}")
    (folder / "config").mkdir(parents=True)
    (folder / "config" / "plugin.yaml").write_text(config)
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    variables = {"ARGOCD_BINARY_NAME": "argocd-cmp-server", "ARGOCD_CMP_WORKDIR": str(folder / "work"), "PATH": path, "TMPDIR": str(folder)}
    with open(folder / "cmp.log", "wb") as log:
        command = ["argocd", f"--config-dir-path={folder / 'config'}"]
        with _running(command, log.fileno(), {**variables, "ARGOCD_PLUGINSOCKFILEPATH": str(sockets)}):
            deadline = time.monotonic() + _PATIENCE
            while not (sockets / "jobspec.sock").exists():
                assert time.monotonic() < deadline, (folder / "cmp.log").read_text()[-2000:]
                time.sleep(0.2)
            yield


def _free_ports(number: int) -> list[int]:
    """Ports on which nobody listens."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.bind((_HERE, 0))
        return [each.getsockname()[1] for each in sockets]


@contextmanager
def _running(command: list[str], log: int, variables: Mapping[str, str]) -> Iterator[None]:
    """A program that runs beside the test, and is ended with it."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **variables})
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(port: int, log: Path) -> None:
    """Wait until somebody listens."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        with socket.socket() as client:
            if client.connect_ex((_HERE, port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(log.read_text()[-2000:])
