"""The diff between a live object and the object after an apply."""

from __future__ import annotations

import difflib
from typing import Any

from jobspec.documents.writer import write
from jobspec.go.values import mapping
from jobspec.rendering import arrange
from jobspec.schemas import shapes
from jobspec.server.api_server import ServerAnswer
from jobspec.server.question import Question
from jobspec.targets import Target

#: Metadata that the server writes.
_BY_SERVER = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"  # the whole object once more, as text
_SECRET = ("v1", "Secret")


def difference(question: Question, answer: ServerAnswer, target: Target) -> str:
    """A unified diff from the live object to the applied one; empty where nothing changes.

    Both sides have the server's defaults, so that the diff shows none. A new object is shown as the user wrote it. The values of a
    Secret are masked.
    """
    document = question.document
    before, after = answer.live or {}, answer.merged if answer.live else document.data
    if after is None:
        return ""
    if (document.api_version, document.kind) == _SECRET:
        before, after = _masked(before, after, "before"), _masked(after, before or after, "after")
    name = "/".join(part for part in (document.kind, document.namespace, document.name) if part)
    old = f"live {name}" if before else "/dev/null"
    old_lines = _lines(before, question, target) if before else []
    return "".join(difflib.unified_diff(old_lines, _lines(after, question, target), old, f"{document.file} {name}"))


def _masked(data: dict[str, Any], other: dict[str, Any], word: str) -> dict[str, Any]:
    """A Secret with masked values; those that differ in the *other* Secret are marked with *word*."""
    masked: dict[str, Any] = {}
    for part in ("data", "stringData"):
        if part in data:
            others = mapping(other, part)
            masked[part] = {key: "***" if others.get(key) == value else f"*** ({word})" for key, value in mapping(data, part).items()}
    return {**data, **masked}


def _lines(data: dict[str, Any], question: Question, target: Target) -> list[str]:
    shown = {key: value for key, value in data.items() if key != "status"}
    if isinstance(data.get("metadata"), dict):
        shown["metadata"] = _written(data["metadata"])
    shape = shapes.load(question.document.api_version, question.document.kind, target)
    return write([arrange(shown, shape)]).splitlines(keepends=True)


def _written(metadata: dict[str, Any]) -> dict[str, Any]:
    """An object's metadata without the server's own."""
    written = {key: value for key, value in metadata.items() if key not in _BY_SERVER}
    annotations = written.get("annotations")
    if isinstance(annotations, dict) and _LAST_APPLIED in annotations:
        written["annotations"] = {key: value for key, value in annotations.items() if key != _LAST_APPLIED}
    return written
