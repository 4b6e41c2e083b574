"""Hints for documents that need something which the server does not have: a kind, a namespace or a runtime."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from jobspec.apis.kinds import COMPONENTS, MODELS, TRAINJOB
from jobspec.apis.releases import MODELLED, Target, release_of
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.documents.document import Document
from jobspec.kubernetes.custom_kinds import CRD, defined_by
from jobspec.kubernetes.verdict import verdict
from jobspec.operators.trainer.runtimes import RuntimeReference, is_meant
from jobspec.server.api_server import ApiServer, ServerAnswer
from jobspec.server.questions import Question


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
