"""Answer at once what is asked of jobs before they are sent, by the journey and the functions of the single commands."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from jobspec.diagnostics.coverage import reasons_of_skipped
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.record import Record
from jobspec.diagnostics.results import DocumentResult, FileResult
from jobspec.documents.document import Document
from jobspec.journey.parts import PART
from jobspec.operators.expansion import MAKERS
from jobspec.operators.kueue.workload import job_name, queue_name
from jobspec.operators.kueue.world import world_of
from jobspec.operators.workloads import is_suspended, is_workload, released
from jobspec.project.capacity import Capacity, PriceList, capacity_of
from jobspec.reports.preflight import (
    CheckedJob,
    ComparisonAnswer,
    PreflightAnswer,
    answer_of_comparison,
    answer_of_job,
    answers_of_findings,
    gravest,
)
from jobspec.reports.queue import beyond
from jobspec.repository.builds import Build
from jobspec.repository.helm import RenderedChart
from jobspec.session.applied import AppliedFile
from jobspec.session.comparing import compared, with_compared
from jobspec.session.comparing_repositories import compared_objects
from jobspec.session.judging import RunResults
from jobspec.session.options import Options
from jobspec.session.queues import QueuedFiles, ask_queues, cluster_of, have_no_queues, queue_documents
from jobspec.session.reading import reader


class ReportedRun(Record):
    """Files as `lint` reports them, and what else was found out about them."""

    results: RunResults
    """Judged with documents."""
    files: Sequence[FileResult]
    """As they are reported: without what is ignored."""
    fails: bool
    """Whether `lint` fails."""


def preflight(
    judged: ReportedRun, options: Options, *, prices: PriceList | None, fixes: str, is_asked: Callable[[str], bool] = lambda _: True
) -> PreflightAnswer:
    """Answer what is asked of the jobs in judged files.

    *options* name a ref to compare with, and queues. *fixes*: the diff of the safe fixes. *is_asked*: whether the answer is about the jobs
    of a file, by its path.
    """
    results, left = judged.results, list[str]()
    queued, why = _queues(results, options)
    found = [each for file in judged.files for each in file.by_cause().diagnostics]
    wrong = {_document_of(each) for each in found if each.severity == "error" and each.rule != _BY_QUEUE}
    open_questions = {_document_of(each) for each in found if each.rule == _NOT_KNOWN}
    checked = list(_jobs(results, queued, wrong, open_questions))
    answered = {(each.file, each.row.index) for each in checked if each.is_admission_decided}
    found = [each for each in found if each.rule != _NOT_KNOWN or _document_of(each) not in answered]
    asked = [each for each in checked if is_asked(each.file)]
    if options.within is not None or options.changed_since is not None:
        asked = _reported(asked, judged)
    jobs = [answer_of_job(each, prices, also_in=_also_in(each, checked)) for each in asked]
    if queued:
        left += beyond(queued.answers(), queued.world)
    elif why:
        left.append(why)
    change, obstacle = _change(options) if options.stored_ref is not None else (None, "")
    left += [obstacle] if obstacle else []
    skipped = reasons_of_skipped([each for each in _without_builds(judged.files, options.helm) if is_asked(each.path)], named=True)
    left += [f"skipped: {', '.join(skipped)}"] if skipped else []
    verdict = gravest(jobs)
    if judged.fails and verdict in ("suspended", "runs"):
        verdict = "unknown"
        left.append("an error that belongs to no job: see the findings")
    return PreflightAnswer(
        verdict,
        not judged.fails and all(each.verdict != "never admitted" for each in jobs),
        jobs,
        answers_of_findings(found, reader(results.read)),
        fixes=fixes,
        change=change,
        left=left,
        releases=results.context.cluster.releases,
    )


#: The reasons of files that are skipped because what they build is judged.
_BUILT = frozenset((Build.what, RenderedChart.what))
#: The rule of a job that its queue never admits, which is a verdict of its own.
_BY_QUEUE = "never-admitted"
#: The rule of a job whose admission `lint` leaves open, since other queues may exist that the files lack.
_NOT_KNOWN = "admission-not-known"


def _queues(results: RunResults, options: Options) -> tuple[QueuedFiles | None, str]:
    """Return the accepted files with their queues; None without any queue, with why if that is a mistake."""
    refused = _refused_files(results)
    accepted = [each for each in results.applied if each.checked.result.path not in refused]
    try:
        cluster = cluster_of(accepted, results.context.cluster)
        has_all = have_no_queues(each for each in results.files if each.path in refused)
        found = ask_queues(accepted, queue_documents(options), cluster, closed=has_all)
    except JobspecError as error:
        return None, f"queues: {error}"
    return (found if found.has_queues else None), ""


def _without_builds(files: Iterable[FileResult], charts: Sequence[str]) -> Iterator[FileResult]:
    """Yield the files, without rows of what is built or rendered: its objects are judged in place of its files."""
    folders = tuple(f"{os.path.normpath(each)}/" for each in charts)
    for each in files:
        path = os.path.normpath(each.path)
        if not path.startswith(folders):
            yield FileResult(path, [row for row in each.documents if row.reason not in _BUILT], ())


def _refused_files(results: RunResults) -> set[str]:
    """Return the paths of files with an object that a server refuses. What becomes of an accepted object does not count."""
    return {file.path for file in results.files for each in file.diagnostics if each.severity == "error" and each.stage != "outcome"}


def _document_of(found: Diagnostic) -> tuple[str, int | None]:
    return os.path.normpath(found.mark.file), found.document


def _jobs(
    results: RunResults,
    queued: QueuedFiles | None,
    wrong: Collection[tuple[str, int | None]],
    open_questions: Collection[tuple[str, int | None]],
) -> Iterator[CheckedJob]:
    """Yield all jobs of files and variants, those that a server refuses, too.

    *wrong*: the documents with errors, by file and index; *open_questions*: those whose admission `lint` leaves open.
    """
    numbers = {id(each): number for number, each in enumerate(queued.applied)} if queued else {}
    for file in results.applied:
        documents = list(file.checked.documents)
        asked = queued.of_file(numbers[id(file)]) if queued and id(file) in numbers else None
        for row in file.checked.result.documents:
            if not is_workload(row) or row.status == "skipped":  # what a build drops is judged as it is built
                continue
            number = next((at for at, each in enumerate(documents) if _is_of(row, each)), None)
            job = documents[number] if number is not None else None
            mark = job.marks.nearest(("metadata", "name")).place() if job else None
            place = (os.path.normpath(mark.file), row.index) if mark and not file.variant else None
            yield CheckedJob(
                row,
                job_name(job.data) if job else row.name,
                os.path.normpath(mark.file if mark else file.checked.result.path),
                mark.line if mark else 0,
                job.namespace if job else "",
                file.variant,
                _capacity(job, file) if job and row.status != "invalid" else None,
                asked[number] if asked is not None and number is not None else None,
                queue_name(job, file.cluster.target, queued.world if queued else _NO_QUEUES) if job and row.status != "invalid" else "",
                has_error=place in wrong,
                is_queue_assumed=place in open_questions,
                is_held=_errors_of(row, file) == {_BY_QUEUE},
                is_suspended=job is not None and bool(_said(row, file, "no-pods-created")) and is_suspended(job),
                why_unknown=_why_unknown(row, file),
                judged_in=os.path.normpath(file.checked.result.path.partition(PART)[0]),
            )


def _reported(jobs: Sequence[CheckedJob], judged: ReportedRun) -> list[CheckedJob]:
    """Keep the jobs of the reported files, and of the variants of projects among them."""
    paths = {os.path.normpath(each.path) for each in judged.files}
    made = {_named(row) for file in judged.files if file.path in judged.results.projects for row in file.documents}

    def is_reported(job: CheckedJob) -> bool:
        return job.file in paths or (_named(job.row) in made if job.variant else job.judged_in in paths)

    return [each for each in jobs if is_reported(each)]


def _named(row: DocumentResult) -> tuple[str, str, str]:
    return row.api_version, row.kind, row.name


def _also_in(job: CheckedJob, jobs: Sequence[CheckedJob]) -> list[str]:
    """The other files of a job's folder that have a job of the same kind, namespace and name."""
    if job.variant or not job.name:
        return []
    key, folder = (job.row.api_version, job.row.kind, job.namespace, job.name), os.path.dirname(job.file)
    others = (each for each in jobs if not each.variant and os.path.dirname(each.file) == folder and each.file != job.file)
    return sorted({each.file for each in others if (each.row.api_version, each.row.kind, each.namespace, each.name) == key})


