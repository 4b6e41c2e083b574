"""Ask a server about documents, in the order in which they need each other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext

from jobspec.documents.document import Document
from jobspec.kinds import group_kind
from jobspec.kubernetes.custom_kinds import CRD, defined_by
from jobspec.operators.trainer.runtimes import API_VERSION, RuntimeRef, shipped
from jobspec.server import client, preparation, webhooks
from jobspec.server.preparation import with_hints

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.server.api_server import Server, ServerAnswer
    from jobspec.server.question import Question
    from jobspec.targets import Target

_NAMESPACE = ("v1", "Namespace")
_TRAINJOB = (API_VERSION, "TrainJob")
_CLUSTER_WIDE = "ClusterTrainingRuntime"
_RUNTIMES = ((API_VERSION, "TrainingRuntime"), (API_VERSION, _CLUSTER_WIDE))

#: The kinds that define what others need to be accepted at all.
_FIRST = (CRD, _NAMESPACE)
#: The kinds that admission looks up: the server's own plugins for Pods, and the trainer's webhook for TrainJobs.
_LOOKED_UP = (("v1", "ServiceAccount"), ("scheduling.k8s.io/v1", "PriorityClass"), ("node.k8s.io/v1", "RuntimeClass"), *_RUNTIMES)


def ask(
    questions: Sequence[Question], server: Server, target: Target, *, owned: bool, done: Callable[[], None], crds: Sequence[Document] = ()
) -> dict[Question, ServerAnswer]:
    """The server's answer to each question; *done* is called after each.

    A server that jobspec owns is prepared: the user's *crds*, and accepted documents that others need, are stored on it.
    Nothing is stored on any other server.
    """

    def answers_to(some: Sequence[Question]) -> dict[Question, ServerAnswer]:
        return dict(zip(some, client.each(some, server.ask, done=done), strict=True))

    answers = answers_to([each for each in questions if each.gvk in _FIRST])
    if owned:
        _prepare(questions, answers, server, target, crds)
    looked_up = answers_to([each for each in questions if each.gvk in _LOOKED_UP])
    rest = [each for each in questions if each.gvk not in (*_FIRST, *_LOOKED_UP)]
    with _stored_meanwhile(looked_up, rest, server, target) if owned else nullcontext():
        answers |= looked_up | answers_to(rest)
    return with_hints(answers, server, target, crds)


def _prepare(
    questions: Sequence[Question], answers: dict[Question, ServerAnswer], server: Server, target: Target, crds: Sequence[Document]
) -> None:
    """Store CRDs and namespaces: the user's, the accepted ones among the documents, and the target's for all other kinds."""
    accepted = [question for question, answer in answers.items() if answer.accepts]
    definitions = [*crds, *(question.document for question in accepted if question.gvk == CRD)]
    preparation.install(server, [each.data for each in definitions])
    for question in accepted:
        if question.gvk == _NAMESPACE:
            preparation.store_document(server, question)
    defined = [defined_by(each) for each in definitions]
    preparation.install_kinds(server, {each.gvk for each in questions if group_kind(*each.gvk) not in defined}, target)
    preparation.make_namespaces(server, {server.namespace_of(each) for each in questions})


@contextmanager
def _stored_meanwhile(looked_up: dict[Question, ServerAnswer], rest: Sequence[Question], server: Server, target: Target) -> Iterator[None]:
    """Store accepted documents that admission looks up, and the shipped runtimes that jobs refer to; remove them at the end."""
    runtimes = _wanted_runtimes(rest, server)
    temporary: list[str] = []
    try:
        for question, answer in looked_up.items() if rest else ():
            name = (question.document.kind, question.document.name)
            if answer.accepts and (question.gvk not in _RUNTIMES or name in runtimes):
                path = preparation.store_document(server, question)
                temporary += [] if answer.live else [path]
                runtimes.discard(name)
        temporary += _store_shipped([name for kind, name in runtimes if kind == _CLUSTER_WIDE], server, target)
        yield
    finally:
        preparation.remove(server, temporary)


def _wanted_runtimes(questions: Iterable[Question], server: Server) -> set[tuple[str, str]]:
    """Kind and name of the runtimes that the server's webhooks will look up for TrainJobs."""
    references = [RuntimeRef(each.document.data) for each in questions if each.gvk == _TRAINJOB]
    if not references or webhooks.absent(server, [_TRAINJOB]):
        return set()
    return {(each.kind, each.name) for each in references}


def _store_shipped(names: Sequence[str], server: Server, target: Target) -> list[str]:
    """Store those of the runtimes that the trainer ships and the server does not have, and return their paths."""
    stored = []
    for name in shipped(target).keys() & set(names):
        if server.resource(API_VERSION, _CLUSTER_WIDE) is None:
            preparation.install_kinds(server, [(API_VERSION, _CLUSTER_WIDE)], target)
        path = f"/apis/{API_VERSION}/clustertrainingruntimes/{name}"
        if server.client.get(path).status == 404:
            preparation.store(server, path, json.dumps(shipped(target)[name]))
            stored.append(path)
    return stored
