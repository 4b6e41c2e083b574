"""Servers on this machine: etcd and kube-apiserver as processes for one run, or the kind cluster `jobspec`."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import yaml

from jobspec.diagnostics.errors import JobspecError
from jobspec.run.pods import free_port
from jobspec.server.client import Client, of_config

Program = subprocess.Popen[bytes]
_ETCD = "etcd"
_SERVER = "kube-apiserver"
_READY_SECONDS = 120  # on a busy machine
_TRIES = 3  # another program may take the free port before the server does
_WAYS = "`setup-envtest use -p path` prints such a folder"


@contextmanager
def control_plane(assets: str) -> Iterator[Client]:
    """Run a new server, with the programs in the folder *assets*, and yield a client for it.

    The server ends with the block. The programs write into a temporary folder that only the user can read; etcd listens on a socket in
    it.
    """
    _look_for_programs(assets)
    with programs(assets) as running:
        _start_etcd(running)
        with closing(_start_server(running)) as client:
            yield client


def _look_for_programs(assets: str) -> None:
    if not assets:
        raise JobspecError(f"--envtest: set KUBEBUILDER_ASSETS to a folder with {_ETCD} and {_SERVER}; {_WAYS}")
    missing = [name for name in (_ETCD, _SERVER) if not os.access(os.path.join(assets, name), os.X_OK)]
    if missing:
        raise JobspecError(f"--envtest: {assets}, which KUBEBUILDER_ASSETS names, has no program {' and no '.join(missing)}; {_WAYS}")


def _start_etcd(running: Programs) -> None:
    running.start(
        _ETCD,
        "--data-dir=etcd",
        "--unsafe-no-fsync",
        "--listen-client-urls=unix://client:1",  # a socket of that name in the folder
        "--advertise-client-urls=unix://client:1",
        "--listen-peer-urls=unix://peer:1",
        "--initial-advertise-peer-urls=unix://peer:1",
        "--initial-cluster=default=unix://peer:1",
    )


def _start_server(running: Programs) -> Client:
    """Start kube-apiserver; returns a client for it once it is ready."""
    token = secrets.token_urlsafe(32)
    with open(os.path.join(running.folder, "tokens.csv"), "w", encoding="utf-8") as file:
        file.write(f"{token},jobspec,jobspec,system:masters\n")
    for _ in range(_TRIES):
        port = free_port()
        running.start(
            _SERVER,
            "--etcd-servers=unix://client:1",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            "--cert-dir=certificates",  # the server writes its own there
            "--token-auth-file=tokens.csv",
            "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-account-key-file=certificates/apiserver.key",
            "--service-account-signing-key-file=certificates/apiserver.key",
            "--disable-admission-plugins=ServiceAccount",  # no controller creates the default accounts that pods need
        )
        client = _wait(running, port, token)
        if client:
            return client
        ended = running.ended()
        if ended != _SERVER:
            break
    if ended:
        raise JobspecError(f"{ended} of {running.place} ends at once: {running.last_line(ended)}")
    raise JobspecError(f"{_SERVER} is not ready after {_READY_SECONDS} s: {running.last_line(_SERVER)}")


def _wait(running: Programs, port: int, token: str) -> Client | None:
    """Wait until the server is ready, and return a client for it.

    If a program ends before that, or it takes too long, return None.
    """
    certificate = os.path.join(running.folder, "certificates", "apiserver.crt")
    client = None
    deadline = time.monotonic() + _READY_SECONDS
    while not running.ended() and time.monotonic() < deadline:
        if client is None and _listens(port) and os.path.exists(certificate):
            client = of_config(_config(port, certificate, token), "the envtest server")
        if client is not None and _is_ready(client):
            return client
        time.sleep(0.05)
    return None


def _is_ready(client: Client) -> bool:
    try:
        return client.get("/readyz").ok
    except JobspecError:  # the server ends just now, or another program has the port
        return False


def _config(port: int, certificate: str, token: str) -> dict[str, object]:
    return {
        "current-context": "jobspec",
        "contexts": [{"name": "jobspec", "context": {"cluster": "jobspec", "user": "jobspec"}}],
        "clusters": [{"name": "jobspec", "cluster": {"server": f"https://127.0.0.1:{port}", "certificate-authority": certificate}}],
        "users": [{"name": "jobspec", "user": {"token": token}}],
    }


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


# The kind cluster `jobspec`, by the `kind` program; the user's own kubeconfig is neither read nor written.


NAME = "jobspec"
_NODE_READY_SECONDS = 180
_WAY_OUT = "or pass --envtest, which needs neither kind nor Docker (with KUBEBUILDER_ASSETS naming a folder with etcd and kube-apiserver)"
_INSTALL = "install kind (https://kind.sigs.k8s.io, or `go install sigs.k8s.io/kind@latest`) and Docker"


def open_cluster(*, kubernetes: str, recreate: bool, report: Callable[[str], None]) -> Client:
    """Return a client for the kind cluster. If there is none, or with *recreate*, create it.

    *report* gets progress messages. Raises JobspecError if kind or Docker is missing, or if the cluster has another Kubernetes than
    *kubernetes*.
    """
    there = NAME in _kind("get", "clusters").split()
    if there and recreate:
        delete_cluster()
    if not there or recreate:
        report(f"creating the kind cluster `{NAME}`; the first time, its node image is downloaded")
        _create(kubernetes)
    client = of_config(yaml.safe_load(_kind("get", "kubeconfig", "--name", NAME)), f"the kind cluster `{NAME}`")
    if there and not recreate:
        _check(client, kubernetes)
    return client


def delete_cluster() -> None:
    """Delete the cluster, if there is one."""
    with tempfile.TemporaryDirectory(prefix="jobspec-") as folder:
        _kind("delete", "cluster", "--name", NAME, "--kubeconfig", os.path.join(folder, "kubeconfig"))


def _create(kubernetes: str) -> None:
    image = ["--image", _image(kubernetes)] if kubernetes else []
    with tempfile.TemporaryDirectory(prefix="jobspec-") as folder:
        private = ["--kubeconfig", os.path.join(folder, "kubeconfig")]
        try:
            _kind("create", "cluster", "--name", NAME, "--wait", f"{_NODE_READY_SECONDS}s", *private, *image)
        except KeyboardInterrupt:  # half a cluster is left
            _kind("delete", "cluster", "--name", NAME, *private)
            raise


def _image(kubernetes: str) -> str:
    """The node image of a Kubernetes release; any other text is an image already."""
    release = kubernetes.removeprefix("v")
    return f"kindest/node:v{release}" if release.replace(".", "").isdigit() else kubernetes


def _check(client: Client, kubernetes: str) -> None:
    """Raise JobspecError if an existing cluster does not answer, or has another release.

    *kubernetes*: the wanted release (`1.34` or `1.34.0`).
    """
    try:
        version = str(client.get("/version").body.get("gitVersion", ""))
    except JobspecError as error:
        raise JobspecError(f"{error}; recreate the cluster with --recreate") from None
    release = kubernetes.removeprefix("v")
    if release.replace(".", "").isdigit() and not f"{version}.".startswith(f"v{release}."):
        raise JobspecError(f"{client.name} has Kubernetes {version}, not {release}; recreate it with --recreate")


def _kind(*arguments: str) -> str:
    """Run kind and return its output. Raises JobspecError with its complaint and the way out."""
    try:
        done = subprocess.run(["kind", *arguments], capture_output=True, text=True, check=False)  # noqa: S603, S607 (the user's own kind)
    except FileNotFoundError:
        raise JobspecError(f"kind is not installed: {_INSTALL}, {_WAY_OUT}") from None
    if done.returncode:
        raise JobspecError(f"`kind {' '.join(arguments[:2])}` failed: {_complaint(done.stderr)}")
    return done.stdout


def _complaint(output: str) -> str:
    """The last line of kind's error output; where Docker is the cause, with the way out."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    last = lines[-1].removeprefix("ERROR: ").removeprefix("Command Output: ") if lines else "no output"
    if "permission denied" in output.lower():
        return f"{last} Get the right to use Docker (its group is `docker`), {_WAY_OUT}"
    if "docker daemon" in output.lower():
        return f"{last} Start Docker, {_WAY_OUT}"
    if 'exec: "docker"' in output or "executable file not found" in output:
        return f"docker is not installed: {_INSTALL}, {_WAY_OUT}"
    return last


