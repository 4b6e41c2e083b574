"""A stand-in for the API of GitHub and GitLab on loopback, as far as comments go."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Forge(ThreadingHTTPServer):
    """Comments as a forge keeps them, a page of two after the other, and what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.comments: list[dict[str, Any]] = [{"id": number, "body": f"by others {number}"} for number in range(150)]
        self.asked: list[tuple[str, str]] = []
        self.headers: dict[str, str] = {}
        self.refuses = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Forge

    def _answer(self) -> None:
        forge, path = self.server, self.path.partition("?")[0]
        forge.asked.append((self.command, path))
        forge.headers = {name.lower(): value for name, value in self.headers.items()}
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null")
        if forge.refuses:
            self._send(forge.refuses, {"message": "Resource not accessible by integration"})
        elif self.command == "GET":
            page = int(re.findall(r"[?&]page=(\d+)", self.path)[0])
            self._send(200, forge.comments[(page - 1) * 100 : page * 100])
        elif self.command == "POST":
            forge.comments.append({"id": 1000 + len(forge.comments), **body})
            self._send(201, forge.comments[-1])
        else:
            (known,) = [each for each in forge.comments if str(each["id"]) == path.rpartition("/")[2]]
            known.update(body)
            self._send(200, known)

    do_GET = _answer  # noqa: N815 (the name that the server looks for)
    do_POST = _answer  # noqa: N815
    do_PATCH = _answer  # noqa: N815
    do_PUT = _answer  # noqa: N815

    def _send(self, status: int, value: Any) -> None:
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def forge_on_loopback() -> Iterator[Forge]:
    """A forge that answers while it is needed."""
    server = Forge()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def github_job(forge: Forge) -> dict[str, str]:
    """The variables of a job of GitHub Actions for a pull request."""
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": forge.url,
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_REF": "refs/pull/7/merge",
        "GITHUB_TOKEN": "secret",
    }


def gitlab_job(forge: Forge) -> dict[str, str]:
    """The variables of a job of GitLab CI for a merge request."""
    return {
        "GITLAB_CI": "true",
        "CI_API_V4_URL": f"{forge.url}/api/v4",
        "CI_PROJECT_ID": "12",
        "CI_MERGE_REQUEST_IID": "7",
        "GITLAB_TOKEN": "secret",
    }
