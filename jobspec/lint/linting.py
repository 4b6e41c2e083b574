"""Lint checked files: every rule on every view in which it can find something, and each finding once."""

from __future__ import annotations

from itertools import chain

from jobspec.kinds import find, group_kind
from jobspec.lint.documents import Documents
from jobspec.lint.topics import TOPICS
from jobspec.lint.views import RUNTIMES, DocumentView, view_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Sequence

    from jobspec.diagnostics import Diagnostic
    from jobspec.documents.document import Document
    from jobspec.lint.places import Found
    from jobspec.lint.rule import Rule, Sees
    from jobspec.lint.topics import Topic
    from jobspec.pipeline import Checked
    from jobspec.results import FileResult
    from jobspec.targets import Target

    #: `run(files, work)` is `[work(file) for file in files]`.
    Run = Callable[[Sequence[Checked], Callable[[Checked], list[Diagnostic]]], list[list[Diagnostic]]]


def _one_by_one(files: Sequence[Checked], work: Callable[[Checked], list[Diagnostic]]) -> list[list[Diagnostic]]:
    return [work(each) for each in files]


def usual(rule: Rule) -> bool:
    """Whether a rule is looked at where nobody chooses."""
    return rule.by_default


def lint(
    files: Sequence[Checked],
    target: Target,
    chosen: Callable[[Rule], bool] = usual,
    *,
    run: Run = _one_by_one,
    only: Container[str] | None = None,
) -> list[FileResult]:
    """The files' results with what lint finds in their accepted documents; each finding is told once, in the file that wrote its cause.

    *chosen*: the rules that are looked at. *run*: how the files are gone through, in several processes for example. *only*: the paths of
    the files that are gone through, where the others are there to be referred to.
    """
    once = list({each.result.path: each for each in files}.values())
    further = (group_kind(each.api_version, each.kind) for file in once for each in file.result.documents)
    documents = Documents((each for file in once for each in seen(file)), target, further=further)
    once = once if only is None else [each for each in once if each.result.path in only]

    def of_file(file: Checked) -> list[Diagnostic]:
        return list(findings(file, documents, chosen))

    return told(files, {file.result.path: found for file, found in zip(once, run(once, of_file), strict=True)})


def seen(file: Checked) -> list[Document]:
    """The documents of a file that can be looked at: those that a server accepts, and those of kinds that are unknown to the check."""
    refused = [each for each in file.result.diagnostics if each.severity == "error" and each.stage != "outcome"]
    wrong = {each.document for each in refused if each.rule != "unknown-kind"}
    return [] if None in wrong else [each for each in file.documents if each.index not in wrong]


def told(files: Sequence[Checked], found: dict[str, list[Diagnostic]]) -> list[FileResult]:
    """The files' results with the diagnostics of each: in the file where the cause is written, or where it was found, and once."""
    paths = {each.result.path for each in files}
    by_path: dict[str, list[Diagnostic]] = {path: [] for path in paths}
    known = set()
    for path, diagnostics in found.items():
        for each in diagnostics:
            identity = (each.rule, str(each.mark), each.message) if each.mark.line else (each.rule, path, each.document, each.field)
            if identity not in known:
                known.add(identity)
                by_path[each.mark.file if each.mark.file in paths else path].append(each)
    return [each.result.with_diagnostics(by_path[each.result.path]) for each in files]


def findings(file: Checked, documents: Documents, chosen: Callable[[Rule], bool]) -> Iterator[Diagnostic]:
    """What the chosen rules find in the documents of one file."""
    found = _found(file, documents, chosen)
    first = next(found, None)
    if first is not None:
        from jobspec.lint.places import diagnostics_of

        yield from diagnostics_of(chain((first,), found))


def _found(file: Checked, documents: Documents, chosen: Callable[[Rule], bool]) -> Iterator[Found]:
    for view, sees, topics in views_of(file, documents):
        for rule in (rule for topic in topics for rule in topic.rules if rule.sees in sees and chosen(rule)):
            found = list(rule.check(view))
            if found:
                yield view, rule, found


def views_of(file: Checked, documents: Documents) -> Iterator[tuple[DocumentView, Sequence[Sees], Sequence[Topic]]]:
    """The views of the documents of a file, each with what it is to rules, and the topics whose rules can find something in it."""
    for document in seen(file):
        is_known = find(document.api_version, document.kind) is not None
        sees: Sequence[Sees] = ("document", "runtime") if is_known and document.group_kind in RUNTIMES else ("document",)
        given = DocumentView(document, documents)
        yield given, sees, [each for each in TOPICS.values() if each.in_document(given)]
        job = view_of(document, documents) if is_known else None
        if job:
            yield job, ("pods", "job") if job.is_job else ("pods",), [each for each in TOPICS.values() if each.in_pods(job)]
