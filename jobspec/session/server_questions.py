"""What `jobspec dry-run` does: ask a real API server about files. It needs the packages of the extra `dry-run`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext

from jobspec.apis.releases import Target
from jobspec.diagnostics.causes import deduplicated
from jobspec.diagnostics.diagnostic import Diagnostic, has_error
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.grouping import gathered
from jobspec.diagnostics.results import FileResult
from jobspec.diagnostics.wording import counted
from jobspec.documents.document import Document, result_of
from jobspec.journey.checking import check, load, with_stand_ins
from jobspec.journey.journey import Journey, travel
from jobspec.journey.parts import PART
from jobspec.journey.steps import Checked, LoadedFile, Manifests
from jobspec.kubernetes.verdict import verdict
from jobspec.operators.workloads import is_workload
from jobspec.project.rendering import objects_of
from jobspec.server import asking, local
from jobspec.server.absent_webhooks import with_absent_webhooks
from jobspec.server.api_server import ApiServer, ServerAnswer, difference
from jobspec.server.asking import problems_of_pods
from jobspec.server.client import Client, of_context
from jobspec.server.local import control_plane
from jobspec.server.questions import PodQuestion, Question, Questions, pod_questions, questions_about
from jobspec.session.delivery import deliver
from jobspec.session.found import Found, is_judged_in_build
from jobspec.session.inputs import RunContext, load_run_context, require_workload, settings_of
from jobspec.session.judging import files_for, plans_among
from jobspec.session.options import Options
from jobspec.session.project import Plan, reported_once
from jobspec.session.reading import reader, source_of
from jobspec.session.reported import reported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics.results import Status


def ask_about_files(options: Options) -> int:
    """Ask a server about files, folders and standard input, and report.

    Return 1 for an error, and 2 if the server gives no verdict.
    """
    is_owned = options.context is None  # jobspec's own server, which may then store objects
    if not is_owned or options.envtest:
        for given, option in ((options.kubernetes, "--kubernetes"), (options.recreate, "--recreate"), (options.delete, "--delete")):
            if given:
                raise JobspecError(f"{option} is for the kind cluster, and cannot be combined with --context or --envtest")
    if not options.paths and not options.helm:
        if not options.delete:
            raise JobspecError("dry-run: name a PATH")
        local.delete_cluster()
        return 0
    run_context = load_run_context(options, for_server=True)
    found, plans, bases = plans_among(files_for(options, run_context, settings_of(options)), options, run_context)
    answers: dict[Question, ServerAnswer] = {}
    results = list(run_context.wrong)
    if not results:
        manifests = [_manifests(each, run_context, skip_unknown=options.skip_unknown) for each in found]
        manifests = [_unasked(each) if os.path.normpath(each.name) in bases else each for each in manifests]
        manifests += [each for planned in plans.values() for each in _variants(planned)]
        files = [questions_about(each, run_context.cluster.target) for each in manifests]
        about_pods = _about_pods(manifests, run_context) if options.pods else []
        questions = [*(question for file in files for question in file.questions), *(each.question for each in about_pods)]
        with _ended_by_signals(), _opened(options) if questions else nullcontext() as client:
            if client:
                answers = _ask(questions, ApiServer(client), options, run_context, owned=is_owned)
        results = [_result(file, answers, run_context.cluster.target, options=options) for file in files]
        results = _with_pods(results, about_pods, answers) if about_pods else results
    results = reported(results, found, reader(found), skip_unknown=options.skip_unknown, values=run_context.values)
    results = [each.with_only(reported_once([each], ()), ignored=0) if each.path in plans else each for each in results]
    results = require_workload(run_context.overlays, results)
    if options.diff and options.output == "text":
        sys.stdout.writelines(row.diff for each in results for row in each.documents if row.diff)
    deliver([*run_context.remarks, *results], run_context.cluster.releases, options, sys.stdout, read=reader(found))
    _refuse_missing_verdicts(answers)
    return 0 if all(each.valid for each in results) else 1


def _manifests(found: Found, run_context: RunContext, *, skip_unknown: bool) -> Manifests:
    manifests = load(source_of(found, skip_unknown=skip_unknown, values=run_context.values), run_context.overlays, run_context.cluster)
    if run_context.overlays or not is_judged_in_build(found, skip_unknown=skip_unknown):
        return manifests

    def judge(those: Manifests) -> Checked:
        return check(those, run_context.cluster)

    filled, _ = with_stand_ins(manifests, judge(manifests), run_context.cluster, judge)
    return manifests if filled is manifests else filled.changed(text="")  # whose text has the placeholders


def _unasked(base: Manifests) -> Manifests:
    """The manifests of a project's base, of which only its variants are asked about."""
    settled = [result_of(each, "skipped", reason="project base") for each in base.documents]
    return base.changed(diagnostics=(), text="", settled=settled)


def _variants(planned: Plan) -> Iterator[Manifests]:
    """The objects of a project's variants, as parts of its file."""
    for number, variant in enumerate(planned.variants, 1):
        objects, problems = objects_of(variant, planned.met_by(variant))
        name = f"{planned.files.project.path}{PART}{number}"
        documents = [Document(each.data, each.marks, file=name, index=at) for at, each in enumerate(objects)]
        yield Manifests(name, documents, [each.in_document(0) for each in problems])


