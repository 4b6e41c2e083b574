"""What webhooks answer to a document: the findings of their rules as diagnostics, and the objects that they look up."""

from __future__ import annotations

from jobspec.admission.rule import findings
from jobspec.diagnostics import Diagnostic, spell
from jobspec.kinds import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobspec.admission.rule import Finding, Rule
    from jobspec.documents.document import Document
    from jobspec.kinds import GroupKind
    from jobspec.targets import Target
    from jobspec.workloads import Workload

    #: Group and kind, namespace (empty where the kind has none) and name of an object.
    Name = tuple[GroupKind, str, str]


class Objects:
    """What the server has besides a document, as far as documents refer to it."""

    __slots__ = ("beside", "closed", "given", "refused")

    def __init__(
        self,
        beside: Sequence[Document] = (),
        given: Sequence[Document] = (),
        *,
        refused: Sequence[Document] = (),
        closed: bool = False,
    ) -> None:
        self.beside = beside
        """What stands in the same file and is accepted."""
        self.refused = refused
        """What stands in the same file and is not."""
        self.given = given
        """What other given files hold of it."""
        self.closed = closed
        """Whether there is nothing else, but for what the operators ship."""

    def with_others(self, documents: Sequence[Document]) -> Objects:
        """The same with further objects of other files."""
        return Objects(self.beside, [*self.given, *documents], refused=self.refused, closed=self.closed)


class Answer:
    """What webhooks answer: errors and warnings, and the names of objects that they looked for and that are not in the same file."""

    __slots__ = ("diagnostics", "wanted")

    def __init__(self, diagnostics: list[Diagnostic], wanted: Sequence[Name] = ()) -> None:
        self.diagnostics = diagnostics
        self.wanted = wanted

    @property
    def accepts(self) -> bool:
        """Whether no error stands in it."""
        return all(each.severity != "error" for each in self.diagnostics)


def diagnostics(rules: Iterable[Rule], workload: Workload, target: Target) -> list[Diagnostic]:
    """The findings of rules about a workload, as diagnostics of its document."""
    document = workload.document
    kind = find(document.api_version, document.kind)
    assert kind
    release = target[kind.component]
    return [diagnostic(document, name, finding) for name, finding in findings(rules, workload, target, release)]


def diagnostic(document: Document, rule: str, finding: Finding) -> Diagnostic:
    """A finding at its place in a document."""
    mark = document.marks.nearest(finding.path).place()
    field = finding.field or spell(finding.path)
    return Diagnostic(rule, finding.message, mark, field=field, document=document.index, severity=finding.severity, hint=finding.hint)
