"""What a server is asked: the documents of files, each with the text that is sent."""

from __future__ import annotations

from bisect import bisect_right

from jobspec.documents.pieces import cut
from jobspec.documents.writer import write
from jobspec.rendering import text_of
from jobspec.results import DocumentResult, result_of
from jobspec.validation.verdict import verdict
from jobspec.workloads import value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from jobspec.diagnostics import Diagnostic, Path
    from jobspec.documents.document import Document
    from jobspec.pipeline import Manifests
    from jobspec.targets import Target

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


class Questions:
    """A file: what to ask about it, and what is settled without a server."""

    __slots__ = ("diagnostics", "path", "questions", "settled", "skip_unknown")

    def __init__(self, manifests: Manifests) -> None:
        self.path = manifests.name
        self.skip_unknown = manifests.skip_unknown
        self.questions: list[Question] = []
        self.diagnostics: list[Diagnostic] = []
        self.settled: list[DocumentResult] = []
        """The results of documents that no server is asked about."""


def questions_about(manifests: Manifests, target: Target) -> Questions:
    """What to ask about a file's manifests, as they are written or with overlays applied."""
    file = Questions(manifests)
    if manifests.settled is not None:
        file.settled, file.diagnostics = list(manifests.settled), list(manifests.diagnostics)
    elif manifests.text:
        _as_written(file, manifests, target)
    else:
        _as_rendered(file, manifests, target)
    return file


def _as_written(file: Questions, manifests: Manifests, target: Target) -> None:
    problems = manifests.diagnostics
    pieces = list(cut(manifests.text.removeprefix("\ufeff")))
    for document in manifests.documents:
        own = [each for each in problems if each.document == document.index]
        if not _is_for_server(document):
            _settle(file, document, own, target)
        elif document.is_item or document.has_merges:
            file.questions.append(Question(document, write([document.data])))
            file.diagnostics += own  # what is lost in what is sent
        else:
            question = _own(document, pieces)
            question.duplicates = [each for each in own if each.rule == "duplicate-key"]
            file.questions.append(question)
    decoded = {document.index for document in manifests.documents}
    file.diagnostics += [each for each in problems if each.document not in decoded]
    lost = {each.document for each in problems if each.document is not None} - decoded
    file.settled += [DocumentResult(index, "invalid") for index in sorted(lost)]


def _settle(file: Questions, document: Document, own: Sequence[Diagnostic], target: Target) -> None:
    """Report a document that no server has anything to do with."""
    found = verdict(document, target)
    skipped = _group(document) in _NEVER_ON_A_SERVER or (found.status == "unknown" and file.skip_unknown and not found.near_miss)
    file.settled.append(result_of(document, "skipped" if skipped else "invalid"))
    file.diagnostics += [] if skipped else [*own, *found.diagnostics]


def _as_rendered(file: Questions, manifests: Manifests, target: Target) -> None:
    file.diagnostics = list(manifests.diagnostics)
    for document in manifests.documents:
        if _is_for_server(document):
            file.questions.append(Question(document, text_of([document], target)))
        else:
            file.settled.append(result_of(document, "skipped"))


def _is_for_server(document: Document) -> bool:
    return bool(document.api_version and document.kind) and _group(document) not in _NEVER_ON_A_SERVER


def _group(document: Document) -> str:
    return document.api_version.rpartition("/")[0]


def _own(document: Document, pieces: Sequence[tuple[str, int]]) -> Question:
    """A document in its own text: the piece of the file between the `---` around it."""
    line = document.marks.mark.line - 1
    piece, first_line = pieces[bisect_right(pieces, line, key=lambda each: each[1]) - 1]
    return Question(document, piece, first_line=first_line, is_own=True)
