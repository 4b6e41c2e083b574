"""Edit YAML text: find the places of values, and replace parts of the text, so that every other byte is kept.

Fixes, migrated Lists, imported bases and projects are edited here. Why not by ruamel.yaml: see CONTRIBUTING.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from jobspec.diagnostics.places import Mark, Marks, Path
from jobspec.diagnostics.problems import Change, set_to
from jobspec.documents.decoding import is_json
from jobspec.documents.document import Document, with_value_at
from jobspec.documents.marked_tree import MarkedTree, walk
from jobspec.documents.reader import read
from jobspec.documents.writer import is_plain, write

#: Where a part of a text begins and ends.
Span = tuple[int, int]


def edited(text: str, edits: Iterable[TextEdit]) -> str:
    """Apply edits that do not overlap to a text. Insertions at one place keep their order."""
    parts, at = [], 0
    for edit in sorted(edits, key=lambda one: (one.start, one.end)):
        parts += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*parts, text[at:]])


def edits_of(places: TextPlaces, document: Document, change: Change) -> Sequence[TextEdit]:
    """Return the text edits for a change other than `quote`.

    Raises Uncuttable if the value is written in a form that fixes do not edit, and Unfit if there is no such place.
    """
    marks = document.marks
    if change.action == "rename":
        applied(document.data, change)
        start, end = _written_key(places, marks, marks.nearest(change.path))
        return [TextEdit(start, end, scalar(change.value, places.text[start:end], json=places.is_json))]
    if change.action == "move":
        applied(document.data, change)
        return _moved(places, marks, change.path, change.value)
    if change.action == "remove":
        return [_removed(places, marks, widened(document.data, change.path))]
    return [_set(places, document, change.path, change.value)]


def _written_key(places: TextPlaces, marks: Marks, target: Marks) -> tuple[int, int]:
    """Return where the key of a value begins and ends.

    If the value is merged, return the place of the key in the mapping that `<<` merges.
    """
    start, end = places.key(target)
    if places.text[start:end] != "<<":
        return start, end
    written = (places.key(each) for each in map(marks.nearest, marks.paths_to(target.mark)) if each.key)
    return next((each for each in written if places.text[slice(*each)] != "<<"), (start, end))


def unquoted(places: TextPlaces, document: Document, change: Change) -> Change:
    """Turn a `quote` change into a `set` to the value's text. Other changes stay as they are."""
    if change.action != "quote":
        return change
    if isinstance(_existing_at(document.data, change.path), dict | list):
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
    """Return the edit that adds a field or item. It is absent, or null."""
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


def _moved(places: TextPlaces, marks: Marks, path: Path, into: Path) -> list[TextEdit]:
    """Return the edits that move the text of a field to the end of a mapping.

    If the mapping does not exist yet, it is written around the field.
    """
    around, target = marks.nearest(path[:-1]), marks.nearest(path)
    _require_plain_key(places, target)
    inner = around
    while into and (child := inner.child(into[0])):
        inner, into = child, into[1:]
    if places.is_flow(inner):
        written = _set_in_braces(places, target, into, is_flow=places.is_flow(around))
        edit = _in_braces(places, inner, written)
    else:
        column = places.column(target if inner is around else inner.inside[-1])
        written = _set_in_lines(places, target, into, column)
        at = places.behind(inner)
        edit = TextEdit(at, at, f"{places.newline}{' ' * column}{written}")
    start, end = places.start(target), places.end(target)
    if inner is around:
        return [TextEdit(start, end if places.is_flow(inner) else places.behind(target), written)]
    comment = places.behind_blank(end, " ")
    if places.is_flow(inner) and places.text[comment : comment + 1] == "#":
        if places.is_flow(around):
            raise Uncuttable
        return [edit, TextEdit(start, comment, "")]  # the comment stays, since none can go between braces of one line
    return [edit, _removed(places, marks, path)]


