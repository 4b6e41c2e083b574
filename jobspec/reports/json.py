"""A report as one JSON object."""

from __future__ import annotations

import json

from jobspec.results import count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobspec.results import FileResult


def report(files: Sequence[FileResult], releases: Mapping[str, str]) -> str:
    """All files with their documents and diagnostics, the target's releases, and the counts."""
    reported = [
        {
            "path": each.path,
            "valid": each.valid,
            "documents": [document.as_dict() for document in each.documents],
            "diagnostics": [diagnostic.as_dict() for diagnostic in each.diagnostics],
        }
        for each in files
    ]
    return json.dumps({"files": reported, "target": releases, "summary": count(files)}, indent=2, ensure_ascii=False) + "\n"
