"""The results of files and of their documents."""

from __future__ import annotations

from jobspec.diagnostics.causes import by_cause, joined
from jobspec.diagnostics.diagnostic import Diagnostic, Reasons, has_error, in_order
from jobspec.diagnostics.grouping import grouped
from jobspec.diagnostics.record import Record
from jobspec.diagnostics.rules import UNJUDGED
from jobspec.diagnostics.wording import counted, severity_counts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from dataclasses import KW_ONLY
    from typing import Any, Literal

    from jobspec.diagnostics.diagnostic import Diagnostic
    from jobspec.diagnostics.explanations import Stage

    #: `partly`: the kind's structure or metadata alone was checked, or the build was not made that changes the document;
    #: `skipped`: no verdict was asked for, or none could be had.
    Status = Literal["valid", "invalid", "partly", "skipped"]


STATUSES: tuple[Status, ...] = ("valid", "invalid", "partly", "skipped")
CHECKS: tuple[Stage, ...] = ("schema", "admission", "outcome", "lint")
UNBUILT = "unbuilt "
"""The beginning of the reason why a file is skipped, if it says how to build others and the build is not made."""
PATCH = "kustomize patch"
"""The reason why a patch of a kustomization is skipped."""


class DocumentResult(Record):
    """One document of a file, and its status."""

    index: int
    """Counts the documents of the file from 0, empty ones left out; the items of a `v1` List share theirs."""
    status: Status
    _: KW_ONLY
    api_version: str = ""
    """Empty, as `kind` and `name` are, where the document does not say or cannot be decoded."""
    kind: str = ""
    name: str = ""
    is_item: bool = False
    """Whether it is a part of another document, such as an item of a `v1` List."""
    labels: Any = None
    """Its `metadata.labels` as they are written; None without any."""
    diff: str | None = None
    """What an apply would change in the live object; None without `--diff`."""
    runs: bool | None = None
    """Whether a training job will run; None where that is not known, or was not checked."""
    reason: str = ""
    """Why it is skipped, or checked partly; empty where it is no manifest, or of a kind that is not known."""
    by_template: bool = False
    """Whether rules have seen its pods by their templates alone: what else its operator does is not known."""
    not_reached: Sequence[Stage] = ()
    """The stages of the check that it did not come to, in their order."""
    corrected: Status | None = None
    """The status that it has with its unknown fields corrected; None if no stage saw it so."""
    corrected_in: Sequence[Stage] = ()
    """The stages that saw it with its unknown fields corrected, in their order."""

    def stopped_before(self, *stages: Stage) -> DocumentResult:
        """Return the result of a document that did not come to some stages."""
        missed = {*self.not_reached, *stages}
        return self.changed(not_reached=tuple(each for each in CHECKS if each in missed))

    def with_outcome(self, *, runs: bool | None) -> DocumentResult:
        """Return the result of a job of which the outcome was checked."""
        return self.seen_by("outcome").changed(runs=runs, not_reached=tuple(each for each in self.not_reached if each != "outcome"))

    def as_corrected(self, status: str) -> DocumentResult:
        """Return the result of a refused document that later stages see with its unknown fields corrected."""
        known: Status = "valid" if status == "valid" else "partly" if status == "partly" else "invalid"
        return self.changed(corrected=known, not_reached=()).seen_by("admission")

    def seen_by(self, stage: Stage) -> DocumentResult:
        """Return the result of a document that a stage saw. A corrected document counts the stage."""
        return self.changed(corrected_in=tuple(each for each in CHECKS if each in (*self.corrected_in, stage))) if self.corrected else self

    def moved(self, index: int) -> DocumentResult:
        """Return the result for another document."""
        return self.changed(index=index)

    @property
    def later_status(self) -> Status:
        """Return the status by which later stages look at the document."""
        return self.corrected or self.status

    @property
    def will_not_run(self) -> bool:
        """True if the server accepts a job that then creates nothing, or does not train."""
        return self.status == "valid" and self.runs is False

    def as_dict(self) -> dict[str, Any]:
        """Return the document as the JSON report has it."""
        said = {"index": self.index, "apiVersion": self.api_version, "kind": self.kind, "name": self.name}
        said |= {"status": self.status, "runs": self.runs, **({"reason": self.reason} if self.reason else {})}
        said |= {"pods": "by template"} if self.by_template else {}
        said |= {"notReached": list(self.not_reached)} if self.not_reached else {}
        said |= {"correctedIn": list(self.corrected_in)} if self.corrected_in else {}
        return said if self.diff is None else {**said, "diff": self.diff}


