"""One file on the whole way: read, overlay, check."""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic
from jobspec.documents.document import Document
from jobspec.documents.files import mentions, text_of
from jobspec.documents.reader import read
from jobspec.reports import FileReport
from jobspec.validation.verdict import verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from jobspec.documents.files import Found
    from jobspec.overlays.layer import Layer
    from jobspec.targets import Target


class Checked:
    """A file's documents, with overlays laid, and the report on them."""

    __slots__ = ("documents", "report")

    def __init__(self, report: FileReport, documents: list[Document]) -> None:
        self.report = report
        self.documents = documents
        """What can be rendered: all but what was passed by and is no object with a kind and a name."""


def check(found: Found, target: Target, layers: Sequence[Layer] = (), *, skip_unknown: bool = False) -> Checked:
    """Read a file, lay overlays on its jobs, and judge what comes out.

    Overlays are laid only on a file that is valid by itself; its own problems are told first.
    """
    documents, problems = load(found, target)
    skip = skip_unknown or not found.named
    if skip and problems and not mentions(found.path, b"apiVersion"):
        return _passed_by(found.path, documents, problems)
    checked = _judge(found.path, documents, problems, target, skip=skip)
    if not layers or not checked.report.valid:
        return checked
    from jobspec.overlays import lay as overlays
    from jobspec.workloads import KINDS

    variant, problems = overlays.lay(overlays.start(documents), layers, target)
    if any(problem.severity == "error" for problem in problems):
        rows = [{**row, "status": "invalid"} if (row["apiVersion"], row["kind"]) in KINDS else row for row in checked.report.documents]
        return Checked(FileReport(found.path, rows, problems), documents)
    laid = _judge(found.path, variant.documents(), problems, target, skip=skip)
    return Checked(FileReport(found.path, laid.report.documents, _each_once(laid.report.diagnostics)), laid.documents)


def _each_once(problems: list[Diagnostic]) -> list[Diagnostic]:
    """A mistake in an overlay shows in every role and job that it is laid on, and is told once."""
    told: set[tuple[str, ...]] = set()
    once = []
    for problem in problems:
        name = (problem.rule, str(problem.mark), problem.message)
        if not problem.mark.layer or name not in told:
            once.append(problem)
        told.add(name)
    return once


def _passed_by(path: str, documents: list[Document], problems: list[Diagnostic]) -> Checked:
    """The report on a file that is broken and never was a manifest, such as JSON with comments."""
    indices = {document.index for document in documents} | {problem.document or 0 for problem in problems}
    return Checked(FileReport(path, [_row(index, "skipped") for index in sorted(indices)], []), [])


def load(found: Found, target: Target) -> tuple[list[Document], list[Diagnostic]]:
    """The documents of a file, a `v1` List's items in its place, and the problems of its YAML."""
    text = text_of(found.path)
    if isinstance(text, Diagnostic):
        return [], [text]
    documents, problems = read(text, file=found.path)
    lost = _lost(text, problems, target) if problems else {}
    problems = [problem for problem in problems if problem.document not in lost] + list(lost.values())
    return [each for document in documents if document.index not in lost for each in expand(document)], problems


def _lost(text: str, problems: list[Diagnostic], target: Target) -> dict[int | None, Diagnostic]:
    """For each document whose problems come from lost indentation, that as its only problem."""
    from jobspec.validation.indentation import lost_indentation

    found = {problem.document: lost_indentation(text, problem, target) for problem in reversed(problems)}
    return {document: lost for document, lost in found.items() if lost}


def expand(document: Document) -> list[Document]:
    """The items of a `v1` List as documents of their own; any other document is itself."""
    items = document.data.get("items") if isinstance(document.data, dict) else None
    if document.kind != "List" or document.api_version != "v1" or not isinstance(items, list):
        return [document]

    def marks(number: int) -> Any:
        return lambda: document.marks.nearest(("items", number))

    return [Document(item, marks(number), file=document.file, index=document.index) for number, item in enumerate(items)]


def _judge(path: str, documents: list[Document], problems: list[Diagnostic], target: Target, *, skip: bool) -> Checked:
    diagnostics = list(problems)
    kept = []
    rows: dict[int, list[dict[str, Any]]] = {}
    broken = {problem.document for problem in problems if problem.severity == "error" and not problem.mark.layer}
    for document in documents:
        status, found = verdict(document, target, skip_unknown=skip)
        diagnostics += found
        if status == "skipped":
            diagnostics = [each for each in diagnostics if each.document != document.index]
        elif document.index in broken:
            status = "invalid"
        if status != "skipped" or (document.kind and document.name):
            kept.append(document)
        rows.setdefault(document.index, []).append(_row(document.index, status, document))
    for index in broken - rows.keys():
        if index is not None:
            rows[index] = [_row(index, "invalid")]
    ordered = [row for index in sorted(rows) for row in rows[index]]
    return Checked(FileReport(path, ordered, diagnostics), kept)


def _row(index: int, status: str, document: Document | None = None) -> dict[str, Any]:
    """A document's line in the report; what could not be decoded has no name."""
    version, kind, name = (document.api_version, document.kind, document.name) if document else ("", "", "")
    return {"index": index, "apiVersion": version, "kind": kind, "name": name, "status": status}
