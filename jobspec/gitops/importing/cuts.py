"""Cut a value out of YAML text: every other byte stays as it is, comments among them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics import Path
    from jobspec.documents.document import Marks

_CLOSING = {"{": "}", "[": "]"}


class Uncuttable(Exception):
    """The value is written in a form from which nothing is cut."""


class Places:
    """A text, and where the values in it begin and end. Its marks are those of the text itself: it has no aliases and LF line ends."""

    __slots__ = ("_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0]
        for line in text.split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def start(self, marks: Marks) -> int:
        """Where an entry begins: at its key, or at the item of a list."""
        mark = marks.key or marks.mark
        return self._starts[mark.line - 1] + mark.column - 1

    def value_start(self, marks: Marks) -> int:
        """Where a value begins, after its tag and anchor."""
        at = self._starts[marks.mark.line - 1] + marks.mark.column - 1
        while self.text[at : at + 1] in ("&", "!"):
            at += len(self.text[at:].split(None, 1)[0])
            at += len(self.text[at:]) - len(self.text[at:].lstrip())
        return at

    def is_flow(self, marks: Marks) -> bool:
        """Whether a mapping or list is written in braces or brackets."""
        return marks.children is not None and self.text[self.value_start(marks)] in _CLOSING

    def end(self, marks: Marks) -> int:
        """Where a value ends."""
        children, start = marks.children, self.value_start(marks)
        if children is None:
            end = self._starts[marks.mark.end_line - 1] + marks.mark.end_column - 1
            return len(self.text[:end].rstrip(" \n")) if self.text[start : start + 1] in ("|", ">") else max(end, start)
        inside = [self.end(child) for child in (children.values() if isinstance(children, dict) else children)]
        if not self.is_flow(marks):
            return max(inside)
        return self._closing(_CLOSING[self.text[start]], max(inside, default=start + 1))

    def _closing(self, bracket: str, at: int) -> int:
        """The end of a flow collection: behind the bracket that follows the last value, and perhaps a comma and comments."""
        while self.text[at] != bracket:
            if self.text[at] == "#":
                at = self.text.index("\n", at)
            elif self.text[at] not in ", \t\n":
                raise Uncuttable
            at += 1
        return at + 1

    def end_of_line(self, at: int) -> int:
        """The end of the line that only a comment may fill from here on. Raises Uncuttable."""
        end = self.text.find("\n", at)
        end = len(self.text) if end < 0 else end
        rest = self.text[at:end].strip()
        if rest and not rest.startswith("#"):
            raise Uncuttable
        return end


def without(text: str, marks: Marks, path: Path) -> str:
    """The text without the value at *path* of the marks, its key and the comment behind it; a mapping or list goes with its last value.

    Raises Uncuttable.
    """
    parent, target = marks.nearest(path[:-1]), marks.nearest(path)
    while len(path) > 1 and len(parent.children or ()) == 1:
        path = path[:-1]
        parent, target = marks.nearest(path[:-1]), marks.nearest(path)
    places = Places(text)
    children = parent.children
    siblings = list(children.values() if isinstance(children, dict) else children or ())
    number = next(index for index, each in enumerate(siblings) if each is target)
    _require_plain_key(places, target)
    if places.is_flow(parent):
        return _without_in_flow(places, siblings, number)
    if target.key:
        return _without_entry(places, siblings, number)
    return _without_item(places, target)


def _require_plain_key(places: Places, target: Marks) -> None:
    """Raises Uncuttable for anything but `key: value`, such as `? key`."""
    if target.key:
        between = places.text[places.start(target) + target.key.end_column - target.key.column : places.value_start(target) + 1]
        if target.key.line != target.key.end_line or not between.lstrip().startswith(":"):
            raise Uncuttable


def _without_in_flow(places: Places, siblings: list[Marks], number: int) -> str:
    """Without an entry between braces or brackets, and without the comma on one side of it."""
    text, start = places.text, places.start(siblings[number])
    if number + 1 < len(siblings):
        return text[:start] + text[places.start(siblings[number + 1]) :]
    before = places.end(siblings[number - 1]) if number else start
    return text[:before] + text[places.end(siblings[number]) :]


def _without_entry(places: Places, siblings: list[Marks], number: int) -> str:
    """Without the lines of an entry of a block mapping; behind the dash of a list, the next entry takes its place."""
    text, start = places.text, places.start(siblings[number])
    end = places.end_of_line(places.end(siblings[number]))
    line = text.rfind("\n", 0, start) + 1
    if not text[line:start].strip():
        return text[:line] + text[end + 1 :]
    if number or len(siblings) == 1 or text[line:start].strip(" -"):
        raise Uncuttable
    return text[:start] + text[places.start(siblings[1]) :]


def _without_item(places: Places, target: Marks) -> str:
    """Without the lines of an item of a block list."""
    text = places.text
    dash = len(text[: places.start(target)].rstrip()) - 1
    line = text.rfind("\n", 0, dash) + 1
    if text[dash] != "-" or text[line:dash].strip():
        raise Uncuttable
    return text[:line] + text[places.end_of_line(places.end(target)) + 1 :]
