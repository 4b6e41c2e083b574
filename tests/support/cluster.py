"""Shared by tests of `jobspec dry-run`: runs in this process, the stored objects of a server, local servers and webhooks."""

import gc
import http.server
import json
import os
import ssl
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from jobspec.cli import main
from jobspec.server.client import MANAGER
from tests.support import quick_yaml
from tests.support.processes import program
from tests.support.reference import ROOT
from tests.support.server import Server


@dataclass(frozen=True)
class Run:
    """The exit code and the output of a run."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        report: dict[str, Any] = json.loads(self.out)
        return report

    @property
    def reported(self) -> list[tuple[str, str, str]]:
        """Place, rule and field of the errors and warnings."""
        return [(f"{Path(each['file']).name}:{each['line']}:{each['column']}", each["rule"], each["field"]) for each in self._diagnostics()]

    @property
    def statuses(self) -> list[str]:
        return [each["status"] for file in self.report["files"] for each in file["documents"]]

    @property
    def messages(self) -> list[str]:
        return [each["message"] for each in self._diagnostics()]

    @property
    def hints(self) -> list[str]:
        return [each["hint"] for each in self._diagnostics()]

    @property
    def remarks(self) -> list[str]:
        return [each["message"] for each in self._diagnostics(remarks=True)]

    def _diagnostics(self, *, remarks: bool = False) -> list[dict[str, Any]]:
        every = (each for file in self.report["files"] for each in file["diagnostics"])
        return [each for each in every if (each["severity"] == "info") == remarks]


class Runner:
    """A runner of dry-runs against the server of a kubeconfig."""

    def __init__(self, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.kubeconfig = kubeconfig
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    @property
    def context(self) -> str:
        return str(quick_yaml.load(self.kubeconfig.read_text())["current-context"])

    def __call__(self, *arguments: str | Path, output: str = "json", command: str = "dry-run") -> Run:
        self._monkeypatch.setenv("KUBECONFIG", str(self.kubeconfig))
        self._capsys.readouterr()
        try:
            code = main([command, *map(str, arguments), "-o", output])
        finally:
            gc.enable()  # commands turn it off
        out, err = self._capsys.readouterr()
        return Run(code, out, err)

    def validate(self, *arguments: str | Path) -> Run:
        """A run of `validate`, which asks no server."""
        return self(*arguments, command="validate")

    def ask(self, *arguments: str | Path, output: str = "json") -> Run:
        """A dry-run with `--context`, as against a cluster of the user's."""
        return self(*arguments, "--context", self.context, output=output)


def assets() -> str:
    """The folder of etcd and kube-apiserver; skips the test where there is none."""
    place = os.environ.get("KUBEBUILDER_ASSETS")
    if not place:
        pytest.skip("KUBEBUILDER_ASSETS names no folder with etcd and kube-apiserver (see CONTRIBUTING.md)")
    return place


def environment(place: Path, **more: str) -> dict[str, str]:
    """An environment with its own home and temporary folder below *place*."""
    home, scratch = place / "home", place / "scratch"
    home.mkdir(exist_ok=True)
    scratch.mkdir(exist_ok=True)
    left_out = ("KUBECONFIG", "KUBEBUILDER_ASSETS", "DOCKER_HOST")
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return {**kept, "HOME": str(home), "TMPDIR": str(scratch), "PYTHONPATH": str(ROOT), **more}


def servers_in(place: Path) -> list[int]:
    """The process ids of the programs that run in a folder."""
    return [int(each.name) for each in Path("/proc").glob("[0-9]*") if _runs_in(each, place)]


def _runs_in(process: Path, place: Path) -> bool:
    try:
        return (process / "cwd").resolve().is_relative_to(place) and (
            process / "cmdline"
        ).read_bytes() != b""  # an ended process has an empty one
    except OSError:  # gone meanwhile
        return False


def refused(report: dict[str, Any], *, aside: str = "") -> set[str]:
    """The documents with an error of any rule but *aside*, as `FILE[INDEX]`."""
    return {
        f"{Path(file['path']).name}[{each['document']}]"
        for file in report["files"]
        for each in file["diagnostics"]
        if each["severity"] == "error" and each["rule"] != aside
    }


