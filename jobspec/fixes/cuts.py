"""Cut a value out of YAML text: every other byte stays as it is, comments among them."""

from __future__ import annotations

from jobspec.fixes.places import TextPlaces, Uncuttable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics import Path
    from jobspec.documents.document import Marks


def without(text: str, marks: Marks, path: Path) -> str:
    """The text without the value at *path* of the marks, its key and the comment behind it; a mapping or list goes with its last value.

    Raises Uncuttable.
    """
    start, end = cut_of(TextPlaces(text), marks, path)
    return text[:start] + text[end:]


def cut_of(places: TextPlaces, marks: Marks, path: Path) -> tuple[int, int]:
    """Where what goes with the value at *path* begins and ends. Raises Uncuttable."""
    parent, target = marks.nearest(path[:-1]), marks.nearest(path)
    while len(path) > 1 and len(parent.children or ()) == 1:
        path = path[:-1]
        parent, target = marks.nearest(path[:-1]), marks.nearest(path)
    children = parent.children
    siblings = list(children.values() if isinstance(children, dict) else children or ())
    number = next(index for index, each in enumerate(siblings) if each is target)
    _require_plain_key(places, target)
    if places.is_flow(parent):
        return _without_in_flow(places, siblings, number)
    if target.key:
        return _without_entry(places, siblings, number)
    return _without_item(places, target)


def _require_plain_key(places: TextPlaces, target: Marks) -> None:
    """Raises Uncuttable for anything but `key: value`, such as `? key`."""
    if target.key:
        between = places.text[places.start(target) + target.key.end_column - target.key.column : places.value_start(target) + 1]
        if target.key.line != target.key.end_line or not between.lstrip().startswith(":"):
            raise Uncuttable


def _without_in_flow(places: TextPlaces, siblings: list[Marks], number: int) -> tuple[int, int]:
    """Without an entry between braces or brackets, and without the comma on one side of it."""
    start = places.start(siblings[number])
    if number + 1 < len(siblings):
        return start, places.start(siblings[number + 1])
    before = places.end(siblings[number - 1]) if number else start
    return before, places.end(siblings[number])


def _without_entry(places: TextPlaces, siblings: list[Marks], number: int) -> tuple[int, int]:
    """Without the lines of an entry of a block mapping; behind the dash of a list, the next entry takes its place."""
    text, start = places.text, places.start(siblings[number])
    end = places.end_of_line(places.end(siblings[number]))
    line = text.rfind("\n", 0, start) + 1
    if not text[line:start].strip():
        return line, end + 1
    if number or len(siblings) == 1 or text[line:start].strip(" -"):
        raise Uncuttable
    return start, places.start(siblings[1])


def _without_item(places: TextPlaces, target: Marks) -> tuple[int, int]:
    """Without the lines of an item of a block list."""
    text = places.text
    dash = places.before_blank(places.start(target)) - 1
    line = text.rfind("\n", 0, dash) + 1
    if text[dash] != "-" or text[line:dash].strip():
        raise Uncuttable
    return line, places.end_of_line(places.end(target)) + 1
