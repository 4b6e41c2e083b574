"""An API server: the kinds that it serves, its answer to each document, and what an apply would change there."""

from __future__ import annotations

import difflib
import re
import threading
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any
from urllib.parse import quote

from jobspec.apis.releases import Target
from jobspec.diagnostics.diagnostic import Diagnostic, has_error
from jobspec.diagnostics.errors import JobspecError
from jobspec.documents.writer import write
from jobspec.go.values import mapping
from jobspec.journey.rendering import arrange
from jobspec.kubernetes.metadata import LAST_APPLIED, WRITTEN_BY_SERVER
from jobspec.schemas import shapes
from jobspec.server import replies
from jobspec.server.client import APPLY, MANAGER, YAML, Client, Reply
from jobspec.server.questions import Question

_DRY = {"dryRun": "All", "fieldValidation": "Strict", "fieldManager": MANAGER}
_API_VERSION = re.compile(r"(?:([a-z0-9.-]+)/)?([a-z0-9]+)")
_NAME = re.compile(r"(?!\.\.?$)[\w.:@-]+", re.ASCII)  # names that are safe in a URL; servers take fewer


@dataclass(frozen=True, slots=True)
class ServedResource:
    """The URL of the objects of a kind on a server."""

    group: str
    path: str
    """The path of the API version: `/api/v1`, `/apis/GROUP/VERSION`."""
    plural: str
    _: KW_ONLY
    namespaced: bool

    def collection(self, namespace: str) -> str:
        """Return the path of all objects of the kind. *namespace* counts for namespaced kinds only."""
        return f"{self.path}/namespaces/{namespace}/{self.plural}" if self.namespaced else f"{self.path}/{self.plural}"


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """A server's answer to a document."""

    diagnostics: Sequence[Diagnostic] = ()
    _: KW_ONLY
    kind_is_missing: bool = False
    live: dict[str, Any] | None = None
    """The stored object; None where there is none."""
    merged: dict[str, Any] | None = None
    """The object as it would be stored if no conflict were in the way; None where it is refused."""
    no_verdict: str = ""
    """Why the server gave no verdict on the document; empty where it gave one."""

    @property
    def accepts(self) -> bool:
        """True if the server would accept the document."""
        return self.merged is not None and not has_error(self.diagnostics)


class ApiServer:
    """A server that answers questions. It is asked only once for the kinds of an API version."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._lock = threading.Lock()
        self._versions: dict[str, dict[str, ServedResource]] = {}

    def version(self) -> str:
        """Return the release of Kubernetes, if the caller may see it.

        Raises JobspecError if the server is no Kubernetes API server.
        """
        reply = self.client.get("/version")
        version = reply.body.get("gitVersion")
        if not version and reply.status != 403:
            raise JobspecError(f"{self.client.name}: what answers at {self.client.url} is not a Kubernetes API server: {reply.message}")
        return str(version or "of unknown version")

    def resource(self, api_version: str, kind: str) -> ServedResource | None:
        """Return the URL of the objects of a kind. If the server does not serve it, return None."""
        with self._lock:
            if api_version not in self._versions:
                self._versions[api_version] = self._kinds(api_version)
            return self._versions[api_version].get(kind)

    def forget(self) -> None:
        """Forget all kinds, since some were added. They are looked up again."""
        with self._lock:
            self._versions.clear()

    def _kinds(self, api_version: str) -> dict[str, ServedResource]:
        found = _API_VERSION.fullmatch(api_version)
        if not found:
            return {}
        path = f"/apis/{api_version}" if found[1] else f"/api/{api_version}"
        reply = self.client.get(path)
        if reply.status == 404:
            return {}
        if not reply.ok:
            raise JobspecError(f"{self.client.name}: cannot list the kinds of {api_version}: {reply.message}")
        return {
            each["kind"]: ServedResource(found[1] or "", path, each["name"], namespaced=each["namespaced"])
            for each in reply.body.get("resources", ())
            if "/" not in each["name"]
        }

    def namespace_of(self, question: Question) -> str:
        """Return the namespace of the document's object, if its kind is namespaced."""
        return question.document.namespace or self.client.namespace

    def ask(self, question: Question) -> ServerAnswer:
        """Ask the server about a document: create a new object, or apply to the stored one.

        Requests are dry runs.
        """
        document = question.document
        resource = self.resource(document.api_version, document.kind)
        if resource is None:
            return ServerAnswer(kind_is_missing=True)
        namespace = self.namespace_of(question)
        collection = resource.collection(namespace if _NAME.fullmatch(namespace) else self.client.namespace)
        if not _NAME.fullmatch(document.name):
            return _answer(question, self._create(question, collection))
        place = f"{collection}/{quote(document.name)}"
        stored = self.client.get(place)
        if stored.status == 404:
            reply = self._create(question, collection)
            if reply.body.get("reason") != "AlreadyExists":
                return _answer(question, reply)
            stored = self.client.get(place)  # somebody else created it meanwhile
        return self._apply(question, place, stored.body) if stored.ok else _answer(question, stored)

    def _create(self, question: Question, collection: str) -> Reply:
        return self.client.call("POST", collection, question.text, kind=YAML, query=_DRY)

    def _apply(self, question: Question, place: str, live: dict[str, Any]) -> ServerAnswer:
        """Apply a document. If there is a conflict, which hides other mistakes, apply with `force`."""
        reply = self.client.call("PATCH", place, question.text, kind=APPLY, query=_DRY)
        conflicts: list[Diagnostic] = []
        if reply.status == 409 and replies.is_about_managers(reply):
            conflicts = replies.refusals(question, reply)
            reply = self.client.call("PATCH", place, question.text, kind=APPLY, query={**_DRY, "force": "true"})
        return _answer(question, reply, live=live, conflicts=conflicts)


