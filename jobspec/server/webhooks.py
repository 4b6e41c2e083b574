"""Which of the operators' webhooks a server has, and what those say that it does not have."""

from __future__ import annotations

from urllib.parse import quote

from jobspec.cluster import Cluster, StoredObjects
from jobspec.diagnostics import Diagnostic
from jobspec.documents.document import Document, Marks
from jobspec.judge import judge
from jobspec.kinds import LOOKED_UP, TRAINJOB
from jobspec.runtimes.runtime import API_VERSION, Reference, is_meant
from jobspec.targets import KINDS, OPERATORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping
    from typing import Any

    from jobspec.judge import Judged
    from jobspec.server.api_server import Answer, Resource, Server
    from jobspec.server.question import Question
    from jobspec.targets import Target

#: What the names of an operator's own webhooks end in. Those of others look at the same kinds, for reasons of their own.
_NAMES = {"training-operator": ".training-operator.kubeflow.org", "trainer": ".trainer.kubeflow.org", "jobset": "vjobset.kb.io"}
_NAMESAKE = "kueue"  # whose webhook for JobSets has the same name

_CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


def absent(server: Server, kinds: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Those of the operators' *kinds*, given as API version and kind, that no webhook of their operator looks at, each with a remark.

    Where the caller may not list webhooks, that is all of them.
    """
    ours = {pair: resource for pair in kinds if KINDS.get(pair) in OPERATORS and (resource := server.resource(*pair))}
    if not ours:
        return {}
    reply = server.client.get(_CONFIGURATIONS)
    if not reply.ok:
        return dict.fromkeys(ours, f"you may not list the webhooks of {server.client.name} ({reply.status})")
    webhooks = [
        webhook
        for each in reply.body.get("items") or ()
        if _NAMESAKE not in each["metadata"]["name"]
        for webhook in each.get("webhooks") or ()
    ]
    return {
        pair: f"{server.client.name} has no webhook of {KINDS[pair]} for {pair[1]}s"
        for pair, resource in ours.items()
        if not any(webhook["name"].endswith(_NAMES[KINDS[pair]]) and _covers(webhook, resource) for webhook in webhooks)
    }


def _covers(webhook: dict[str, Any], resource: Resource) -> bool:
    rules = webhook.get("rules") or ()
    return any(resource.group in rule.get("apiGroups", ()) and resource.plural in rule.get("resources", ()) for rule in rules)


def apply_offline(
    answers: Mapping[Question, Answer], kinds: Mapping[tuple[str, str], str], target: Target, server: Server, *, closed: bool
) -> None:
    """Add what the operators' webhooks would say to documents of *kinds* that the server accepts, and that they were not asked."""
    mine = [question for question in answers if _pair(question) in kinds]
    for file in dict.fromkeys(question.document.file for question in mine):
        seen = {question.document: question for question in answers if question.document.file == file and _is_seen(question, kinds)}
        for judged in judge(list(seen), _cluster(seen.values(), answers, server, target, closed=closed)):
            question = seen[judged.document]
            if _pair(question) in kinds and answers[question].accepts:
                answers[question].diagnostics += _by_webhooks(question, judged, target, server)
    for pair, why in kinds.items():
        first = next(question for question in mine if _pair(question) == pair)
        message = f"{why}; the rules of {KINDS[pair]} {target[KINDS[pair]]} were applied beside the server"
        answers[first].diagnostics.append(first.document.problem("offline-webhooks", message, ("kind",), severity="info"))


def _by_webhooks(question: Question, judged: Judged, target: Target, server: Server) -> list[Diagnostic]:
    """What the webhooks say; they know the types of their own release, and cannot be asked about what only the server's CRD takes."""
    if judged.by_server.status != "invalid":
        return list(judged.by_webhooks)
    component = KINDS[_pair(question)]
    release = f"{component} {target[component]}"
    first = next(each for each in judged.by_server.diagnostics if each.severity == "error")
    return [
        Diagnostic(
            "offline-webhooks",
            f"{server.client.name} takes this and {release} does not, so the rules of its webhooks were not applied: {first.message}",
            first.mark,
            field=first.field,
            document=first.document,
            severity="warning",
            hint=f"name the release that the server has: --target {component}=RELEASE",
        )
    ]


def _pair(question: Question) -> tuple[str, str]:
    return question.document.api_version, question.document.kind


def _is_seen(question: Question, kinds: Container[tuple[str, str]]) -> bool:
    return _pair(question) in kinds or question.document.group_kind in LOOKED_UP


def _cluster(seen: Iterable[Question], answers: Mapping[Question, Answer], server: Server, target: Target, *, closed: bool) -> Cluster:
    """What the documents of a file are judged in: the objects that they are updates of, and those that they can refer to."""
    seen = list(seen)
    stored = StoredObjects(_live(live, question) for question in seen if (live := answers[question].live))
    others = [each for each in answers if each not in seen and each.document.group_kind in LOOKED_UP and answers[each].accepts]
    given = [each.document for each in others]
    for job in seen:
        if job.document.group_kind == TRAINJOB:
            given += _live_runtime(job, [*given, *(each.document for each in seen)], server)
    return Cluster(target, closed=closed, objects=given, stored=stored)


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
