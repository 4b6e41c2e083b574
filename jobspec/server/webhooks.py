"""The operators' webhooks that a server does not have: which they are, and their answers, from jobspec's own rules."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from jobspec.cluster import Cluster, Judged, StoredObjects, judge
from jobspec.diagnostics import Diagnostic, Marks
from jobspec.documents.document import Document
from jobspec.kinds import COMPONENTS, TRAINJOB, WEBHOOK_LOOKUPS
from jobspec.operators.trainer.runtimes import API_VERSION, RuntimeReference, is_meant
from jobspec.operators.webhooks import as_decoded
from jobspec.server.api_server import Resource, Server, ServerAnswer
from jobspec.server.question import Question
from jobspec.targets import OPERATORS, Target

#: The ends of the names of each operator's own webhooks. Other programs have webhooks for the same kinds.
_NAMES = {"training-operator": ".training-operator.kubeflow.org", "trainer": ".trainer.kubeflow.org", "jobset": "vjobset.kb.io"}
_NAMESAKE = "kueue"  # its webhook for JobSets has the same name

_CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


def absent(server: Server, kinds: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Those of *kinds*, pairs of API version and kind, whose operator has no webhook on the server, each with a sentence that says so.

    Where the caller may not list webhooks, these are all kinds of the operators.
    """
    ours = {pair: resource for pair in kinds if COMPONENTS.get(pair) in OPERATORS and (resource := server.resource(*pair))}
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
        pair: f"{server.client.name} has no webhook of {COMPONENTS[pair]} for {pair[1]}s"
        for pair, resource in ours.items()
        if not any(webhook["name"].endswith(_NAMES[COMPONENTS[pair]]) and _covers(webhook, resource) for webhook in webhooks)
    }


def _covers(webhook: dict[str, Any], resource: Resource) -> bool:
    rules = webhook.get("rules") or ()
    return any(resource.group in rule.get("apiGroups", ()) and resource.plural in rule.get("resources", ()) for rule in rules)


def with_absent_webhooks(
    answers: Mapping[Question, ServerAnswer], server: Server, target: Target, *, closed: bool
) -> dict[Question, ServerAnswer]:
    """The answers, with those of the operators' webhooks that the server does not have, to documents that it accepts."""
    completed = dict(answers)
    kinds = absent(server, {each.gvk for each in answers})
    unseen = [question for question in answers if question.gvk in kinds]
    for file in dict.fromkeys(question.document.file for question in unseen):
        context = {each.document: each for each in answers if each.document.file == file and _matters(each, kinds)}
        for judged in judge(list(context), _cluster(context.values(), completed, server, target, closed=closed)):
            question = context[judged.document]
            if question.gvk in kinds and completed[question].accepts:
                completed[question] = _and(completed[question], _by_webhooks(question, judged, target, server))
    for gvk, why in kinds.items():
        first = next(question for question in unseen if question.gvk == gvk)
        message = f"{why}; the rules of {COMPONENTS[gvk]} {target[COMPONENTS[gvk]]} were applied beside the server"
        remark = first.document.problem("offline-webhooks", message, ("kind",), severity="info")
        completed[first] = _and(completed[first], [remark])
    return completed


def _and(answer: ServerAnswer, diagnostics: Sequence[Diagnostic]) -> ServerAnswer:
    return replace(answer, diagnostics=[*answer.diagnostics, *diagnostics])


def _by_webhooks(question: Question, judged: Judged, target: Target, server: Server) -> Sequence[Diagnostic]:
    """The webhooks' diagnostics; a warning instead where the server's CRD takes the document and the target's release does not."""
    if judged.by_server.status != "invalid":
        return judged.by_webhooks
    component = COMPONENTS[question.gvk]
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


def _matters(question: Question, kinds: Container[tuple[str, str]]) -> bool:
    """Whether a document is of one of *kinds*, or of a kind that webhooks look up."""
    return question.gvk in kinds or question.document.group_kind in WEBHOOK_LOOKUPS


def _cluster(
    context: Iterable[Question], answers: Mapping[Question, ServerAnswer], server: Server, target: Target, *, closed: bool
) -> Cluster:
    """The cluster that the documents of a file meet: their stored objects, and the objects of other files that they can refer to."""
    context = list(context)
    stored = StoredObjects(_live(live, question) for question in context if (live := answers[question].live))
    others = [each for each in answers if each not in context and each.document.group_kind in WEBHOOK_LOOKUPS and answers[each].accepts]
    objects = [each.document for each in others]
    for job in context:
        if job.document.group_kind == TRAINJOB:
            objects += _live_runtime(job, [*objects, *(each.document for each in context)], server)
    return Cluster(target, closed=closed, objects=[as_decoded(each, target) for each in objects], stored=stored)


def _live_runtime(job: Question, known: Iterable[Document], server: Server) -> list[Document]:
    """The runtime that a job refers to, where the server has it and it is none of the *known* documents."""
    reference = RuntimeReference(job.document.data)
    resource = server.resource(API_VERSION, str(reference.kind))
    if resource is None or not reference.name or any(is_meant(reference, job.document, each) for each in known):
        return []
    reply = server.client.get(f"{resource.collection(server.namespace_of(job))}/{quote(str(reference.name), safe='')}")
    return [_live(reply.body, job)] if reply.ok else []


def _live(body: dict[str, Any], question: Question) -> Document:
    """A stored object as a document: in the namespace as the question's document has it, with all marks at that document."""
    document = question.document
    data = {**body, "metadata": {**body["metadata"], "namespace": document.namespace}}
    return Document(data, Marks(document.marks.mark), file=document.file, index=document.index)
