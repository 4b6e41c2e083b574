"""Ask a server about the documents of a set, in the order in which they need each other."""

from __future__ import annotations

import json

from jobspec.cluster import pool, preparation, webhooks
from jobspec.runtimes.runtime import API_VERSION, Reference, shipped
from jobspec.targets import KINDS, OPERATORS
from jobspec.validation.verdict import verdict
from jobspec.workloads import TRAINJOB

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobspec.cluster.question import Question
    from jobspec.cluster.server import Answer, Server
    from jobspec.diagnostics import Diagnostic
    from jobspec.targets import Target

_CRD = "CustomResourceDefinition"
_GIVE_CRD = "install the CRD that defines it, or pass the document by: --skip-unknown"
_CLUSTER_WIDE = "ClusterTrainingRuntime"
_RUNTIMES = ("TrainingRuntime", _CLUSTER_WIDE)


def ask(questions: Sequence[Question], server: Server, target: Target, *, owned: bool, done: Callable[[], None]) -> dict[Question, Answer]:
    """The server's answer to each question; *done* is called after each.

    A server that is *owned* is made ready: what others need is stored in it once it is accepted. Nothing is stored in any other.
    """
    answers: dict[Question, Answer] = {}

    def ask_these(some: Sequence[Question]) -> None:
        answers.update(zip(some, pool.each(some, server.ask, done=done), strict=True))

    needed = [each for each in questions if each.document.kind in (_CRD, "Namespace")]
    jobs = [each for each in questions if _pair(each) == TRAINJOB]
    ask_these(needed)
    if owned:
        _prepare(questions, answers, server, target)
    ask_these([each for each in questions if each not in needed and each not in jobs])
    passing = _store_runtimes(jobs, answers, server, target) if owned and not webhooks.absent(server, {TRAINJOB}) else []
    try:
        ask_these(jobs)
    finally:
        preparation.remove(server, passing)
    for question, answer in answers.items():
        if answer.kind_is_missing:
            answer.diagnostics.append(_missing_kind(question, answers, target, server))
        for diagnostic in answer.diagnostics:
            if diagnostic.rule == "missing-namespace":
                diagnostic.hint = _how_to_get_namespace(server.namespace_of(question), answers)
    return answers


def _pair(question: Question) -> tuple[str, str]:
    return question.document.api_version, question.document.kind


def _prepare(questions: Sequence[Question], answers: dict[Question, Answer], server: Server, target: Target) -> None:
    """Store CRDs and namespaces: those of the set, those of the target, and those that documents name."""
    for question, answer in answers.items():
        if answer.accepts:
            preparation.store_document(server, question)
            if question.document.kind == _CRD:
                preparation.wait_for(server, preparation.defined(answer.merged))
    preparation.install_kinds(server, {_pair(each) for each in questions}, target)
    preparation.make_namespaces(server, {server.namespace_of(each) for each in questions})


def _store_runtimes(jobs: Sequence[Question], answers: dict[Question, Answer], server: Server, target: Target) -> list[str]:
    """Store the runtimes that jobs refer to, of the set or as the trainer ships them; those that were not there are given back.

    It is the trainer's webhook that looks for them.
    """
    passing = []
    wanted = {(reference.kind, reference.name) for reference in (Reference(each.document.data) for each in jobs)}
    for question, answer in list(answers.items()):
        document = question.document
        if answer.accepts and document.kind in _RUNTIMES and (document.kind, document.name) in wanted:
            place = preparation.store_document(server, question)
            passing += [] if answer.live else [place]
            wanted.discard((document.kind, document.name))
    return passing + _store_shipped([name for kind, name in wanted if kind == _CLUSTER_WIDE], server, target)


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


def _missing_kind(question: Question, answers: dict[Question, Answer], target: Target, server: Server) -> Diagnostic:
    document = question.document
    message = f"{server.client.name} has no kind {document.kind} of {document.api_version}"
    _, said = verdict(document, target)
    unknown = next((each for each in said if each.rule == "unknown-kind"), None)  # which tells a wrong version from a wrong kind
    found = document.problem("missing-kind", message, (unknown.field if unknown else "kind",))
    found.hint = _how_to_get_kind(_pair(question), answers, target) or (unknown.hint if unknown else "") or _GIVE_CRD
    return found


def _how_to_get_kind(pair: tuple[str, str], answers: dict[Question, Answer], target: Target) -> str:
    for other in answers:
        if other.document.kind == _CRD and _defines(other, pair):
            return f"its CRD stands in {other.document.file}: apply that first, since a dry-run stores nothing"
    component = KINDS.get(pair, "")
    if component not in OPERATORS:
        return ""
    command = f"jobspec schema crd {pair[1]} --target {component}={target[component]} | kubectl apply --server-side -f -"
    return f"install {component}, or its CRD alone: {command}"


def _defines(crd: Question, pair: tuple[str, str]) -> bool:
    defined = (crd.value(("spec", "group")), crd.value(("spec", "names", "kind")))
    return defined == (pair[0].rpartition("/")[0], pair[1])


def _how_to_get_namespace(name: str, answers: dict[Question, Answer]) -> str:
    for other in answers:
        if other.document.kind == "Namespace" and other.document.name == name:
            return f"it stands in {other.document.file}: apply that first, since a dry-run stores nothing"
    return f"make it first: kubectl create namespace {name}"


def apply_webhooks(answers: dict[Question, Answer], server: Server, target: Target, *, closed: bool) -> None:
    """Add what those of the operators' webhooks would say that the server does not have."""
    absent = webhooks.absent(server, {_pair(each) for each in answers})
    webhooks.apply_offline(answers, absent, target, server, closed=closed)
