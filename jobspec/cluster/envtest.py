"""A control plane of its own for one run: etcd and kube-apiserver, without Docker, gone afterwards without a trace."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import tempfile
import time
from contextlib import closing, contextmanager

from jobspec.cluster.kubeconfig import of_config
from jobspec.diagnostics import JobspecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.cluster.client import Client

_PROGRAMS = ("etcd", "kube-apiserver")
_READY_SECONDS = 60
_TRIES = 3  # somebody else may take the port between our look and the server's
_WAYS = "`setup-envtest use -p path` prints such a folder"


@contextmanager
def control_plane(assets: str) -> Iterator[Client]:
    """A client for a fresh server, from the programs in the folder *assets*, as long as it is wanted.

    All it writes stands in a folder that only the user can read, removed at the end; etcd listens on a socket in there.
    """
    _look_for_programs(assets)
    with tempfile.TemporaryDirectory(prefix="jobspec-", ignore_cleanup_errors=True) as folder:
        processes: list[subprocess.Popen[bytes]] = []
        try:
            processes.append(_start_etcd(assets, folder))
            with closing(_start_server(assets, folder, processes)) as client:
                yield client
        finally:
            for process in processes:
                process.kill()  # nothing of it is to be kept
            for process in processes:
                process.wait()


def _look_for_programs(assets: str) -> None:
    if not assets:
        raise JobspecError(f"--envtest: set KUBEBUILDER_ASSETS to a folder with {' and '.join(_PROGRAMS)}; {_WAYS}")
    missing = [name for name in _PROGRAMS if not os.access(os.path.join(assets, name), os.X_OK)]
    if missing:
        raise JobspecError(f"--envtest: {assets}, which KUBEBUILDER_ASSETS names, has no program {' and no '.join(missing)}; {_WAYS}")


def _start_etcd(assets: str, folder: str) -> subprocess.Popen[bytes]:
    return _start(
        assets,
        folder,
        "etcd",
        "--data-dir=etcd",
        "--unsafe-no-fsync",
        "--listen-client-urls=unix://client:1",  # a socket of that name in the folder
        "--advertise-client-urls=unix://client:1",
        "--listen-peer-urls=unix://peer:1",
        "--initial-advertise-peer-urls=unix://peer:1",
        "--initial-cluster=default=unix://peer:1",
    )


def _start_server(assets: str, folder: str, processes: list[subprocess.Popen[bytes]]) -> Client:
    """Start kube-apiserver and wait until it is ready; its process joins *processes*."""
    token = secrets.token_urlsafe(32)
    with open(os.path.join(folder, "tokens.csv"), "w", encoding="utf-8") as file:
        file.write(f"{token},jobspec,jobspec,system:masters\n")
    for _ in range(_TRIES):
        port = _free_port()
        server = _start(
            assets,
            folder,
            "kube-apiserver",
            "--etcd-servers=unix://client:1",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            "--cert-dir=certificates",  # where it makes its own
            "--token-auth-file=tokens.csv",
            "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-account-key-file=certificates/apiserver.key",
            "--service-account-signing-key-file=certificates/apiserver.key",
            "--disable-admission-plugins=ServiceAccount",  # nobody makes the accounts that pods would need
        )
        processes.append(server)
        client = _wait(server, folder, port, token)
        if client:
            return client
    raise JobspecError(f"kube-apiserver of {assets} ends at once: {_last_line(folder, 'kube-apiserver')}")


def _wait(server: subprocess.Popen[bytes], folder: str, port: int, token: str) -> Client | None:
    """A client for the server once it is ready, None where it ends before."""
    certificate = os.path.join(folder, "certificates", "apiserver.crt")
    client = None
    deadline = time.monotonic() + _READY_SECONDS
    while server.poll() is None:
        if time.monotonic() > deadline:
            raise JobspecError(f"kube-apiserver is not ready after {_READY_SECONDS} s: {_last_line(folder, 'kube-apiserver')}")
        if client is None and _listens(port) and os.path.exists(certificate):
            client = of_config(_config(port, certificate, token), "the envtest server")
        if client is not None and client.get("/readyz").ok:
            return client
        time.sleep(0.05)
    return None


def _config(port: int, certificate: str, token: str) -> dict[str, object]:
    return {
        "current-context": "jobspec",
        "contexts": [{"name": "jobspec", "context": {"cluster": "jobspec", "user": "jobspec"}}],
        "clusters": [{"name": "jobspec", "cluster": {"server": f"https://127.0.0.1:{port}", "certificate-authority": certificate}}],
        "users": [{"name": "jobspec", "user": {"token": token}}],
    }


def _start(assets: str, folder: str, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a program in the folder, in a session of its own, so that ^C reaches us and not it."""
    program = os.path.abspath(os.path.join(assets, name))
    with open(os.path.join(folder, f"{name}.log"), "wb") as log:
        return subprocess.Popen(  # noqa: S603 (the programs that the user named)
            [program, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _last_line(folder: str, name: str) -> str:
    with open(os.path.join(folder, f"{name}.log"), encoding="utf-8", errors="replace") as log:
        lines = log.read().splitlines()
    return lines[-1] if lines else "it says nothing"
