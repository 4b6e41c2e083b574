"""Ask a server about the documents of a set, in the order in which they need each other."""

from __future__ import annotations

import json
from contextlib import contextmanager, nullcontext

from jobspec.runtimes.runtime import API_VERSION, Reference, is_meant, shipped
from jobspec.server import pool, preparation, webhooks
from jobspec.targets import KINDS, OPERATORS
from jobspec.validation.custom_kinds import CRD, defined_by
from jobspec.validation.verdict import verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from jobspec.diagnostics import Diagnostic
    from jobspec.documents.document import Document
    from jobspec.server.api_server import Answer, Server
    from jobspec.server.question import Question
    from jobspec.targets import Target

_NAMESPACE = ("v1", "Namespace")
_TRAINJOB = (API_VERSION, "TrainJob")
_CLUSTER_WIDE = "ClusterTrainingRuntime"
_RUNTIMES = ((API_VERSION, "TrainingRuntime"), (API_VERSION, _CLUSTER_WIDE))

#: The kinds that the server itself looks for on behalf of Pods, and the trainer's webhook on behalf of jobs.
_SOUGHT = (("v1", "ServiceAccount"), ("scheduling.k8s.io/v1", "PriorityClass"), ("node.k8s.io/v1", "RuntimeClass"), *_RUNTIMES)

_GIVE_CRD = "install the CRD that defines it, or pass the document by: --skip-unknown"


def ask(
    questions: Sequence[Question], server: Server, target: Target, *, owned: bool, done: Callable[[], None], crds: Sequence[Document] = ()
) -> dict[Question, Answer]:
    """The server's answer to each question; *done* is called after each.

    A server that is *owned* is made ready: it gets the user's own *crds*, and what others need is stored in it once it is accepted.
    Nothing is stored in any other.
    """
    answers: dict[Question, Answer] = {}

    def ask_these(some: Sequence[Question]) -> None:
        answers.update(zip(some, pool.each(some, server.ask, done=done), strict=True))

    first = [each for each in questions if _pair(each) in (CRD, _NAMESPACE)]
    sought = [each for each in questions if _pair(each) in _SOUGHT]
    rest = [each for each in questions if _pair(each) not in (CRD, _NAMESPACE, *_SOUGHT)]
    ask_these(first)
    if owned:
        _prepare(questions, answers, server, target, crds)
    ask_these(sought)
    with _stored_meanwhile(sought, rest, answers, server, target) if owned else nullcontext():
        ask_these(rest)
    for question, answer in answers.items():
        if answer.kind_is_missing:
            answer.diagnostics.append(_missing_kind(question, answers, target, server, crds))
        answer.diagnostics = [
            each if each.hint else each.with_hint(_how_to_get_it(each, question, answers, server)) for each in answer.diagnostics
        ]
    return answers


def _pair(question: Question) -> tuple[str, str]:
    return question.document.api_version, question.document.kind


def _prepare(
    questions: Sequence[Question], answers: dict[Question, Answer], server: Server, target: Target, crds: Sequence[Document]
) -> None:
    """Store CRDs and namespaces: what the user brings along, what is of the set, and for the rest those of the target."""
    accepted = [question for question, answer in answers.items() if answer.accepts]
    definitions = [*crds, *(question.document for question in accepted if _pair(question) == CRD)]
    preparation.install(server, [each.data for each in definitions])
    for question in accepted:
        if _pair(question) == _NAMESPACE:
            preparation.store_document(server, question)
    defined = [defined_by(each) for each in definitions]
    preparation.install_kinds(server, {pair for pair in map(_pair, questions) if _without_version(pair) not in defined}, target)
    preparation.make_namespaces(server, {server.namespace_of(each) for each in questions})


def _without_version(pair: tuple[str, str]) -> tuple[str, str]:
    return pair[0].rpartition("/")[0], pair[1]


