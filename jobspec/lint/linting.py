"""Lint checked files: every rule on every view in which it can find something, and each finding once."""

from __future__ import annotations

from itertools import chain

from jobspec.diagnostics import Diagnostic, Key, Mark, Path, spell
from jobspec.documents.document import Document, Marks
from jobspec.documents.marked_tree import MarkedTree
from jobspec.kinds import find, group_kind
from jobspec.lint.topics import TOPICS, Topic
from jobspec.lint.views import RUNTIMES, Documents, DocumentView, view_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    from jobspec.lint.rule import Edit, Finding, Place, Rule, Sees
    from jobspec.pipeline import Checked
    from jobspec.remedies import Change
    from jobspec.results import FileResult
    from jobspec.targets import Target

    #: `run(files, work)` is `[work(file) for file in files]`.
    Run = Callable[[Sequence[Checked], Callable[[Checked], list[Diagnostic]]], list[list[Diagnostic]]]
    #: What a rule finds in a view.
    Found = tuple[DocumentView, Rule, Sequence[Finding]]
    #: A mark's file, layer, and span.
    Span = tuple[str, str, int, int, int, int]


def _one_by_one(files: Sequence[Checked], work: Callable[[Checked], list[Diagnostic]]) -> list[list[Diagnostic]]:
    return [work(each) for each in files]


def enabled_by_default(rule: Rule) -> bool:
    """Whether a rule is looked at where nobody chooses."""
    return rule.by_default


def lint(
    files: Sequence[Checked],
    target: Target,
    chosen: Callable[[Rule], bool] = enabled_by_default,
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

    return attached(files, {file.result.path: found for file, found in zip(once, run(once, of_file), strict=True)})


def seen(file: Checked) -> list[Document]:
    """The documents of a file that can be looked at: those that a server accepts, and those of kinds that are unknown to the check."""
    refused = [each for each in file.result.diagnostics if each.severity == "error" and each.stage != "outcome"]
    wrong = {each.document for each in refused if each.rule != "unknown-kind"}
    return [] if None in wrong else [each for each in file.documents if each.index not in wrong]


def attached(files: Sequence[Checked], found: dict[str, list[Diagnostic]]) -> list[FileResult]:
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


# From a finding back to the document that its cause was written in: at which line it is told, and what mends it there.


def diagnostics_of(found: Iterable[Found]) -> Iterator[Diagnostic]:
    """What rules find in the views of one file, each at the line that wrote its cause."""
    places = Places()
    for view, rule, findings in found:
        known: set[str] = set()
        for finding in findings:
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
    if not edits:
        return []
    from jobspec.remedies import remove, set_to

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


class Places:
    """The places of documents, each document's gathered when it is first asked for."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[int, dict[Span, Path]] = {}

    def find(self, mark: Mark, among: Iterable[Document]) -> tuple[Document, Path] | None:
        """The document and the path that a mark is the place of; None where it is that of none, such as an operator's."""
        if not mark.line:
            return None
        for document in among:
            known = self._known.get(id(document))
            if known is None:
                known = self._known[id(document)] = _spans(document)
            if (path := known.get(_span(mark))) is not None:
                return document, path
        return None


def _spans(document: Document) -> dict[Span, Path]:
    """The path of each place in a document; the first one, of values that stand at one place through an alias."""
    found: dict[Span, Path] = {}
    _gather(document.marks, (), found)
    return found


def _gather(marks: Marks, path: Path, found: dict[Span, Path]) -> None:
    children = marks.children
    for step, child in children.items() if isinstance(children, dict) else enumerate(children or ()):
        _gather(child, (*path, step), found)
    found.setdefault(_span(marks.mark), path)
    if marks.key:
        found.setdefault(_span(marks.key), path)


def _span(mark: Mark) -> Span:
    return mark.file, mark.layer, mark.line, mark.column, mark.end_line, mark.end_column


def spelt(path: Path) -> Path:
    """A path with the keys of maps spelt as such."""
    steps: list[str | int] = []
    for step in path:
        above = steps[-1] if steps else ""
        is_key = isinstance(step, str) and above in _MAPS and not isinstance(above, Key)
        steps.append(Key(step) if is_key else step)
    return tuple(steps)


#: Fields whose keys are data.
_MAPS = ("annotations", "labels", "limits", "matchLabels", "nodeSelector", "pytorchReplicaSpecs", "requests")
