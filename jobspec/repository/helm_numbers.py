"""Numbers of a chart that helm writes into a string in other characters: `1.10` becomes `1.1`, and `1000000` becomes `1e+06`.

helm decodes every number of a values file as a float, and prints it as Go does; so it does with the `appVersion` of a chart. Whether a
number gets into a string, the chart's templates decide. So helm renders the chart again with the number as a string, and both renderings
are compared.

Follows `LoadValues`, helm.sh/helm/v3 pkg/chart/loader, 3.19, and `FormatFloat`, Go's strconv.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Mark, Path, spell, value_at
from jobspec.documents.document import CHART, Document
from jobspec.documents.marked_tree import walk, with_marks
from jobspec.documents.reader import read
from jobspec.go.text_formats import go_float

#: The text of a values file with one number quoted -> what helm renders with it; None if helm fails.
Render = Callable[[str, str], "str | None"]


class NumberInText(NamedTuple):
    """A number of a values file, and the first string that helm writes it into in other characters."""

    mark: Mark
    written: str
    printed: str
    line: int
    """The rendered line that the object begins at."""
    path: Path
    """The string's path in the object."""

    def problem(self, document: Document) -> Diagnostic:
        """Return the warning about the number, with the field of the rendered document that it changes."""
        message = f"the number {self.written} becomes `{self.printed}` in `{spell(self.path)}`"
        hint = f'quote it: "{self.written}"'
        return document.problem("number-as-text", message, self.path, hint=hint, severity="warning").changed(mark=self.mark)


def numbers_in_text(rendered: str, values: Iterable[tuple[str, str]], render: Render) -> Iterator[NumberInText]:
    """Yield numbers that helm writes in other characters, where the characters matter.

    *values*: the path and the text of each values file, and of `Chart.yaml`. *render*: see `Render`.
    """
    before: list[Document] = []
    for path, text in values:
        for steps, mark, written, printed in _changed_numbers(path, text):
            if not re.search(rf"(?<![\d.]){re.escape(printed)}(?!\d|\.\d)", rendered):
                continue
            before = before or read(rendered, file=path)[0]
            with_string = render(path, _quoted(text, mark))
            after = read(with_string, file=path)[0] if with_string else []
            places = _differences(before, after, _Number(steps, written, printed))
            yield from (NumberInText(mark, written, printed, line, place) for line, place in places)


class _Number(NamedTuple):
    path: Path
    """Its path in the values."""
    written: str
    printed: str


_APP_VERSION = ("appVersion",)  # the only number in `Chart.yaml` that becomes an image's tag
_ANCHORED = re.compile(r"(?:&\S+\s+)?([-+]?(?:0[xob][\da-f_]+|(?:\d[\d_]*)?\.?\d[\d_]*\.?(?:e[-+]?\d+)?))", re.IGNORECASE)


def _changed_numbers(path: str, text: str) -> Iterator[tuple[Path, Mark, str, str]]:
    """The numbers of a values file that Go prints in other characters than they are written in."""
    lines = text.split("\n")
    found: dict[tuple[int, int], tuple[Path, Mark, str, str]] = {}  # an alias has the place of its anchor
    for document in read(text, file=path)[0][:1]:
        for steps, tree in walk(with_marks(document.data, document.marks)):
            mark = tree.mark
            if os.path.basename(path) == CHART and steps != _APP_VERSION:
                continue
            if type(tree.value) not in (int, float) or mark.line != mark.end_line or not 0 < mark.line <= len(lines):
                continue
            written = _ANCHORED.fullmatch(lines[mark.line - 1][mark.column - 1 : mark.end_column - 1])
            if written and (printed := go_float(float(tree.value))) != written[1]:
                place = Mark(path, mark.line, mark.column + written.start(1), mark.line, mark.end_column)
                found.setdefault((mark.line, mark.column), (steps, place, written[1], printed))
    yield from found.values()


