"""What a server is asked: the documents of files, each with the text that is sent."""

from __future__ import annotations

from bisect import bisect_right

from jobspec import shapes
from jobspec.arrange import arrange
from jobspec.documents.files import mentions, text_of
from jobspec.documents.reader import chunks, read
from jobspec.documents.writer import write
from jobspec.judge import World
from jobspec.manifests import check, expand, load
from jobspec.validation.verdict import verdict
from jobspec.workloads import value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from jobspec.diagnostics import Diagnostic, Path
    from jobspec.documents.document import Document
    from jobspec.documents.files import Found
    from jobspec.overlays.layer import Layer
    from jobspec.targets import Target
    from jobspec.validation.custom_kinds import CustomKinds

#: Groups of manifests that programs on this side read, and that no server has.
_NEVER_ON_A_SERVER = ("jobspec.dev", "kustomize.config.k8s.io")


class Question:
    """A document, and the text that is sent for it."""

    __slots__ = ("document", "duplicates", "first_line", "is_own", "text")

    def __init__(self, document: Document, text: str, *, first_line: int = 0, is_own: bool = False) -> None:
        self.document = document
        self.text = text
        self.first_line = first_line
        """How many lines of the file stand before the text."""
        self.is_own = is_own
        """Whether it is what the user wrote, not what was rendered from that."""
        self.duplicates: list[Diagnostic] = []
        """The keys that stand twice in it, with their places, which servers tell less well."""

    def value(self, path: Path) -> Any:
        """The value at a path of the document, None where there is none."""
        return value_at(self.document.data, path)


class File:
    """A file: what to ask about it, and what is settled without a server."""

    __slots__ = ("diagnostics", "path", "questions", "settled")

    def __init__(self, path: str) -> None:
        self.path = path
        self.questions: list[Question] = []
        self.diagnostics: list[Diagnostic] = []
        self.settled: list[dict[str, Any]] = []
        """The report's rows of documents that no server is asked about."""


def row(index: int, status: str, document: Document | None = None) -> dict[str, Any]:
    """A document's row in the report; what could not be decoded has no name."""
    version, kind, name = (document.api_version, document.kind, document.name) if document else ("", "", "")
    return {"index": index, "apiVersion": version, "kind": kind, "name": name, "status": status}


def from_file(found: Found, target: Target, layers: Sequence[Layer] = (), kinds: CustomKinds | None = None, *, skip_unknown: bool) -> File:
    """What to ask about a file, with overlays laid on its jobs; *kinds* are those that the user brings along."""
    file = File(found.path)
    skip = skip_unknown or not found.named
    if layers:
        _with_layers(file, found, target, layers, World(skip_unknown=skip_unknown, kinds=kinds))
    else:
        _as_written(file, found, target, skip=skip)
    return file


def _as_written(file: File, found: Found, target: Target, *, skip: bool) -> None:
    documents, problems = load(found, target)
    if skip and problems and not mentions(found.path, b"apiVersion"):
        file.settled = [row(index, "skipped") for index in sorted({each.document or 0 for each in problems})]
        return
    text = text_of(found.path)
    lists = _lists(text, found.path) if isinstance(text, str) else set()
    pieces = list(chunks(text.removeprefix("\ufeff"))) if isinstance(text, str) else []
    for document in documents:
        own = [each for each in problems if each.document == document.index]
        if not _is_for_server(document):
            status, said = _without_server(document, target, skip_unknown=skip)
            file.settled.append(row(document.index, status, document))
            file.diagnostics += said if status == "skipped" else [*own, *said]
        elif document.index in lists or not isinstance(text, str):
            file.questions.append(Question(document, write([document.data])))
            file.diagnostics += own  # what is lost in what is sent
        else:
            question = _own(document, pieces)
            question.duplicates = [each for each in own if each.rule == "duplicate-key"]
            file.questions.append(question)
    decoded = {document.index for document in documents}
    file.diagnostics += [each for each in problems if each.document not in decoded]
    lost = {each.document for each in problems if each.document is not None} - decoded
    file.settled += [row(index, "invalid") for index in sorted(lost)]


def _without_server(document: Document, target: Target, *, skip_unknown: bool) -> tuple[str, list[Diagnostic]]:
    """The status of a document that no server is asked about, and what stands against it."""
    if _group(document) in _NEVER_ON_A_SERVER:
        return "skipped", []
    found = verdict(document, target)
    if found.status == "unknown":
        return ("skipped", []) if skip_unknown and not found.near_miss else ("invalid", found.diagnostics)
    return found.status, found.diagnostics


def _with_layers(file: File, found: Found, target: Target, layers: Sequence[Layer], world: World) -> None:
    """Overlays are laid only on a file that is valid by itself; what is sent is what is rendered."""
    from jobspec.overlays import lay as overlays

    base = check(found, target, (), world.of_bases())
    if not base.report.valid:
        file.settled, file.diagnostics = base.report.documents, base.report.diagnostics
        return
    variant, file.diagnostics = overlays.lay(overlays.start(base.documents), layers, target)
    if any(each.severity == "error" for each in file.diagnostics):
        file.settled = [row(document.index, "invalid", document) for document in base.documents]
        return
    for document in variant.documents():
        if _is_for_server(document):
            shape = shapes.load(document.api_version, document.kind, target)
            file.questions.append(Question(document, write([arrange(document.data, shape)])))
        else:
            file.settled.append(row(document.index, "skipped", document))


def _is_for_server(document: Document) -> bool:
    return bool(document.api_version and document.kind) and _group(document) not in _NEVER_ON_A_SERVER


def _group(document: Document) -> str:
    return document.api_version.rpartition("/")[0]


def _lists(text: str, path: str) -> set[int]:
    """The documents that are lists of objects: a server is asked about each object by itself."""
    if "List" not in text:
        return set()
    return {document.index for document in read(text, file=path)[0] if expand(document) != [document]}


def _own(document: Document, pieces: Sequence[tuple[str, int]]) -> Question:
    """A document in its own text: the piece of the file between the `---` around it."""
    line = document.marks.mark.line - 1
    piece, first_line = pieces[bisect_right(pieces, line, key=lambda each: each[1]) - 1]
    return Question(document, piece, first_line=first_line, is_own=True)