def _answer(question: Question, reply: Reply, *, live: dict[str, Any] | None = None, conflicts: Sequence[Diagnostic] = ()) -> ServerAnswer:
    no_verdict = "" if reply.ok else replies.no_verdict(reply)
    refusals = [] if reply.ok or no_verdict else replies.refusals(question, reply)
    diagnostics = [*conflicts, *replies.warnings(question, reply), *refusals]
    return ServerAnswer(diagnostics, live=live, merged=reply.body if reply.ok else None, no_verdict=no_verdict)


# The diff between a live object and the object after an apply.


_SECRET = ("v1", "Secret")


def difference(question: Question, answer: ServerAnswer, target: Target) -> str:
    """Return a unified diff from the live object to the applied one; empty if nothing changes.

    Both sides have the server's defaults, so that the diff shows none. A new object is shown as the user wrote it. The values of a Secret
    are masked.
    """
    document = question.document
    before, after = answer.live or {}, answer.merged if answer.live else document.data
    if after is None:
        return ""
    if (document.api_version, document.kind) == _SECRET:
        before, after = _masked(before, after, "before"), _masked(after, before or after, "after")
    name = "/".join(part for part in (document.kind, document.namespace, document.name) if part)
    old = f"live {name}" if before else "/dev/null"
    old_lines = _shown_lines(before, question, target) if before else []
    return "".join(difflib.unified_diff(old_lines, _shown_lines(after, question, target), old, f"{document.file} {name}"))


def _masked(data: dict[str, Any], other: dict[str, Any], word: str) -> dict[str, Any]:
    """Return a Secret with masked values.

    Values that differ in the *other* Secret are marked with *word*.
    """
    masked: dict[str, Any] = {}
    for part in ("data", "stringData"):
        if part in data:
            others = mapping(other, part)
            masked[part] = {key: "***" if others.get(key) == value else f"*** ({word})" for key, value in mapping(data, part).items()}
    return {**data, **masked}


def _shown_lines(data: dict[str, Any], question: Question, target: Target) -> list[str]:
    shown = {key: value for key, value in data.items() if key != "status"}
    if isinstance(data.get("metadata"), dict):
        shown["metadata"] = _without_server_fields(data["metadata"])
    shape = shapes.load(question.document.api_version, question.document.kind, target)
    return write([arrange(shown, shape)]).splitlines(keepends=True)


def _without_server_fields(metadata: dict[str, Any]) -> dict[str, Any]:
    """An object's metadata without the fields that the server writes."""
    written = {key: value for key, value in metadata.items() if key not in WRITTEN_BY_SERVER}
    annotations = written.get("annotations")
    if isinstance(annotations, dict) and LAST_APPLIED in annotations:
        written["annotations"] = {key: value for key, value in annotations.items() if key != LAST_APPLIED}
    return written
