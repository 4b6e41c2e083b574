"""Ask a server about documents in the order of their dependencies, and complete its answers.

A server that jobspec owns gets what documents need: CRDs, namespaces, runtimes. Answers get hints, and those of webhooks that are missing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext

from jobspec.apis.kinds import group_kind
from jobspec.apis.releases import Target
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.documents.document import Document
from jobspec.kubernetes.custom_kinds import CRD, defined_by
from jobspec.operators.trainer.runtimes import API_VERSION, RuntimeReference, shipped
from jobspec.server.absent_webhooks import absent_webhooks
from jobspec.server.api_server import ApiServer, ServerAnswer
from jobspec.server.client import in_threads
from jobspec.server.hints import with_hints
from jobspec.server.preparation import install, install_kinds, make_namespaces, remove, store, store_document
from jobspec.server.questions import PodQuestion, Question

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
