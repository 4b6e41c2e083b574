"""Lint jobs that are alike once: what rules find in one of them is placed in the others.

A rule is asked again for each job if it names a place, or the job, or asks where the job stands among other documents.
"""

from __future__ import annotations

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Path
from jobspec.diagnostics.record import Record
from jobspec.documents.document import Document
from jobspec.documents.routes import PlacedFinding, names_line, placed_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.diagnostics.rules import Rule
    from jobspec.lint.documents import Documents


class RuleResult(Record):
    """What a rule found in a job."""

    rule: Rule
    of_pods: bool
    """Whether the rule looks at the job with its pods, and not at the document alone."""
    findings: Sequence[PlacedFinding] | None
    """None if the rule is asked again for each job."""


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


def alike(job: Document, documents: Documents) -> tuple[object, ...] | None:
    """Return a key that jobs share if rules find the same in them. If there is none, return None."""
    likeness = job.likeness
    return (likeness.text, likeness.length, *(id(each) for each in documents.referred(job))) if likeness else None
