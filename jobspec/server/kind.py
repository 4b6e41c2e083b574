"""The kind cluster that jobspec owns, through the `kind` program, without a look at the user's own kubeconfig."""

from __future__ import annotations

import os
import subprocess
import tempfile

import yaml

from jobspec.diagnostics import JobspecError
from jobspec.server.kubeconfig import of_config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from jobspec.server.client import Client

NAME = "jobspec"
_READY_SECONDS = 180
_WAY_OUT = "or say --envtest, which needs neither kind nor Docker (with KUBEBUILDER_ASSETS naming a folder with etcd and kube-apiserver)"
_INSTALL = "install kind (https://kind.sigs.k8s.io, or `go install sigs.k8s.io/kind@latest`) and Docker"


def open_cluster(*, kubernetes: str = "", recreate: bool = False, tell: Callable[[str], None]) -> Client:
    """A client for the cluster, which is made where it is not there, or anew with *recreate*.

    Raises JobspecError where kind or Docker is missing, or the cluster has another Kubernetes than the one asked for.
    """
    there = NAME in _kind("get", "clusters").split()
    if there and recreate:
        delete_cluster()
    if not there or recreate:
        tell(f"making the kind cluster `{NAME}`; the first time, its node's image is fetched")
        _create(kubernetes)
    client = of_config(yaml.safe_load(_kind("get", "kubeconfig", "--name", NAME)), f"the kind cluster `{NAME}`")
    if there and not recreate:
        _check(client, kubernetes)
    return client


def delete_cluster() -> None:
    """Delete the cluster, where it is."""
    with tempfile.TemporaryDirectory(prefix="jobspec-") as folder:
        _kind("delete", "cluster", "--name", NAME, "--kubeconfig", os.path.join(folder, "kubeconfig"))


def _create(kubernetes: str) -> None:
    image = ["--image", _image(kubernetes)] if kubernetes else []
    with tempfile.TemporaryDirectory(prefix="jobspec-") as folder:
        private = ["--kubeconfig", os.path.join(folder, "kubeconfig")]
        try:
            _kind("create", "cluster", "--name", NAME, "--wait", f"{_READY_SECONDS}s", *private, *image)
        except KeyboardInterrupt:  # which leaves half a cluster
            _kind("delete", "cluster", "--name", NAME, *private)
            raise


def _image(kubernetes: str) -> str:
    """The node's image of a Kubernetes release; what is no release is taken for an image."""
    release = kubernetes.removeprefix("v")
    return f"kindest/node:v{release}" if release.replace(".", "").isdigit() else kubernetes


def _check(client: Client, kubernetes: str) -> None:
    """That a cluster made before answers, and is of the release asked for, whose patch may be left out."""
    try:
        version = str(client.get("/version").body.get("gitVersion", ""))
    except JobspecError as error:
        raise JobspecError(f"{error}; make the cluster anew: --recreate") from None
    release = kubernetes.removeprefix("v")
    if release.replace(".", "").isdigit() and not f"{version}.".startswith(f"v{release}."):
        raise JobspecError(f"{client.name} has Kubernetes {version}, not {release}; make it anew: --recreate")


def _kind(*arguments: str) -> str:
    """What a run of kind prints. Raises JobspecError with what it complains of, and the way out."""
    try:
        done = subprocess.run(["kind", *arguments], capture_output=True, text=True, check=False)  # noqa: S603, S607 (the user's own kind)
    except FileNotFoundError:
        raise JobspecError(f"there is no program `kind` on the PATH: {_INSTALL}, {_WAY_OUT}") from None
    if done.returncode:
        raise JobspecError(f"`kind {' '.join(arguments[:2])}` failed: {_complaint(done.stderr)}")
    return done.stdout


def _complaint(told: str) -> str:
    """The last line of kind's complaint; where there is no Docker, what to do about that."""
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    last = lines[-1].removeprefix("ERROR: ").removeprefix("Command Output: ") if lines else "it says nothing"
    if "permission denied" in told.lower():
        return f"{last} Get the right to use Docker (its group is `docker`), {_WAY_OUT}"
    if "docker daemon" in told.lower():
        return f"{last} Start Docker, {_WAY_OUT}"
    if 'exec: "docker"' in told or "executable file not found" in told:
        return f"there is no program `docker` on the PATH: {_INSTALL}, {_WAY_OUT}"
    return last
