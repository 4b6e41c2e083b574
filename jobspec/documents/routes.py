"""Findings with their routes in a document.

They are found once, and placed in each document that is alike, at its own lines.
"""

from __future__ import annotations

from itertools import pairwise

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Path, span_of
from jobspec.diagnostics.record import Record
from jobspec.documents.document import Document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobspec.documents.document import SameMarks


class PlacedFinding(Record):
    """A finding, and its route in a document."""

    diagnostic: Diagnostic
    given: Document
    path: Path | None
    """The path of the value; None if the place is in another document.

    All documents that are alike share that one.
    """
    at_key: bool = False


def placed_in(document: Document, found: Iterable[PlacedFinding]) -> list[Diagnostic]:
    """Return findings as the diagnostics of a document that is alike."""
    diagnostics: list[Diagnostic] = []
    given: Document | None = None
    same_mark: SameMarks | None = None
    for each in found:
        if each.path is None:
            diagnostics.append(each.diagnostic.changed(document=document.index))
            continue
        if each.given is not given:
            given, same_mark = each.given, document.same_marks(each.given)
        mark = same_mark(each.diagnostic.mark) if same_mark else None
        if mark is None:
            marks = document.nearest(each.path)
            mark = marks.key if each.at_key and marks.key else marks.mark
        diagnostics.append(each.diagnostic.changed(document=document.index, mark=mark))
    return diagnostics


def placed_at(diagnostic: Diagnostic, document: Document, path: Path) -> PlacedFinding | None:
    """Return a finding with its route, which is *path*.

    If the finding is neither at the value at *path* nor at the key of that, return None.
    """
    marks, span = document.nearest(path), span_of(diagnostic.mark)
    if span == span_of(marks.mark):
        return PlacedFinding(diagnostic, document, path)
    return PlacedFinding(diagnostic, document, path, at_key=True) if marks.key and span == span_of(marks.key) else None


def routed(found: Iterable[Diagnostic], document: Document) -> list[PlacedFinding] | None:
    """Return the findings of a document with their routes.

    If one of them does not hold for other documents of the same data, return None.
    """
    placed: list[PlacedFinding] = []
    for each in found:
        words = f"{each.message}\n{each.hint}"
        is_here = each.mark.file == document.file and not (each.mark.layer or each.related or each.builds)
        path = document.marks.paths().get(span_of(each.mark)) if is_here else None
        one = placed_at(each, document, path) if path is not None and document.file not in words and not names_line(words) else None
        if one is None:
            return None
        placed.append(one)
    return placed


def said_by(found: Iterable[PlacedFinding]) -> list[object]:
    """Return what findings say, to compare them with those of documents that are alike."""

    def said(each: PlacedFinding) -> object:
        place = str(each.diagnostic.mark) if each.path is None else (each.path, each.at_key)
        return place, {**vars(each.diagnostic), "mark": None, "document": None}

    return list(map(said, found))


def names_line(words: str) -> bool:
    """True if some words name a line, such as `line 3` or `a.yaml:3:17`."""
    behind, parts = words.split("line ")[1:], words.split(":")
    return any(each[:1].isdigit() for each in behind) or any(one.isdigit() and other[:1].isdigit() for one, other in pairwise(parts))