def _set_in_braces(places: TextPlaces, target: Marks, into: Path, *, is_flow: bool) -> str:
    """Write a field between braces, for each of the mappings to go into.

    Raises Uncuttable for a field of several lines.
    """
    text = places.text[places.start(target) : places.end(target)]
    if "\n" in text and not is_flow:
        raise Uncuttable
    for name in reversed(into):
        text = f"{in_flow(str(name), json=places.is_json)}: {{{text}}}"
    return text


def _set_in_lines(places: TextPlaces, target: Marks, into: Path, column: int) -> str:
    """Write the lines of a field below a line for each of the mappings to go into.

    The first of these lines is for a *column*. Raises Uncuttable.
    """
    first, *others = places.text[places.start(target) : places.behind(target)].split(places.newline)
    deeper = " " * (column + 2 * len(into) - places.column(target))
    text = places.newline.join([first, *(f"{deeper}{line}" if line.strip() else line for line in others)])
    for number, name in reversed(list(enumerate(into, 1))):
        text = f"{in_flow(str(name), json=False)}:{places.newline}{' ' * (column + 2 * number)}{text}"
    return text


def origins(tree: MarkedTree, text: str) -> list[tuple[int, Mark]]:
    """Return each line of *text* on which a value of a tree begins, with the place of the value.

    *text* is the tree as it is written. A mapping or list begins at its key; one without a key is left out.
    """
    (document,), problems = read(text, file="")
    assert not problems
    written = [(document.marks.nearest(path), each) for path, each in walk(tree)]
    return [((at.key or at.mark).line, each.place()) for at, each in written if at.key or not isinstance(each.value, (dict, list))]


# Add a field or an item behind the last one, in the layout of those that are there.


def field_added(places: TextPlaces, around: Marks, name: str, value: Any) -> TextEdit:
    """Return the edit that adds a field at the end of a mapping. Raises Uncuttable."""
    if places.is_flow(around):
        return _in_braces(places, around, ": ".join(in_flow(each, json=places.is_json) for each in (name, value)))
    if not around.inside:
        raise Uncuttable
    at = places.behind(around)
    return TextEdit(at, at, _in_lines({name: value}, f"{places.newline}{' ' * places.column(around.inside[-1])}"))


def item_added(places: TextPlaces, around: Marks, value: Any) -> TextEdit:
    """Return the edit that adds an item at the end of a list. Raises Uncuttable."""
    if places.is_flow(around):
        return _in_braces(places, around, in_flow(value, json=places.is_json))
    if not around.inside:
        raise Uncuttable
    line, dash = places.dash(places.spans(around)[-1][0])
    at = places.behind(around)
    return TextEdit(at, at, _in_lines([value], f"{places.newline}{places.text[line:dash]}"))


def _in_braces(places: TextPlaces, around: Marks, text: str) -> TextEdit:
    """Behind the last entry, in a line of its own where that has one."""
    if not around.inside:
        at = places.value_start(around) + 1
        return TextEdit(at, at, text)
    start, at = places.spans(around)[-1]
    line = places.start_of_line(start)
    before = places.text[line:start]
    return TextEdit(at, at, f",{places.newline}{before}{text}" if not before.strip() else f", {text}")


# Cut a value out of YAML text: every other byte is kept, comments among them.


def without(text: str, marks: Marks, path: Path) -> str:
    """Remove the value at *path* from a text, with its key and the comment behind it.

    If the value is the last one of a mapping or list, that is removed, too. Raises Uncuttable.
    """
    start, end = cut_of(TextPlaces(text), marks, path)
    return text[:start] + text[end:]


def cut_of(places: TextPlaces, marks: Marks, path: Path) -> Span:
    """Return the start and end of the text to remove for the value at *path*. Raises Uncuttable."""
    parent, target = marks.nearest(path[:-1]), marks.nearest(path)
    while len(path) > 1 and len(parent.children or ()) == 1:
        path = path[:-1]
        parent, target = marks.nearest(path[:-1]), marks.nearest(path)
    number = next(index for index, each in enumerate(parent.inside) if each is target)
    _require_plain_key(places, target)
    spans = places.spans(parent)
    if places.is_flow(parent):
        return _without_in_flow(spans, number)
    if target.key:
        return _without_entry(places, spans, number)
    return places.dash(spans[number][0])[0], places.end_of_line(spans[number][1]) + 1


