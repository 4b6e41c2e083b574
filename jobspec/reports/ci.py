"""Reports for CI: GitHub workflow commands, GitLab code quality, Markdown for pull requests, JUnit XML, SARIF for code scanning."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from jobspec import __version__
from jobspec.apis.shipped import path_of_file
from jobspec.diagnostics.coverage import coverage, summary
from jobspec.diagnostics.diagnostic import Diagnostic, has_error
from jobspec.diagnostics.places import Mark
from jobspec.diagnostics.results import FileResult
from jobspec.lint import catalogue
from jobspec.reports.places import from_here, message_of
from jobspec.reports.printable import clean, in_one_line, visible
from jobspec.reports.text import and_more, lines_of, page_of

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def github_report(files: Sequence[FileResult], releases: Mapping[str, str], folder: str = "") -> str:
    """Write a command for each diagnostic, and the coverage line.

    Paths begin at the root of the repository; the working folder is *folder* in it.
    """
    commands = [_command(diagnostic, folder) for each in files for diagnostic in each.diagnostics]
    return "\n".join([*commands, coverage(files, releases), ""])


def _command(diagnostic: Diagnostic, folder: str) -> str:
    properties = ",".join(
        f"{name}={_escape(value).replace(':', '%3A').replace(',', '%2C')}" for name, value in _properties(diagnostic, folder)
    )
    message = _escape("\n".join(_sentences(diagnostic)))
    return f"::{_COMMANDS[diagnostic.severity]} {properties}::{message}"


def _properties(diagnostic: Diagnostic, folder: str) -> Iterator[tuple[str, str]]:
    mark = diagnostic.mark
    yield "file", visible(_from_root(mark.file, folder))
    if mark.line:
        yield "line", str(mark.line)
        if mark.line == mark.end_line:  # GitHub takes columns only within one line
            yield "col", str(mark.column)
        yield "endLine", str(mark.end_line)
        if mark.line == mark.end_line:
            yield "endColumn", str(mark.end_column)
    yield "title", diagnostic.rule


def _sentences(diagnostic: Diagnostic) -> Iterator[str]:
    """Yield the text of the annotation.

    It ends with the place, since the log of a run shows nothing else.
    """
    mark = diagnostic.mark
    yield visible(message_of(diagnostic))
    if diagnostic.hint:
        yield f"hint: {visible(in_one_line(diagnostic.hint))}"
    yield visible(f"{mark} {diagnostic.field}".strip()) + and_more(diagnostic)


def _from_root(path: str, folder: str) -> str:
    """A path of the working folder from the root of its repository, in which this is *folder*."""
    place = from_here(path)
    is_file = path_of_file(path) == path and not path.startswith(("<", "--"))  # not a shipped overlay, a stream or an option
    return os.path.normpath(os.path.join(folder, place)) if folder and is_file else place


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


# The Markdown report: a table of what was found, for the text of a pull request.


def markdown_report(files: Sequence[FileResult], releases: Mapping[str, str]) -> str:
    """Return the whole report."""
    return "".join(f"{line}\n" for line in _markdown_lines(files, releases))


def _markdown_lines(files: Sequence[FileResult], releases: Mapping[str, str]) -> Iterator[str]:
    found = [each for file in files for each in file.diagnostics]
    if found:
        yield "| where | what | rule |"
        yield "|---|---|---|"
        yield from map(_markdown_row, found)
        yield ""
    yield _escaped(coverage(files, releases))


def _markdown_row(each: Diagnostic) -> str:
    hint = f" ({in_one_line(each.hint)})" if each.hint else ""
    return f"| {_escaped(str(each.mark))}{and_more(each)} | {_escaped(f'{message_of(each)}{hint}')} | {each.rule} |"


def _escaped(text: str) -> str:
    """Text in one line, escaped for a Markdown table; code in backticks stays code."""
    parts = " ".join(text.replace("|", "\\|").split()).split("`")
    return "`".join(part if number % 2 else part.translate(_MARKUP) for number, part in enumerate(parts))


_MARKUP = {ord(each): f"\\{each}" for each in "<*_"}


# A report for GitLab's code quality widget (https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format).


_GITLAB = {"error": "critical", "warning": "minor", "info": "info"}


def codequality_report(files: Sequence[FileResult], _: Mapping[str, str], folder: str = "") -> str:
    """Write a JSON list of findings, each at every place that it has. Paths begin at the root of the repository.

    The fingerprint of a finding stays the same if lines are added above it.
    """
    found = [each for file in files for one in file.diagnostics for each in (one, *one.related)]
    rows: list[dict[str, Any]] = []
    times: Counter[str] = Counter()
    for each in found:
        path = clean(_from_root(each.mark.file, folder))
        known = "\0".join((each.rule, path, each.field, each.message))
        times[known] += 1
        rows.append(
            {
                "description": clean(message_of(each)),
                "check_name": each.rule,
                "fingerprint": sha256(f"{known}\0{times[known]}".encode(errors="surrogateescape")).hexdigest(),
                "severity": _GITLAB[each.severity],
                "location": {"path": path, "lines": {"begin": max(each.mark.line, 1), "end": max(each.mark.end_line, 1)}},
            }
        )
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


# A report as JUnit XML, which CI servers show as tests: a suite for each file, a case for each document.


_SKIPPED = "skipped: not a manifest, or of an unknown kind"
_ELSEWHERE = "the error is reported with another document of this file"


@dataclass(frozen=True, slots=True)
class _Case:
    """A test case: a document, or a file as a whole, and its diagnostics."""

    name: str
    status: str
    diagnostics: Sequence[Diagnostic]
    reason: str = ""

    @property
    def failed(self) -> bool:
        return self.status == "invalid" or has_error(self.diagnostics)


def junit_report(files: Sequence[FileResult], releases: Mapping[str, str]) -> str:
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
        _write_failure(SubElement(suite, "testcase", name=case.name, classname=clean(file.path), file=clean(file.path)), case)
    return suite


def _write_failure(element: Element, case: _Case) -> None:
    lines = [clean(line) for diagnostic in case.diagnostics for line in lines_of(diagnostic)]
    errors = [each for each in case.diagnostics if each.severity == "error"]
    if case.failed and errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        failure = SubElement(element, "failure", type=errors[0].rule, message=clean(errors[0].message) + more)
        failure.text = "\n".join(lines)
    elif case.failed:
        SubElement(element, "failure", type="invalid", message=_ELSEWHERE)
    elif case.status == "skipped":
        SubElement(element, "skipped", message=f"skipped: {case.reason}" if case.reason else _SKIPPED)
    else:
        lines += [f"checked partly: {case.reason}"] if case.status == "partly" else []
        if lines:
            SubElement(element, "system-out").text = "\n".join(lines)


def _cases(file: FileResult) -> Iterator[_Case]:
    """Yield a case for each document, and one for diagnostics without a document."""
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
        yield _Case(unique, row.status, diagnostics, row.reason)


def _row_of_index(file: FileResult) -> dict[int | None, int]:
    """Return the row that shows the diagnostics of each document index.

    The items of a List share an index: the first invalid item shows them.
    """
    row_of: dict[int | None, int] = {}
    for number, row in enumerate(file.documents):
        known = row_of.setdefault(row.index, number)
        if row.status == "invalid" and file.documents[known].status != "invalid":
            row_of[row.index] = number
    return row_of


# A report as SARIF 2.1.0 for code scanning (https://docs.oasis-open.org/sarif/sarif/v2.1.0/).


_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_ROOT = "%SRCROOT%"  # the base of relative URIs, by the name that code scanning uses


def sarif_report(files: Sequence[FileResult], releases: Mapping[str, str], folder: str = "") -> str:
    """One run: its results, the rules of the results, and all files that were checked."""
    results = [diagnostic for each in files for diagnostic in each.diagnostics]
    explained = catalogue.rules()
    found = {each.rule for each in results}
    rules = {name: number for number, name in enumerate(name for name in explained if name in found)}
    paths = dict.fromkeys([*(f.path for f in files), *(r.mark.file for r in results)])
    artifacts = {path: {**_artifact(_from_root(path, folder)), "index": number} for number, path in enumerate(paths)}
    run = {
        "tool": {"driver": {"name": "jobspec", "version": __version__, "rules": [_sarif_rule(name, explained[name]) for name in rules]}},
        "invocations": [{"executionSuccessful": True, "exitCode": 0 if all(each.valid for each in files) else 1}],
        "columnKind": "unicodeCodePoints",
        "artifacts": [{"location": {key: each[key] for key in each if key != "index"}} for each in artifacts.values()],
        "results": [_result(each, rules, artifacts) for each in results],
        "properties": {"target": releases, "summary": summary(files)},
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _sarif_rule(name: str, explanation: str) -> dict[str, Any]:
    more, page = f"jobspec explain {name}", page_of(name)
    return {
        "id": name,
        "shortDescription": {"text": explanation.partition(". ")[0].rstrip(".") + "."},
        "fullDescription": {"text": explanation},
        **({"helpUri": page} if page else {}),
        "help": {"text": f"{explanation}\n\nIn a terminal: {more}", "markdown": f"# {name}\n\n{explanation}\n\nIn a terminal: `{more}`"},
        "defaultConfiguration": {"level": _LEVELS[catalogue.severity_of(name)]},
    }


def _result(diagnostic: Diagnostic, rules: Mapping[str, int], artifacts: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    hint = f"\nhint: {clean(in_one_line(diagnostic.hint))}" if diagnostic.hint else ""
    related = [{"id": number, **_location(each, artifacts)} for number, each in enumerate(diagnostic.related)]
    return {
        "ruleId": diagnostic.rule,
        "ruleIndex": rules[diagnostic.rule],
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": clean(message_of(diagnostic)) + hint},
        "locations": [_location(diagnostic, artifacts)],
        **({"relatedLocations": related} if related else {}),
        **({"properties": {"builds": list(diagnostic.builds)}} if diagnostic.builds else {}),
    }


def _location(diagnostic: Diagnostic, artifacts: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    mark = diagnostic.mark
    physical = {"artifactLocation": artifacts[mark.file], **_region(mark)}
    logical = {"logicalLocations": [{"fullyQualifiedName": clean(diagnostic.field)}]} if diagnostic.field else {}
    return {"physicalLocation": physical, **logical}


def _region(mark: Mark) -> dict[str, Any]:
    """The region of a mark; empty for a file as a whole."""
    if not mark.line:
        return {}
    return {"region": {"startLine": mark.line, "startColumn": mark.column, "endLine": mark.end_line, "endColumn": mark.end_column}}


def _artifact(place: str) -> dict[str, Any]:
    """Return the location of a file: a URI relative to the root of the repository.

    If the file is outside of the repository, the URI is absolute.
    """
    if os.path.isabs(place) or place.startswith(os.pardir + os.sep):
        return {"uri": "file://" + quote(os.fsencode(os.path.abspath(place)))}
    return {"uri": quote(os.fsencode(place)), "uriBaseId": _ROOT}
