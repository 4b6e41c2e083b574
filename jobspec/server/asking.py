"""Ask a server about documents in the order of their dependencies, and complete its answers.

A server that jobspec owns gets what documents need: CRDs, namespaces, runtimes. Answers get hints, and those of webhooks that are missing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from jobspec.apis.kinds import COMPONENTS, MODELS, TRAINJOB, WEBHOOK_LOOKUPS, group_kind
from jobspec.apis.releases import MODELLED, QUEUES, Target, release_of
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import Marks
from jobspec.documents.document import Document
from jobspec.kubernetes.custom_kinds import CRD, defined_by
from jobspec.kubernetes.verdict import verdict
from jobspec.operators.kueue.webhook import WITHOUT_WEBHOOK
from jobspec.operators.mutation import as_decoded
from jobspec.operators.trainer.runtimes import API_VERSION, RuntimeReference, is_meant, shipped
from jobspec.server.api_server import ApiServer, ServedResource, ServerAnswer
from jobspec.server.client import APPLY, MANAGER, Client, in_threads
from jobspec.server.questions import PodQuestion, Question
from jobspec.world.judged import Judged
from jobspec.world.judging import judge
from jobspec.world.world import Cluster, StoredObjects

_NAMESPACE = ("v1", "Namespace")
_TRAINJOB = (API_VERSION, "TrainJob")
_CLUSTER_WIDE = "ClusterTrainingRuntime"
_RUNTIMES = ((API_VERSION, "TrainingRuntime"), (API_VERSION, _CLUSTER_WIDE))
#: The kinds that define what others need to be accepted at all.
_FIRST = (CRD, _NAMESPACE)
#: The kinds that admission looks up: the server's own plugins for Pods, and the trainer's webhook for TrainJobs.
_REFERENCED_BY_PODS = (("v1", "ServiceAccount"), ("scheduling.k8s.io/v1", "PriorityClass"), ("node.k8s.io/v1", "RuntimeClass"), *_RUNTIMES)


def ask(
    questions: Sequence[Question],
    server: ApiServer,
    target: Target,
    *,
    owned: bool,
    done: Callable[[], None],
    crds: Sequence[Document] = (),
) -> dict[Question, ServerAnswer]:
    """Ask the server each question. *done* is called after each.

    A server that jobspec owns is prepared: the user's *crds*, and accepted documents that others need, are stored on it. Nothing is
    stored on any other server.
    """

    def ask_all(some: Sequence[Question]) -> dict[Question, ServerAnswer]:
        return dict(zip(some, in_threads(some, server.ask, done=done), strict=True))

    answers = ask_all([each for each in questions if each.gvk in _FIRST])
    if owned:
        _prepare(questions, answers, server, target, crds)
    looked_up = ask_all([each for each in questions if each.gvk in _REFERENCED_BY_PODS])
    rest = [each for each in questions if each.gvk not in (*_FIRST, *_REFERENCED_BY_PODS)]
    with _stored_meanwhile(looked_up, rest, server, target) if owned else nullcontext():
        answers |= looked_up | ask_all(rest)
    return with_hints(answers, server, target, crds)


def _prepare(
    questions: Sequence[Question], answers: dict[Question, ServerAnswer], server: ApiServer, target: Target, crds: Sequence[Document]
) -> None:
    """Store CRDs and namespaces on a server that jobspec owns.

    These are the user's, the accepted ones among the documents, and the target's for all other kinds.
    """
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
def _stored_meanwhile(
    looked_up: dict[Question, ServerAnswer], rest: Sequence[Question], server: ApiServer, target: Target
) -> Iterator[None]:
    """Store accepted documents that admission looks up, and the shipped runtimes of jobs.

    They are removed at the end.
    """
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


def _wanted_runtimes(questions: Iterable[Question], server: ApiServer) -> set[tuple[str, str]]:
    """Kind and name of the runtimes that the server's webhooks will look up for TrainJobs."""
    references = [RuntimeReference(each.document.data) for each in questions if each.gvk == _TRAINJOB]
    if not references or absent_webhooks(server, [_TRAINJOB]):
        return set()
    return {(each.kind, each.name) for each in references}


def _store_shipped(names: Sequence[str], server: ApiServer, target: Target) -> list[str]:
    """Store the runtimes that the trainer ships and the server lacks, and return their paths."""
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


