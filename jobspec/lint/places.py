"""From a finding back to the document that its cause was written in: at which line it is told, and what mends it there."""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic, Key, spell
from jobspec.documents.marked_tree import MarkedTree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jobspec.diagnostics import Mark, Path
    from jobspec.documents.document import Document, Marks
    from jobspec.lint.rule import Edit, Finding, Place, Rule
    from jobspec.lint.views import DocumentView
    from jobspec.remedies import Change

    #: What a rule finds in a view.
    Found = tuple[DocumentView, Rule, Sequence[Finding]]
    #: A mark's file, layer, and span.
    Span = tuple[str, str, int, int, int, int]


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