def _require_plain_key(places: TextPlaces, target: Marks) -> None:
    """Raises Uncuttable for anything but `key: value`, such as `? key`."""
    if target.key:
        between = places.text[places.start(target) + target.key.end_column - target.key.column : places.value_start(target) + 1]
        if target.key.line != target.key.end_line or not between.lstrip().startswith(":"):
            raise Uncuttable


def _without_in_flow(spans: Sequence[Span], number: int) -> Span:
    """Without an entry between braces or brackets, and without the comma on one side of it."""
    start, end = spans[number]
    if number + 1 < len(spans):
        return start, spans[number + 1][0]
    return spans[number - 1][1] if number else start, end


def _without_entry(places: TextPlaces, spans: Sequence[Span], number: int) -> Span:
    """Return the span of the lines of a block mapping's entry, to remove it.

    If the entry is behind the dash of a list, the next entry takes its place.
    """
    start, end = spans[number][0], places.end_of_line(spans[number][1])
    line = places.start_of_line(start)
    if not places.text[line:start].strip():
        return line, end + 1
    if number or len(spans) == 1 or places.text[line:start].strip(" -"):
        raise Uncuttable
    return start, spans[1][0]


# Where values begin and end in YAML text.


_CLOSING = {"{": "}", "[": "]"}
_BLANK = " \t\r\n"
_BETWEEN = (*_BLANK, ",", "-", ":", "[", "{")
_BEHIND_ALIAS = frozenset(" \t\r\n,[]{}")


class Uncuttable(Exception):
    """The value is written in a form that fixes do not edit."""


@dataclass(frozen=True, slots=True)
class TextEdit:
    """A replacement for a part of a text."""

    start: int
    end: int
    text: str
    """What stands there instead."""


