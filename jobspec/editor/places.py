"""Places in a text as editors count them: lines and columns from 0, columns in the units that client and server agreed on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from jobspec.diagnostics.places import Path

_BYTES = {"utf-16": ("utf-16-le", 2), "utf-8": ("utf-8", 1), "utf-32": ("utf-32-le", 4)}


class EditorText:
    """A text, whose columns are counted in an encoding: `utf-16`, `utf-8` or `utf-32`."""

    def __init__(self, text: str, encoding: str = "utf-16") -> None:
        self.text = text
        self._encoding = getattr(encoding, "value", encoding)

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends."""
        return self.text.split("\n")

    def line(self, number: int) -> str:
        """A line by its number from 0; empty behind the last one."""
        return self.lines[number] if number < len(self.lines) else ""

    def units(self, line: int, column: int | None = None) -> int:
        """How long a line is up to a column in code points, or as a whole."""
        part = self.line(line).removesuffix("\r")[:column]
        codec, size = _BYTES[self._encoding]
        return len(part) if part.isascii() else len(part.encode(codec, "surrogatepass")) // size

    def position(self, line: int, column: int) -> tuple[int, int]:
        """Line and column from 0 for those of a mark, which count from 1, in code points."""
        return line - 1, self.units(line - 1, column - 1)

    def column(self, line: int, character: int) -> int:
        """The column in code points, from 0, that a client means."""
        text = self.line(line)
        codec, size = _BYTES[self._encoding]
        if text.isascii():
            return min(character, len(text))
        return len(text.encode(codec, "surrogatepass")[: character * size].decode(codec, "ignore"))

    def offset(self, position: Any) -> int:
        """The index in the text of a client's position."""
        if position.line >= len(self.lines):
            return len(self.text)
        return sum(len(each) + 1 for each in self.lines[: position.line]) + self.column(position.line, position.character)

    def changed(self, place: Any, new: str) -> EditorText:
        """The text with another one in a range; all of it where there is none."""
        if place is None:
            return EditorText(new, self._encoding)
        return EditorText(self.text[: self.offset(place.start)] + new + self.text[self.offset(place.end) :], self._encoding)


class Outline:
    """What the lines of a text say by their indentation, whether they are valid YAML or not: keys, items and what they are in."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines

    def document(self, line: int) -> tuple[int, int]:
        """The first line of the document that a line is in, and the one behind its last."""
        start = next((at + 1 for at in range(min(line, len(self.lines)) - 1, -1, -1) if self.lines[at].startswith("---")), 0)
        end = next((at for at in range(line + 1, len(self.lines)) if self.lines[at].startswith("---")), len(self.lines))
        return start, end

    def top(self, line: int, name: str) -> str:
        """The value of a field at the top of the document that a line is in, such as `kind`; empty where it is not said."""
        found = (re.match(rf"{name}:\s*[\"']?([^\s\"'#]+)", self.lines[at]) for at in range(*self.document(line)))
        return next((each[1] for each in found if each), "")

    def around(self, line: int, column: int) -> tuple[Path, list[str]]:
        """The path of the mapping or list that holds what begins at a place, and the keys that are beside it."""
        path: list[str | int] = []
        siblings: list[str] = []
        limit, in_list, number = column, False, 0
        first, end = self.document(line)
        for at in range(min(line, len(self.lines) - 1), first - 1, -1):
            for start, key in reversed(_tokens(self.lines[at])):
                if at == line and start >= column:
                    continue
                if key is None and start < limit:
                    limit, in_list, number = start, True, 0
                elif key is None and in_list and start == limit:
                    number += 1
                elif key is not None and (start < limit or (in_list and start == limit)):
                    path[:0] = [key, number] if in_list else [key]
                    limit, in_list = start, False
                elif key is not None and start == limit and not path and not in_list:
                    siblings.append(key)
            if limit == 0 and not in_list:
                break
        if in_list:
            path[:0] = [number]
        return tuple(path), [*siblings, *self._below(line + 1, end, column)]

    def _below(self, line: int, end: int, column: int) -> Iterator[str]:
        for at in range(line, end):
            for start, key in _tokens(self.lines[at]):
                if start < column:
                    return
                if key is not None and start == column:
                    yield key

    def values(self, line: int) -> Iterator[tuple[Path, str]]:
        """The path and the text of each plain value in the document that a line is in."""
        for at in range(*self.document(line)):
            for start, key in _tokens(self.lines[at]):
                value = self.lines[at][start:].partition(":")[2].strip() if key else ""
                if value and key:
                    yield (*self.around(at, start)[0], key), value.strip("\"'")


_KEY = re.compile(r"([\"']?)([^\s\"'#\[\]{},&*!|>%@`-][^#\"']*?|-[^\s\"'][^#\"']*?)\1\s*:(?=\s|$)")


def _tokens(line: str) -> list[tuple[int, str | None]]:
    """The dashes of a line, as None, and its key, each with the column where it begins."""
    found: list[tuple[int, str | None]] = []
    at = len(line) - len(line.lstrip(" "))
    while line[at : at + 2] in ("- ", "-"):
        found.append((at, None))
        at += 1
        at += len(line[at:]) - len(line[at:].lstrip(" "))
    if key := _KEY.match(line, at):
        found.append((at, key[2]))
    return found


def flow_at_end(text: str) -> tuple[Path, str, list[str] | None] | None:
    """Where a text in flow style ends, such as `{limits: {cpu: 1, mem`: the path in it, the word there, and beside a key the keys.

    None where it is in no flow style, or complete.
    """
    open_ones: list[tuple[list[str], list[int | str]]] = []  # of each: the keys of a mapping, and the step that it is at
    start = 0
    for token in _FLOW.finditer(text if text[:1] in ("{", "[") else ""):
        keys, steps = open_ones[-1] if open_ones else ([], [])
        if token[0] in "{[":
            open_ones.append(([], [0] if token[0] == "[" else []))
        elif token[0] in "}]":
            open_ones = open_ones[:-1]
        elif token[0] == ",":
            steps[:] = [step + 1 for step in steps if isinstance(step, int)]
        elif token[0] == ":" and not steps:
            steps.append(text[start : token.start()].strip("\"' "))
            keys.append(str(steps[0]))
        else:
            continue
        start = token.end()
    if not open_ones:
        return None
    keys, steps = open_ones[-1]
    return tuple(step for _, inner in open_ones for step in inner), text[start:].lstrip(), None if steps else keys


_FLOW = re.compile(r"""(?<![^\s{\[,:])(?:'[^']*'?|"(?:[^"\\]|\\.)*"?)|[{}\[\],]|:(?=\s|$)""")
