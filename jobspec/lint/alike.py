"""Lint documents that are alike once.

Findings in one of them are placed in the others. A rule is asked again for each document if it names a place, or the document, or asks
where the document stands among others. Of documents other than jobs in a text of their own, such as built ones, it is also asked again if
it has found anything.
"""

from __future__ import annotations

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Path
from jobspec.diagnostics.record import Record
from jobspec.documents.document import Document
from jobspec.documents.routes import PlacedFinding, names_line, placed_at
from jobspec.operators.workloads import is_workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.diagnostics.rules import Rule
    from jobspec.lint.documents import Documents


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


class Alike(Record):
    """The key of documents in which rules find the same."""

    key: tuple[object, ...]
    has_routes: bool
    """True if findings in the other documents can be placed in this one."""


def alike(document: Document, documents: Documents) -> Alike:
    """Return the key that a document shares with others in which rules find the same."""
    likeness = document.likeness if is_workload(document) else None
    if likeness:
        return Alike((likeness.text, likeness.length, *(id(each) for each in documents.referred(document))), True)
    referred = documents.referred(document) if is_workload(document) else ()
    forms = (document.is_item, bool(document.inside), document.is_held, document.is_shown, document.has_merges, document.has_aliases)
    return Alike((document.digest, *forms, *map(id, referred)), False)
