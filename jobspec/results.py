"""What was found in files: the status of each document, the diagnostics, and the counts of both."""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic, has_error, in_order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Literal

    from jobspec.documents.document import Document

    #: `partly`: the kind's structure or metadata alone was checked; `skipped`: no verdict was asked for, or none could be had.
    Status = Literal["valid", "invalid", "partly", "skipped"]

_STATUSES: tuple[Status, ...] = ("valid", "invalid", "partly", "skipped")


class DocumentResult:
    """One document of a file: what it is, and its status."""

    __slots__ = ("api_version", "diff", "index", "kind", "name", "runs", "status")

    def __init__(
        self,
        index: int,
        status: Status,
        *,
        api_version: str = "",
        kind: str = "",
        name: str = "",
        diff: str | None = None,
        runs: bool | None = None,
    ) -> None:
        self.index = index
        """Counts the documents of the file from 0, empty ones left out; the items of a `v1` List share theirs."""
        self.api_version = api_version
        """Empty, as `kind` and `name` are, where the document does not say or cannot be decoded."""
        self.kind = kind
        self.name = name
        self.status = status
        self.diff = diff
        """What an apply would change in the live object; None where nobody asked."""
        self.runs = runs
        """Whether a training job will run; None where that is not known, or nobody looked."""

    @property
    def will_not_run(self) -> bool:
        """Whether the server accepts a job of which nothing, or no training, comes."""
        return self.status == "valid" and self.runs is False

    def as_dict(self) -> dict[str, Any]:
        """The document as the JSON report has it."""
        said = {"index": self.index, "apiVersion": self.api_version, "kind": self.kind, "name": self.name}
        said |= {"status": self.status, "runs": self.runs}
        return said if self.diff is None else {**said, "diff": self.diff}


def result_of(document: Document | DocumentResult, status: Status, *, diff: str | None = None, runs: bool | None = None) -> DocumentResult:
    """The result of a document that could be decoded, or another one of the same document."""
    version, kind, name = document.api_version, document.kind, document.name
    return DocumentResult(document.index, status, api_version=version, kind=kind, name=name, diff=diff, runs=runs)


class FileResult:
    """One file: the results of its documents, and every diagnostic, sorted by place."""

    __slots__ = ("diagnostics", "documents", "ignored", "path")

    def __init__(self, path: str, documents: Iterable[DocumentResult], diagnostics: Iterable[Diagnostic], *, ignored: int = 0) -> None:
        self.path = path
        self.ignored = ignored
        """The number of diagnostics that somebody chose not to be told."""
        self.documents = tuple(documents)
        self.diagnostics = tuple(in_order(diagnostics))

    @property
    def valid(self) -> bool:
        """Whether no diagnostic of severity error stands in the file."""
        return not has_error(self.diagnostics)

    def with_diagnostics(self, diagnostics: Iterable[Diagnostic]) -> FileResult:
        """The same result with further diagnostics."""
        return FileResult(self.path, self.documents, [*self.diagnostics, *diagnostics], ignored=self.ignored)

    def with_only(self, diagnostics: Sequence[Diagnostic], *, ignored: int | None = None) -> FileResult:
        """The same result with other diagnostics in place of its own; as many more are *ignored* as are missing, or as is said."""
        missing = len(self.diagnostics) - len(diagnostics) if ignored is None else ignored
        return FileResult(self.path, self.documents, diagnostics, ignored=self.ignored + missing)


def count(files: Sequence[FileResult]) -> dict[str, int]:
    """The number of documents: in total, of each status, and of accepted jobs that will not run."""
    documents = [document for each in files for document in each.documents]
    statuses = [document.status for document in documents]
    counts = {"documents": len(statuses)} | {str(status): statuses.count(status) for status in _STATUSES}
    counts["willNotRun"] = sum(each.will_not_run for each in documents)
    ignored = sum(each.ignored for each in files)
    return {**counts, "ignored": ignored} if ignored else counts


def coverage(files: Sequence[FileResult], releases: Mapping[str, str]) -> str:
    """The last line of a report: the number of documents, how many have each status, and the releases they were checked for."""
    counts = count(files)
    lost = counts["willNotRun"]
    counts["valid"] -= lost
    parts = [f"{counts[status]} {status}" for status in _STATUSES if counts[status]]
    parts += [f"{lost} accepted, but will not run"] if lost else []
    for severity in ("error", "warning"):
        number = sum(diagnostic.severity == severity for each in files for diagnostic in each.diagnostics)
        parts += [f"{number} {severity}{'s' if number > 1 else ''}"] if number else []
    parts += [f"{counts['ignored']} ignored"] if "ignored" in counts else []
    documents = f"{counts['documents']} document{'' if counts['documents'] == 1 else 's'}"
    return f"{documents}: {', '.join(parts) or 'nothing found'} ({', '.join(' '.join(each) for each in releases.items())})"
