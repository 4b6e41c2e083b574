"""Documents that are written alike, of which the parser has to see only the first two.

In a repository full of manifests most differ in names, images and arguments alone. Where a text differs from one that was read
before in nothing but texts that are whole values, of characters that mean nothing to YAML, the data is that one's with the other
texts in it, and nobody has to ask the parser. Marks are made by it, from the document's own text, when something asks for them.
"""

from __future__ import annotations

import re

from jobspec.documents.scalars import WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from jobspec.diagnostics import Path

    #: Reads a text of one document without problems: its data, and by path its scalars that are texts, whatever they say, and
    #: whether each stands without quotes in flow style; None for all else.
    Read = Callable[[str], "Content | None"]
    Content = tuple[Any, dict[Path, tuple[str, bool]]]

#: What can be a value by itself, between what can stand before and behind one; it is no number, and nothing in it means anything to
#: YAML, but for a colon in flow style.
_TEXT = re.compile(r"""(: |- |\[ ?|, ?|"|')((?:--)?[A-Za-z/_][A-Za-z0-9_./=-]*(?::[A-Za-z0-9_./=-]+)*)(?=$|[],"'])""", re.MULTILINE)
_WORDS = frozenset(WORDS)
_MOST = 10_000  # texts to remember


class Alike:
    """The texts read so far, each without the plain texts in it."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._known: dict[str, _Form | None] = {}
        self._seen: set[str] = set()

    def data(self, text: str) -> Any:
        """The data of a document that is written like others before; None where the parser has to look at it."""
        if "\0" in text:
            return None
        parts = _TEXT.split(text)
        texts = parts[2::3]
        if not texts or not _WORDS.isdisjoint(texts):
            return None
        del parts[2::3]
        frame = "\0".join(parts)
        if frame in self._known:
            form = self._known[frame]
            return form.filled(texts) if form else None
        if frame in self._seen:
            self._known[frame] = _form(parts, texts, self._read)
        elif len(self._seen) < _MOST:
            self._seen.add(frame)
        return None


class _Form:
    """The data of documents that are written alike, and which of the texts that differ stands where."""

    def __init__(self, data: Any, places: dict[Path, int], fixed: dict[int, str], in_flow: list[int]) -> None:
        self._fixed = list(fixed.items())
        self._in_flow = in_flow
        self._data = _Part(data, places)

    def filled(self, texts: list[str]) -> Any:
        """The data with other texts; None where one differs that is no value by itself, but a part of one, or of a comment."""
        if any(texts[number] != text for number, text in self._fixed) or any(":" in texts[number] for number in self._in_flow):
            return None
        return self._data.filled(texts)


class _Part:
    """A mapping or list, of whose values some differ."""

    def __init__(self, data: Any, places: dict[Path, int]) -> None:
        self._data = data
        self._texts = [(path[0], number) for path, number in places.items() if len(path) == 1]
        below: dict[str | int, dict[Path, int]] = {}
        for (step, *rest), number in places.items():
            if rest:
                below.setdefault(step, {})[tuple(rest)] = number
        self._parts = [(step, _Part(data[step], inner)) for step, inner in below.items()]

    def filled(self, texts: list[str]) -> Any:
        """A copy with these texts; what does not differ is shared."""
        data = self._data.copy()
        for step, number in self._texts:
            data[step] = texts[number]
        for step, part in self._parts:
            data[step] = part.filled(texts)
        return data


def _form(parts: list[str], texts: list[str], read: Read) -> _Form | None:
    """The form of a document, found by reading it with texts that stand nowhere else in it; None where it has none."""
    names = _names(parts, texts)
    places = dict(_places(names, read(_joined(parts, names))))
    if not places:
        return None
    fixed = {number: text for number, text in enumerate(texts) if number not in places.values()}
    content = read(_joined(parts, [fixed.get(number, name) for number, name in enumerate(names)]))
    if content is None or dict(_places(names, content)) != places:
        return None
    data, found = content
    return _Form(data, places, fixed, [number for path, number in places.items() if found[path][1]])


def _names(parts: list[str], texts: list[str]) -> list[str]:
    stem = "text"
    while any(stem in each for each in (*parts, *texts)):
        stem += "x"
    return [f"{stem}{number}" for number in range(len(texts))]


def _places(names: list[str], content: Content | None) -> Iterator[tuple[Path, int]]:
    """Where each name is a value by itself, and is in no other place."""
    found = content[1] if content else {}
    texts = [text for text, _ in found.values()]
    numbers = {name: number for number, name in enumerate(names)}
    for path, (text, _) in found.items():
        if text in numbers and texts.count(text) == 1:
            yield path, numbers[text]


def _joined(parts: list[str], texts: list[str]) -> str:
    return parts[0] + "".join(parts[2 * number + 1] + text + parts[2 * number + 2] for number, text in enumerate(texts))
