"""What tests of `jobspec dry-run` share: runs in this process, what a server has stored, and a webhook of our own."""

import gc
import http.server
import json
import ssl
import subprocess
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jobspec.cli import main
from tests.server import Server


@dataclass(frozen=True)
class Run:
    """How a run ended and what it told."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        report: dict[str, Any] = json.loads(self.out)
        return report

    @property
    def told(self) -> list[tuple[str, str, str]]:
        """The diagnostics but for remarks: place, rule and field."""
        return [(f"{Path(each['file']).name}:{each['line']}:{each['column']}", each["rule"], each["field"]) for each in self._told()]

    @property
    def statuses(self) -> list[str]:
        return [each["status"] for file in self.report["files"] for each in file["documents"]]

    @property
    def messages(self) -> list[str]:
        return [each["message"] for each in self._told()]

    @property
    def hints(self) -> list[str]:
        return [each["hint"] for each in self._told()]

    @property
    def remarks(self) -> list[str]:
        return [each["message"] for each in self._told(remarks=True)]

    def _told(self, *, remarks: bool = False) -> list[dict[str, Any]]:
        every = (each for file in self.report["files"] for each in file["diagnostics"])
        return [each for each in every if (each["severity"] == "info") == remarks]


class Runner:
    """Runs dry-runs against the server of a kubeconfig."""

    def __init__(self, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.kubeconfig = kubeconfig
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: str | Path, output: str = "json") -> Run:
        self._monkeypatch.setenv("KUBECONFIG", str(self.kubeconfig))
        self._capsys.readouterr()
        try:
            code = main(["dry-run", *map(str, arguments), "-o", output])
        finally:
            gc.enable()  # which a command does without, and a test run cannot
        out, err = self._capsys.readouterr()
        return Run(code, out, err)


#: What a server writes by itself, all the time.
_RESTLESS = {"leases", "events", "componentstatuses", "endpoints", "endpointslices", "apiservices", "ipaddresses"}


def stored(server: Server) -> dict[str, str]:
    """The version of every object that a server has, by its place."""
    groups = [f"/apis/{version['groupVersion']}" for group in server.get("/apis")["groups"] for version in group["versions"]]
    found = {}
    for path in ["/api/v1", *groups]:
        for resource in server.get(path).get("resources", ()):
            if "list" in resource["verbs"] and resource["name"] not in _RESTLESS:
                for item in server.get(f"{path}/{resource['name']}").get("items") or ():
                    metadata = item["metadata"]
                    found[f"{path}/{resource['name']}/{metadata.get('namespace', '')}/{metadata['name']}"] = metadata["resourceVersion"]
    return found


@contextmanager
def answering(answer: Callable[[http.server.BaseHTTPRequestHandler], None], tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """A server on loopback, which answers every request so, as its port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            answer(self)

        def do_GET(self) -> None:
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


@contextmanager
def webhook(folder: Path, reply: dict[str, Any]) -> Iterator[dict[str, str]]:
    """A validating webhook that answers so to everything, as the `clientConfig` by which a server finds it."""
    key, certificate = folder / "webhook.key", folder / "webhook.crt"
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    command: list[str | Path] = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-keyout",
        key,
        "-out",
        certificate,
        *subject,
    ]
    subprocess.run(command, check=True, capture_output=True)

    def answer(request: http.server.BaseHTTPRequestHandler) -> None:
        review = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        review["response"] = {"uid": review.pop("request")["uid"], **reply}
        body = json.dumps(review).encode()
        request.send_response(200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    with answering(answer, tls) as port:
        yield {"url": f"https://127.0.0.1:{port}/", "caBundle": b64encode(certificate.read_bytes()).decode()}