def _quoted(text: str, mark: Mark) -> str:
    """The text of a values file with quotes around the number at a mark."""
    lines = text.split("\n")
    line = lines[mark.line - 1]
    begin, end = mark.column - 1, mark.end_column - 1
    lines[mark.line - 1] = f'{line[:begin]}"{line[begin:end]}"{line[end:]}'
    return "\n".join(lines)


def _differences(before: Sequence[Document], after: Sequence[Document], number: _Number) -> Iterator[tuple[int, Path]]:
    """The first string that has a number in other characters, if these matter: the line of its object, and its path."""
    for old, new in zip(before, after, strict=False) if len(before) == len(after) else ():
        for path, one, other in _changed_strings(old.data, new.data, ()):
            if any(_matters(one, at, number, _names_around(old.data, path)) for at in _replaced(one, other, number)):
                yield old.marks.mark.line, path
                return


def _changed_strings(old: Any, new: Any, path: Path) -> Iterator[tuple[Path, str, str]]:
    """The strings at one path of two objects that differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in (each for each in old if each in new):
            yield from _changed_strings(old[key], new[key], (*path, key))
    elif isinstance(old, list) and isinstance(new, list):
        for at, (one, other) in enumerate(zip(old, new, strict=False)):
            yield from _changed_strings(one, other, (*path, at))
    elif isinstance(old, str) and isinstance(new, str) and old != new:
        yield path, old, new


def _replaced(old: str, new: str, number: _Number) -> list[int]:
    """Where the one string has what helm prints of a number, if the other string has what is written there."""
    places = [found.start() for found in re.finditer(re.escape(number.printed), old)]
    if old.replace(number.printed, number.written) == new:
        return places
    return [at for at in places if old[:at] + number.written + old[at + len(number.printed) :] == new]


# Whether other characters matter.


def _matters(text: str, at: int, number: _Number, names: Iterable[str]) -> bool:
    """True if a program reads other characters as another value: a tag or a version, or an integer that gets an exponent.

    A float by itself, such as the argument `--lr=1e-05`, is the same number.
    """
    if _INTEGER.fullmatch(number.written):
        return number.printed.lstrip("-") != number.written.lstrip("+-")
    before, behind = text[:at], text[at + len(number.printed) :]
    named = [*map(str, number.path[-2:]), *names, *_NAME_BEFORE.findall(before)]
    is_part = _GLUED_BEFORE.search(before) or _GLUED_BEHIND.match(behind)
    return any(map(_is_text, named)) or (bool(is_part) and "e-" not in number.printed)


_INTEGER = re.compile(r"[-+]?\d+")
_NAME_BEFORE = re.compile(r"([\w.-]+)[\"']?\s*[:=]\s*[\"']?$")
_GLUED_BEFORE = re.compile(r"(?:[\w/@.+~-]|(?<![\"']):|[=~<>!]=)$")
_GLUED_BEHIND = re.compile(r"[:/@.+_-]\w")
_TEXTS = frozenset(
    (
        *("arch", "archs", "branch", "channel", "commit", "cuda", "digest", "hash", "id", "image", "label", "labels", "name"),
        *("python", "ref", "release", "revision", "sha", "suffix", "tag", "version", "versions"),
    )
)
"""Words in the names of fields, flags and variables whose values are texts, also where these look like numbers."""


def _is_text(name: str) -> bool:
    """True if a field, flag or variable of this name holds a text: `imageTag`, `CUDA_VERSION`."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return any(word.lower() in _TEXTS for word in words)


def _names_around(data: Any, path: Path) -> Iterator[str]:
    """The names that say what a string is: its field, the variable that it is the value of, the flag in it or before it."""
    yield from (str(step) for step in path[-2:] if isinstance(step, str))
    around = value_at(data, path[:-1])
    if isinstance(around, dict) and path[-1] == "value":
        yield str(around.get("name"))
    if isinstance(around, list) and isinstance(path[-1], int):
        before, text = str(around[path[-1] - 1]) if path[-1] else "", str(around[path[-1]])
        yield text.partition("=")[0] if text.startswith("-") else before if before.startswith("-") else ""
