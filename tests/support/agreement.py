"""One question has one answer: commands, the editor and the agents' tools never contradict each other about a file or a folder."""

import json
from collections.abc import Iterable
from contextlib import chdir
from pathlib import Path

from jobspec.commands.preflight import answer_to
from jobspec.diagnostics.diagnostic import SEVERITIES, Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import Mark
from jobspec.documents.document import Document
from jobspec.editor.mcp import Tools
from jobspec.editor.workspace import Workspace
from jobspec.lint.topics import is_default
from jobspec.operators.kueue.workload import job_name
from jobspec.operators.workloads import is_workload
from jobspec.reports.preflight import as_data
from jobspec.reports.printable import clean
from jobspec.session.chosen_rules import chosen
from jobspec.session.inputs import load_run_context, settings_of
from jobspec.session.judging import Depth, RunResults
from jobspec.session.options import Options
from jobspec.session.queues import answers
from jobspec.session.verdict import chosen_results, context_for, results_of
from tests.support.processes import run_here


def _judge(path: Path, depth: Depth) -> RunResults:
    options = Options(paths=[path.name])
    return results_of(options, load_run_context(options), None, depth)


def _found(results: RunResults, *stages: str) -> set[tuple[str, str, str, str]]:
    """The findings of some stages."""
    every = (each for file in results.files for each in file.diagnostics)
    counts = "unjudged-template"  # counts what is not said of placeholders, which is more the deeper the files are judged
    return {(each.rule, str(each.mark), each.severity, each.message) for each in every if each.stage in stages and each.rule != counts}


_SERVER = ("decoding", "schema", "admission", "render")


def assert_commands_agree(path: Path) -> None:
    """Assert that `lint`, `queue`, `expand`, `run`, `preflight`, the editor and the agents' tools agree on a file or a folder."""
    with chdir(path.parent):
        try:
            lint = _judge(path, Depth(chosen=is_default, documents=True))
            validate = _judge(path, Depth())
            alone = _judge(path, Depth(False, documents=True))
        except JobspecError:
            return  # a folder without manifests
        assert _found(validate, *_SERVER, "outcome") == _found(lint, *_SERVER, "outcome")
        assert _found(alone, *_SERVER) == _found(lint, *_SERVER)
        assert [row.status for file in validate.files for row in file.documents] == [
            row.status for file in lint.files for row in file.documents
        ]
        _agrees_with_queue(path, lint)
        _agrees_with_expand(path, lint)
        _agrees_with_run(path, lint)
        _agrees_with_preflight(path)
        _agrees_with_editor(path)


def _agrees_with_queue(path: Path, lint: RunResults) -> None:
    """Hold the answers of `queue` against the findings: a job never admitted is one for both."""
    try:
        asked = answers(Options(paths=[path.name])).asked
    except JobspecError:
        return
    found = [each for file in lint.files for each in file.diagnostics]
    starts = [each.job.marks.mark for each in asked]
    for each in asked:
        verdict = each.answer.verdict if each.answer else ""
        never = [one for one in found if one.rule == "never-admitted" and one.severity == "error" and _is_of(one, each.job, starts)]
        assert not never or verdict == "never", (each.job, never)
        is_by_absence = bool(each.answer and each.answer.missing)  # `queue` takes all queues for given
        is_known = is_by_absence or any(_is_of(one, each.job, starts) for one in found)
        assert verdict != "never" or is_known, (each.job, each.answer and each.answer.reason)


def _is_of(found: Diagnostic, job: Document, starts: Iterable[Mark]) -> bool:
    """*starts*: where all jobs begin, since a document may be a List of several."""
    here = job.marks.mark
    before = (each.line for each in starts if each.file == here.file and each.line <= found.mark.line)
    return found.document == job.index and found.mark.file == here.file and here.line == max(before, default=0)


