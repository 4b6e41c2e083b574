"""Hints for documents that need something which the server does not have: a kind, a namespace or a runtime."""

from __future__ import annotations

from jobspec.kinds import COMPONENTS, TRAINJOB
from jobspec.kubernetes.custom_kinds import CRD, defined_by
from jobspec.kubernetes.verdict import verdict
from jobspec.operators.trainer.runtimes import RuntimeRef, is_meant
from jobspec.targets import OPERATORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from jobspec.diagnostics import Diagnostic
    from jobspec.documents.document import Document
    from jobspec.server.api_server import Server, ServerAnswer
    from jobspec.server.question import Question
    from jobspec.targets import Target


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
        hinted[question] = answer.with_diagnostics(
            [each if each.hint else each.with_hint(_hint(each, question, documents, server)) for each in found]
        )
    return hinted


def _missing_kind(question: Question, definitions: Iterable[Document], target: Target, server: Server) -> Diagnostic:
    document = question.document
    found = verdict(document, target)
    unknown = found.diagnostics[0] if found.status == "unknown" else None  # it tells a wrong version from a wrong kind
    hint = (
        _where_defined(document, definitions)
        or _how_to_install(question.gvk, target)
        or (unknown.hint if unknown else "")
        or "install the CRD that defines it, or skip the document: --skip-unknown"
    )
    message = f"{server.client.name} has no kind {document.kind} of {document.api_version}"
    return document.problem("missing-kind", message, (unknown.field if unknown else "kind",), hint=hint)


def _where_defined(document: Document, definitions: Iterable[Document]) -> str:
    return next((f"its CRD stands in {_apply_first(each)}" for each in definitions if defined_by(each) == document.group_kind), "")


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
        return _stands_in([each for each in documents if is_meant(RuntimeRef(job.data), job, each)])
    return ""


def _stands_in(found: Sequence[Document]) -> str:
    return f"it stands in {_apply_first(found[0])}" if found else ""


def _apply_first(document: Document) -> str:
    return f"{document.file}: apply that first, since a dry-run stores nothing"
