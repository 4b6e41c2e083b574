"""A report as SARIF 2.1.0 for code scanning (https://docs.oasis-open.org/sarif/sarif/v2.1.0/)."""

from __future__ import annotations

import json
import os
from urllib.parse import quote

from jobspec import __version__, catalogue
from jobspec.reports.places import from_here, layer_of
from jobspec.reports.visible import clean
from jobspec.results import count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from jobspec.diagnostics import Diagnostic, Mark
    from jobspec.results import FileResult

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_ROOT = "%SRCROOT%"  # the base of relative URIs, by the name that code scanning uses


def report(files: Sequence[FileResult], releases: Mapping[str, str]) -> str:
    """One run: its results, the rules of the results, and all files that were checked."""
    results = [diagnostic for each in files for diagnostic in each.diagnostics]
    explained = catalogue.rules()
    found = {each.rule for each in results}
    rules = {name: number for number, name in enumerate(name for name in explained if name in found)}
    artifacts = {path: n for n, path in enumerate(dict.fromkeys([*(f.path for f in files), *(r.mark.file for r in results)]))}
    run = {
        "tool": {"driver": {"name": "jobspec", "version": __version__, "rules": [_rule(name, explained[name]) for name in rules]}},
        "invocations": [{"executionSuccessful": True, "exitCode": 0 if all(each.valid for each in files) else 1}],
        "columnKind": "unicodeCodePoints",
        "artifacts": [{"location": _artifact(path)} for path in artifacts],
        "results": [_result(each, rules, artifacts) for each in results],
        "properties": {"target": releases, "summary": count(files)},
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _rule(name: str, explanation: str) -> dict[str, Any]:
    more = f"jobspec explain {name}"
    return {
        "id": name,
        "shortDescription": {"text": explanation.partition(". ")[0].rstrip(".") + "."},
        "fullDescription": {"text": explanation},
        "help": {"text": f"{explanation}\n\nIn a terminal: {more}", "markdown": f"# {name}\n\n{explanation}\n\nIn a terminal: `{more}`"},
        "defaultConfiguration": {"level": _LEVELS[catalogue.severity_of(name)]},
    }


def _result(diagnostic: Diagnostic, rules: Mapping[str, int], artifacts: Mapping[str, int]) -> dict[str, Any]:
    mark = diagnostic.mark
    physical = {"artifactLocation": {**_artifact(mark.file), "index": artifacts[mark.file]}, **_region(mark)}
    logical = {"logicalLocations": [{"fullyQualifiedName": clean(diagnostic.field)}]} if diagnostic.field else {}
    hint = f"\nhint: {clean(diagnostic.hint)}" if diagnostic.hint else ""
    return {
        "ruleId": diagnostic.rule,
        "ruleIndex": rules[diagnostic.rule],
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": clean(diagnostic.message + layer_of(mark)) + hint},
        "locations": [{"physicalLocation": physical, **logical}],
    }


def _region(mark: Mark) -> dict[str, Any]:
    """The region of a mark; empty for a file as a whole."""
    if not mark.line:
        return {}
    return {"region": {"startLine": mark.line, "startColumn": mark.column, "endLine": mark.end_line, "endColumn": mark.end_column}}


def _artifact(path: str) -> dict[str, str]:
    """The location of a file: a relative URI below the working folder, an absolute one elsewhere."""
    place = from_here(path)
    if os.path.isabs(place) or place.startswith(os.pardir + os.sep):
        return {"uri": "file://" + quote(os.fsencode(os.path.abspath(place)))}
    return {"uri": quote(os.fsencode(place)), "uriBaseId": _ROOT}
