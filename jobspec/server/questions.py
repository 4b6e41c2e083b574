"""The questions to a server: each document of a file that a server has a say in, and the pods of jobs, with the text to send."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from jobspec.apis.releases import Target
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import Path, value_at
from jobspec.diagnostics.results import DocumentResult, FileResult
from jobspec.documents.document import Document, result_of
from jobspec.documents.streams import cut
from jobspec.documents.writer import write
from jobspec.journey.steps import Checked, Manifests
from jobspec.kubernetes.verdict import verdict
from jobspec.operators.expansion import ExpandedJob, ExpandedRole, expand
from jobspec.operators.made import with_generated_names
from jobspec.operators.workloads import is_workload, resumed

#: Groups of manifests that client programs read, and that no server serves.
_NEVER_ON_A_SERVER = ("jobspec.dev", "kustomize.config.k8s.io")


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A document, and the text that is sent for it.

    Two questions are never equal, since each has an answer of its own.
    """

    document: Document
    text: str
    _: KW_ONLY
    lines_before: int | None = None
    """The number of lines before the text in its file; None for a text that jobspec wrote."""
    duplicates: Sequence[Diagnostic] = ()
    """The duplicate keys of the text; their places are more exact than the server's."""

    @property
    def gvk(self) -> tuple[str, str]:
        """Return API version and kind."""
        return self.document.api_version, self.document.kind

    def value(self, path: Path) -> Any:
        """Return the value at a path of the document. If there is none, return None."""
        return value_at(self.document.data, path)


@dataclass(frozen=True, slots=True)
class Questions:
    """The questions about a file, and the result of its documents that need no server."""

    questions: Sequence[Question]
    settled: FileResult


def questions_about(manifests: Manifests, target: Target) -> Questions:
    """Return the questions about a file's manifests, as written or with overlays applied."""
    if manifests.settled is not None:
        return Questions([], FileResult(manifests.name, manifests.settled, manifests.diagnostics))
    pieces = list(cut(manifests.text.removeprefix("\ufeff")))
    questions: list[Question] = []
    known = {document.index for document in manifests.documents}
    lost = {each.document for each in manifests.diagnostics if each.document is not None} - known
    rows = [DocumentResult(index, "invalid") for index in lost]
    diagnostics = [each for each in manifests.diagnostics if each.document not in known]
    for document in (each for each in manifests.documents if not each.is_held):
        own = [each for each in manifests.diagnostics if each.document == document.index]
        if not (document.api_version and document.kind) or document.group_kind[0] in _NEVER_ON_A_SERVER:
            row, wrong = _settled(document, own, target, skip_unknown=manifests.skip_unknown)
            rows.append(row)
            diagnostics += wrong
        elif not manifests.text or document.is_item or document.has_merges:
            questions.append(Question(document, write([document.data])))
            diagnostics += own  # the rewritten text no longer has these mistakes, so the server cannot report them
        else:
            questions.append(_as_written(document, pieces, own))
    return Questions(questions, FileResult(manifests.name, rows, diagnostics))


def _settled(
    document: Document, own: Sequence[Diagnostic], target: Target, *, skip_unknown: bool
) -> tuple[DocumentResult, Sequence[Diagnostic]]:
    """The result and the diagnostics of a document that no server is asked about."""
    found = verdict(document, target)
    skipped = document.group_kind[0] in _NEVER_ON_A_SERVER or (skip_unknown and found.status == "unknown" and not found.near_miss)
    return result_of(document, "skipped" if skipped else "invalid"), () if skipped else [*own, *found.diagnostics]


def _as_written(document: Document, pieces: Sequence[tuple[str, int]], own: Sequence[Diagnostic]) -> Question:
    """A document in its own text: the piece of the file between the `---` lines around it."""
    piece, lines_before = pieces[bisect_right(pieces, document.marks.mark.line - 1, key=lambda each: each[1]) - 1]
    return Question(document, piece, lines_before=lines_before, duplicates=[each for each in own if each.rule == "duplicate-key"])


# The pods of jobs: a server's quotas, Pod Security and policies answer for what will really run.


@dataclass(frozen=True, slots=True)
class PodQuestion:
    """The question about the pods of one role of a job. These pods differ only in numbers."""

    job: Document
    role: str
    """As people write it, such as `Worker`."""
    question: Question


def pod_questions(files: Sequence[Checked], target: Target) -> list[PodQuestion]:
    """Return the questions about the pods of all jobs in files that a server accepts."""
    context = [document for file in files for document in file.documents]
    return [each for file in files for job in _accepted_jobs(file) for each in _of_job(job, context, target)]


def _accepted_jobs(file: Checked) -> list[Document]:
    valid = {(each.index, each.kind, each.name) for each in file.result.documents if each.status == "valid"}
    return [each for each in file.documents if is_workload(each) and (each.index, each.kind, each.name) in valid]


def _of_job(job: Document, context: Sequence[Document], target: Target) -> Iterator[PodQuestion]:
    own = [each for each in context if each.file == job.file]
    others = [each for each in context if each.file != job.file]
    try:
        expansion = expand(resumed(job), [*own, *others], target, first_and_last_only=True)
    except JobspecError:  # more pods than anybody could look at
        return
    for role in ExpandedJob(job, expansion.objects, target, expansion.counts).roles:
        pod = _pod(job, role)
        document = Document(pod, role.pod_tree.marks(), file=job.file, index=job.index)
        yield PodQuestion(job, role.name, Question(document, write([pod])))


def _pod(job: Document, role: ExpandedRole) -> dict[str, object]:
    """Return a pod of a role under a name of its own, since the job may run already.

    The pod is in the job's namespace, or in none.
    """
    data = with_generated_names(role.pod_tree)
    metadata = {name: each for name, each in data["metadata"].items() if name not in ("name", "namespace", "ownerReferences")}
    space = {"namespace": job.namespace} if job.namespace else {}
    return {**data, "metadata": {**metadata, **space, "generateName": f"{data['metadata']['name']}-"}}
