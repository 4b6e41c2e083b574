"""Flux's real controllers, which sync real Git repositories, and how tests wait for them.

`JOBSPEC_TEST_FLUX_KUBECONFIG` names their server, where operators and a simulated node run as well. The controllers run on this machine:
Flux takes no `file://` address, so that tests serve their repositories by http.
"""

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tests.support.argocd import Repository
from tests.support.processes import program
from tests.support.server import kubeconfig

VARIABLE = "JOBSPEC_TEST_FLUX_KUBECONFIG"
_PATIENCE = 90.0  # seconds, on a machine that is very busy


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of the Git repositories in a folder."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
            asked = {
                "GIT_PROJECT_ROOT": str(folder),
                "GIT_HTTP_EXPORT_ALL": "1",
                "REQUEST_METHOD": self.command,
                "PATH_INFO": unquote(path),
                "QUERY_STRING": query,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            }
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            answer = subprocess.run(["git", "http-backend"], input=body, env={**kept, **asked}, capture_output=True, check=False).stdout
            head, _, body = answer.partition(b"\r\n\r\n")
            headers = dict(line.split(": ", 1) for line in head.decode().splitlines())
            self.send_response(int(headers.pop("Status", "200 OK").split()[0]))
            for key, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class Synced:
    """A repository that Flux syncs to a namespace; both, and Flux's objects, have one name."""

    def __init__(self, name: str, root: Path, address: str) -> None:
        self._kubeconfig = kubeconfig(VARIABLE)
        self.name = name
        self.repository = Repository(root / name)
        self.url = f"{address}/{name}/.git"

    def kubectl(self, *words: str | Path, fails: bool = False) -> str:
        done = program("kubectl", f"--kubeconfig={self._kubeconfig}", *words)
        assert fails or done.returncode == 0, f"kubectl {' '.join(map(str, words))}: {done.stderr}"
        return done.stdout

    def engage(self) -> None:
        """Give Flux the engine's objects as they are rendered."""
        self.kubectl("apply", "--server-side", f"--kustomize={self.repository.folder / 'engines' / 'flux'}")

    def look(self) -> None:
        """Have Flux fetch the repository and apply it now, and not only at its next interval."""
        for kind in ("gitrepositories.source.toolkit.fluxcd.io", "kustomizations.kustomize.toolkit.fluxcd.io"):
            at = f"reconcile.fluxcd.io/requestedAt={time.monotonic_ns()}"
            self.kubectl("annotate", "--overwrite", kind, self.name, "--namespace=flux-system", at)

    def create(self, resource: dict[str, Any]) -> None:
        """Create an object."""
        done = program("kubectl", f"--kubeconfig={self._kubeconfig}", "create", "--filename=-", stdin=json.dumps(resource))
        assert done.returncode == 0, done.stderr

    def state(self, name: str = "") -> tuple[str, str, str]:
        """Of a Kustomization: the commit that it was last given to apply, whether it is ready, and what it says."""
        words = ("get", "kustomizations.kustomize.toolkit.fluxcd.io", name or self.name, "--namespace=flux-system", "-ojson")
        status = json.loads(self.kubectl(*words)).get("status", {})
        ready = next((each for each in status.get("conditions", ()) if each["type"] == "Ready"), {})
        attempted = status.get("lastAttemptedRevision", "").rpartition(":")[2]
        return attempted, ready.get("status", ""), f"{ready.get('reason')}: {ready.get('message')}"

    def becomes(self, revision: str, ready: str, says: str = "") -> None:
        """Wait until a commit is applied and the Kustomization is, or is not, ready."""
        self.waits_for(lambda: self.state()[:2] == (revision, ready) and says in self.state()[2], self.state)

    def stays(self, revision: str, ready: str, turns: int = 2) -> None:
        """Have Flux apply the same again, and find it as it was each time."""
        for _ in range(turns):
            before = self._handled()
            self.look()
            self.waits_for(lambda before=before: self._handled() != before, self.state)  # type: ignore[misc]
            self.becomes(revision, ready)

    def _handled(self) -> str:
        """The last request that is done."""
        words = ("get", "kustomizations.kustomize.toolkit.fluxcd.io", self.name, "--namespace=flux-system")
        return self.kubectl(*words, "-ojsonpath={.status.lastHandledReconcileAt}")

    def items(self, kind: str) -> dict[str, dict[str, Any]]:
        """The objects of a kind in the namespace, by name."""
        found = json.loads(self.kubectl("get", kind, f"--namespace={self.name}", "-ojson"))["items"]
        return {each["metadata"]["name"]: each for each in found if not each["metadata"].get("deletionTimestamp")}

    def uids(self, kind: str) -> dict[str, str]:
        return {name: each["metadata"]["uid"] for name, each in self.items(kind).items()}

    def end_pod(self, name: str, phase: str) -> None:
        """Let a pod that runs end."""
        self.waits_for(
            lambda: self.items("pod").get(name, {}).get("status", {}).get("phase") == "Running", lambda: self.items("pod").keys()
        )
        state = {"terminated": {"exitCode": int(phase == "Failed")}}
        ended = {"name": "pytorch", "image": "a", "imageID": "", "ready": False, "restartCount": 0, "state": state}
        patch = json.dumps({"status": {"phase": phase, "containerStatuses": [ended]}})
        self.kubectl("patch", "pod", name, f"--namespace={self.name}", "--subresource=status", "--type=merge", f"--patch={patch}")

    def waits_for(self, holds: Any, otherwise: Any) -> None:
        deadline = time.monotonic() + _PATIENCE
        while not holds():
            assert time.monotonic() < deadline, f"after {_PATIENCE:.0f} s: {otherwise()}"
            time.sleep(0.3)

    def remove(self, *more: str) -> None:
        """Remove Flux's objects, those of *more* names too, and the namespace."""
        kinds = "kustomizations.kustomize.toolkit.fluxcd.io,gitrepositories.source.toolkit.fluxcd.io"
        names = [self.name, f"{self.name}-runtimes", *more]
        self.kubectl("delete", kinds, *names, "--namespace=flux-system", "--ignore-not-found", "--wait=false", fails=True)
        self.kubectl("delete", "namespace", self.name, "--ignore-not-found", "--wait=false", fails=True)