class TextPlaces:
    """The places in a text where values begin and end. All marks are those of the text itself."""

    def __init__(self, text: str, first_line: int = 0, *, of_json: bool | None = None) -> None:
        """*first_line*: how many lines of its file stand before it; *of_json*: whether that is JSON."""
        self.text = re.sub("\r(?!\n)", "\n", text)  # a line may end with CR, as YAML has it; every place stays where it is
        self._first_line = first_line
        self.is_json = is_json(text) if of_json is None else of_json
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self._starts = [0]
        for line in self.text.split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def start(self, marks: Marks) -> int:
        """Return where an entry begins: at its key, or at the item of a list."""
        return self._at(marks.key or marks.mark)

    def _at(self, mark: Mark) -> int:
        return self._starts[mark.line - 1 - self._first_line] + mark.column - 1

    def value_start(self, marks: Marks) -> int:
        """Return where a value begins, after its tag and anchor."""
        at = self._at(marks.mark)
        while self.text[at : at + 1] in ("&", "!"):
            while self.text[at : at + 1].strip():
                at += 1
            at = self.behind_blank(at)
        return at

    def is_flow(self, marks: Marks) -> bool:
        """True if a mapping or list is written in braces or brackets."""
        return marks.children is not None and self.text[self.value_start(marks)] in _CLOSING

    def end(self, marks: Marks) -> int:
        """Return where a value ends."""
        children, start = marks.children, self.value_start(marks)
        if children is None:
            end = self._starts[marks.mark.end_line - 1 - self._first_line] + marks.mark.end_column - 1
            return self.before_blank(end, " \r\n") if self.text[start : start + 1] in ("|", ">") else max(end, start)
        inside = [end for _, end in self.spans(marks)]
        if not self.is_flow(marks):
            return max(inside)
        return self._next(_CLOSING[self.text[start]], max(inside, default=start + 1), (*_BLANK, ",")) + 1

    def spans(self, marks: Marks) -> list[Span]:
        """Return where each value inside a mapping or list begins, with its key, and ends.

        If a value is an anchored value from elsewhere, its span is that of the alias.
        """
        found: list[Span] = []
        at = self.value_start(marks)
        for child in marks.inside:
            start = self.start(child)
            if child.key and start + child.key.end_column - child.key.column > self._at(child.mark):
                span = start, self._alias(start + child.key.end_column - child.key.column)[1]
            elif not child.key and start < at:
                span = self._alias(at)
            else:
                span = start, self.end(child)
            found.append(span)
            at = max(at, span[1])
        return found

    def _alias(self, at: int) -> Span:
        """Return where the next alias begins and ends.

        Up to the alias, there may only be marks of lists and mappings, and comments.
        """
        end = at = self._next("*", at, _BETWEEN)
        while end < len(self.text) and self.text[end] not in _BEHIND_ALIAS:
            end += 1
        return at, end

    def _next(self, sign: str, at: int, between: Sequence[str]) -> int:
        """Return the place of the next *sign*. Raises Uncuttable if anything else comes before it.

        Signs of *between* and comments may come before it.
        """
        while self.text[at : at + 1] != sign:
            if self.text[at : at + 1] == "#":
                at = self.text.index("\n", at)
            elif self.text[at : at + 1] not in between:
                raise Uncuttable
            at += 1
        return at

    def key(self, marks: Marks) -> tuple[int, int]:
        """Return where the key of a value begins and ends.

        Raises Uncuttable if the key has several lines.
        """
        assert marks.key
        if marks.key.line != marks.key.end_line:
            raise Uncuttable
        start = self.start(marks)
        return start, start + marks.key.end_column - marks.key.column

    def end_of_key(self, marks: Marks) -> int:
        """Return the place behind the colon of a key. Raises Uncuttable."""
        at = self.behind_blank(self.key(marks)[1], " ")
        if self.text[at : at + 1] != ":":
            raise Uncuttable
        return at + 1

    def behind_blank(self, at: int, blank: str = _BLANK) -> int:
        """Return the first place from *at* on that is not *blank*."""
        while at < len(self.text) and self.text[at] in blank:
            at += 1
        return at

    def before_blank(self, at: int, blank: str = _BLANK) -> int:
        """Return the place behind the last character before *at* that is not *blank*."""
        while at and self.text[at - 1] in blank:
            at -= 1
        return at

    def column(self, marks: Marks) -> int:
        """Return how many characters are before an entry in its line."""
        start = self.start(marks)
        return start - self.start_of_line(start)

    def dash(self, at: int) -> Span:
        """Return the start of the line of an item's dash, and the place of the dash.

        Raises Uncuttable if the dash is not the first character of its line.
        """
        dash = self.before_blank(at) - 1
        line = self.start_of_line(dash)
        if self.text[dash] != "-" or self.text[line:dash].strip():
            raise Uncuttable
        return line, dash

    def start_of_line(self, at: int) -> int:
        """Return the start of the line of a place."""
        return self.text.rfind("\n", 0, at) + 1

    def behind(self, marks: Marks) -> int:
        """Return the end of the last line of a block value, without CR and LF. Raises Uncuttable."""
        end = self.end_of_line(self.end(marks))
        return end - (self.text[end - 1 : end] == "\r")

    def end_of_line(self, at: int) -> int:
        """Return the end of the line, without its LF.

        Raises Uncuttable if anything but a comment is between the place and the end of the line.
        """
        end = self.text.find("\n", at)
        end = len(self.text) if end < 0 else end
        rest = self.text[at:end].strip()
        if rest and not rest.startswith("#"):
            raise Uncuttable
        return end


# Values as text to be put into a file: YAML in lines or in braces, or JSON.


_OF_FLOW = frozenset(",[]{}?:#&*!|>'\"%@`")


