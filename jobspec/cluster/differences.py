"""What an apply would change in a live object."""

from __future__ import annotations

import difflib

from jobspec import shapes
from jobspec.arrange import arrange
from jobspec.documents.writer import write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.cluster.question import Question
    from jobspec.cluster.server import Answer
    from jobspec.targets import Target

#: What the server keeps about an object, and nobody writes.
_KEPT = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")


def difference(question: Question, answer: Answer, target: Target) -> str:
    """A unified diff from the live object to what an apply makes of it; empty where nothing changes.

    Both sides have the server's defaults, so that these do not show. A new object is told as it was written.
    """
    document = question.document
    after = answer.merged if answer.live else document.data
    if after is None:
        return ""
    name = "/".join(part for part in (document.kind, document.namespace, document.name) if part)
    before = _lines(answer.live, question, target) if answer.live else []
    old = f"live {name}" if answer.live else "/dev/null"
    return "".join(difflib.unified_diff(before, _lines(after, question, target), old, f"{document.file} {name}"))


def _lines(data: dict[str, Any], question: Question, target: Target) -> list[str]:
    metadata = {key: value for key, value in data["metadata"].items() if key not in _KEPT} if isinstance(data.get("metadata"), dict) else {}
    shown = {key: metadata if key == "metadata" else value for key, value in data.items() if key != "status"}
    shape = shapes.load(question.document.api_version, question.document.kind, target)
    return write([arrange(shown, shape)]).splitlines(keepends=True)