_NO_QUEUES = world_of(())


def _why_unknown(row: DocumentResult, file: AppliedFile) -> str:
    """Say what keeps jobspec from judging a job without an error.

    The job has no pods, or its runtime is refused or not there.
    """
    missing = [each for each in _said(row, file, "unresolved-reference") if each.field == "spec.runtimeRef"]
    return next((each.message for each in (*_said(row, file, "no-pods-created"), *missing)), "")


def _said(row: DocumentResult, file: AppliedFile, rule: str) -> list[Diagnostic]:
    """The findings of a rule about a document."""
    return [each for each in file.checked.result.diagnostics if (each.document, each.rule) == (row.index, rule)]


def _errors_of(row: DocumentResult, file: AppliedFile) -> set[str]:
    """The rules by which a document has errors."""
    return {each.rule for each in file.checked.result.diagnostics if each.document == row.index and each.severity == "error"}


def _is_of(row: DocumentResult, document: Document) -> bool:
    """True if a document is the one of a result: the items of a list share their index."""
    return (row.index, row.api_version, row.kind, row.name) == (document.index, document.api_version, document.kind, document.name)


def _capacity(job: Document, file: AppliedFile) -> Capacity | None:
    """Return what an accepted job asks for; None if its pods are not known."""
    if (job.api_version, job.kind) not in MAKERS:
        return None
    try:
        return capacity_of(released(job), file.context, file.cluster.target)
    except JobspecError:
        return None


def _change(options: Options) -> tuple[ComparisonAnswer | None, str]:
    """Return what changes against a ref; or why the two sides cannot be compared."""
    asked = with_compared(options.changed(ref=options.stored_ref, project=None))
    try:
        view = compared_objects(asked, None) if asked.paths or asked.helm else compared(asked)
    except JobspecError as error:
        return None, f"not compared with {options.stored_ref}: {str(error).splitlines()[0]}"
    return answer_of_comparison(view), ""