def _agrees_with_expand(path: Path, lint: RunResults) -> None:
    """Hold the refusals of `expand` against the findings: it shows no objects of what the server refuses."""
    is_refused = any(each.severity == "error" and each.stage in _SERVER for file in lint.files for each in file.diagnostics)
    done = run_here("expand", path.name, cwd=path.parent)
    assert done.returncode != 3, done.stderr
    assert done.returncode or not is_refused


def _agrees_with_run(path: Path, lint: RunResults) -> None:
    """`run` starts nothing that has an error of the server or of the outcome."""
    if any(each.severity == "error" and each.stage != "lint" for file in lint.files for each in file.diagnostics):
        done = run_here("run", path.name, "--timeout", "never", cwd=path.parent)
        assert done.returncode in (1, 2), done.stderr
        assert "write a time" not in done.stderr, "run went on to its own options"


#: The rule of what `lint` leaves open, since other queues may exist; `preflight` answers by the queues that are given.
_LEFT_OPEN = "admission-not-known"


def _agrees_with_preflight(path: Path) -> None:
    """Hold the one answer of `preflight` against `lint` and `queue`: findings, verdict, status, queues."""
    options = Options(paths=[path.name])
    settings = settings_of(options)
    depth = Depth(chosen=chosen(settings), documents=True)
    lint = results_of(options, context_for(options, settings), settings, depth)
    files, fails = chosen_results(lint, options, settings, depth)
    answer = answer_to(options)
    assert answer.passes == (not fails and all(each.verdict != "never admitted" for each in answer.jobs))
    answered = sum(each.queue is not None and each.queue.verdict != "unknown" for each in answer.jobs)
    shown = [each for each in answer.findings if each.rule != _LEFT_OPEN]
    assert sum(each.rule == _LEFT_OPEN for file in files for each in file.by_cause().diagnostics) <= answered + len(answer.findings) - len(
        shown
    )
    assert [(each.rule, each.file, each.line, each.column, each.severity) for each in shown] == [
        (each.rule, clean(each.mark.file), each.mark.line, each.mark.column, each.severity)
        for severity in SEVERITIES
        for file in files
        for each in file.by_cause().diagnostics
        if each.severity == severity and each.rule != _LEFT_OPEN
    ]
    rows = [row for file in lint.applied for row in file.checked.result.documents if is_workload(row)]
    rows = [row for row in rows if row.status != "skipped"]
    assert [(each.kind, each.accepted) for each in answer.jobs] == [
        (row.kind, {"valid": True, "invalid": False}.get(row.status)) for row in rows
    ]
    for each, row in zip(answer.jobs, rows, strict=True):  # an error of lint alone, too, keeps a job from running
        assert each.runs == (row.runs if row.status == "valid" else None) or (each.runs is False and not answer.passes)
    assert len(json.dumps(as_data(answer), ensure_ascii=False)) <= 8000
    try:
        asked = answers(options).asked
    except JobspecError:
        return
    queues = {(each.kind, each.name): each.queue.verdict for each in answer.jobs if each.queue}
    for each in asked:
        name = (each.job.kind, clean(job_name(each.job.data)))
        if each.answer and each.answer.workload.group is None and len([one for one in asked if one.job.name == each.job.name]) == 1:
            assert queues.get(name) == each.answer.verdict, name


def _agrees_with_editor(path: Path) -> None:
    """Hold the findings of the editor and of the agents' `lint` in a folder against those of `lint`."""
    if not path.is_dir():
        return
    with chdir(path):
        there = Options(paths=["."])
        results = results_of(there, load_run_context(there), None, Depth(chosen=is_default))
        expected = {each[:3] for each in _found(results, *_SERVER, "outcome", "lint")}
        said = {
            (each.rule, str(each.mark), each.severity)
            for file in Workspace(".").results()
            for each in (*file.diagnostics, *(one for many in file.diagnostics for one in many.related))
            if each.rule != "unjudged-template"
        }
        answer = Tools().lint()
    assert expected == said
    assert answer["valid"] == results.valid
    assert {each["rule"] for each in answer["findings"] if "rule" in each} <= {"unjudged-template", *(rule for rule, _, _ in expected)}
