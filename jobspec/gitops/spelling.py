"""Scalars as they are spelt in a file: `0.10` stays `0.10`, and `1e-3` stays `1e-3`."""

from __future__ import annotations

from jobspec.documents.scalars import resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics import Mark
    from jobspec.documents.marked_tree import MarkedTree


class Spelling:
    """Gives the text of a scalar by its place in a file."""

    __slots__ = ("_lines",)

    def __init__(self, text: str) -> None:
        self._lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")

    def __call__(self, scalar: MarkedTree) -> str:
        """The text of a scalar; of a number as it is spelt, of one behind an alias or a tag as JSON has it."""
        value, mark = scalar.value, scalar.mark
        if isinstance(value, str):
            return value
        spelt = self.at(mark)
        if spelt and resolve(spelt) == value and type(resolve(spelt)) is type(value):
            return spelt
        return str(value).lower() if isinstance(value, bool) else str(value)

    def at(self, mark: Mark) -> str:
        """The text of the file at a mark; empty where that is more than a line."""
        line = self._lines[mark.line - 1] if 0 < mark.line <= len(self._lines) else ""
        return line[mark.column - 1 : mark.end_column - 1] if mark.line == mark.end_line else ""
