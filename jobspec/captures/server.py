"""A server on loopback that answers Python's Kubernetes clients as an API server does, and keeps what they post.

It serves the runtimes that are given, refuses what the verdict refuses, and answers reads as if jobs ran and were complete, so that a
program that waits for its job goes on.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import threading
import uuid
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from jobspec.apis.kinds import CLUSTER_TRAINING_RUNTIME, TRAINING_RUNTIME, TRAINJOB, group_kind, plural_of
from jobspec.captures.captured import CapturedObject, captured
from jobspec.captures.redirection import PLACE
from jobspec.diagnostics.places import Mark
from jobspec.diagnostics.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from jobspec.apis.releases import Target
    from jobspec.diagnostics.diagnostic import Diagnostic
    from jobspec.diagnostics.places import Data

    #: Says why the API server or a webhook refuses an object.
    Judge = Callable[[CapturedObject], Sequence[Diagnostic]]
    #: Gives the pods that operators create for an accepted object.
    Pods = Callable[[CapturedObject], Sequence[Data]]

_MOST = 3 << 20  # bytes of a request, as for an API server
_AT_HOME = "jobspec capture keeps the program on this machine"
_RUNS_IN, _RUNNING = 10, (1, 2)
"""The number of reads of a job in one round, and the reads that find it running.

All others find it complete. A program may wait for either. It often looks at the job once before, and it waits some seconds between its
reads.
"""
_TRAINING_GROUPS = ("trainer.kubeflow.org", "kubeflow.org")


class Resource(Record):
    """The resource that the path of a request names."""

    group: str
    version: str
    namespace: str
    plural: str
    name: str
    part: str
    """A subresource such as `status` or `log`; empty without one."""

    @property
    def api_version(self) -> str:
        """The `apiVersion` of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version


