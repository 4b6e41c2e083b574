"""Keep only findings that hold whatever number is filled in for a placeholder.

Each is found with two numbers in its place.
"""

from __future__ import annotations

from jobspec.diagnostics.places import span_of, value_at
from jobspec.documents.document import with_value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from jobspec.diagnostics.diagnostic import Diagnostic
    from jobspec.documents.document import Document

    Key = tuple[str, str, str, int | None]

_OTHER = 1000  # how much greater the other numbers are: more than any limit that rules know


def with_other_numbers(documents: Sequence[Document], notes: Sequence[Diagnostic]) -> list[Document] | None:
    """Return documents with other numbers in place of placeholders.

    If no number stands in for a placeholder, return None. *notes*: those of the places at which values stand in for placeholders.
    """
    if not notes:
        return None
    changed = [_with_other_numbers(each, [note for note in notes if note.document == each.index]) for each in documents]
    return None if all(after is before for after, before in zip(changed, documents, strict=True)) else changed


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


#: Rules that find two numbers that are not the same.
_COMPARING = ("overriding-flags", "partial-gang", "uncounted-accelerators", "uncounted-group-resources")
#: Rules that name a total, which is the least one with the numbers that stand in for placeholders.
NAMING_TOTALS = ("never-admitted", "never-fits")


def found_with_both(found: Sequence[Diagnostic], others: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    """Yield what is found with some numbers and with others.

    Numbers in which the messages differ are left out. If a rule compares two numbers, the one that is filled in may be the right one.
    """
    by_key = {_key(each): each for each in others}
    for each in found:
        other = by_key.get(_key(each))
        if other and each.rule in NAMING_TOTALS:
            yield each
        elif other and (each.message == other.message or each.rule not in _COMPARING):
            yield each.with_message(_alike(each.message, other.message)).with_hint(_alike(each.hint, other.hint))


def _key(found: Diagnostic) -> Key:
    return found.rule, str(found.mark), found.field, found.document


def _alike(one: str, other: str) -> str:
    """A sentence without the numbers in which it differs from another one; of nouns that differ, the other one's."""
    words = list(zip(one.split(" "), other.split(" "), strict=False))
    if one == other or len(one.split(" ")) != len(other.split(" ")):
        return one
    return " ".join(second for first, second in words if first == second or not any(map(str.isdigit, second)))
