"""Make a cluster that jobspec owns ready for documents: their kinds, their namespaces, and objects that others of them need."""

from __future__ import annotations

import json
import time

from jobspec.diagnostics import JobspecError
from jobspec.server.client import APPLY, MANAGER, Client
from jobspec.targets import KINDS, OPERATORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from jobspec.server.api_server import Server
    from jobspec.server.question import Question
    from jobspec.targets import Target

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_TAKE = {"fieldManager": MANAGER, "force": "true"}
_SERVED_SECONDS = 30
_REMOVED_SECONDS = 3


def install_kinds(server: Server, kinds: Iterable[tuple[str, str]], target: Target) -> None:
    """Store the target's CRDs of those of the operators' *kinds*, given as API version and kind."""
    ours = sorted({pair for pair in kinds if KINDS.get(pair) in OPERATORS})
    if not ours:
        return
    from jobspec import models
    from jobspec.schemas.crd import crd

    install(server, [crd(getattr(models, kind), target[KINDS[api_version, kind]]) for api_version, kind in ours])


def install(server: Server, crds: Iterable[Any]) -> None:
    """Store CRDs, and wait until the server serves what they define."""
    crds = list(crds)
    for crd in crds:
        store(server, f"{_CRDS}/{crd['metadata']['name']}", json.dumps(crd))
    for crd in crds:
        _wait_for(server, _defined(crd))


def _wait_for(server: Server, kinds: Iterable[tuple[str, str]]) -> None:
    """Wait until the server serves *kinds*, which takes it a moment after their CRD is stored."""
    deadline = time.monotonic() + _SERVED_SECONDS
    for api_version, kind in kinds:
        while not _is_served(server, api_version, kind):
            if time.monotonic() > deadline:
                raise JobspecError(f"{server.client.name}: the server has the CRD of {kind}, and did not serve it in {_SERVED_SECONDS} s")
            time.sleep(0.1)


def _is_served(server: Server, api_version: str, kind: str) -> bool:
    """Whether the server lists the kind, and has the storage for its objects, which comes later."""
    server.forget()
    resource = server.resource(api_version, kind)
    return resource is not None and server.client.get(f"{resource.collection('default')}?limit=1").ok


def make_namespaces(server: Server, names: Iterable[str]) -> None:
    """Store the namespaces that are not there; a name that none can have is left to the verdict on who uses it."""
    for name in sorted(set(names)):
        namespace = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        reply = server.client.call("POST", "/api/v1/namespaces", namespace)
        if not reply.ok and reply.status not in (409, 422):
            raise JobspecError(f"{server.client.name}: cannot make the namespace `{name}`: {reply.message}")


def store(server: Server, place: str, text: str) -> None:
    """Apply an object for real. Raises JobspecError where it is refused."""
    reply = server.client.call("PATCH", place, text, kind=APPLY, query=_TAKE)
    if not reply.ok:
        raise JobspecError(f"{server.client.name}: cannot store {place}: {reply.message}")


def store_document(server: Server, question: Question) -> str:
    """Apply a document for real; the URL's path of the object is given back."""
    document = question.document
    resource = server.resource(document.api_version, document.kind)
    assert resource  # since it was accepted
    place = f"{resource.collection(server.namespace_of(question))}/{document.name}"
    store(server, place, question.text)
    return place


def remove(server: Server, places: Iterable[str]) -> None:
    """Delete objects, with little patience: that may be the last thing that an interrupted run does."""
    client = Client(server.client.api, server.client.name, seconds=_REMOVED_SECONDS)
    for place in places:
        client.call("DELETE", place)


def _defined(crd: Any) -> list[tuple[str, str]]:
    """API version and kind of what a CRD defines and has served."""
    spec = crd["spec"]
    return [(f"{spec['group']}/{version['name']}", spec["names"]["kind"]) for version in spec["versions"] if version["served"]]
