"""The parts of large files, which are checked one by one."""

from __future__ import annotations

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.grouping import grouped
from jobspec.diagnostics.results import DocumentResult, FileResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


PART = "\0"
"""What stands between a path and the number of a part."""


def whole(results: Sequence[FileResult]) -> list[FileResult]:
    """Join the results of the parts of each file, with documents counted from its beginning."""
    if not any(PART in each.path for each in results):
        return list(results)
    parts = grouped(results, lambda each: each.path.partition(PART)[0])
    return [_joined(path, several) for path, several in parts.items()]


def _joined(path: str, parts: Sequence[FileResult]) -> FileResult:
    rows: list[DocumentResult] = []
    found: list[Diagnostic] = []
    for part in parts:
        first = rows[-1].index + 1 if rows else 0
        rows += [each.moved(first + each.index) for each in part.documents]
        found += [each if each.document is None else each.in_document(first + each.document) for each in part.diagnostics]
    return FileResult(path, rows, found, ignored=sum(each.ignored for each in parts))