@contextmanager
def _stored_meanwhile(
    sought: Sequence[Question], rest: Sequence[Question], answers: dict[Question, Answer], server: Server, target: Target
) -> Iterator[None]:
    """Accepted objects that others are refused without are there, as are the runtimes that jobs refer to and the trainer ships."""
    runtimes = _wanted_runtimes(rest, server)
    passing: list[str] = []
    try:
        for question in sought if rest else ():
            document = question.document
            if answers[question].accepts and (_pair(question) not in _RUNTIMES or (document.kind, document.name) in runtimes):
                place = preparation.store_document(server, question)
                passing += [] if answers[question].live else [place]
                runtimes.discard((document.kind, document.name))
        passing += _store_shipped([name for kind, name in runtimes if kind == _CLUSTER_WIDE], server, target)
        yield
    finally:
        preparation.remove(server, passing)


def _wanted_runtimes(jobs: Iterable[Question], server: Server) -> set[tuple[str, str]]:
    """Kind and name of the runtimes that a webhook of the server is going to look for."""
    references = [Reference(each.document.data) for each in jobs if _pair(each) == _TRAINJOB]
    if not references or webhooks.absent(server, [_TRAINJOB]):
        return set()
    return {(each.kind, each.name) for each in references}


def _store_shipped(names: Sequence[str], server: Server, target: Target) -> list[str]:
    """Store runtimes that the trainer ships, and that are not there."""
    passing = []
    for name in shipped(target).keys() & set(names):
        if server.resource(API_VERSION, _CLUSTER_WIDE) is None:
            preparation.install_kinds(server, [(API_VERSION, _CLUSTER_WIDE)], target)
        place = f"/apis/{API_VERSION}/clustertrainingruntimes/{name}"
        if server.client.get(place).status == 404:
            preparation.store(server, place, json.dumps(shipped(target)[name]))
            passing.append(place)
    return passing


def _missing_kind(question: Question, answers: Iterable[Question], target: Target, server: Server, crds: Sequence[Document]) -> Diagnostic:
    document = question.document
    message = f"{server.client.name} has no kind {document.kind} of {document.api_version}"
    found = verdict(document, target)
    unknown = found.diagnostics[0] if found.status == "unknown" else None  # which tells a wrong version from a wrong kind
    hint = _how_to_get_kind(_pair(question), answers, target, crds) or (unknown.hint if unknown else "") or _GIVE_CRD
    return document.problem("missing-kind", message, (unknown.field if unknown else "kind",), hint=hint)


def _how_to_get_kind(pair: tuple[str, str], questions: Iterable[Question], target: Target, crds: Sequence[Document]) -> str:
    for document in (*crds, *(each.document for each in questions if _pair(each) == CRD)):
        if defined_by(document) == _without_version(pair):
            return f"its CRD stands in {_there(document)}"
    component = KINDS.get(pair, "")
    if component not in OPERATORS:
        return ""
    command = f"jobspec schema crd {pair[1]} --target {component}={target[component]} | kubectl apply --server-side -f -"
    return f"install {component}, or its CRD alone: {command}"


def _how_to_get_it(diagnostic: Diagnostic, question: Question, answers: Iterable[Question], server: Server) -> str:
    """The remedy where a document needs an object that the server does not have; empty for all other diagnostics."""
    document = question.document
    if diagnostic.rule == "missing-namespace":
        name = server.namespace_of(question)
        known = (each.document for each in answers if _pair(each) == _NAMESPACE and each.document.name == name)
        return next((f"it stands in {_there(each)}" for each in known), f"make it first: kubectl create namespace {name}")
    if diagnostic.rule == "refused-by-webhook" and diagnostic.field.lower() == "spec.runtimeref" and _pair(question) == _TRAINJOB:
        known = (each.document for each in answers if is_meant(Reference(document.data), document, each.document))
        return next((f"it stands in {_there(each)}" for each in known), "")
    return ""


def _there(document: Document) -> str:
    return f"{document.file}: apply that first, since a dry-run stores nothing"


def apply_webhooks(answers: dict[Question, Answer], server: Server, target: Target, *, closed: bool) -> None:
    """Add what those of the operators' webhooks would say that the server does not have."""
    absent = webhooks.absent(server, {_pair(each) for each in answers})
    webhooks.apply_offline(answers, absent, target, server, closed=closed)
