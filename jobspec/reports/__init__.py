"""What was found in files: a report for each, and the line that counts them all."""

from __future__ import annotations

from jobspec.diagnostics import in_order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
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


def coverage(files: Sequence[FileReport], target: Target) -> str:
    """One line that leaves nothing out: how many documents, how each fared, against which releases."""
    from jobspec.targets import told

    counts = count(files)
    parts = [f"{counts[status]} {status}" for status in _STATUSES if counts[status]]
    for severity in ("error", "warning"):
        number = sum(diagnostic.severity == severity for each in files for diagnostic in each.diagnostics)
        parts += [f"{number} {severity}{'s' if number > 1 else ''}"] if number else []
    what = ", ".join(parts) or "nothing found"
    documents = f"{counts['documents']} document{'' if counts['documents'] == 1 else 's'}"
    return f"{documents}: {what} ({', '.join(' '.join(each) for each in told(target).items())})"


def count(files: Sequence[FileReport]) -> dict[str, int]:
    """How many documents there are, and how many of each status."""
    statuses = [document["status"] for each in files for document in each.documents]
    return {"documents": len(statuses), **{status: statuses.count(status) for status in _STATUSES}}
