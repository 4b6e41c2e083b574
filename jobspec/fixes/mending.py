"""Make remedies in the text of a file, and keep only what changes its data as the remedies say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jobspec.documents.reader import read
from jobspec.documents.text_edits import OccupiedSpans, TextEdit, TextPlaces, Uncuttable, edited, edits_of, unquoted
from jobspec.remedies import Change, Unfit, all_applied

#: The index of a document in its file, and changes of it that belong together.
Wish = tuple[int, Sequence[Change]]


@dataclass(frozen=True, slots=True)
class _Planned:
    """A wish, its changes without `quote`, and the edits that make them."""

    wish: Wish
    changes: Sequence[Change]
    edits: Sequence[TextEdit]


class _Before:
    """A file's text, documents, and the number of problems in its YAML."""

    __slots__ = ("documents", "file", "problems", "text")

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.documents, problems = read(text, file=file)
        self.problems = len(problems)


def mended(text: str, wishes: Sequence[Wish], *, file: str) -> tuple[str, list[Wish]]:
    """The text with as many of the wishes as can be made at once, and those that were made.

    Each is made in its own parts of the text: one that would touch those of another waits until the next time.
    """
    before = _Before(text.removeprefix("\ufeff"), file)
    planned = _largest(before, _together(_apart(_all_planned(before, wishes))))
    bom = "\ufeff" if text.startswith("\ufeff") else ""
    return bom + _made(before.text, planned), [each.wish for each in planned]


def _all_planned(before: _Before, wishes: Sequence[Wish]) -> list[_Planned]:
    places = TextPlaces(before.text)
    documents = {each.index: each for each in before.documents}
    found = []
    for index, changes in wishes:
        if index in documents:
            try:
                plain = [unquoted(places, documents[index], each) for each in changes]
                edits = [edit for each in plain for edit in edits_of(places, documents[index], each)]
                found.append(_Planned((index, changes), plain, edits))
            except (Uncuttable, Unfit):
                continue
    return found


def _apart(planned: list[_Planned]) -> list[_Planned]:
    """Those whose edits do not touch each other's, the first of each place; the same edit twice is one, as where an alias stands."""
    kept: list[_Planned] = []
    taken = OccupiedSpans()
    for each in sorted(planned, key=lambda one: [(edit.start, edit.end) for edit in one.edits]):
        if not any(taken.touches(edit) for edit in each.edits):
            kept.append(each)
            taken.add(each.edits)
    return kept


def _made(text: str, planned: Sequence[_Planned]) -> str:
    """The edited text; the same edit of several wishes is made once, as where an alias stands."""
    return edited(text, dict.fromkeys(edit for each in planned for edit in each.edits))


def _together(planned: Sequence[_Planned]) -> list[list[_Planned]]:
    """The wishes that make the same edits, as where an alias or a merge key stands for what is written once."""
    groups: dict[tuple[tuple[int, int, str], ...], list[_Planned]] = {}
    for each in planned:
        groups.setdefault(tuple((edit.start, edit.end, edit.text) for edit in each.edits), []).append(each)
    return list(groups.values())


def _largest(before: _Before, groups: Sequence[list[_Planned]], kept: Sequence[_Planned] = ()) -> list[_Planned]:
    """The wishes whose edits do what they say, with each other: half of them at a time, and half of that, where they do not."""
    planned = [*kept, *(each for group in groups for each in group)]
    if not groups or _is_as_wished(before, planned):
        return planned
    if len(groups) == 1:
        return [*kept]
    half = len(groups) // 2
    return _largest(before, groups[half:], _largest(before, groups[:half], kept))


def _is_as_wished(before: _Before, planned: Sequence[_Planned]) -> bool:
    """Whether the edited text holds the documents as they were, with the changes made in their data."""
    after, problems = read(_made(before.text, planned), file=before.file)
    wished: dict[int, list[Change]] = {each.index: [] for each in before.documents}
    for each in planned:
        wished[each.wish[0]] += each.changes
    try:
        wanted = [all_applied(each.data, wished[each.index]) for each in before.documents]
    except Unfit:
        return False
    are_same = len(wanted) == len(after) and all(_same(*each) for each in zip(wanted, (each.data for each in after), strict=True))
    return are_same and len(problems) == before.problems


def _same(one: Any, other: Any) -> bool:
    """Equal in type and order, too: `1` is no `true`."""
    return repr(one) == repr(other)