# Child processes that end with this process, even where it is killed, and their temporary folder, which is removed then.


#: Reads process ids until its input is closed, then kills the processes and removes the folder that is its `$0`.
_GUARD = 'ids=; while read -r id; do ids="$ids $id"; done; kill -9 $ids; sleep 1; rm -rf "$0"'


class Programs:
    """Running programs."""

    def __init__(self, place: str, folder: str, guard: Program) -> None:
        self.place = place
        """The folder with the programs."""
        self.folder = folder
        """Their working directory, which only the user can read."""
        self._guard = guard
        assert guard.stdin
        self._to_guard = guard.stdin
        self._running: dict[str, Program] = {}

    def start(self, name: str, *arguments: str) -> None:
        """Start a program in a session of its own, so that ^C does not reach it.

        Raises JobspecError if the program cannot be started.
        """
        command = [os.path.join(self.place, name), *arguments]
        with open(self._log(name), "wb") as log, _uninterrupted():
            try:
                program = subprocess.Popen(  # noqa: S603 (the programs that the user named)
                    command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
                )
            except OSError as error:
                raise JobspecError(f"cannot start {command[0]}: {error.strerror}") from None
            self._running[name] = program
            self._to_guard.write(b"%d\n" % program.pid)

    def ended(self) -> str:
        """Return the name of a program that has ended by itself; empty if all are running."""
        return next((name for name, program in self._running.items() if program.poll() is not None), "")

    def last_line(self, name: str) -> str:
        """Return the last line that a program printed."""
        with open(self._log(name), encoding="utf-8", errors="replace") as log:
            lines = log.read().splitlines()
        return lines[-1] if lines else "no output"

    def end(self) -> None:
        """Kill all programs, then the guard; nothing that they hold is kept."""
        for some in (list(self._running.values()), [self._guard]):
            for program in some:
                program.kill()
            for program in some:
                program.wait()
        self._to_guard.close()

    def _log(self, name: str) -> str:
        return os.path.join(self.folder, f"{name}.log")


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Block ^C and similar signals until a started program is known.

    The program inherits the block, and so is ended only by SIGKILL.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def programs(place: str) -> Iterator[Programs]:
    """Yield a runner for the programs in the folder *place*. The programs end with the block.

    If this process is killed, a guard process ends them.
    """
    with tempfile.TemporaryDirectory(prefix="jobspec-", ignore_cleanup_errors=True) as folder:
        guard = subprocess.Popen(  # noqa: S603 (a script of ours)
            ["/bin/sh", "-c", _GUARD, folder],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        running = Programs(os.path.abspath(place), folder, guard)
        try:
            yield running
        finally:
            running.end()
