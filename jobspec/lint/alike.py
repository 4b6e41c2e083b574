"""Lint documents that are alike once.

Findings in one of them are placed in the others. Names of other lengths are as `AlikeResults` says. A rule is asked again for each document
if it names a place, or the document, or asks where the document stands among others. Of documents other than jobs in a text of their own,
such as built ones, it is also asked again if it has found anything.
"""

from __future__ import annotations

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Path
from jobspec.diagnostics.record import Record
from jobspec.documents.document import Document
from jobspec.documents.routes import PlacedFinding, names_line, placed_at, said_by
from jobspec.operators.workloads import is_workload
from jobspec.world.alike_results import AlikeResults, SameResults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from jobspec.diagnostics.rules import Rule
    from jobspec.lint.documents import Documents, Question


class RuleResult(Record):
    """The findings of a rule in a document."""

    rule: Rule
    of_pods: bool
    """True if the rule looks at the document with its pods."""
    findings: Sequence[PlacedFinding] | None
    """None if the rule is asked again for each document."""


def placed(diagnostic: Diagnostic, job: Document, source: Document, path: Path) -> PlacedFinding | None:
    """Return a finding of a rule with its route. If it holds for no other job, return None.

    *source* and *path*: the document and the value that the finding is reported at.
    """
    words = f"{diagnostic.message}\n{diagnostic.hint}"
    if (job.name and job.name in words) or job.file in words or names_line(words):
        return None
    mark = diagnostic.mark
    if source is not job or mark.file != job.file:
        return PlacedFinding(diagnostic, job, None) if mark.file != job.file and source is job else None
    return placed_at(diagnostic, job, path)


class LintResult(Record):
    """What rules found in a document."""

    by_rule: Sequence[RuleResult]
    """Those of the rules that found anything."""
    asked: Set[Question]
    """What they asked."""


class LintResults:
    """What rules found in documents, kept for documents that are alike."""

    def __init__(self) -> None:
        self._alike = AlikeResults()
        self._same = SameResults()

    def of(self, document: Document, documents: Documents) -> LintResult | None:
        """Return what rules found in a document that is alike. If there is none, return None."""
        found: LintResult | None = (self._alike if have_routes(document) else self._same).of(document, *_met(document, documents))
        return found

    def keep(self, document: Document, documents: Documents, result: LintResult) -> None:
        """Keep what rules found in a document."""
        met = _met(document, documents)
        if have_routes(document):
            said = [(each.rule.name, each.of_pods, each.findings and said_by(each.findings)) for each in result.by_rule]
            self._alike.keep(document, result, *met, said=said or None)
        else:
            self._same.keep(document, result, *met)


def have_routes(document: Document) -> bool:
    """Return True if findings in a document can be placed in others that are alike."""
    return is_workload(document) and document.likeness is not None


def _met(document: Document, documents: Documents) -> tuple[object, ...]:
    """Return what rules look at besides a document's data, and what the data are a part of."""
    referred = documents.referred(document) if is_workload(document) else ()
    forms = (document.is_item, bool(document.inside), document.is_held, document.is_shown, document.has_merges, document.has_aliases)
    return (id(documents), *forms, *map(id, referred))
