"""Which of the operators' webhooks a server has, and what those say that it does not have."""

from __future__ import annotations

from urllib.parse import quote

from jobspec.documents.document import Document, Marks
from jobspec.documents.stored import Stored
from jobspec.judge import World, judge
from jobspec.runtimes.runtime import API_VERSION, Reference, is_meant
from jobspec.targets import KINDS, OPERATORS
from jobspec.workloads import TRAINJOB

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from jobspec.cluster.question import Question
    from jobspec.cluster.server import Answer, Resource, Server
    from jobspec.diagnostics import Diagnostic
    from jobspec.targets import Target

#: The kinds of objects that webhooks look for on behalf of others.
OFFERED = ("TrainingRuntime", "ClusterTrainingRuntime", "PriorityClass")

_CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


def absent(server: Server, kinds: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Those of the operators' *kinds*, given as API version and kind, that no webhook of the server looks at.

    Where the caller may not list webhooks, that is all of them.
    """
    ours = {pair: server.resource(*pair) for pair in kinds if KINDS.get(pair) in OPERATORS}
    if not ours:
        return set()
    reply = server.client.get(_CONFIGURATIONS)
    configurations = reply.body.get("items") or [] if reply.ok else []
    rules = [rule for each in configurations for webhook in each.get("webhooks") or () for rule in webhook.get("rules") or ()]
    return {pair for pair, resource in ours.items() if resource and not any(_covers(rule, resource) for rule in rules)}


def _covers(rule: dict[str, Any], resource: Resource) -> bool:
    groups, resources = rule.get("apiGroups") or (), rule.get("resources") or ()
    return bool({resource.group, "*"} & set(groups) and {resource.plural, "*", "*/*"} & set(resources))


def apply_offline(answers: Mapping[Question, Answer], kinds: set[tuple[str, str]], target: Target, server: Server, *, closed: bool) -> None:
    """Add what the operators' webhooks would say to documents of *kinds* that the server accepts, and that they were not asked."""
    mine = [question for question in answers if _pair(question) in kinds]
    for file in dict.fromkeys(question.document.file for question in mine):
        seen = {question.document: question for question in answers if question.document.file == file and _is_seen(question, kinds)}
        for judged in judge(list(seen), target, _world(seen.values(), answers, server, closed=closed)):
            question = seen[judged.document]
            if _pair(question) in kinds and answers[question].accepts:
                answers[question].diagnostics += judged.diagnostics
    for pair in kinds:
        first = next(question for question in mine if _pair(question) == pair)
        answers[first].diagnostics.append(_remark(first, target, server))


def _pair(question: Question) -> tuple[str, str]:
    return question.document.api_version, question.document.kind


def _is_seen(question: Question, kinds: set[tuple[str, str]]) -> bool:
    return _pair(question) in kinds or question.document.kind in OFFERED


def _world(seen: Iterable[Question], answers: Mapping[Question, Answer], server: Server, *, closed: bool) -> World:
    """What the documents of a file are judged in: the objects that they are updates of, and those that they can refer to."""
    seen = list(seen)
    stored = Stored(_live(live, question) for question in seen if (live := answers[question].live))
    others = [each for each in answers if each not in seen and each.document.kind in OFFERED and answers[each].accepts]
    given = [each.document for each in others]
    for job in seen:
        if _pair(job) == TRAINJOB:
            given += _live_runtime(job, [*given, *(each.document for each in seen)], server)
    return World(closed=closed, given=given, stored=stored)


def _live_runtime(job: Question, known: Iterable[Document], server: Server) -> list[Document]:
    """The runtime that a job refers to, where the server has it and none of the set is it."""
    reference = Reference(job.document.data)
    resource = server.resource(API_VERSION, str(reference.kind))
    if resource is None or not reference.name or any(is_meant(reference, job.document, each) for each in known):
        return []
    reply = server.client.get(f"{resource.collection(server.namespace_of(job))}/{quote(str(reference.name), safe='')}")
    return [_live(reply.body, job)] if reply.ok else []


def _live(body: dict[str, Any], question: Question) -> Document:
    """An object of the server, in the namespace that the document says or leaves out, with all places at the document."""
    document = question.document
    data = {**body, "metadata": {**body["metadata"], "namespace": document.namespace}}
    return Document(data, Marks(document.marks.mark), file=document.file, index=document.index)


def _remark(question: Question, target: Target, server: Server) -> Diagnostic:
    document = question.document
    component = KINDS[_pair(question)]
    message = (
        f"no webhook of {server.client.name} looks at {document.kind}s; "
        f"the rules of {component} {target[component]} were applied beside the server"
    )
    return document.problem("offline-webhooks", message, ("kind",), severity="info")