class CaptureServer:
    """The objects of a server on loopback, given and posted."""

    def __init__(self, runtimes: Sequence[Data], target: Target, judge: Judge, pods: Pods, *, namespace: str) -> None:
        self.posted: list[CapturedObject] = []
        """All objects that were posted, in that order."""
        self._judge = judge
        self._pods = pods
        self._reads: dict[tuple[str, str, str, str], int] = {}
        self._lock = threading.Lock()
        self._stored: dict[tuple[str, str, str, str], Data] = {}
        for each in runtimes:
            if group_kind(each["apiVersion"], each["kind"]) in (TRAINING_RUNTIME, CLUSTER_TRAINING_RUNTIME):
                self._store(each, each["metadata"].get("namespace") or ("" if each["kind"] == CLUSTER_TRAINING_RUNTIME[1] else namespace))
        version = {"kubeflow_trainer_version": f"v{target['trainer']}"}
        self._public = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kubeflow-trainer-public"}, "data": version}
        self._version = {"major": "1", "minor": target["kubernetes"].partition(".")[2], "gitVersion": f"v{target['kubernetes']}.0"}

    def answer(self, method: str, path: str, body: bytes, place: Mark) -> tuple[int, Any]:
        """Answer a request: the status of HTTP, and the object or text of the reply."""
        url = urlsplit(path)
        resource = _resource_of(url.path)
        if resource is None:
            return (200, self._version) if url.path == "/version" else _failure(404, "NotFound", f"no resource at {url.path}")
        with self._lock:
            if method == "GET":
                return self._read(resource, parse_qs(url.query))
            if method == "DELETE":
                self._stored.pop(self._key(resource), None)
                return 200, {"apiVersion": "v1", "kind": "Status", "status": "Success"}
            given = json.loads(body)
            if method == "POST":
                return self._create(resource, given, place)
            return self._change(resource, given)

    def _read(self, resource: Resource, query: Mapping[str, Sequence[str]]) -> tuple[int, Any]:
        if resource.part == "log" or query.get("watch", ["false"])[0] in ("true", "1", "True"):
            return 200, ""
        if (resource.plural, resource.name) == ("configmaps", "kubeflow-trainer-public"):
            return 200, self._public
        if resource.name:
            found = self._stored.get(self._key(resource))
            return (200, self._seen(resource, found)) if found else _not_found(resource)
        wanted = query.get("labelSelector", [""])[0]
        items = [
            each
            for key, each in self._stored.items()
            if key[:2] == (resource.group, resource.plural) and _is_in(key, resource) and _has_labels(each, wanted)
        ]
        kind = f"{items[0]['kind']}List" if items else "List"
        return 200, {"apiVersion": resource.api_version, "kind": kind, "metadata": {"resourceVersion": "1"}, "items": items}

    def _seen(self, resource: Resource, found: Data) -> Data:
        """Return the object that a client reads. A job runs and is complete in turns."""
        if "status" not in found or resource.group not in _TRAINING_GROUPS:
            return found
        self._reads[self._key(resource)] = reads = self._reads.get(self._key(resource), 0) + 1
        return {**found, "status": _status(found, is_running=True)} if reads % _RUNS_IN in _RUNNING else found

    def _create(self, resource: Resource, given: Data, place: Mark) -> tuple[int, Any]:
        made = captured(given, place, namespace="" if resource.namespace == "default" else resource.namespace)
        kind, name = given.get("kind") or "", str((made.data.get("metadata") or {}).get("name") or "")
        refused = list(self._judge(made))
        self.posted.append(made.changed(refused=refused))
        if refused:
            reasons = ", ".join(f"{each.field}: {each.message}" if each.field else each.message for each in refused)
            return _failure(422, "Invalid", f'{kind}.{resource.group} "{name}" is invalid: {reasons}')
        stored = self._store(given, resource.namespace)
        for pod in self._pods(made.changed(data={**made.data, "metadata": {**made.data["metadata"], "name": stored["metadata"]["name"]}})):
            self._store({**pod, "status": {"phase": "Running"}}, resource.namespace)
        return 201, stored

    def _change(self, resource: Resource, given: Data) -> tuple[int, Any]:
        found = self._stored.get(self._key(resource))
        if not found:
            return _not_found(resource)
        self._stored[self._key(resource)] = changed = _merged(found, given) if isinstance(given, dict) else found
        return 200, changed

    def _store(self, given: Data, namespace: str) -> Data:
        """Store an object as a server does, with a name, a uid and a time; of a job that is complete, too."""
        metadata = given.get("metadata") or {}
        name = metadata.get("name") or f"{metadata.get('generateName', '')}{uuid.uuid4().hex[:5]}"
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        own = {"name": name, **({"namespace": namespace} if namespace else {}), "uid": str(uuid.uuid4()), "creationTimestamp": now}
        stored = {**given, "metadata": {**metadata, **own, "resourceVersion": "1", "generation": 1}}
        group, kind = group_kind(given["apiVersion"], given["kind"])
        if group in _TRAINING_GROUPS and not kind.endswith("Runtime"):
            stored["status"] = _status(stored, is_running=False)
        self._stored[group, plural_of(kind), namespace, name] = stored
        return stored

    def _key(self, resource: Resource) -> tuple[str, str, str, str]:
        return resource.group, resource.plural, resource.namespace, resource.name


def _status(job: Data, *, is_running: bool) -> Data:
    """Return the status of a job that runs, or is complete.

    A TrainJob that runs has none: clients tell by its pods.
    """
    if job["kind"] == TRAINJOB[1]:
        states = {} if is_running else {"Complete": "True"}
    else:
        states = {"Created": "True", "Running": str(is_running), "Succeeded": str(not is_running)}
    now, message = job["metadata"]["creationTimestamp"], "jobspec captured the job; it ran nowhere"
    common = {"reason": "Captured", "message": message, "lastTransitionTime": now, "lastUpdateTime": now}
    return {"conditions": [{"type": kind, "status": state, **common} for kind, state in states.items()]}


def _is_in(key: tuple[str, str, str, str], resource: Resource) -> bool:
    return not resource.namespace or key[2] == resource.namespace


def _has_labels(found: Data, selector: str) -> bool:
    """True if an object has the labels of a selector of equalities and sets: `a=b,c in (d, e)`."""
    labels = (found.get("metadata") or {}).get("labels") or {}
    terms = _TERM.findall(selector)
    return all(labels.get(name) in ([one] if one else [each.strip() for each in several.split(",")]) for name, one, several in terms)


