"""Fill in values for the variables of documents: those that users give, and those of Flux, which substitutes after a build.

Follows `SubstituteVariables`, github.com/fluxcd/pkg/kustomize 1.40: without a variable it substitutes nothing; else in all texts of all
objects but those that are annotated otherwise, where it makes YAML of the result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jobspec.apis.kinds import OVERLAY
from jobspec.apis.releases import Target
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import Mark, Path
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import each_inside
from jobspec.documents.scalars import resolve
from jobspec.go.values import mapping
from jobspec.repository.envsubst import BadSubstitution, substitute
from jobspec.repository.source_files import SourceFiles
from jobspec.repository.written_scalars import UnreadableYaml, read_back, written
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape

_DISABLED = "kustomize.toolkit.fluxcd.io/substitute"
_PLAIN_NAME = re.compile(r"\$([A-Za-z_]\w*)")
_BRACES = re.compile(r"\$\{[^}]*\}?")
_SHOWN = 3  # names in a message


@dataclass(frozen=True, slots=True)
class Variables:
    """The values for the variables of the objects of a folder."""

    values: Mapping[str, str] = field(default_factory=dict)
    is_open: bool = False
    """Whether others may fill in what has no value: it comes from an object that is not among the files, or from another program."""
    differing: frozenset[str] = frozenset()
    """The variables for which several Kustomizations of Flux have different values."""
    by: str = ""
    """The Kustomization of Flux that fills them in; empty where values are given on the command line alone."""
    always: bool = False
    """Whether Flux substitutes where there is no variable, too."""

    @property
    def runs(self) -> bool:
        """Whether anything is substituted for sure."""
        return bool(self.values) or self.always

    def keeps(self, name: str) -> bool:
        """Whether a variable without a value is left, since somebody else may know its value."""
        return self.is_open or name in self.differing

    def with_given(self, values: Mapping[str, str] | None) -> Variables:
        """The same with values from the command line, which come first."""
        if not values:
            return self
        return Variables({**self.values, **values}, self.is_open or not self.runs, self.differing - values.keys(), self.by, self.always)

    def unsettled(self, text: str) -> str:
        """Remove from a text the variables that reach the server as they are written.

        If no engine is known to substitute, each variable is a placeholder, those with a default such as `${NAME:-x}`, too.
        """
        if "$" not in text or (self.is_open and not self.runs):
            return text
        if self.is_open:
            return substituted(text, self)
        kept = [each for each in self.differing if f"${{{each}" in text]
        return text if kept else _PLAIN_NAME.sub("", _BRACES.sub("", text))


def filled_in(
    documents: Sequence[Document], given: Variables, target: Target, files: SourceFiles
) -> tuple[list[Document], list[Diagnostic]]:
    """Put values in place of variables, and report variables that Flux does not know."""
    if not given.runs:
        return list(documents), []
    problems: list[Diagnostic] = []
    made = []
    for each in documents:
        if _is_left_alone(each):
            made.append(each)
            continue
        problems += _problems(each, given, files) if given.by else ()
        shape = shapes.load(each.api_version, each.kind, target)
        data = _with_each_text(each.data, shape, lambda value, shape, before: _filled_in(value, shape, given, before))
        made.append(each if data == each.data else each.changed(data))
    return made, problems


def _is_left_alone(document: Document) -> bool:
    return any(mapping(document.data, "metadata", name).get(_DISABLED) == "disabled" for name in ("annotations", "labels"))


def with_texts_changed(document: Document, change: Callable[[str, Shape | None], Any], target: Target) -> Document:
    """A document with every text changed, for the shape of its field."""
    shape = shapes.load(document.api_version, document.kind, target)

    data = _with_each_text(document.data, shape, lambda value, shape, _: change(value, shape))
    return document if data == document.data else document.changed(data)


def _with_each_text(value: Any, shape: Shape | None, change: Callable[[str, Shape | None, str], Any], before: str = "-") -> Any:
    """Data with every text changed; *change* is given what is written before it, too: a dash, or a key and a colon."""
    if isinstance(value, (dict, list)):

        def inside(step: str | int, each: Any) -> Any:
            return _with_each_text(each, shape.at((step,)) if shape else None, change, "-" if isinstance(step, int) else _KEY)

        return each_inside(value, inside)
    return change(value, shape, before) if isinstance(value, str) else value


def _filled_in(value: str, shape: Shape | None, given: Variables, before: str) -> Any:
    """A text with its variables filled in, as what its YAML is then."""
    text = substituted(value, given)
    if text == value:
        return value
    if given.by:
        try:
            return read_again(value, given, before)
        except UnreadableYaml:
            return text
    return resolve(text) if shape and shape.type in ("integer", "number", "boolean", "int-or-string") else text


def substituted(value: str, given: Variables) -> str:
    """A text with its variables filled in; unchanged if it cannot be parsed."""
    try:
        text = substitute(value, given.values, keep=given.keeps).text
    except BadSubstitution:
        return value
    if given.by:
        return text
    return _PLAIN_NAME.sub(lambda found: given.values.get(found[1], found[0]), text)


_KEY = "key:"


def read_again(value: str, given: Variables, before: str) -> Any:
    """Return what Flux reads in place of a text: it fills variables in in the YAML that kustomize wrote, and reads that.

    Raises UnreadableYaml if that is no YAML any more.
    """
    yaml = written(value, before)
    return read_back(substitute(yaml, given.values, keep=given.keeps).text, before)


# What is wrong with variables.


def _problems(document: Document, given: Variables, files: SourceFiles) -> Iterator[Diagnostic]:
    """The variables of a document that Flux has no value for, and what it cannot parse."""
    if document.group_kind[0] == OVERLAY[0]:
        return
    for path, value in _texts_in(document.data, ()):
        try:
            unset = [each for each in substitute(value, given.values).unset if not given.keeps(each)]
        except BadSubstitution as problem:
            bad = _BRACES.match(value, problem.at)
            yield _bad_substitution(document, path, bad[0] if bad else "${", str(problem), given, files)
            continue
        if unset:
            yield _unset_variable(document, path, unset, given, files)
        if value != substituted(value, given):
            try:
                read_again(value, given, "-" if isinstance(path[-1], int) else _KEY)
            except UnreadableYaml:
                yield _unreadable(document, path, value, given, files)


def _texts_in(data: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(data, str):
        if "${" in data:
            yield path, data
    elif isinstance(data, (dict, list)):
        for step, each in data.items() if isinstance(data, dict) else enumerate(data):
            yield from _texts_in(each, (*path, step))


def _bad_substitution(document: Document, path: Path, text: str, why: str, given: Variables, files: SourceFiles) -> Diagnostic:
    message = f"Flux cannot substitute `{text}`: {why}; nothing of {given.by} is applied"
    found = document.problem("bad-substitution", message, path, hint=f"write `${text}` for a `{text}` that stays")
    return found.changed(mark=_place_in(found.mark, text, files), severity="warning" if given.is_open else "error")


def _unreadable(document: Document, path: Path, text: str, given: Variables, files: SourceFiles) -> Diagnostic:
    name = (_BRACES.search(text) or _BRACES.search("${NAME}"))[0]  # type: ignore[index]
    message = f"Flux cannot read the YAML once `{name}` is filled in; nothing of {given.by} is applied"
    hint = "write it in quotes in the value, or give it another value: Flux fills in text before it reads the YAML"
    found = document.problem("bad-substitution", message, path, hint=hint)
    return found.changed(mark=_place_in(found.mark, name, files), severity="warning" if given.is_open else "error")


def _unset_variable(document: Document, path: Path, names: Sequence[str], given: Variables, files: SourceFiles) -> Diagnostic:
    shown = ", ".join(f"`{each}`" for each in names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    message = f"{given.by} has no value for {shown}: empty, or an error of kustomize-controller 1.9"
    hint = f"set it in `postBuild`, or write `${{{names[0]}:-default}}`; `$${{{names[0]}}}` for a `${{{names[0]}}}` that stays"
    found = document.problem("unset-variable", message, path, hint=hint, severity="warning")
    return found.changed(mark=_place_in(found.mark, f"${{{names[0]}", files))


def _place_in(mark: Mark, text: str, files: SourceFiles) -> Mark:
    """The first place of a text in the lines of a mark; the mark itself where they do not have it.

    A mark without a length is that of a whole file, such as one that a generator reads.
    """
    try:
        lines = files.text(mark.file).split("\n")
    except OSError:
        return mark
    last = len(lines) if (mark.end_line, mark.end_column) == (mark.line, mark.column) else min(mark.end_line, len(lines))
    for number in range(mark.line, last + 1):
        column = lines[number - 1].find(text, mark.column - 1 if number == mark.line else 0) if number else -1
        if column >= 0:
            return Mark(mark.file, number, column + 1, number, column + len(text) + 1, mark.layer)
    return mark


_LINE = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*)")


def read_env(text: str, file: str) -> dict[str, str]:
    """Read a file of NAME=VALUE lines, with comments and quotes as in a shell.

    Raises JobspecError for all other lines.
    """
    found, wrong = {}, []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if not (parts := _LINE.fullmatch(line)):
            wrong.append(f"{file}:{number}: write NAME=VALUE")
            continue
        value = parts[2]
        quote = value[:1] if value[:1] in ("'", '"') and len(value) > 1 else ""
        found[parts[1]] = value[1:].partition(quote)[0] if quote else value.partition(" #")[0].rstrip()
    if wrong:
        raise JobspecError("\n".join(wrong))
    return found
