"""The plugins' answer to a document: the problems of its pod, claim or labels as diagnostics, and the objects that were looked up."""

from __future__ import annotations

from jobspec import kinds
from jobspec.admission.plugins.values import sequence
from jobspec.admission.webhooks import Answer
from jobspec.validation.reading import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from jobspec.admission.plugins.objects import PolicyObjects
    from jobspec.admission.webhooks import Name
    from jobspec.diagnostics import Diagnostic, Severity
    from jobspec.documents.document import Document
    from jobspec.targets import Target
    from jobspec.validation.problem import Problem

    Data = dict[str, Any]


def answer(document: Document, target: Target, policies: PolicyObjects, *, old: Document | None = None) -> Answer:
    """The plugins' answer to an accepted document, as an update of *old* where there is one."""
    if document.group_kind == kinds.POD:
        return _to_pod(document, target, policies, old)
    if document.group_kind == kinds.PERSISTENT_VOLUME_CLAIM:
        return _to_claim(document, policies, old)
    if document.group_kind == kinds.NAMESPACE:
        return Answer(list(_of_labels(document, old)))
    from jobspec.admission.plugins.review import template_warnings

    found = template_warnings(document.data, kinds.POD_TEMPLATES[document.group_kind], document.namespace, policies)
    return Answer(_diagnostics(document, found, "warning"))


def _to_pod(document: Document, target: Target, policies: PolicyObjects, old: Document | None) -> Answer:
    from jobspec.admission.plugins.review import review_pod

    review = review_pod(document.data, document.namespace, policies, target)
    refusals = review.refusals if old is None else _of_update(document.data, old.data, review.refusals)
    warnings = [*review.warnings, *review.waits] if old is None else []
    wanted = _looked_up(document.data, document.namespace, is_closed=policies.closed)
    return Answer([*_diagnostics(document, refusals, "error"), *_diagnostics(document, warnings, "warning")], list(wanted))


def _of_update(pod: Data, old: Data, refusals: Iterable[Problem]) -> list[Problem]:
    """The refusals that the server repeats on an update: those of Pod Security, where an image changes, which is all that can."""

    def images(data: Data) -> list[Any]:
        spec = mapping(data, "spec")
        return [each.get("image") for field in ("initContainers", "containers") for each in sequence(spec, field)]

    return [each for each in refusals if each.rule == "pod-security"] if images(pod) != images(old) else []


def _looked_up(pod: Data, namespace: str, *, is_closed: bool) -> Iterator[Name]:
    """The objects that the plugins look up for a pod, besides what decides on its namespace; an empty name stands for all of a kind."""
    from jobspec.admission.plugins.references import references
    from jobspec.admission.plugins.service_account import account_of

    spec = mapping(pod, "spec")
    yield kinds.PRIORITY_CLASS, "", ""
    yield kinds.SERVICE_ACCOUNT, namespace, account_of(spec)
    if spec.get("runtimeClassName"):
        yield kinds.RUNTIME_CLASS, "", spec["runtimeClassName"]
    if is_closed:
        yield from ((each.kind, namespace, each.name) for each in references(spec))


def _to_claim(document: Document, policies: PolicyObjects, old: Document | None) -> Answer:
    from jobspec.admission.plugins.review import claim_problems

    found = claim_problems(document.data, document.namespace, policies, is_new=old is None)
    return Answer(_diagnostics(document, found, "error"))


def _of_labels(document: Document, old: Document | None) -> Iterator[Diagnostic]:
    """The problems of a namespace's labels, but for those that it has already."""
    from jobspec.admission.plugins.pod_security.levels import label_problems

    before = {(each.path, each.message) for each in label_problems(mapping(old.data, "metadata", "labels"))} if old else set()
    found = list(label_problems(mapping(document.data, "metadata", "labels")))
    if {(each.path, each.message) for each in found} != before:
        yield from _diagnostics(document, found, "error")


def _diagnostics(document: Document, problems: Iterable[Problem], severity: Severity) -> list[Diagnostic]:
    return [document.problem(each.rule, each.message, each.path, hint=each.hint, severity=severity) for each in problems]
