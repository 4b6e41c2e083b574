"""`jobspec dry-run`: what a real API server says to these files."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import closing, contextmanager, nullcontext

from jobspec import pipeline
from jobspec.commands.files import find, reader, source_of
from jobspec.commands.inputs import load, require_workload
from jobspec.commands.output import deliver
from jobspec.diagnostics import JobspecError, each_once
from jobspec.results import FileResult, result_of
from jobspec.server import asking, kind
from jobspec.server.api_server import Answer, Server
from jobspec.server.differences import difference
from jobspec.server.envtest import control_plane
from jobspec.server.kubeconfig import of_context
from jobspec.server.question import questions_about
from jobspec.validation.verdict import verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from jobspec.commands.files import Found
    from jobspec.commands.inputs import Inputs, Setting
    from jobspec.documents.document import Document
    from jobspec.results import Status
    from jobspec.server.client import Client
    from jobspec.server.question import Question, Questions
    from jobspec.targets import Target


class Place:
    """Which server is asked: a context of the user's, etcd and kube-apiserver of its own, or else the kind cluster."""

    __slots__ = ("context", "delete", "envtest", "kubernetes", "recreate")

    def __init__(
        self, *, context: str | None = None, envtest: bool = False, kubernetes: str = "", recreate: bool = False, delete: bool = False
    ) -> None:
        self.context = context
        self.envtest = envtest
        self.kubernetes = kubernetes
        self.recreate = recreate
        self.delete = delete

    @property
    def is_owned(self) -> bool:
        """Whether jobspec may store what it needs there."""
        return self.context is None


def run(inputs: Inputs, place: Place, *, diff: bool) -> int:
    """Ask a server about files, folders and standard input, and report; 1 where an error was found, 2 where it is silent."""
    if not place.is_owned or place.envtest:
        _refuse_options_of_kind(place)
    if not inputs.paths:
        if not place.delete:
            raise JobspecError("dry-run: name a PATH")
        kind.delete_cluster()
        return 0
    setting = load(inputs, for_server=True)
    found = find(inputs.paths)
    answers: dict[Question, Answer] = {}
    results = list(setting.wrong)
    if not results:
        files = [_questions(each, setting, skip_unknown=inputs.skip_unknown) for each in found]
        questions = [question for file in files for question in file.questions]
        with _ended_by_signals(), _opened(place) if questions else nullcontext() as client:
            if client:
                answers = _ask(questions, Server(client), inputs, setting, owned=place.is_owned)
        results = [_result(file, answers, setting.cluster.target, skip_unknown=inputs.skip_unknown, diff=diff) for file in files]
    results = require_workload(setting.overlays, results)
    if diff and inputs.output == "text":
        sys.stdout.writelines(row.diff for each in results for row in each.documents if row.diff)
    deliver([*setting.remarks, *results], setting.cluster.releases, inputs, sys.stdout, read=reader(found))
    _tell_silence(answers)
    return 0 if all(each.valid for each in results) else 1


def _questions(found: Found, setting: Setting, *, skip_unknown: bool) -> Questions:
    target = setting.cluster.target
    manifests = pipeline.read(source_of(found, skip_unknown=skip_unknown), target)
    return questions_about(pipeline.apply(manifests, setting.overlays, setting.cluster), target)


def _refuse_options_of_kind(place: Place) -> None:
    for given, option in ((place.kubernetes, "--kubernetes"), (place.recreate, "--recreate"), (place.delete, "--delete")):
        if given:
            raise JobspecError(f"{option} is for the kind cluster, and goes neither with --context nor with --envtest")


def _opened(place: Place) -> AbstractContextManager[Client]:
    if place.context is not None:
        return closing(of_context(place.context, os.environ.get("KUBECONFIG") or None))
    return control_plane(os.environ.get("KUBEBUILDER_ASSETS", "")) if place.envtest else _kind_cluster(place)


@contextmanager
def _kind_cluster(place: Place) -> Iterator[Client]:
    client = kind.open_cluster(kubernetes=place.kubernetes, recreate=place.recreate, tell=_tell)
    try:
        with closing(client):
            yield client
    finally:
        if place.delete:
            kind.delete_cluster()


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """End on SIGTERM and SIGHUP as on ^C, with all that was started ended, too; once, so that nothing interrupts that."""

    def end(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGHUP)}
    for each, handler in before.items():
        if handler is signal.SIG_DFL:  # not where `nohup` had it ignored
            signal.signal(each, end)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _ask(questions: Sequence[Question], server: Server, inputs: Inputs, setting: Setting, *, owned: bool) -> dict[Question, Answer]:
    _tell(f"asking {server.client.name} at {server.client.url}, Kubernetes {server.version()}")
    target = setting.cluster.target
    answers = asking.ask(questions, server, target, owned=owned, done=_progress(len(questions)), crds=setting.crds)
    if inputs.admission:
        asking.apply_webhooks(answers, server, target, closed=inputs.closed_world)
    return answers


def _tell(what: str) -> None:
    if sys.stderr:
        sys.stderr.write(f"jobspec: {what}\n")


def _progress(number: int) -> Callable[[], None]:
    """Shows on a terminal how many documents are done."""
    count = 0
    shown = sys.stderr is not None and sys.stderr.isatty() and number > 1

    def done() -> None:
        nonlocal count
        count += 1
        if shown:
            sys.stderr.write(f"\r{count}/{number}" if count < number else "\r\033[K")
            sys.stderr.flush()

    return done


def _result(file: Questions, answers: Mapping[Question, Answer], target: Target, *, skip_unknown: bool, diff: bool) -> FileResult:
    rows, diagnostics = list(file.settled), list(file.diagnostics)
    for question in file.questions:
        answer, document = answers[question], question.document
        passed = answer.kind_is_missing and skip_unknown and _is_foreign(document, target)
        status: Status = "skipped" if answer.silent or passed else _status(question, answer, file)
        shown = difference(question, answer, target) if diff and status != "skipped" else None
        rows.append(result_of(document, status, diff=shown))
        diagnostics += answer.diagnostics if status != "skipped" else []
    return FileResult(file.path, sorted(rows, key=lambda each: each.index), each_once(diagnostics))


def _status(question: Question, answer: Answer, file: Questions) -> Status:
    own = [each for each in file.diagnostics if each.document == question.document.index and not each.mark.layer]
    return "valid" if answer.accepts and all(each.severity != "error" for each in own) else "invalid"


def _is_foreign(document: Document, target: Target) -> bool:
    """Whether a document is of a kind that is not ours, nor a wrong spelling of one of ours."""
    found = verdict(document, target)
    return found.status == "unknown" and not found.near_miss


def _tell_silence(answers: Mapping[Question, Answer]) -> None:
    """Raise JobspecError that names the documents on which the server gave no verdict, and why."""
    silent: dict[str, list[Question]] = {}
    for question, answer in answers.items():
        if answer.silent:
            silent.setdefault(answer.silent, []).append(question)
    if silent:
        told = [f"{_places(questions)}: no verdict: {why}" for why, questions in silent.items()]
        raise JobspecError("\n".join(told))


def _places(questions: Sequence[Question]) -> str:
    first, more = questions[0].document, len(questions) - 1
    return f"{first.marks.mark}" + (f" and {more} more document{'s' if more > 1 else ''}" if more else "")
