"""Ask a server about documents in the order in which they need each other, after storing what they need on a server that is ours."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

from jobspec.diagnostics import Diagnostic, JobspecError
from jobspec.documents.document import Document
from jobspec.kinds import COMPONENTS, TRAINJOB, group_kind
from jobspec.kubernetes.custom_kinds import CRD, defined_by
from jobspec.kubernetes.verdict import verdict
from jobspec.operators.trainer.runtimes import API_VERSION, RuntimeReference, is_meant, shipped
from jobspec.server import client, webhooks
from jobspec.server.api_server import Server, ServerAnswer
from jobspec.server.client import APPLY, MANAGER, Client
from jobspec.server.question import Question
from jobspec.targets import OPERATORS, Target

_NAMESPACE = ("v1", "Namespace")
_TRAINJOB = (API_VERSION, "TrainJob")
_CLUSTER_WIDE = "ClusterTrainingRuntime"
_RUNTIMES = ((API_VERSION, "TrainingRuntime"), (API_VERSION, _CLUSTER_WIDE))
#: The kinds that define what others need to be accepted at all.
_FIRST = (CRD, _NAMESPACE)
#: The kinds that admission looks up: the server's own plugins for Pods, and the trainer's webhook for TrainJobs.
_REFERENCED_BY_PODS = (("v1", "ServiceAccount"), ("scheduling.k8s.io/v1", "PriorityClass"), ("node.k8s.io/v1", "RuntimeClass"), *_RUNTIMES)


def ask(
    questions: Sequence[Question], server: Server, target: Target, *, owned: bool, done: Callable[[], None], crds: Sequence[Document] = ()
) -> dict[Question, ServerAnswer]:
    """The server's answer to each question; *done* is called after each.

    A server that jobspec owns is prepared: the user's *crds*, and accepted documents that others need, are stored on it.
    Nothing is stored on any other server.
    """

    def ask_all(some: Sequence[Question]) -> dict[Question, ServerAnswer]:
        return dict(zip(some, client.each(some, server.ask, done=done), strict=True))

    answers = ask_all([each for each in questions if each.gvk in _FIRST])
    if owned:
        _prepare(questions, answers, server, target, crds)
    looked_up = ask_all([each for each in questions if each.gvk in _REFERENCED_BY_PODS])
    rest = [each for each in questions if each.gvk not in (*_FIRST, *_REFERENCED_BY_PODS)]
    with _stored_meanwhile(looked_up, rest, server, target) if owned else nullcontext():
        answers |= looked_up | ask_all(rest)
    return with_hints(answers, server, target, crds)


def _prepare(
    questions: Sequence[Question], answers: dict[Question, ServerAnswer], server: Server, target: Target, crds: Sequence[Document]
) -> None:
    """Store CRDs and namespaces: the user's, the accepted ones among the documents, and the target's for all other kinds."""
    accepted = [question for question, answer in answers.items() if answer.accepts]
    definitions = [*crds, *(question.document for question in accepted if question.gvk == CRD)]
    install(server, [each.data for each in definitions])
    for question in accepted:
        if question.gvk == _NAMESPACE:
            store_document(server, question)
    defined = [defined_by(each) for each in definitions]
    install_kinds(server, {each.gvk for each in questions if group_kind(*each.gvk) not in defined}, target)
    make_namespaces(server, {server.namespace_of(each) for each in questions})


@contextmanager
def _stored_meanwhile(looked_up: dict[Question, ServerAnswer], rest: Sequence[Question], server: Server, target: Target) -> Iterator[None]:
    """Store accepted documents that admission looks up, and the shipped runtimes that jobs refer to; remove them at the end."""
    runtimes = _wanted_runtimes(rest, server)
    temporary: list[str] = []
    try:
        for question, answer in looked_up.items() if rest else ():
            name = (question.document.kind, question.document.name)
            if answer.accepts and (question.gvk not in _RUNTIMES or name in runtimes):
                path = store_document(server, question)
                temporary += [] if answer.live else [path]
                runtimes.discard(name)
        temporary += _store_shipped([name for kind, name in runtimes if kind == _CLUSTER_WIDE], server, target)
        yield
    finally:
        remove(server, temporary)


def _wanted_runtimes(questions: Iterable[Question], server: Server) -> set[tuple[str, str]]:
    """Kind and name of the runtimes that the server's webhooks will look up for TrainJobs."""
    references = [RuntimeReference(each.document.data) for each in questions if each.gvk == _TRAINJOB]
    if not references or webhooks.absent(server, [_TRAINJOB]):
        return set()
    return {(each.kind, each.name) for each in references}


