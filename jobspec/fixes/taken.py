"""The parts of a text that edits take, so that no other edit touches them."""

from __future__ import annotations

from bisect import bisect_left

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobspec.fixes.places import TextEdit


class Taken:
    """Spans of a text, in order and apart from each other, and the edits in them."""

    __slots__ = ("_edits", "_ends", "_starts")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._edits: set[tuple[int, int, str]] = set()

    def touches(self, edit: TextEdit) -> bool:
        """Whether an edit has a place in common with a span, its ends included; not where it repeats an edit, as where an alias stands."""
        if edit.start < edit.end and (edit.start, edit.end, edit.text) in self._edits:
            return False
        first, behind = self._touched(edit)
        return first < behind

    def add(self, edits: Iterable[TextEdit]) -> None:
        """Take the parts of edits; those that touch become one."""
        for edit in edits:
            first, behind = self._touched(edit)
            start = min([edit.start, *self._starts[first:behind]])
            end = max([edit.end, *self._ends[first:behind]])
            self._starts[first:behind], self._ends[first:behind] = [start], [end]
            self._edits.add((edit.start, edit.end, edit.text))

    def _touched(self, edit: TextEdit) -> tuple[int, int]:
        """The number of the first span that an edit touches, and of the first one behind it that it does not."""
        first = bisect_left(self._ends, edit.start)
        behind = first
        while behind < len(self._starts) and self._starts[behind] <= edit.end:
            behind += 1
        return first, behind
