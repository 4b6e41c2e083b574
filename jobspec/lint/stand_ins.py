"""Values that stand in for placeholders: a finding holds whatever the numbers are, and an object may have any name that fits."""

from __future__ import annotations

from jobspec.diagnostics.places import span_of, value_at
from jobspec.documents.document import with_value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence
    from typing import Any

    from jobspec.apis.kinds import GroupKind
    from jobspec.diagnostics.diagnostic import Diagnostic
    from jobspec.documents.document import Document
    from jobspec.journey.steps import Checked

    Key = tuple[str, str, str, int | None]

_NOTE = "unjudged-template"
_OTHER = 1000  # how much greater the other numbers are: more than any limit that rules know


def names_to_fill_in(file: Checked) -> Iterator[tuple[GroupKind, re.Pattern[str]]]:
    """Yield the kind of each object whose name has a placeholder, and a pattern of the names that the object may have."""
    notes = [each for each in file.result.diagnostics if each.rule == _NOTE and not each.message]
    if not notes:
        return
    import re

    from jobspec.repository.placeholders import STAND_IN

    for document in file.documents:
        paths = document.marks.paths()
        if any(note.document == document.index and paths.get(span_of(note.mark)) == ("metadata", "name") for note in notes):
            yield document.group_kind, re.compile(".+".join(map(re.escape, STAND_IN.split(document.name))))


def with_other_numbers(file: Checked) -> Checked | None:
    """A file with other numbers in place of its placeholders; None if it has no placeholder for a number."""
    notes = [each for each in file.result.diagnostics if each.rule == _NOTE and not each.message]
    if not notes:
        return None
    changed = [_with_other_numbers(each, [note for note in notes if note.document == each.index]) for each in file.documents]
    is_same = all(after is before for after, before in zip(changed, file.documents, strict=True))
    return None if is_same else file.changed(documents=changed)


def _with_other_numbers(document: Document, notes: Sequence[Diagnostic]) -> Document:
    data, paths = document.data, document.marks.paths() if notes else {}
    for note in notes:
        path = paths.get(span_of(note.mark))
        number = _other(value_at(data, path)) if path else None
        if path and number is not None:
            data = with_value_at(data, path, number)
    return document if data is document.data else document.changed(data)


def _other(value: Any) -> int | str | None:
    """Another number of the same type; None for what is no whole number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value + _OTHER
    return str(int(value) + _OTHER) if isinstance(value, str) and value.isdecimal() else None


def found_with_both(found: Sequence[Diagnostic], others: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    """What is found with some numbers and with others, without the numbers in which the messages differ.

    If a rule compares two numbers, the one that is filled in may be the right one.
    """
    by_key = {_key(each): each for each in others}
    for each in found:
        other = by_key.get(_key(each))
        if other and (each.message == other.message or each.rule not in _COMPARING):
            yield each.with_message(_alike(each.message, other.message)).with_hint(_alike(each.hint, other.hint))


#: Rules that find two numbers that are not the same.
_COMPARING = ("overriding-flags", "partial-gang", "uncounted-accelerators", "uncounted-group-resources")


def _key(found: Diagnostic) -> Key:
    return found.rule, str(found.mark), found.field, found.document


def _alike(one: str, other: str) -> str:
    """A sentence without the numbers in which it differs from another one; of nouns that differ, the other one's."""
    words = list(zip(one.split(" "), other.split(" "), strict=False))
    if one == other or len(one.split(" ")) != len(other.split(" ")):
        return one
    return " ".join(second for first, second in words if first == second or not any(map(str.isdigit, second)))