def _store_shipped(names: Sequence[str], server: Server, target: Target) -> list[str]:
    """Store those of the runtimes that the trainer ships and the server does not have, and return their paths."""
    stored = []
    for name in shipped(target).keys() & set(names):
        if server.resource(API_VERSION, _CLUSTER_WIDE) is None:
            install_kinds(server, [(API_VERSION, _CLUSTER_WIDE)], target)
        path = f"/apis/{API_VERSION}/clustertrainingruntimes/{name}"
        if server.client.get(path).status == 404:
            store(server, path, json.dumps(shipped(target)[name]))
            stored.append(path)
    return stored


# Prepare a server that jobspec owns: store the CRDs, namespaces and objects that documents need.


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
    from jobspec.schemas.files import crd

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


# Hints for documents that need something which the server does not have: a kind, a namespace or a runtime.
def with_hints(
    answers: Mapping[Question, ServerAnswer], server: Server, target: Target, crds: Sequence[Document]
) -> dict[Question, ServerAnswer]:
    """The answers, with a diagnostic for each missing kind, and with hints at the documents and *crds* that the server lacks."""
    documents = [question.document for question in answers]
    definitions = [*crds, *(question.document for question in answers if question.gvk == CRD)]
    hinted = {}
    for question, answer in answers.items():
        missing = [_missing_kind(question, definitions, target, server)] if answer.kind_is_missing else []
        found = [*answer.diagnostics, *missing]
        said = [each if each.hint else each.with_hint(_hint(each, question, documents, server)) for each in found]
        hinted[question] = replace(answer, diagnostics=said)
    return hinted


def _missing_kind(question: Question, definitions: Iterable[Document], target: Target, server: Server) -> Diagnostic:
    document = question.document
    found = verdict(document, target)
    unknown = found.diagnostics[0] if found.status == "unknown" else None  # it tells a wrong version from a wrong kind
    hint = (
        next((f"its CRD stands in {_apply_first(each)}" for each in definitions if defined_by(each) == document.group_kind), "")
        or _how_to_install(question.gvk, target)
        or (unknown.hint if unknown else "")
        or "install the CRD that defines it, or skip the document: --skip-unknown"
    )
    message = f"{server.client.name} has no kind {document.kind} of {document.api_version}"
    return document.problem("missing-kind", message, (unknown.field if unknown else "kind",), hint=hint)


def _how_to_install(gvk: tuple[str, str], target: Target) -> str:
    component = COMPONENTS.get(gvk, "")
    if component not in OPERATORS:
        return ""
    command = f"jobspec schema crd {gvk[1]} --target {component}={target[component]} | kubectl apply --server-side -f -"
    return f"install {component}, or its CRD alone: {command}"


def _hint(diagnostic: Diagnostic, question: Question, documents: Iterable[Document], server: Server) -> str:
    """How to get the namespace or runtime whose absence a diagnostic reports; empty for all other diagnostics."""
    if diagnostic.rule == "missing-namespace":
        name = server.namespace_of(question)
        found = [each for each in documents if (each.group_kind, each.name) == (("", "Namespace"), name)]
        return _stands_in(found) or f"make it first: kubectl create namespace {name}"
    job = question.document
    if diagnostic.rule == "refused-by-webhook" and diagnostic.field.lower() == "spec.runtimeref" and job.group_kind == TRAINJOB:
        return _stands_in([each for each in documents if is_meant(RuntimeReference(job.data), job, each)])
    return ""


def _stands_in(found: Sequence[Document]) -> str:
    return f"it stands in {_apply_first(found[0])}" if found else ""


def _apply_first(document: Document) -> str:
    return f"{document.file}: apply that first, since a dry-run stores nothing"
