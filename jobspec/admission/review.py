"""What the operators' webhooks answer to a document; the rules of a kind are loaded only for documents of that kind."""

from __future__ import annotations

from jobspec.admission.webhooks import Answer, told
from jobspec.documents.document import Document
from jobspec.targets import KINDS
from jobspec.workloads import Workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.admission.webhooks import Objects
    from jobspec.targets import Target


def review(document: Document, target: Target, objects: Objects, *, old: Document | None = None) -> Answer:
    """The answer to a document that the server accepts, as an update of *old* where that is given; nothing for kinds without a webhook."""
    document, old = _with_spec(document), old and _with_spec(old)
    component = KINDS.get((document.api_version, document.kind))
    if component == "trainer" and document.kind == "TrainJob":
        from jobspec.admission.references import answer_to_trainjob

        return answer_to_trainjob(document, target, objects, old=old)
    if component == "training-operator":
        from jobspec.admission.pytorchjob import RULES
    elif component == "trainer":
        from jobspec.admission.runtime import RULES
    elif component == "jobset":
        from jobspec.admission.jobset import RULES
    else:
        return Answer([])
    return Answer(told(RULES, Workload(document, old=old), target))


def _with_spec(document: Document) -> Document:
    """The document as Go decodes it: a `spec` that is absent is an empty one."""
    if document.data.get("spec") is not None:
        return document
    return document.changed({**document.data, "spec": {}})