def in_flow(value: Any, *, json: bool) -> str:
    """Write a value in one line, in a form that may also be inside braces."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{in_flow(str(key), json=json)}: {in_flow(inner, json=json)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(in_flow(each, json=json) for each in value) + "]"
    if isinstance(value, str) and not json and is_plain(value) and not _OF_FLOW & set(value):
        return value
    return _dumped(value)


def scalar(value: Any, before: str, *, json: bool) -> str:
    """Write a scalar in a form that is valid in any place.

    If the quotes of the scalar *before* fit, they are kept.
    """
    if isinstance(value, str) and before[:1] == "'" and "'" not in value and value.isprintable():
        return f"'{value}'"
    return _dumped(value) if isinstance(value, str) and before[:1] == '"' else in_flow(value, json=json)


def _in_lines(data: Any, start: str) -> str:
    """A mapping or list in lines that begin so."""
    return "".join(f"{start}{line}" for line in write([data]).removesuffix("\n").split("\n"))


def _dumped(value: Any) -> str:
    from json import dumps

    return dumps(value, ensure_ascii=isinstance(value, str) and not value.isprintable())


# Changes made in the data, as their edits make them in the text.


class Unfit(Exception):
    """The document has no such place, or the place already has a value."""


def applied(data: Any, change: Change) -> Any:
    """Apply a change other than `quote` to the data. Raises Unfit."""
    if change.action == "set":
        return _set_in(data, change.path, change.value)
    if change.action == "rename":
        return _changed_in(data, change.path[:-1], lambda around: _renamed_in(around, change.path[-1], change.value))
    if change.action == "move":
        return _changed_in(data, change.path[:-1], lambda around: _moved_in(around, str(change.path[-1]), change.value))
    return _removed_at(data, widened(data, change.path))


def all_applied(data: Any, changes: Sequence[Change]) -> Any:
    """Apply several changes to the data, deeper and later places first. Raises Unfit.

    The paths are those before any change.
    """
    turns = ("set", "rename", "move", "remove")
    deepest_first = sorted(changes, key=lambda each: [str(step).zfill(6) for step in each.path], reverse=True)
    for turn in turns:
        for change in changes if turn == "set" else deepest_first:
            if change.action == turn:
                data = applied(data, change)
    return data


def widened(data: Any, path: Path) -> Path:
    """Return the path to remove for the value at *path*. Raises Unfit.

    If the value is the only one of a mapping or list, that is removed, too, and so on outwards.
    """
    _existing_at(data, path)
    while len(path) > 1 and len(_existing_at(data, path[:-1])) == 1:
        path = path[:-1]
    return path


def _existing_at(data: Any, path: Path) -> Any:
    """The value at a path. Raises Unfit where there is none."""
    for step in path:
        if not has(data, step):
            raise Unfit
        data = data[step]
    return data


def has(around: Any, step: str | int) -> bool:
    """True if a mapping has a key, or a list an index."""
    if isinstance(around, dict):
        return step in around
    return isinstance(around, list) and isinstance(step, int) and 0 <= step < len(around)


def _set_in(data: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        items = [] if data is None else data
        if not isinstance(items, list) or not 0 <= step <= len(items):
            raise Unfit
        return [*items[:step], _set_in(items[step] if step < len(items) else None, rest, value), *items[step + 1 :]]
    if data is not None and not isinstance(data, dict):
        raise Unfit
    return {**(data or {}), str(step): _set_in((data or {}).get(step), rest, value)}


def _changed_in(data: Any, path: Path, changed: Callable[[Any], Any]) -> Any:
    return with_value_at(data, path, changed(_existing_at(data, path)))


def _renamed_in(around: Any, old: str | int, new: str) -> Any:
    if not isinstance(around, dict) or old not in around or new in around:
        raise Unfit
    return {new if key == old else key: value for key, value in around.items()}


def _moved_in(around: Any, name: str, into: Path) -> Any:
    if not isinstance(around, dict) or name not in around:
        raise Unfit
    if into[0] not in around:
        wrapped = _set_in(None, (*into[1:], name), around[name])
        return {into[0] if key == name else key: wrapped if key == name else value for key, value in around.items()}
    inner = around
    for step in into:
        if not isinstance(inner, dict):
            raise Unfit
        inner = inner.get(step, {})
    if not isinstance(inner, dict) or name in inner:
        raise Unfit
    return _removed_at(_set_in(around, (*into, name), around[name]), (name,))


def _removed_at(data: Any, path: Path) -> Any:
    step = path[-1]

    def change(around: Any) -> Any:
        if isinstance(around, list):
            return [each for index, each in enumerate(around) if index != step]
        return {key: value for key, value in around.items() if key != step}

    return _changed_in(data, path[:-1], change)
