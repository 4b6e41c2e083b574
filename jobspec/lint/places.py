"""From a value of an expanded job back to the document that it was written in."""

from __future__ import annotations

from jobspec.diagnostics import Key, Mark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jobspec.diagnostics import Path
    from jobspec.documents.document import Document, Marks

    #: A mark's file, layer, and span.
    Span = tuple[str, str, int, int, int, int]


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
    for path, marks in _walk(document.marks, ()):
        found.setdefault(_span(marks.mark), path)
        if marks.key:
            found.setdefault(_span(marks.key), path)
    return found


def _walk(marks: Marks, path: Path) -> Iterator[tuple[Path, Marks]]:
    children = marks.children
    inside = children.items() if isinstance(children, dict) else enumerate(children or ())
    for step, child in inside:
        yield from _walk(child, (*path, step))
    yield path, marks


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