_TERM = re.compile(r"([^\s,=()]+)\s*(?:==?\s*([^\s,]+)|in\s*\(([^)]*)\))")


def _merged(one: Any, other: Any) -> Any:
    if not isinstance(one, dict) or not isinstance(other, dict):
        return other
    both = {**one, **{name: _merged(one.get(name), each) for name, each in other.items()}}
    return {name: each for name, each in both.items() if each is not None}


def _not_found(resource: Resource) -> tuple[int, Data]:
    return _failure(404, "NotFound", f'{resource.plural} "{resource.name}" not found')


def _failure(code: int, reason: str, message: str) -> tuple[int, Data]:
    status = {"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure"}
    return code, {**status, "message": message, "reason": reason, "code": code}


def _resource_of(path: str) -> Resource | None:
    """The resource of a path such as `/apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL/NAME/PART`; None for another path."""
    steps = [unquote(each) for each in path.strip("/").split("/")]
    if steps[:1] == ["apis"] and len(steps) > 3:
        group, version, steps = steps[1], steps[2], steps[3:]
    elif steps[:1] == ["api"] and len(steps) > 2:
        group, version, steps = "", steps[1], steps[2:]
    else:
        return None
    namespace, steps = (steps[1], steps[2:]) if steps[0] == "namespaces" and len(steps) > 2 else ("", steps)
    plural, name, part = (*steps, "", "")[:3]
    return Resource(group, version, namespace, plural, name, part)


# HTTP on loopback, and the kubeconfig that names it.


@contextmanager
def served(server: CaptureServer, *, namespace: str) -> Iterator[tuple[int, str]]:
    """Serve on a free port of loopback, and yield the port and the path of a kubeconfig."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(server))
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    try:
        with tempfile.TemporaryDirectory(prefix="jobspec-") as folder:
            path = os.path.join(folder, "config")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(_kubeconfig(http.server_address[1], namespace), file)
            yield http.server_address[1], path
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


def _kubeconfig(port: int, namespace: str) -> Data:
    name = "jobspec"
    cluster = {"name": name, "cluster": {"server": f"http://127.0.0.1:{port}"}}
    context = {"name": name, "context": {"cluster": name, "user": name, "namespace": namespace}}
    named = {"clusters": [cluster], "contexts": [context], "users": [{"name": name, "user": {}}]}
    return {"apiVersion": "v1", "kind": "Config", "current-context": name, **named}


def _handler_of(server: CaptureServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Passes requests on to the server."""

        protocol_version = "HTTP/1.1"

        def _respond(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            if self._is_for_others():
                code, said = _failure(403, "Forbidden", f"{_AT_HOME}: no connection to {self.path}")
            elif size > _MOST:
                code, said = _failure(413, "RequestEntityTooLarge", f"the request has {size} bytes, and {_MOST} are the limit")
            else:
                code, said = _answered(server, self.command, self.path, self.rfile.read(size), _place_in(self.headers.get(PLACE) or ""))
            content = said.encode() if isinstance(said, str) else json.dumps(said).encode()
            self.send_response(code, _AT_HOME if code == 403 else None)
            self.send_header("Content-Type", "text/plain" if isinstance(said, str) else "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def _is_for_others(self) -> bool:
            """True if a program takes the server for a proxy to another host."""
            return self.command == "CONNECT" or urlsplit(self.path).netloc not in ("", f"127.0.0.1:{self.connection.getsockname()[1]}")

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_CONNECT = _respond  # noqa: N815 (the names that http.server calls)

        def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 (the name of the base class)
            """Write no log."""

    return Handler


def _answered(server: CaptureServer, method: str, path: str, body: bytes, place: Mark) -> tuple[int, Any]:
    try:
        return server.answer(method, path, body, place)
    except ValueError as error:
        return _failure(400, "BadRequest", f"the body is no JSON: {error}")


def _place_in(header: str) -> Mark:
    line, _, file = bytes.fromhex(header).decode().partition(" ")
    return Mark(file or "<program>", int(line) if line.isdigit() else 0, 1 if line else 0)
