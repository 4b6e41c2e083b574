"""Review a document by its operator's webhooks; the rules of a kind are loaded only for documents of that kind."""

from __future__ import annotations

from jobspec import kinds
from jobspec.admission.webhooks import diagnostics
from jobspec.kubernetes.admission.objects import Answer
from jobspec.workloads import Workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.admission.webhooks import Objects
    from jobspec.documents.document import Document
    from jobspec.targets import Target


def review(document: Document, target: Target, objects: Objects, *, old: Document | None = None) -> Answer:
    """The webhooks' answer to a document, as an update of *old* where there is one; an empty answer for kinds without a webhook."""
    document, old = _with_spec(document), old and _with_spec(old)
    if document.group_kind == kinds.TRAINJOB:
        from jobspec.admission.references import answer_to_trainjob

        return answer_to_trainjob(document, target, objects, old=old)
    if document.group_kind == kinds.PYTORCHJOB:
        from jobspec.admission.pytorchjob import WEBHOOK_RULES
    elif document.group_kind in (kinds.TRAINING_RUNTIME, kinds.CLUSTER_TRAINING_RUNTIME):
        from jobspec.admission.runtime import WEBHOOK_RULES
    elif document.group_kind == kinds.JOBSET:
        from jobspec.admission.jobset import WEBHOOK_RULES
    else:
        return Answer([])
    return Answer(diagnostics(WEBHOOK_RULES, Workload(document, old=old), target))


def _with_spec(document: Document) -> Document:
    """The document as Go decodes it: an absent `spec` is an empty one."""
    return document if document.data.get("spec") is not None else document.changed({**document.data, "spec": {}})
