"""A control plane for one run: etcd and kube-apiserver as local processes, without Docker; nothing of it is left afterwards."""

from __future__ import annotations

import os
import secrets
import socket
import time
from contextlib import closing, contextmanager

from jobspec.diagnostics import JobspecError
from jobspec.server.kubeconfig import of_config
from jobspec.server.programs import programs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.server.client import Client
    from jobspec.server.programs import Programs

_ETCD = "etcd"
_SERVER = "kube-apiserver"
_READY_SECONDS = 120  # on a busy machine
_TRIES = 3  # another program may take the free port before the server does
_WAYS = "`setup-envtest use -p path` prints such a folder"


@contextmanager
def control_plane(assets: str) -> Iterator[Client]:
    """A client for a new server, which the programs in the folder *assets* run while the block runs.

    They write into a temporary folder that only the user can read; etcd listens on a socket in it.
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
        port = _free_port()
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
    """A client for the server once it is ready; None where a program ends before that, or it takes too long."""
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


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
