"""Rename and move fields of documents. Each value keeps the place where it is written."""

from __future__ import annotations

from jobspec.diagnostics.places import Marks
from jobspec.documents.document import ParsedMarks
from jobspec.documents.text_edits import Unfit, all_applied

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from jobspec.diagnostics.places import Path
    from jobspec.diagnostics.problems import Change
    from jobspec.documents.document import Document, SameMarks

    Children = dict[str, Marks]


def corrected(document: Document, changes: Sequence[Change]) -> Document | None:
    """Return the document after changes that rename or move fields.

    If one of them cannot be made, return None.
    """
    try:
        data = all_applied(document.data, changes)
    except Unfit:
        return None
    return document.written_as(data, _CorrectedMarks(document, tuple(changes)))


class _CorrectedMarks(ParsedMarks):
    """Makes the marks of a corrected document."""

    __slots__ = ("_changes", "_document", "_made")

    def __init__(self, document: Document, changes: tuple[Change, ...]) -> None:
        self._document = document
        self._changes = changes
        self._made: list[Marks] = []
        """The tree of marks, unless it is not made yet, or forgotten."""

    def __call__(self) -> Marks:
        if not self._made:
            marks = self._document.marks
            for change in sorted(self._changes, key=lambda each: len(each.path), reverse=True):
                marks = _around(marks, change.path[:-1], lambda children, change=change: _changed(children, change))  # type: ignore[misc]
            self._made.append(marks)
        return self._made[0]

    @property
    def differs(self) -> str:
        return repr(self._changes)

    def same_marks(self, other: ParsedMarks, name: str, other_name: str) -> SameMarks | None:  # noqa: ARG002 (that is not corrected)
        is_same = not self._made and isinstance(other, _CorrectedMarks) and self._changes == other._changes
        return self._document.same_marks(other._document) if is_same else None  # type: ignore[attr-defined]

    def forget(self) -> None:
        self._document.forget_marks()
        self._made.clear()

    def __reduce__(self) -> tuple[type[_CorrectedMarks], tuple[Document, tuple[Change, ...]]]:
        return _CorrectedMarks, (self._document, self._changes)


def _changed(children: Children, change: Change) -> Children:
    name = str(change.path[-1])
    if change.action == "rename":
        return {change.value if key == name else key: each for key, each in children.items()}
    left = {key: each for key, each in children.items() if key != name}
    return _added(left, change.value, name, children[name]) if change.action == "move" and name in children else left


def _added(children: Children, into: Path, name: str, moved: Marks) -> Children:
    """Return the marks of a mapping with a moved field in it. A mapping that is made for the field has the field's place."""
    if not into:
        return {**children, name: moved}
    step = str(into[0])
    inner = children.get(step) or Marks(moved.mark, moved.key, {})
    further: Any = inner.children
    return {**children, step: Marks(inner.mark, inner.key, _added(dict(further or {}), into[1:], name, moved))}


def _around(marks: Marks, path: Path, change: Callable[[Children], Children]) -> Marks:
    """Return the marks with changed children of the mapping at a path."""
    children: Any = marks.children
    if not path:
        return Marks(marks.mark, marks.key, change(dict(children or {})))
    step = path[0]
    if isinstance(children, list):
        return Marks(marks.mark, marks.key, [_around(each, path[1:], change) if at == step else each for at, each in enumerate(children)])
    inner = {key: _around(each, path[1:], change) if key == str(step) else each for key, each in (children or {}).items()}
    return Marks(marks.mark, marks.key, inner)
