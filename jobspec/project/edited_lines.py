"""Find the edited line that made a value of a built object another one: in a base, a patch, a kustomization, a values file."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from jobspec.diagnostics.places import Mark
from jobspec.project.fields import FieldChange


@dataclass(frozen=True, slots=True)
class EditedFile:
    """A file that a change edits."""

    name: str
    """Its path as users name it."""
    lines: Mapping[int, str]
    """The lines that are new in it, by their numbers; none of a file that is gone."""
    is_kustomization: bool = False
    """Whether it lists what is built."""


def edited_lines(before: str, after: str) -> dict[int, str]:
    """Return the lines of a text that are not in the text before, by their numbers."""
    from difflib import SequenceMatcher

    old, new = before.splitlines(), after.splitlines()
    start = next((at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), min(len(old), len(new)))
    if len(old) + len(new) - 2 * start > _MANY:
        known = set(old)
        return {number: line for number, line in enumerate(new, 1) if line not in known}
    matcher = SequenceMatcher(None, old[start:], new[start:], autojunk=False)
    changed = (at + start for tag, _, _, first, last in matcher.get_opcodes() if tag != "equal" for at in range(first, last))
    return {at + 1: new[at] for at in changed}


_MANY = 4000
"""More lines than this are compared as sets, since to align them takes too long."""


def at_edited_line(change: FieldChange, edits: Mapping[str, EditedFile], reads: Collection[str]) -> FieldChange:
    """Return a change of a field with the edited line that made it, if its own line is as it was.

    *edits* and *reads*: the edited files, and the files that the object is built of, by their real paths.
    """
    place = change.place
    files = [each for path, each in edits.items() if path in reads]
    if not files or (place and any(each.name == place.file and place.line in each.lines for each in files)):
        return change
    found = _line_with(change, files) or (None if change.after is None else _first_line(place, files))
    return replace(change, place=found) if found else change


def _line_with(change: FieldChange, files: Collection[EditedFile]) -> Mark | None:
    """Return the edited line that has the new value, best with its key; None if none has."""
    if change.after is None:
        return None
    place, field = change.place, next((str(step) for step in reversed(change.path) if isinstance(step, str)), "")
    old = list(_scalars_in(change.before.data())) if change.before else []
    new = [each for each in _scalars_in(change.after.data()) if each not in old]
    words = [word for each in new for word in _words_of(each, old[0] if len(old) == 1 else None)]
    ranked = [
        (at, bool(place and place.file != each.name), field not in line, each.name, number, line, word)
        for at, word in enumerate(words)
        for each in files
        for number, line in each.lines.items()
        if _has_word(line, word)
    ]
    if not ranked:
        return None
    *_, name, number, line, word = min(ranked)
    column = line.index(word) + 1
    return Mark(name, number, column, number, column + len(word))


def _scalars_in(value: Any) -> Iterator[Any]:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    if inside is None:
        yield value
    else:
        yield from (each for one in inside for each in _scalars_in(one))


def _words_of(value: Any, before: Any) -> Iterator[str]:
    """Yield the first line of a scalar that is new in it, then the parts of an image or URL that are new, the last first."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    known = before.splitlines() if isinstance(before, str) else []
    first = next((each.strip() for each in text.splitlines() if each.strip() and each not in known), "")
    if first:
        yield first
    old = re.split(r"[\s:@/=,]+", before) if isinstance(before, str) else []
    yield from (each for each in reversed(re.split(r"[\s:@/=,]+", first)) if each and each not in old and each != first)


def _has_word(line: str, word: str) -> bool:
    return word in line and re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", line) is not None


def _first_line(place: Mark | None, files: Collection[EditedFile]) -> Mark | None:
    """Return the first edited line of the only edited kustomization, or else of the only edited file; None if the value's own is edited."""
    named = [each for each in files if place and each.name == place.file]
    if named:
        return None  # the line around has moved, such as in another order
    lists = [each for each in files if each.is_kustomization and each.lines] or [each for each in files if each.lines]
    if len(lists) != 1:
        return None
    number = min(lists[0].lines)
    line = lists[0].lines[number]
    column = len(line) - len(line.lstrip()) + 1
    return Mark(lists[0].name, number, column, number, len(line) + 1)
