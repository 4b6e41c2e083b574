"""Prepare a server that jobspec owns: store the CRDs, namespaces and objects that documents need."""

from __future__ import annotations

import json
import time

from jobspec.diagnostics import JobspecError
from jobspec.kinds import COMPONENTS
from jobspec.server.client import APPLY, MANAGER, Client
from jobspec.targets import OPERATORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from jobspec.server.api_server import Server
    from jobspec.server.question import Question
    from jobspec.targets import Target

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_FORCE = {"fieldManager": MANAGER, "force": "true"}
_SERVED_SECONDS = 30
_REMOVED_SECONDS = 3


def install_kinds(server: Server, kinds: Iterable[tuple[str, str]], target: Target) -> None:
    """Store the target's CRDs for those of *kinds*, pairs of API version and kind, that belong to the operators."""
    ours = sorted({pair for pair in kinds if COMPONENTS.get(pair) in OPERATORS})
    if not ours:
        return
    from jobspec import models
    from jobspec.schemas.crd import crd

    install(server, [crd(getattr(models, kind), target[COMPONENTS[api_version, kind]]) for api_version, kind in ours])


def install(server: Server, crds: Iterable[Any]) -> None:
    """Store CRDs, and wait until the server serves their kinds."""
    crds = list(crds)
    for crd in crds:
        store(server, f"{_CRDS}/{crd['metadata']['name']}", json.dumps(crd))
    for crd in crds:
        _wait_for(server, _defined(crd))


def _wait_for(server: Server, kinds: Iterable[tuple[str, str]]) -> None:
    """Wait until the server serves *kinds*, which it does a moment after it has the CRD."""
    deadline = time.monotonic() + _SERVED_SECONDS
    for api_version, kind in kinds:
        while not _is_served(server, api_version, kind):
            if time.monotonic() > deadline:
                raise JobspecError(f"{server.client.name}: the server has the CRD of {kind}, and did not serve it in {_SERVED_SECONDS} s")
            time.sleep(0.1)


def _is_served(server: Server, api_version: str, kind: str) -> bool:
    """Whether the server lists the kind and, a moment later, has storage for its objects."""
    server.forget()
    resource = server.resource(api_version, kind)
    return resource is not None and server.client.get(f"{resource.collection('default')}?limit=1").ok


def make_namespaces(server: Server, names: Iterable[str]) -> None:
    """Create missing namespaces; an invalid name is skipped here, and refused with the document that has it."""
    for name in sorted(set(names)):
        namespace = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        reply = server.client.call("POST", "/api/v1/namespaces", namespace)
        if not reply.ok and reply.status not in (409, 422):
            raise JobspecError(f"{server.client.name}: cannot make the namespace `{name}`: {reply.message}")


def store(server: Server, path: str, text: str) -> None:
    """Apply an object without dry-run. Raises JobspecError where it is refused."""
    reply = server.client.call("PATCH", path, text, kind=APPLY, query=_FORCE)
    if not reply.ok:
        raise JobspecError(f"{server.client.name}: cannot store {path}: {reply.message}")


def store_document(server: Server, question: Question) -> str:
    """Apply an accepted document without dry-run; returns the object's path."""
    document = question.document
    resource = server.resource(document.api_version, document.kind)
    assert resource  # since the document was accepted
    path = f"{resource.collection(server.namespace_of(question))}/{document.name}"
    store(server, path, question.text)
    return path


def remove(server: Server, paths: Iterable[str]) -> None:
    """Delete objects, with a short timeout: this may be the last step of an interrupted run."""
    client = Client(server.client.api, server.client.name, seconds=_REMOVED_SECONDS)
    for path in paths:
        client.call("DELETE", path)


def _defined(crd: Any) -> list[tuple[str, str]]:
    """API version and kind of each served version of a CRD."""
    spec = crd["spec"]
    return [(f"{spec['group']}/{version['name']}", spec["names"]["kind"]) for version in spec["versions"] if version["served"]]
