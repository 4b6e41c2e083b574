"""Turn a change of data into an edit of the text: the part that is replaced, and what replaces it."""

from __future__ import annotations

from jobspec.fixes.cuts import cut_of
from jobspec.fixes.insertion import field_added, item_added
from jobspec.fixes.places import TextEdit, TextPlaces, Uncuttable
from jobspec.fixes.spelling import in_flow, scalar
from jobspec.remedies import Change, applied, has, set_to, value_at, widened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.documents.document import Document, Marks


def edit_of(places: TextPlaces, document: Document, change: Change) -> TextEdit:
    """The edit of a change other than `quote`. Raises Uncuttable, and Unfit where there is no such place."""
    marks = document.marks
    if change.action == "rename":
        applied(document.data, change)
        start, end = _written_key(places, marks, marks.nearest(change.path))
        return TextEdit(start, end, scalar(change.value, places.text[start:end], json=places.is_json))
    if change.action == "remove":
        return _removed(places, marks, widened(document.data, change.path))
    return _set(places, document, change.path, change.value)


def _written_key(places: TextPlaces, marks: Marks, target: Marks) -> tuple[int, int]:
    """Where the key of a value begins and ends; of a merged value, that in the mapping which `<<` merges."""
    start, end = places.key(target)
    if places.text[start:end] != "<<":
        return start, end
    written = (places.key(each) for each in _all(marks) if each.key and str(each.mark) == str(target.mark))
    return next((each for each in written if places.text[slice(*each)] != "<<"), (start, end))


def _all(marks: Marks) -> Iterator[Marks]:
    yield marks
    for child in marks.children.values() if isinstance(marks.children, dict) else marks.children or ():
        yield from _all(child)


def unquoted(places: TextPlaces, document: Document, change: Change) -> Change:
    """The same change; `quote` becomes a `set` to the text as it is written."""
    if change.action != "quote":
        return change
    if isinstance(value_at(document.data, change.path), dict | list):
        raise Uncuttable
    target = document.marks.nearest(change.path)
    start, end = places.value_start(target), places.end(target)
    return set_to(change.path, places.text[start:end])


def _removed(places: TextPlaces, marks: Marks, path: Path) -> TextEdit:
    if not path:
        raise Uncuttable
    start, end = cut_of(places, marks, path)
    if end > len(places.text) and start:  # the last line has no end, and the one before it has none now
        start, end = start - (2 if places.text[start - 2 : start] == "\r\n" else 1), len(places.text)
    return TextEdit(start, end, "")


def _set(places: TextPlaces, document: Document, path: Path, value: Any) -> TextEdit:
    data = document.data
    for number, step in enumerate(path):
        if not has(data, step) or (isinstance(data, dict) and data[step] is None):
            return _added(places, document, path[: number + 1], data, _wrapped(path[number + 1 :], value))
        data = data[step]
    target = document.marks.nearest(path)
    start, end = places.value_start(target), places.end(target)
    if places.text[start : start + 1] in ("|", ">") or (target.key is None and target.children is not None and not places.is_flow(target)):
        raise Uncuttable
    if target.children is not None and not places.is_flow(target):
        start = places.end_of_key(target)
        return TextEdit(start, end, f" {in_flow(value, json=False)}")
    return TextEdit(start, end, scalar(value, places.text[start:end], json=places.is_json))


def _wrapped(path: Path, value: Any) -> Any:
    """A value inside the mappings and lists of one entry that a path names."""
    for step in reversed(path):
        value = [value] if isinstance(step, int) else {str(step): value}
    return value


def _added(places: TextPlaces, document: Document, path: Path, around: Any, value: Any) -> TextEdit:
    """The edit that adds a field or item which is not there, or is null."""
    parent = document.marks.nearest(path[:-1])
    if isinstance(around, dict) and path[-1] in around:
        target = document.marks.nearest(path)
        if places.end(target) > places.value_start(target):  # `null` or `~`
            return TextEdit(places.value_start(target), places.end(target), in_flow(value, json=places.is_json))
        at = places.end_of_key(target)
        return TextEdit(at, at, f" {in_flow(value, json=False)}")
    if isinstance(around, list):
        return item_added(places, parent, value)
    return field_added(places, parent, str(path[-1]), value)
