"""A report as JUnit XML, which CI servers show as tests: a suite for each file, a case for each document."""

from __future__ import annotations

from collections import Counter
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from jobspec.diagnostics import has_error
from jobspec.reports.text import lines_of
from jobspec.reports.visible import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jobspec.diagnostics import Diagnostic
    from jobspec.results import FileResult

_SKIPPED = "skipped: no manifest, or of a kind that jobspec does not know"
_PARTLY = "checked partly: decoding and metadata, but not everything that a server checks"
_ELSEWHERE = "the error is reported with another document of this file"


class _Case:
    """A test case: a document, or a file as a whole, and its diagnostics."""

    __slots__ = ("diagnostics", "name", "status")

    def __init__(self, name: str, status: str, diagnostics: Sequence[Diagnostic]) -> None:
        self.name = name
        self.status = status
        self.diagnostics = diagnostics

    @property
    def failed(self) -> bool:
        return self.status == "invalid" or has_error(self.diagnostics)


def report(files: Sequence[FileResult], releases: Mapping[str, str]) -> str:
    """One XML document with a suite for each file."""
    root = Element("testsuites", name="jobspec")
    suites = [_suite(root, each, releases) for each in files]
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in suites)))
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _suite(root: Element, file: FileResult, releases: Mapping[str, str]) -> Element:
    cases = list(_cases(file))
    counts = {
        "tests": len(cases),
        "failures": sum(case.failed for case in cases),
        "errors": 0,
        "skipped": sum(case.status == "skipped" for case in cases),
    }
    suite = SubElement(root, "testsuite", {"name": clean(file.path), **{name: str(number) for name, number in counts.items()}})
    properties = SubElement(suite, "properties")
    for operator, release in releases.items():
        SubElement(properties, "property", name=operator, value=release)
    for case in cases:
        _write(SubElement(suite, "testcase", name=case.name, classname=clean(file.path), file=clean(file.path)), case)
    return suite


def _write(element: Element, case: _Case) -> None:
    lines = [clean(line) for diagnostic in case.diagnostics for line in lines_of(diagnostic)]
    errors = [each for each in case.diagnostics if each.severity == "error"]
    if case.failed and errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        failure = SubElement(element, "failure", type=errors[0].rule, message=clean(errors[0].message) + more)
        failure.text = "\n".join(lines)
    elif case.failed:
        SubElement(element, "failure", type="invalid", message=_ELSEWHERE)
    elif case.status == "skipped":
        SubElement(element, "skipped", message=_SKIPPED)
    else:
        lines += [_PARTLY] if case.status == "partly" else []
        if lines:
            SubElement(element, "system-out").text = "\n".join(lines)


def _cases(file: FileResult) -> Iterator[_Case]:
    """A case for each document, and one for the file if it has diagnostics that belong to no document."""
    rows = file.documents
    row_of = _row_of_index(file)
    shown: list[list[Diagnostic]] = [[] for _ in rows]
    rest: list[Diagnostic] = []
    for diagnostic in file.diagnostics:
        (shown[row_of[diagnostic.document]] if diagnostic.document in row_of else rest).append(diagnostic)
    silent = [number for number, row in enumerate(rows) if row.status == "invalid" and not shown[number]]
    if rest and silent:
        shown[silent[0]] = rest
    elif rest:
        yield _Case("file", "valid", rest)
    names = [f"{row.kind} {row.name}".strip() for row in rows]
    times = Counter(names)
    for row, name, diagnostics in zip(rows, names, shown, strict=True):
        unique = clean(name) if name and times[name] == 1 else f"{clean(name)} (document {row.index})".lstrip()
        yield _Case(unique, row.status, diagnostics)


def _row_of_index(file: FileResult) -> dict[int | None, int]:
    """The row that shows the diagnostics of each document index. The items of a List share an index: the first invalid item shows them."""
    row_of: dict[int | None, int] = {}
    for number, row in enumerate(file.documents):
        known = row_of.setdefault(row.index, number)
        if row.status == "invalid" and file.documents[known].status != "invalid":
            row_of[row.index] = number
    return row_of
