"""The answer of webhooks to a document: the faults that rules find as diagnostics, and the objects that were looked up."""

from __future__ import annotations

from jobspec.admission.rule import faults
from jobspec.diagnostics import Diagnostic, spell
from jobspec.kinds import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobspec.admission.rule import Fault, WebhookRule
    from jobspec.documents.document import Document
    from jobspec.targets import Target
    from jobspec.workloads import Workload


class Objects:
    """The objects on the server that a document can refer to."""

    __slots__ = ("beside", "closed", "elsewhere", "refused")

    def __init__(
        self,
        beside: Sequence[Document] = (),
        elsewhere: Sequence[Document] = (),
        *,
        refused: Sequence[Document] = (),
        closed: bool = False,
    ) -> None:
        self.beside = beside
        """The accepted objects of the same file."""
        self.refused = refused
        """The refused objects of the same file."""
        self.elsewhere = elsewhere
        """The accepted objects of other files."""
        self.closed = closed
        """Whether the server has no other objects, but those that the operators ship."""

    def with_others(self, documents: Sequence[Document]) -> Objects:
        """The same with further objects of other files."""
        return Objects(self.beside, [*self.elsewhere, *documents], refused=self.refused, closed=self.closed)


def diagnostics(rules: Iterable[WebhookRule], workload: Workload, target: Target) -> list[Diagnostic]:
    """The faults that rules find in a workload, as diagnostics of its document."""
    document = workload.document
    kind = find(document.api_version, document.kind)
    assert kind
    release = target[kind.component]
    return [diagnostic(document, name, fault) for name, fault in faults(rules, workload, target, release)]


def diagnostic(document: Document, rule: str, fault: Fault) -> Diagnostic:
    """A fault as a diagnostic at its place in the document."""
    mark = document.marks.nearest(fault.path).place()
    field = fault.field or spell(fault.path)
    return Diagnostic(rule, fault.message, mark, field=field, document=document.index, severity=fault.severity, hint=fault.hint)
