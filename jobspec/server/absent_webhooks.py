"""The operators' webhooks that a server does not have: which they are, and their answers, from jobspec's own rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from jobspec.apis.kinds import COMPONENTS, TRAINJOB, WEBHOOK_LOOKUPS
from jobspec.apis.releases import QUEUES, Target, release_of
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Marks
from jobspec.documents.document import Document
from jobspec.operators.kueue.webhook import WITHOUT_WEBHOOK
from jobspec.operators.mutation import as_decoded
from jobspec.operators.trainer.runtimes import API_VERSION, RuntimeReference, is_meant
from jobspec.server.api_server import ApiServer, ServedResource, ServerAnswer
from jobspec.server.questions import Question
from jobspec.world.judged import Judged
from jobspec.world.judging import judge
from jobspec.world.world import Cluster, StoredObjects

#: The ends of the names of each operator's own webhooks. Other programs have webhooks for the same kinds.
_NAMES = {
    "training-operator": ".training-operator.kubeflow.org",
    "trainer": ".trainer.kubeflow.org",
    "jobset": "vjobset.kb.io",
    QUEUES: ".kb.io",
}

_CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


def absent_webhooks(server: ApiServer, kinds: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return the *kinds* whose operator has no webhook on the server, with a sentence for each.

    *kinds*: pairs of API version and kind. If the caller may not list webhooks, all kinds of the operators are returned.
    """
    reviewed = (pair for pair in kinds if COMPONENTS.get(pair) in _NAMES and pair[1] not in WITHOUT_WEBHOOK)
    ours = {pair: resource for pair in reviewed if (resource := server.resource(*pair))}
    if not ours:
        return {}
    reply = server.client.get(_CONFIGURATIONS)
    if not reply.ok:
        return dict.fromkeys(ours, f"not allowed to list the webhooks of {server.client.name} ({reply.status})")
    webhooks = [
        # Kueue's webhook for JobSets has the same name as JobSet's own
        (QUEUES in each["metadata"]["name"], webhook)
        for each in reply.body.get("items") or ()
        for webhook in each.get("webhooks") or ()
    ]

    def has_own(component: str, resource: ServedResource) -> bool:
        own = [webhook for is_kueues, webhook in webhooks if is_kueues == (component == QUEUES)]
        return any(each["name"].endswith(_NAMES[component]) and _covers(each, resource) for each in own)

    return {
        pair: f"{server.client.name} has no webhook of {COMPONENTS[pair]} for {pair[1]}s"
        for pair, resource in ours.items()
        if not has_own(COMPONENTS[pair], resource)
    }


def _covers(webhook: dict[str, Any], resource: ServedResource) -> bool:
    rules = webhook.get("rules") or ()
    return any(resource.group in rule.get("apiGroups", ()) and resource.plural in rule.get("resources", ()) for rule in rules)


def with_absent_webhooks(
    answers: Mapping[Question, ServerAnswer], server: ApiServer, target: Target, *, closed: bool
) -> dict[Question, ServerAnswer]:
    """Add to answers what the operators' webhooks would say that the server does not have.

    Only documents that the server accepts are judged.
    """
    completed = dict(answers)
    kinds = absent_webhooks(server, {each.gvk for each in answers})
    unseen = [question for question in answers if question.gvk in kinds]
    for file in dict.fromkeys(question.document.file for question in unseen):
        context = {each.document: each for each in answers if each.document.file == file and (each.gvk in kinds or _is_looked_up(each))}
        for judged in judge(list(context), _cluster(context.values(), completed, server, target, closed=closed)):
            question = context[judged.document]
            if question.gvk in kinds and completed[question].accepts:
                completed[question] = _with_diagnostics(completed[question], _by_webhooks(question, judged, target, server))
    for gvk, why in kinds.items():
        first = next(question for question in unseen if question.gvk == gvk)
        message = f"{why}; the rules of {COMPONENTS[gvk]} {release_of(COMPONENTS[gvk], target)} were applied beside the server"
        remark = first.document.problem("offline-webhooks", message, ("kind",), severity="info")
        completed[first] = _with_diagnostics(completed[first], [remark])
    return completed


def _with_diagnostics(answer: ServerAnswer, diagnostics: Sequence[Diagnostic]) -> ServerAnswer:
    return replace(answer, diagnostics=[*answer.diagnostics, *diagnostics])


def _by_webhooks(question: Question, judged: Judged, target: Target, server: ApiServer) -> Sequence[Diagnostic]:
    """Return the webhooks' diagnostics.

    If the server's CRD accepts the document, and the target's release does not, return a warning instead.
    """
    if judged.by_server.status != "invalid":
        return judged.by_webhooks
    component = COMPONENTS[question.gvk]
    release = f"{component} {release_of(component, target)}"
    first = next(each for each in judged.by_server.diagnostics if each.severity == "error")
    return [
        Diagnostic(
            "offline-webhooks",
            f"{server.client.name} accepts this and {release} does not: its webhooks' rules were not applied: {first.message}",
            first.mark,
            field=first.field,
            document=first.document,
            severity="warning",
            hint=f"name the release that the server has: --target {component}=RELEASE",
        )
    ]


def _is_looked_up(question: Question) -> bool:
    """Whether a document is of a kind that webhooks look up."""
    return question.document.group_kind in WEBHOOK_LOOKUPS


def _cluster(
    context: Iterable[Question], answers: Mapping[Question, ServerAnswer], server: ApiServer, target: Target, *, closed: bool
) -> Cluster:
    """Return the cluster that the documents of a file meet.

    It has their stored objects, and the objects of other files that they can refer to.
    """
    context = list(context)
    stored = StoredObjects((_live(live, question) for question in context if (live := answers[question].live)), is_live=True)
    others = [each for each in answers if each not in context and _is_looked_up(each) and answers[each].accepts]
    objects = [each.document for each in others]
    for job in context:
        if job.document.group_kind == TRAINJOB:
            objects += _live_runtime(job, [*objects, *(each.document for each in context)], server)
    return Cluster(target, closed=closed, objects=[as_decoded(each, target) for each in objects], stored=stored)


def _live_runtime(job: Question, known: Iterable[Document], server: ApiServer) -> list[Document]:
    """Return the runtime that a job refers to, if only the server has it.

    It must not be among the *known* documents.
    """
    reference = RuntimeReference(job.document.data)
    resource = server.resource(API_VERSION, str(reference.kind))
    if resource is None or not reference.name or any(is_meant(reference, job.document, each) for each in known):
        return []
    reply = server.client.get(f"{resource.collection(server.namespace_of(job))}/{quote(str(reference.name), safe='')}")
    return [_live(reply.body, job)] if reply.ok else []


def _live(body: dict[str, Any], question: Question) -> Document:
    """Return a stored object as a document, with all marks at the question's document.

    Its namespace is written as in that document.
    """
    document = question.document
    data = {**body, "metadata": {**body["metadata"], "namespace": document.namespace}}
    return Document(data, Marks(document.marks.mark), file=document.file, index=document.index)
