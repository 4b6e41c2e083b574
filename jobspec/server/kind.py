"""The kind cluster `jobspec`, by the `kind` program; the user's own kubeconfig is neither read nor written."""

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


def open_cluster(*, kubernetes: str, recreate: bool, report: Callable[[str], None]) -> Client:
    """A client for the cluster, which is created where it does not exist, or again with *recreate*; *report* gets progress messages.

    Raises JobspecError where kind or Docker is missing, or the cluster has another Kubernetes than the one asked for.
    """
    there = NAME in _kind("get", "clusters").split()
    if there and recreate:
        delete_cluster()
    if not there or recreate:
        report(f"making the kind cluster `{NAME}`; the first time, its node's image is fetched")
        _create(kubernetes)
    client = of_config(yaml.safe_load(_kind("get", "kubeconfig", "--name", NAME)), f"the kind cluster `{NAME}`")
    if there and not recreate:
        _check(client, kubernetes)
    return client


def delete_cluster() -> None:
    """Delete the cluster where it exists."""
    with tempfile.TemporaryDirectory(prefix="jobspec-") as folder:
        _kind("delete", "cluster", "--name", NAME, "--kubeconfig", os.path.join(folder, "kubeconfig"))


def _create(kubernetes: str) -> None:
    image = ["--image", _image(kubernetes)] if kubernetes else []
    with tempfile.TemporaryDirectory(prefix="jobspec-") as folder:
        private = ["--kubeconfig", os.path.join(folder, "kubeconfig")]
        try:
            _kind("create", "cluster", "--name", NAME, "--wait", f"{_READY_SECONDS}s", *private, *image)
        except KeyboardInterrupt:  # half a cluster is left
            _kind("delete", "cluster", "--name", NAME, *private)
            raise


def _image(kubernetes: str) -> str:
    """The node image of a Kubernetes release; any other text is an image already."""
    release = kubernetes.removeprefix("v")
    return f"kindest/node:v{release}" if release.replace(".", "").isdigit() else kubernetes


def _check(client: Client, kubernetes: str) -> None:
    """Raise JobspecError where an existing cluster does not answer, or has another release than *kubernetes* (`1.34` or `1.34.0`)."""
    try:
        version = str(client.get("/version").body.get("gitVersion", ""))
    except JobspecError as error:
        raise JobspecError(f"{error}; make the cluster anew: --recreate") from None
    release = kubernetes.removeprefix("v")
    if release.replace(".", "").isdigit() and not f"{version}.".startswith(f"v{release}."):
        raise JobspecError(f"{client.name} has Kubernetes {version}, not {release}; make it anew: --recreate")


def _kind(*arguments: str) -> str:
    """Run kind and return its output. Raises JobspecError with its complaint and the way out."""
    try:
        done = subprocess.run(["kind", *arguments], capture_output=True, text=True, check=False)  # noqa: S603, S607 (the user's own kind)
    except FileNotFoundError:
        raise JobspecError(f"there is no program `kind` on the PATH: {_INSTALL}, {_WAY_OUT}") from None
    if done.returncode:
        raise JobspecError(f"`kind {' '.join(arguments[:2])}` failed: {_complaint(done.stderr)}")
    return done.stdout


def _complaint(output: str) -> str:
    """The last line of kind's error output; where Docker is the cause, with the way out."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    last = lines[-1].removeprefix("ERROR: ").removeprefix("Command Output: ") if lines else "it says nothing"
    if "permission denied" in output.lower():
        return f"{last} Get the right to use Docker (its group is `docker`), {_WAY_OUT}"
    if "docker daemon" in output.lower():
        return f"{last} Start Docker, {_WAY_OUT}"
    if 'exec: "docker"' in output or "executable file not found" in output:
        return f"there is no program `docker` on the PATH: {_INSTALL}, {_WAY_OUT}"
    return last
