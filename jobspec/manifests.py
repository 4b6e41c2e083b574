"""One file on the whole way: read, overlay, check."""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic
from jobspec.documents.document import Document
from jobspec.documents.files import mentions, text_of
from jobspec.documents.reader import read
from jobspec.judge import OPEN, judge, name_of
from jobspec.reports import FileReport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from jobspec.admission.webhooks import Name
    from jobspec.documents.files import Found
    from jobspec.judge import World
    from jobspec.overlays.layer import Layer
    from jobspec.targets import Target


class Checked:
    """A file's documents, with overlays laid, and the report on them."""

    __slots__ = ("documents", "offered", "report", "wanted")

    def __init__(self, report: FileReport, documents: list[Document], offered: Sequence[Name] = (), wanted: Sequence[Name] = ()) -> None:
        self.report = report
        self.documents = documents
        """What can be rendered: all but what was passed by and is no object with a kind and a name."""
        self.offered = offered
        """The accepted objects that other files' documents can refer to."""
        self.wanted = wanted
        """The objects that the file's documents refer to and that do not stand in it."""


def check(found: Found, target: Target, layers: Sequence[Layer] = (), world: World = OPEN) -> Checked:
    """Read a file, lay overlays on its jobs, and judge what comes out in a *world*.

    Overlays are laid only on a file that is valid by itself, whatever webhooks say; its own problems are told first.
    """
    documents, problems = load(found, target)
    skip = world.skip_unknown or not found.named
    if skip and problems and not mentions(found.path, b"apiVersion"):
        return _passed_by(found.path, documents, problems)
    checked = _judge(found.path, documents, problems, target, world.of_bases() if layers else world, skip=skip)
    if not layers or not checked.report.valid:
        return checked
    from jobspec.overlays import lay as overlays
    from jobspec.workloads import KINDS

    variant, problems = overlays.lay(overlays.start(documents), layers, target)
    if any(problem.severity == "error" for problem in problems):
        rows = [{**row, "status": "invalid"} if (row["apiVersion"], row["kind"]) in KINDS else row for row in checked.report.documents]
        return Checked(FileReport(found.path, rows, problems), documents)
    laid = _judge(found.path, variant.documents(), problems, target, world, skip=skip)
    report = FileReport(found.path, laid.report.documents, _each_once(laid.report.diagnostics))
    return Checked(report, laid.documents, laid.offered, laid.wanted)


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


def _judge(path: str, documents: list[Document], problems: list[Diagnostic], target: Target, world: World, *, skip: bool) -> Checked:
    diagnostics = list(problems)
    kept = []
    rows: dict[int, list[dict[str, Any]]] = {}
    broken = {problem.document for problem in problems if problem.severity == "error" and not problem.mark.layer}
    judged = judge(documents, target, world, skip_unknown=skip, broken=broken)
    for each in judged:
        document = each.document
        diagnostics += each.diagnostics
        if each.status == "skipped":
            diagnostics = [known for known in diagnostics if known.document != document.index]
        if each.status != "skipped" or (document.kind and document.name):
            kept.append(document)
        rows.setdefault(document.index, []).append(_row(document.index, each.status, document))
    for index in broken - rows.keys():
        if index is not None:
            rows[index] = [_row(index, "invalid")]
    ordered = [row for index in sorted(rows) for row in rows[index]]
    offered = [name_of(each.document) for each in judged if each.is_offered]
    return Checked(FileReport(path, ordered, diagnostics), kept, offered, [name for each in judged for name in each.wanted])


def _row(index: int, status: str, document: Document | None = None) -> dict[str, Any]:
    """A document's line in the report; what could not be decoded has no name."""
    version, kind, name = (document.api_version, document.kind, document.name) if document else ("", "", "")
    return {"index": index, "apiVersion": version, "kind": kind, "name": name, "status": status}
