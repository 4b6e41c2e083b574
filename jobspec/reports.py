"""Diagnostics to text and JSON."""

from __future__ import annotations

from jobspec.diagnostics import in_order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from jobspec.diagnostics import Diagnostic
    from jobspec.targets import Target

_STATUSES = ("valid", "invalid", "partly", "skipped")


class FileReport:
    """What was found in one file: the status of each document, and the diagnostics."""

    __slots__ = ("diagnostics", "documents", "path")

    def __init__(self, path: str, documents: list[dict[str, Any]], diagnostics: list[Diagnostic]) -> None:
        self.path = path
        self.documents = documents
        """Each with `index`, `apiVersion`, `kind`, `name` and `status`."""
        self.diagnostics = in_order(diagnostics)

    @property
    def valid(self) -> bool:
        """Whether no error stands in the file."""
        return not any(each.severity == "error" for each in self.diagnostics)


def json_report(files: Iterable[FileReport], target: Target) -> str:
    """The report of a run as one JSON object."""
    import json

    from jobspec.targets import told

    files = list(files)
    report = {
        "files": [
            {
                "path": each.path,
                "valid": each.valid,
                "documents": each.documents,
                "diagnostics": [diagnostic.as_dict() for diagnostic in each.diagnostics],
            }
            for each in files
        ],
        "target": told(target),
        "summary": _count(files),
    }
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def text_report(files: Iterable[FileReport], target: Target) -> str:
    """The report of a run as lines for people, the coverage last."""
    files = list(files)
    lines = [line for each in files for diagnostic in each.diagnostics for line in lines_of(diagnostic)]
    return "\n".join([*lines, coverage(files, target), ""])


def lines_of(diagnostic: Diagnostic) -> list[str]:
    """A diagnostic in the manner of compilers: `file:line:column: severity: message [rule]`, then its field and hint."""
    mark = diagnostic.mark
    layer = f" (overlay {mark.layer})" if mark.layer else ""
    lines = [f"{mark}: {diagnostic.severity}: {diagnostic.message}{layer} [{diagnostic.rule}]"]
    if diagnostic.field:
        lines.append(f"    field: {diagnostic.field}")
    if diagnostic.hint:
        lines.append(f"    hint: {diagnostic.hint}")
    return lines


def coverage(files: list[FileReport], target: Target) -> str:
    """One line that leaves nothing out: how many documents, how each fared, against which releases."""
    from jobspec.targets import told

    counts = _count(files)
    parts = [f"{counts[status]} {status}" for status in _STATUSES if counts[status]]
    for severity in ("error", "warning"):
        number = sum(diagnostic.severity == severity for each in files for diagnostic in each.diagnostics)
        parts += [f"{number} {severity}{'s' if number > 1 else ''}"] if number else []
    what = ", ".join(parts) or "nothing found"
    documents = f"{counts['documents']} document{'' if counts['documents'] == 1 else 's'}"
    return f"{documents}: {what} ({', '.join(' '.join(each) for each in told(target).items())})"


def _count(files: list[FileReport]) -> dict[str, int]:
    statuses = [document["status"] for each in files for document in each.documents]
    return {"documents": len(statuses), **{status: statuses.count(status) for status in _STATUSES}}


REPORTS = {"text": text_report, "json": json_report}