#: Resources that a server writes all the time, and objects that its controllers create in every namespace.
_ALWAYS_CHANGING = {"leases", "events", "componentstatuses", "endpoints", "endpointslices", "apiservices", "ipaddresses"}
_BY_CONTROLLERS = {("configmaps", "kube-root-ca.crt"), ("serviceaccounts", "default")}


def stored(server: Server, namespace: str) -> dict[str, str]:
    """Path -> resource version of every object that a dry-run could have stored.

    These are all objects in the tests' own *namespace*, and those elsewhere that jobspec manages: others may use the server meanwhile.
    """
    groups = [f"/apis/{version['groupVersion']}" for group in server.get("/apis")["groups"] for version in group["versions"]]
    found = {}
    for path in ["/api/v1", *groups]:
        for resource in server.get(path).get("resources", ()):
            name = resource["name"]
            if "list" in resource["verbs"] and name not in _ALWAYS_CHANGING:
                for item in server.get(f"{path}/{name}").get("items") or ():
                    metadata = item["metadata"]
                    if _could_be_ours(metadata, namespace) and (name, metadata["name"]) not in _BY_CONTROLLERS:
                        found[f"{path}/{name}/{metadata.get('namespace', '')}/{metadata['name']}"] = metadata["resourceVersion"]
    return found


def _could_be_ours(metadata: dict[str, Any], namespace: str) -> bool:
    return metadata.get("namespace") == namespace or any(each.get("manager") == MANAGER for each in metadata.get("managedFields", ()))


@contextmanager
def untouched(server: Server, namespace: str) -> Iterator[None]:
    """A namespace for dry-runs; the test fails where one of them stores anything, there or elsewhere."""
    assert server.has_namespace(namespace)
    try:
        before = stored(server, namespace)
        yield
        assert stored(server, namespace) == before
    finally:
        _remove(server, namespace)


def _remove(server: Server, namespace: str) -> None:
    place = f"/api/v1/namespaces/{namespace}"
    has_controllers = server.get(f"{place}/serviceaccounts")["items"]
    server.call("DELETE", place)
    if not has_controllers:  # one of which would finalize the namespace
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}, "spec": {"finalizers": []}}
        answer = server.call("PUT", f"{place}/finalize", json.dumps(body))
        assert answer.accepted or answer.code == HTTPStatus.NOT_FOUND  # a controller was quicker


@contextmanager
def answering(answer: Callable[[http.server.BaseHTTPRequestHandler], None], tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """The port of a server on loopback that gives every request to *answer*."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        def do_POST(self) -> None:
            answer(self)

        def do_DELETE(self) -> None:
            answer(self)

        def log_message(self, *_: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def config_of(port: int) -> dict[str, Any]:
    """The kubeconfig of a server on loopback with plain HTTP and without authentication."""
    cluster, context = {"server": f"http://127.0.0.1:{port}"}, {"cluster": "a", "user": "a"}
    return {
        "current-context": "a",
        "contexts": [{"name": "a", "context": context}],
        "clusters": [{"name": "a", "cluster": cluster}],
        "users": [{"name": "a", "user": {}}],
    }


def reply(request: http.server.BaseHTTPRequestHandler, body: bytes, *, status: int = 200, **headers: str) -> None:
    """Send a reply."""
    request.send_response(status)
    for name, value in {**headers, "Content-Length": str(len(body))}.items():
        request.send_header(name.replace("_", "-"), value)
    request.end_headers()
    request.wfile.write(body)


@contextmanager
def webhook(folder: Path, verdict: dict[str, Any]) -> Iterator[dict[str, str]]:
    """The `clientConfig` of a validating webhook that answers every review with *verdict*."""
    key, certificate = folder / "webhook.key", folder / "webhook.crt"
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    options = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
    program("openssl", *options, "-keyout", key, "-out", certificate, check=True)

    def answer(request: http.server.BaseHTTPRequestHandler) -> None:
        review = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        review["response"] = {"uid": review.pop("request")["uid"], **verdict}
        reply(request, json.dumps(review).encode())

    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    with answering(answer, tls) as port:
        yield {"url": f"https://127.0.0.1:{port}/", "caBundle": b64encode(certificate.read_bytes()).decode()}
