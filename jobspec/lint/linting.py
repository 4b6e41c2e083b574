"""Lint checked files: every rule on every view, and each finding at the line that wrote its cause, once."""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic, spell
from jobspec.kinds import PRIORITY_CLASS, find, group_kind
from jobspec.lint.documents import Documents
from jobspec.lint.places import Places, spelt
from jobspec.lint.rules import RULES
from jobspec.lint.views import RUNTIMES, DocumentView, view_of
from jobspec.overlays.marked_tree import MarkedTree
from jobspec.remedies import remove, set_to
from jobspec.runtimes.runtime import GROUP, Reference

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Sequence

    from jobspec.diagnostics import Mark, Path
    from jobspec.documents.document import Document
    from jobspec.lint.rule import Edit, Finding, Place, Rule
    from jobspec.pipeline import Checked
    from jobspec.remedies import Change
    from jobspec.results import FileResult
    from jobspec.targets import Target

    #: `run(files, work)` is `[work(file) for file in files]`.
    Run = Callable[[Sequence[Checked], Callable[[Checked], list[Diagnostic]]], list[list[Diagnostic]]]


def _one_by_one(files: Sequence[Checked], work: Callable[[Checked], list[Diagnostic]]) -> list[list[Diagnostic]]:
    return [work(each) for each in files]


#: The rules that are looked at where nobody chooses.
DEFAULT = tuple(each for each in RULES if each.by_default)


def lint(
    files: Sequence[Checked],
    target: Target,
    rules: Sequence[Rule] = DEFAULT,
    *,
    run: Run = _one_by_one,
    only: Container[str] | None = None,
) -> list[FileResult]:
    """The files' results with what lint finds in their accepted documents; each finding is told once, in the file that wrote its cause.

    *run*: how the files are gone through, in several processes for example. *only*: the paths of the files that are gone through, where
    the others are there to be referred to.
    """
    once = list({each.result.path: each for each in files}.values())
    further = (group_kind(each.api_version, each.kind) for file in once for each in file.result.documents)
    documents = Documents((each for file in once for each in seen(file)), target, further=further)
    once = once if only is None else [each for each in once if each.result.path in only]

    def of_file(file: Checked) -> list[Diagnostic]:
        return list(findings(file, documents, rules))

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


def findings(file: Checked, documents: Documents, rules: Sequence[Rule]) -> Iterator[Diagnostic]:
    """What rules find in the documents of one file."""
    places = Places()
    for document in seen(file):
        is_known = find(document.api_version, document.kind) is not None
        kinds = ("document", "runtime") if is_known and document.group_kind in RUNTIMES else ("document",)
        yield from _of(DocumentView(document, documents), [each for each in rules if each.sees in kinds], places)
        view = view_of(document, documents, _beside(document, documents)) if is_known else None
        if view:
            kinds = ("pods", "job") if view.is_job else ("pods",)
            yield from _of(view, [each for each in rules if each.sees in kinds], places)


def _beside(document: Document, documents: Documents) -> list[Document]:
    """What a job may refer to, that of its own file first: runtimes of the name that it says, and priority classes."""
    ref = Reference(document.data)
    found = [*documents.of_name((GROUP, str(ref.kind)), str(ref.name)), *documents.of_kind(PRIORITY_CLASS)]
    return sorted(found, key=lambda each: each.file != document.file)


def _of(view: DocumentView, rules: Sequence[Rule], places: Places) -> Iterator[Diagnostic]:
    for rule in rules:
        known: set[str] = set()
        for finding in rule.check(view):
            diagnostic = _diagnostic(rule, finding, view, places)
            where = f"{diagnostic.mark} {diagnostic.field}"
            if where not in known:  # roles can share what an alias, or a runtime, gives to both
                known.add(where)
                yield diagnostic


def _diagnostic(rule: Rule, finding: Finding, view: DocumentView, places: Places) -> Diagnostic:
    document, path, mark = _written(finding.at, view, places)
    return Diagnostic(
        rule.name,
        finding.message,
        mark,
        field=spell(spelt(path)),
        document=document.index,
        severity=finding.severity or rule.severity,
        hint=finding.hint,
        stage="lint",
        changes=_changes(finding.edits, document, view, places),
    )


def _written(at: Place, view: DocumentView, places: Places) -> tuple[Document, Path, Mark]:
    """The document, path and mark of a place; what no file says is told at the document's name."""
    if not isinstance(at, MarkedTree):
        return view.given, at, view.given.marks.nearest(at).place()
    found = places.find(at.mark, _documents_of(view, at.mark))
    if found:
        return (*found, at.place())
    return view.given, (), at.place() if at.mark.line else view.given.marks.nearest(("metadata", "name")).place()


def _documents_of(view: DocumentView, mark: Mark) -> Iterator[Document]:
    """Where a mark may be: in the view's own documents, or in those of the mark's file."""
    runtime: Document | None = getattr(view, "runtime", None)
    yield view.given
    if runtime:
        yield runtime
    yield from (each for each in view.documents.of_file(mark.file) if each is not view.given and each is not runtime)


def _changes(edits: Sequence[Edit], document: Document, view: DocumentView, places: Places) -> list[Change]:
    """The edits as changes of the finding's document; none where one of them is not in its text."""
    made = []
    for edit in edits:
        of, path, mark = _written(edit.at, view, places)
        if of is not document or mark.layer or mark.file != document.file or not _is_in(mark, of, path):
            return []
        place = (*of.inside, *path, *edit.steps)
        made.append(remove(place) if edit.removes else set_to(place, edit.value))
    return made


def _is_in(mark: Mark, document: Document, path: Path) -> bool:
    """Whether a place is in a document's own text."""
    return bool(mark.line) and str(document.marks.nearest(path).place()) == str(mark)
