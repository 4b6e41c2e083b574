"""Lint jobs that are alike once: what rules find in one of them is placed in the others.

A rule is asked again for each job if it names a place, or the job, or asks where the job stands among other documents.
"""

from __future__ import annotations

from itertools import pairwise

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Path, span_of
from jobspec.diagnostics.record import Record
from jobspec.documents.document import Document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.diagnostics.rules import Rule
    from jobspec.lint.documents import Documents


class PlacedFinding(Record):
    """A finding, and its route in the job."""

    diagnostic: Diagnostic
    path: Path | None
    """The path of the value; None if the place is in another document, which all of these jobs share."""
    at_key: bool = False

    def placed_in(self, job: Document) -> Diagnostic:
        """Return the finding as the diagnostic of a job that is alike."""
        if self.path is None:
            return self.diagnostic.changed(document=job.index)
        marks = job.nearest(self.path)
        return self.diagnostic.changed(document=job.index, mark=marks.key if self.at_key and marks.key else marks.mark)


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
    if (job.name and job.name in words) or job.file in words or _names_place(words):
        return None
    mark = diagnostic.mark
    if source is not job or mark.file != job.file:
        return PlacedFinding(diagnostic, None) if mark.file != job.file and source is job else None
    marks, span = job.nearest(path), span_of(mark)
    if span == span_of(marks.mark):
        return PlacedFinding(diagnostic, path)
    return PlacedFinding(diagnostic, path, at_key=True) if marks.key and span == span_of(marks.key) else None


def _names_place(words: str) -> bool:
    """True if some words name a line, such as `line 3` or `a.yaml:3:17`."""
    behind, parts = words.split("line ")[1:], words.split(":")
    return any(each[:1].isdigit() for each in behind) or any(one.isdigit() and other[:1].isdigit() for one, other in pairwise(parts))


def alike(job: Document, documents: Documents) -> tuple[object, ...] | None:
    """Return a key that jobs share if rules find the same in them. If there is none, return None."""
    likeness = job.likeness
    return (likeness.text, likeness.length, *(id(each) for each in documents.referred(job))) if likeness else None