def _about_pods(manifests: Sequence[Manifests], run_context: RunContext) -> list[PodQuestion]:
    """The questions about the pods of the jobs that are accepted by all that jobspec knows."""
    checked = travel(Journey(list(map(LoadedFile, manifests)), run_context.cluster, outcome=False))
    return pod_questions(checked, run_context.cluster.target)


def _with_pods(results: Sequence[FileResult], pods: Sequence[PodQuestion], answers: Mapping[Question, ServerAnswer]) -> list[FileResult]:
    """The results with the server's diagnostics of pods, where it accepts their job."""
    accepted = {(each.path, row.index, row.kind, row.name) for each in results for row in each.documents if row.status == "valid"}
    asked = [each for each in pods if (each.job.file, each.job.index, each.job.kind, each.job.name) in accepted]
    problems = problems_of_pods(asked, answers)
    return [_with_pods_problems(each, problems[each.path]) if each.path in problems else each for each in results]


def _with_pods_problems(result: FileResult, problems: Sequence[Diagnostic]) -> FileResult:
    """A file's result with what is said of the pods of its jobs; a job whose pods are refused will not run."""
    refused = {each.document for each in problems if each.severity == "error"}
    rows = [row.changed(runs=False) if row.index in refused and is_workload(row) else row for row in result.documents]
    return FileResult(result.path, rows, [*result.diagnostics, *problems])


def _opened(options: Options) -> AbstractContextManager[Client]:
    """The server to ask: a context of the kubeconfig, else etcd and kube-apiserver for this run, else the kind cluster."""
    if options.context is not None:
        return closing(of_context(options.context, os.environ.get("KUBECONFIG") or None))
    return control_plane(os.environ.get("KUBEBUILDER_ASSETS", "")) if options.envtest else _kind_cluster(options)


@contextmanager
def _kind_cluster(options: Options) -> Iterator[Client]:
    client = local.open_cluster(kubernetes=options.kubernetes, recreate=options.recreate, report=_report)
    try:
        with closing(client):
            yield client
    finally:
        if options.delete:
            local.delete_cluster()


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """End on SIGTERM and SIGHUP as on ^C, with everything cleaned up. A second signal does not interrupt the cleaning."""

    def end(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGHUP)}
    for each, handler in before.items():
        if handler is signal.SIG_DFL:  # `nohup` ignores SIGHUP, and is obeyed
            signal.signal(each, end)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _ask(
    questions: Sequence[Question], server: ApiServer, options: Options, run_context: RunContext, *, owned: bool
) -> dict[Question, ServerAnswer]:
    _report(f"asking {server.client.name} at {server.client.url}, Kubernetes {server.version()}")
    target = run_context.cluster.target
    answers = asking.ask(questions, server, target, owned=owned, done=_progress(len(questions)), crds=run_context.crds)
    if options.admission:
        return with_absent_webhooks(answers, server, target, closed=options.closed_world)
    return answers


def _report(what: str) -> None:
    if sys.stderr:
        sys.stderr.write(f"jobspec: {what}\n")


def _progress(number: int) -> Callable[[], None]:
    """A function to call after each document, which shows the number of answered ones on a terminal."""
    count = 0
    shown = sys.stderr is not None and sys.stderr.isatty() and number > 1

    def done() -> None:
        nonlocal count
        count += 1
        if shown:
            sys.stderr.write(f"\r{count}/{number}" if count < number else "\r\033[K")
            sys.stderr.flush()

    return done


def _result(file: Questions, answers: Mapping[Question, ServerAnswer], target: Target, *, options: Options) -> FileResult:
    settled = file.settled
    rows, diagnostics = list(settled.documents), list(settled.diagnostics)
    for question in file.questions:
        answer, document = answers[question], question.document
        skipped = answer.no_verdict or (answer.kind_is_missing and options.skip_unknown and _is_foreign(document, target))
        own = [each for each in settled.diagnostics if each.document == document.index and not each.mark.layer]
        status: Status = "skipped" if skipped else "valid" if answer.accepts and not has_error(own) else "invalid"
        shown = difference(question, answer, target) if options.diff and not skipped else None
        rows.append(result_of(document, status, diff=shown))
        diagnostics += [] if skipped else answer.diagnostics
    return FileResult(settled.path, sorted(rows, key=lambda each: each.index), deduplicated(diagnostics))


def _is_foreign(document: Document, target: Target) -> bool:
    """Whether a document's kind is neither built in nor of the operators, and no misspelling of theirs."""
    found = verdict(document, target)
    return found.is_common or (found.status == "unknown" and not found.near_miss)


def _refuse_missing_verdicts(answers: Mapping[Question, ServerAnswer]) -> None:
    """Raise JobspecError where the server gave no verdict on some documents; it names them, and the reason."""
    by_reason = gathered((answer.no_verdict, question) for question, answer in answers.items() if answer.no_verdict)
    if by_reason:
        raise JobspecError("\n".join(f"{_places(questions)}: no verdict: {why}" for why, questions in by_reason.items()))


def _places(questions: Sequence[Question]) -> str:
    first, more = questions[0].document, len(questions) - 1
    return f"{first.marks.mark}" + (f" and {counted(more, 'more document')}" if more else "")