class FileResult:
    """One file: the results of its documents, and every diagnostic, sorted by place."""

    def __init__(self, path: str, documents: Iterable[DocumentResult], diagnostics: Iterable[Diagnostic], *, ignored: int = 0) -> None:
        self.path = path
        self.ignored = ignored
        """The number of diagnostics that settings and comments leave out."""
        self.documents = tuple(documents)
        self.diagnostics = tuple(in_order(diagnostics))
        self.valid = not has_error(self.diagnostics)
        """Whether no diagnostic of severity error stands in the file."""

    def __repr__(self) -> str:
        number = len(self.documents)
        return f"<{self.path}: {counted(number, 'document')}, {severity_counts(self.diagnostics)}>"

    @property
    def stand_ins(self) -> list[Diagnostic]:
        """Return the notes of the places at which values stand in for placeholders."""
        return [each for each in self.diagnostics if each.rule == UNJUDGED and not each.message]

    def with_diagnostics(self, diagnostics: Iterable[Diagnostic]) -> FileResult:
        """Return the result with further diagnostics."""
        found = [*self.diagnostics, *diagnostics]
        return self if len(found) == len(self.diagnostics) else FileResult(self.path, self.documents, found, ignored=self.ignored)

    def with_documents(self, documents: Iterable[DocumentResult]) -> FileResult:
        """Return the result with other results of its documents."""
        made = object.__new__(FileResult)
        made.__dict__.update({**self.__dict__, "documents": tuple(documents)})
        return made

    def by_cause(self) -> FileResult:
        """Return the result with one diagnostic for each cause."""
        found = by_cause(self.diagnostics) if len(self.diagnostics) > 1 else self.diagnostics
        return self if len(found) == len(self.diagnostics) else FileResult(self.path, self.documents, found, ignored=self.ignored)

    def with_only(self, diagnostics: Sequence[Diagnostic], *, ignored: int | None = None) -> FileResult:
        """Return the result with other diagnostics.

        *ignored* grows by the number of dropped diagnostics, or by the given number.
        """
        missing = len(self.diagnostics) - len(diagnostics) if ignored is None else ignored
        return FileResult(self.path, self.documents, diagnostics, ignored=self.ignored + missing)


def by_cause_of_all(files: Iterable[FileResult], *, for_people: bool) -> list[FileResult]:
    """Reduce results to one diagnostic for each cause, and a repeated info to its first file.

    If several files report the same place, as kustomizations do of a base, only the first keeps it. For programs, an error stays in each
    file that it makes invalid.

    *for_people*: reduce to its first file, too, what one missing object, one policy or one Pod Security level causes in several files.
    Documents of the other files may then be invalid without a diagnostic of their own. For programs, what was
    not judged stays in each file.
    """
    results = [each.by_cause() for each in files]
    found = [(each.path, one) for each in results for one in each.diagnostics]
    shared = [one for _, one in found if _is_shared(one, for_people=for_people)]
    others = [one for path, one in found if one.mark.file != path and (for_people or one.severity != "error")]
    elsewhere = [one for one in others if not _is_shared(one, for_people=for_people)]
    alike = grouped(shared, lambda one: (one.rule, one.severity, one.message, one.hint))
    same = grouped(elsewhere, lambda one: (one.rule, one.severity, one.message, one.hint, str(one.mark), one.mark.layer))
    once: dict[int, Diagnostic] = {}
    left_out: set[int] = set()
    for several in (*alike.values(), *same.values()):
        once[id(several[0])] = joined(several, lambda _: None)[0]
        left_out |= {id(one) for one in several[1:]}
    if not left_out:
        return results
    kept = [[once.get(id(one), one) for one in each.diagnostics if id(one) not in left_out] for each in results]
    return [FileResult(each.path, each.documents, left, ignored=each.ignored) for each, left in zip(results, kept, strict=True)]


def _is_shared(found: Diagnostic, *, for_people: bool) -> bool:
    """Whether a diagnostic in the same words in another file has the same cause."""
    if found.severity == "info":
        return for_people or found.rule != UNJUDGED
    if not for_people:
        return False
    from jobspec.diagnostics.explanations import CAUSED_ELSEWHERE

    return found.rule in CAUSED_ELSEWHERE or isinstance(found.message, Reasons)
