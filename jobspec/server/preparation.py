"""Prepare a server that jobspec owns: store the CRDs, namespaces and objects that documents need."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any

from jobspec.apis.kinds import COMPONENTS, MODELS
from jobspec.apis.releases import MODELLED, Target, release_of
from jobspec.diagnostics.errors import JobspecError
from jobspec.server.api_server import ApiServer
from jobspec.server.client import APPLY, MANAGER, Client
from jobspec.server.questions import Question

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_FORCE = {"fieldManager": MANAGER, "force": "true"}
_SERVED_SECONDS = 30
_REMOVED_SECONDS = 3


def install_kinds(server: ApiServer, kinds: Iterable[tuple[str, str]], target: Target) -> None:
    """Store the target's CRDs for the operators' kinds among *kinds*.

    *kinds*: pairs of API version and kind.
    """
    ours = sorted({pair for pair in kinds if MODELS.get(pair) in MODELLED})
    if not ours:
        return
    from jobspec import models
    from jobspec.schemas.files import crd

    install(server, [crd(getattr(models, kind), release_of(COMPONENTS[api_version, kind], target)) for api_version, kind in ours])


def install(server: ApiServer, crds: Iterable[Any]) -> None:
    """Store CRDs, and wait until the server serves their kinds."""
    crds = list(crds)
    for crd in crds:
        store(server, f"{_CRDS}/{crd['metadata']['name']}", json.dumps(crd))
    specs = [crd["spec"] for crd in crds]
    served = [(spec, version["name"]) for spec in specs for version in spec["versions"] if version["served"]]
    for spec, version in served:
        _wait_for(server, f"{spec['group']}/{version}", spec["names"]["kind"])


def _wait_for(server: ApiServer, api_version: str, kind: str) -> None:
    """Wait until the server serves a kind, which it does a moment after it has the CRD."""
    deadline = time.monotonic() + _SERVED_SECONDS
    while not _is_served(server, api_version, kind):
        if time.monotonic() > deadline:
            raise JobspecError(f"{server.client.name}: the CRD of {kind} is stored, but not served after {_SERVED_SECONDS} s")
        time.sleep(0.1)


def _is_served(server: ApiServer, api_version: str, kind: str) -> bool:
    """Whether the server lists the kind and, a moment later, has storage for its objects."""
    server.forget()
    resource = server.resource(api_version, kind)
    return resource is not None and server.client.get(f"{resource.collection('default')}?limit=1").ok


def make_namespaces(server: ApiServer, names: Iterable[str]) -> None:
    """Create missing namespaces.

    An invalid name is skipped here, and refused with the document that has it.
    """
    for name in sorted(set(names)):
        namespace = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        reply = server.client.call("POST", "/api/v1/namespaces", namespace)
        if not reply.ok and reply.status not in (409, 422):
            raise JobspecError(f"{server.client.name}: cannot make the namespace `{name}`: {reply.message}")


def store(server: ApiServer, path: str, text: str) -> None:
    """Apply an object without dry-run. Raises JobspecError if the server refuses the object."""
    reply = server.client.call("PATCH", path, text, kind=APPLY, query=_FORCE)
    if not reply.ok:
        raise JobspecError(f"{server.client.name}: cannot store {path}: {reply.message}")


def store_document(server: ApiServer, question: Question) -> str:
    """Apply an accepted document without dry-run, and return the object's path."""
    document = question.document
    resource = server.resource(document.api_version, document.kind)
    assert resource  # since the document was accepted
    path = f"{resource.collection(server.namespace_of(question))}/{document.name}"
    store(server, path, question.text)
    return path


def remove(server: ApiServer, paths: Iterable[str]) -> None:
    """Delete objects, with a short timeout: this may be the last step of an interrupted run."""
    client = Client(server.client.api, server.client.name, seconds=_REMOVED_SECONDS)
    for path in paths:
        client.call("DELETE", path)
