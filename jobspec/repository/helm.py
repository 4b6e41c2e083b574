"""What helm renders of a chart, each value of it in the values file or at the template that wrote it.

helm says in a comment of each document which template it is of (`# Source:`). A value that a line of the template names stands in the
values; one that the line writes itself stands there. Of a value that comes by an include or a loop, the place is the values if they have it
once, or else the line of the template that has the field, or the innermost field around it.

Follows `renderResources`, helm.sh/helm/v3 pkg/action, 3.19.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.grouping import gathered
from jobspec.diagnostics.places import Mark, Marks, Path
from jobspec.diagnostics.results import FileResult
from jobspec.documents.document import CHART_VALUES, Document
from jobspec.documents.marked_tree import each_inside, tree_at, walk, with_marks
from jobspec.documents.reader import read
from jobspec.repository.builds import Build, Output
from jobspec.repository.chart_templates import Located, locate, outline
from jobspec.repository.helm_numbers import NumberInText
from jobspec.repository.source_files import SourceFiles


class RenderedChart(Build):
    """The objects of a chart, and where they come from. It can be pickled."""

    what = "Helm chart"
    has_actions = True

    def __init__(
        self, chart: str, text: str, values: Sequence[str], numbers: Sequence[NumberInText] = (), reads: Collection[str] = ()
    ) -> None:
        super().__init__(os.path.join(chart, "Chart.yaml"), Output(chart, text), {}, reads)
        self._values = (*values, os.path.join(chart, CHART_VALUES))
        self._numbers = numbers
        lines = [(number, line[len(_SOURCE) :]) for number, line in enumerate(text.splitlines(), 1) if line.startswith(_SOURCE)]
        self._lines = [number for number, _ in lines]
        # helm names templates from the folder of the chart, whose name is that of the chart
        self._templates = [os.path.join(chart, name.partition("/")[2]) for _, name in lines]

    def read(self, text: str, files: SourceFiles, first_line: int = 0) -> tuple[list[Document], list[Diagnostic]]:
        """The documents of a part of the output, with the places where their values were written, and the problems of its YAML."""
        documents, problems = read(text, file=self.path, first_line=first_line)
        lines = text.split("\n")
        placed = [
            each.changed(mark=self._written(each.mark, lines, first_line, files), message=_FIRST_SET.sub("", each.message))
            for each in problems
        ]
        numbers = [each.problem(one) for one in documents for each in self._numbers if each.line == one.marks.mark.line]
        return [self._placed(each, files) for each in documents], [*placed, *numbers]

    def _template_of(self, line: int) -> str:
        """The template that a line is rendered from."""
        before = bisect_right(self._lines, line)
        return self._templates[before - 1] if before else self.path

    def _written(self, mark: Mark, lines: Sequence[str], first_line: int, files: SourceFiles) -> Mark:
        """The line of a template, or else of the values, that has what a rendered line has; or the first line of the template."""
        template, at = self._template_of(mark.line), mark.line - first_line
        rendered = lines[at - 1].strip() if 0 < at <= len(lines) else ""
        key = rendered.removeprefix("- ").partition(":")[0].strip("\"'")
        words = [rendered, f"{key}:"] if key else []
        for path, word in ((path, word) for path in (template, *self._values) for word in words):
            for number, line in enumerate(_lines_of(path, files), 1):
                if word in line:
                    column = line.index(word) + 1
                    return Mark(path, number, column, number, column + len(word))
        return Mark(template, 1, 1)

    def _placed(self, document: Document, files: SourceFiles) -> Document:
        template = self._template_of(document.marks.mark.line)
        return Document(document.data, _ChartMarks(document.data, template, self._values, files), file=self.path, index=document.index)

    def sources(self) -> list[str]:
        """The chart, for each document."""
        return [self.path] * (self.text.count("\n---") + 1)


_SOURCE = "# Source: "
_FIRST_SET = re.compile(r", first set in line \d+")  # of what helm prints, which no file has


def with_templates(result: FileResult, text: str) -> FileResult:
    """Name the template of each finding in its hint, for a file rendered by helm elsewhere."""
    templates: list[str] = []
    for line in text.split("\n"):
        if line.startswith(_SOURCE):
            templates.append(line[len(_SOURCE) :].strip())
        else:
            templates.append("" if not templates or line.startswith("---") else templates[-1])

    def with_template(found: Diagnostic) -> Diagnostic:
        is_here = found.mark.file == result.path and 0 < found.mark.line <= len(templates)
        template = templates[found.mark.line - 1] if is_here else ""
        return found.with_hint("; ".join(part for part in (found.hint, f"helm rendered it from {template}") if part)) if template else found

    return result.with_only(list(map(with_template, result.diagnostics)))


def _lines_of(path: str, files: SourceFiles) -> list[str]:
    """The lines of a file; none if it cannot be read."""
    try:
        return files.content(path).decode(errors="replace").splitlines()
    except OSError:
        return []


@dataclass(frozen=True, slots=True)
class _ChartMarks:
    """Makes the marks of an object that helm rendered."""

    data: Any
    source: str
    """The template."""
    values: Sequence[str]
    files: SourceFiles

    def __call__(self) -> Marks:
        return self._marks(self.data, (), _Origins(self.data, self.source, self.values, self.files))

    def _marks(self, value: Any, path: Path, origins: _Origins) -> Marks:
        if not isinstance(value, (dict, list)):
            return origins.of_scalar(path, value)
        make = partial(each_inside, value, lambda step, each: self._marks(each, (*path, step), origins))
        return Marks(origins.of_field(path), make=make)


class _Origins:
    """Where the values of a rendered object were written: in the template, or in a file of values."""

    def __init__(self, data: Any, source: str, values: Sequence[str], files: SourceFiles) -> None:
        self._data, self._source = data, source
        self._template = outline(_lines_of(source, files))
        self._trees = [with_marks(each.data, each.marks) for path in values for each in files.documents(path)]
        scalars = ((path, each) for tree in self._trees for path, each in walk(tree) if not isinstance(each.value, (dict, list)))
        self._by_value = gathered(((type(each.value), each.value), (path, each)) for path, each in scalars)

    def of_field(self, path: Path) -> Mark:
        """Return the line of the template that writes a field.

        If no one line does, return that of the innermost field around it, or the template's first line.
        """
        return self._mark(locate(self._template, self._data, path))

    def _mark(self, located: Located) -> Mark:
        line = located.line
        return Mark(self._source, line.number, line.column, line.number, line.end) if line else Mark(self._source, 1, 1)

    def of_scalar(self, path: Path, value: Any) -> Marks:
        """Return the place of a scalar in the values.

        If the template writes it, or the values do not tell, return the line of the template.
        """
        located = locate(self._template, self._data, path)
        line = located.line if located.is_exact else None
        if line and line.is_literal:
            return Marks(self._mark(located))
        named = line.references if line else []
        found = [each for tree in self._trees for at in named if (each := tree_at(tree, at)) and _is_same(each.value, value)]
        if not named:
            own = [(at, each) for at, each in self._by_value.get((type(value), value), ()) if at]
            key = next((step for step in path[::-1] if isinstance(step, str)), "")
            found = [each for at, each in own if isinstance(value, str) or at[-1] == key] if len(own) == 1 else []
        return Marks(found[0].mark, found[0].key) if found else Marks(self._mark(located))


def _is_same(value: Any, rendered: Any) -> bool:
    """True if a value and what helm rendered of it are one scalar, which a template may have quoted."""
    return not isinstance(value, (dict, list)) and ((type(value) is type(rendered) and value == rendered) or str(value) == rendered)
