"""A server as documents meet it: which kinds it has, and what it says to each document."""

from __future__ import annotations

import re
import threading
from urllib.parse import quote

from jobspec.diagnostics import JobspecError
from jobspec.server import replies
from jobspec.server.client import APPLY, MANAGER, YAML

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.diagnostics import Diagnostic
    from jobspec.server.client import Client, Reply
    from jobspec.server.question import Question

_DRY = {"dryRun": "All", "fieldValidation": "Strict", "fieldManager": MANAGER}
_API_VERSION = re.compile(r"(?:([a-z0-9.-]+)/)?([a-z0-9]+)")
_NAME = re.compile(r"(?!\.\.?$)[\w.:@-]+", re.ASCII)  # what may be an object's name in a URL; servers take less


class Resource:
    """Where the objects of a kind are."""

    __slots__ = ("group", "namespaced", "path", "plural")

    def __init__(self, group: str, path: str, plural: str, *, namespaced: bool) -> None:
        self.group = group
        self.path = path
        """Of the API version."""
        self.plural = plural
        self.namespaced = namespaced

    def collection(self, namespace: str) -> str:
        """The URL's path of all objects of the kind, in a namespace where it has one."""
        return f"{self.path}/namespaces/{namespace}/{self.plural}" if self.namespaced else f"{self.path}/{self.plural}"


class Answer:
    """What the server said to a document."""

    __slots__ = ("diagnostics", "kind_is_missing", "live", "merged", "silent")

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics = diagnostics
        self.kind_is_missing = False
        self.live: dict[str, Any] | None = None
        """The object as it is stored, None where it is not."""
        self.merged: dict[str, Any] | None = None
        """The object as it would be stored, were no conflict in the way; None where it is refused."""
        self.silent = ""
        """Why the server says nothing about the document."""

    @property
    def accepts(self) -> bool:
        """Whether the server would take the document."""
        return self.merged is not None and all(each.severity != "error" for each in self.diagnostics)


class Server:
    """A server that is asked about documents; what it has is looked up once."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._lock = threading.Lock()
        self._versions: dict[str, dict[str, Resource]] = {}

    def version(self) -> str:
        """The release of Kubernetes, as far as the caller may know. Raises JobspecError where the server is of another sort."""
        reply = self.client.get("/version")
        version = reply.body.get("gitVersion")
        if not version and reply.status != 403:
            raise JobspecError(f"{self.client.name}: what answers at {self.client.url} is no Kubernetes API server: {reply.message}")
        return str(version or "of unknown version")

    def resource(self, api_version: str, kind: str) -> Resource | None:
        """Where objects of the kind are, None where the server has no such kind."""
        with self._lock:
            if api_version not in self._versions:
                self._versions[api_version] = self._kinds(api_version)
            return self._versions[api_version].get(kind)

    def forget(self) -> None:
        """Look up kinds anew, since some were added."""
        with self._lock:
            self._versions.clear()

    def _kinds(self, api_version: str) -> dict[str, Resource]:
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
            each["kind"]: Resource(found[1] or "", path, each["name"], namespaced=each["namespaced"])
            for each in reply.body.get("resources", ())
            if "/" not in each["name"]
        }

    def namespace_of(self, question: Question) -> str:
        """Where the document's object goes, should its kind have namespaces."""
        return question.document.namespace or self.client.namespace

    def ask(self, question: Question) -> Answer:
        """What the server says to a document: as a new object, or where the object lives, applied to it."""
        document = question.document
        resource = self.resource(document.api_version, document.kind)
        if resource is None:
            answer = Answer([])
            answer.kind_is_missing = True
            return answer
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
            stored = self.client.get(place)  # somebody else made it meanwhile
        return self._apply(question, place, stored.body) if stored.ok else _answer(question, stored)

    def _create(self, question: Question, collection: str) -> Reply:
        return self.client.call("POST", collection, question.text, kind=YAML, query=_DRY)

    def _apply(self, question: Question, place: str, live: dict[str, Any]) -> Answer:
        """What an apply says. Conflicts with other managers come before all else, so the rest is asked for as if they were settled."""
        reply = self.client.call("PATCH", place, question.text, kind=APPLY, query=_DRY)
        conflicts = []
        if reply.status == 409 and replies.is_about_managers(reply):
            conflicts = replies.refusals(question, reply)
            reply = self.client.call("PATCH", place, question.text, kind=APPLY, query={**_DRY, "force": "true"})
        answer = _answer(question, reply)
        answer.diagnostics = [*conflicts, *answer.diagnostics]
        answer.live = live
        return answer


def _answer(question: Question, reply: Reply) -> Answer:
    answer = Answer(replies.warnings(question, reply))
    answer.silent = "" if reply.ok else replies.no_verdict(reply)
    if reply.ok:
        answer.merged = reply.body
    elif not answer.silent:
        answer.diagnostics += replies.refusals(question, reply)
    return answer