# Hints for documents that need something which the server does not have: a kind, a namespace or a runtime.
def with_hints(
    answers: Mapping[Question, ServerAnswer], server: ApiServer, target: Target, crds: Sequence[Document]
) -> dict[Question, ServerAnswer]:
    """Add a diagnostic for each missing kind, and hints at what the server lacks, to answers.

    Hints name the documents and *crds* that the server does not have.
    """
    documents = [question.document for question in answers]
    definitions = [*crds, *(question.document for question in answers if question.gvk == CRD)]
    hinted = {}
    for question, answer in answers.items():
        missing = [_missing_kind(question, definitions, target, server)] if answer.kind_is_missing else []
        found = [*answer.diagnostics, *missing]
        said = [each if each.hint else each.with_hint(_hint(each, question, documents, server)) for each in found]
        hinted[question] = replace(answer, diagnostics=said)
    return hinted


def _missing_kind(question: Question, definitions: Iterable[Document], target: Target, server: ApiServer) -> Diagnostic:
    document = question.document
    found = verdict(document, target)
    unknown = found.diagnostics[0] if found.status == "unknown" else None  # its rule distinguishes a wrong version from a wrong kind
    hint = (
        next((f"its CRD is in {_apply_first(each)}" for each in definitions if defined_by(each) == document.group_kind), "")
        or _how_to_install(question.gvk, target)
        or (unknown.hint if unknown else "")
        or "install the CRD that defines it, or skip the document: --skip-unknown"
    )
    message = f"{server.client.name} has no kind {document.kind} of {document.api_version}"
    return document.problem("missing-kind", message, (unknown.field if unknown else "kind",), hint=hint)


def _how_to_install(gvk: tuple[str, str], target: Target) -> str:
    if MODELS.get(gvk) not in MODELLED:
        return ""
    component = COMPONENTS[gvk]
    command = f"jobspec schema crd {gvk[1]} --target {component}={release_of(component, target)} | kubectl apply --server-side -f -"
    return f"install {component}, or its CRD alone: {command}"


def _hint(diagnostic: Diagnostic, question: Question, documents: Iterable[Document], server: ApiServer) -> str:
    """Return how to get the missing namespace or runtime that a diagnostic reports.

    For all other diagnostics, return an empty string.
    """
    if diagnostic.rule == "missing-namespace":
        name = server.namespace_of(question)
        found = [each for each in documents if (each.group_kind, each.name) == (("", "Namespace"), name)]
        return _in_which_file(found) or f"create it first: kubectl create namespace {name}"
    job = question.document
    if diagnostic.rule == "refused-by-webhook" and diagnostic.field.lower() == "spec.runtimeref" and job.group_kind == TRAINJOB:
        return _in_which_file([each for each in documents if is_meant(RuntimeReference(job.data), job, each)])
    return ""


def _in_which_file(found: Sequence[Document]) -> str:
    return f"it is in {_apply_first(found[0])}" if found else ""


def _apply_first(document: Document) -> str:
    return f"{document.file}: apply that first: a dry-run stores nothing"


# The operators' webhooks that a server does not have: which they are, and their answers, from jobspec's own rules.


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


# Answers about the pods of jobs.


def problems_of_pods(pods: Sequence[PodQuestion], answers: Mapping[Question, ServerAnswer]) -> dict[str, list[Diagnostic]]:
    """Return the diagnostics about the pods of jobs, by file, at the lines that cause them.

    If several roles have a diagnostic at one line, it counts once.
    """
    by_file: dict[str, dict[tuple[str, str], Diagnostic]] = {}
    for each in pods:
        for found in answers[each.question].diagnostics:
            diagnostic = _of_role(found, each)
            by_file.setdefault(each.job.file, {}).setdefault((diagnostic.rule, str(diagnostic.mark)), diagnostic)
    return {file: list(found.values()) for file, found in by_file.items()}


def _of_role(found: Diagnostic, pod: PodQuestion) -> Diagnostic:
    """Return the diagnostic of a pod as one of its job.

    If it is about a value that the operator set, it is at the job's name.
    """
    place = found.mark if found.mark.line else pod.job.marks.nearest(("metadata", "name")).place()
    refuses = found.severity == "error"
    message = f"the server {'refuses' if refuses else 'warns of'} the job's pods: {found.message}"
    rule = "pods-refused" if refuses else found.rule
    return Diagnostic(rule, message, place, field=found.field, document=pod.job.index, severity=found.severity, hint=found.hint)
