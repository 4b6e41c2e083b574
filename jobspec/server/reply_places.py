"""Diagnostics at the place in a document that a server names: a field, a line of the text, or nothing."""

from __future__ import annotations

import re
from typing import Any

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Mark, Path
from jobspec.documents.fields import path_of
from jobspec.server.questions import Question

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics.diagnostic import Severity


FIELD = r"\.?[A-Za-z][\w-]*(?:\.[\w/-]+|\[[^\]]*\])*"
_FIELD_FIRST = re.compile(rf"^({FIELD})(?=[: ]|$)")
_QUOTED_VALUE = re.compile(r'^Invalid value: "((?:[^"\\]|\\.)*)"')
_GO_VALUE = re.compile(r"^Invalid value: &?[\w.*\[\]]+\{.*?\}: ", re.DOTALL)  # Go's debugging format, with memory addresses


def unknown_field(question: Question, field: str) -> Diagnostic:
    """Return the diagnostic of an unknown field, at its key."""
    path = path_of(field, question.document.data)
    marks = question.document.marks.nearest(path)
    mark, field = marks.key or marks.mark, field.removeprefix(".")
    return Diagnostic("unknown-field", f"unknown field `{path[-1]}`", mark, field=field, document=question.document.index)


def at_first_field(question: Question, rule: str, message: str, *, severity: Severity = "error") -> Diagnostic:
    """Return a diagnostic at the field that begins the message.

    If the message begins with no field, the diagnostic is at the document.
    """
    found = _FIELD_FIRST.match(message.removeprefix("Invalid value: "))
    field = found[1] if found and path_of(found[1], question.document.data)[0] in question.document.data else ""
    return at_field(question, rule, message, field, severity=severity)


def at_field(question: Question, rule: str, message: str, field: str, *, hint: str = "", severity: Severity = "error") -> Diagnostic:
    """Return a diagnostic at a field, as the server spells it.

    If *field* is empty, the diagnostic is at the document.
    """
    document = question.document
    path = path_of(field, document.data)
    mark = document.marks.nearest((*path, *_entry(question.value(path), message))).place()
    field = field.removeprefix(".")
    return Diagnostic(rule, _GO_VALUE.sub("", message), mark, field=field, document=document.index, hint=hint, severity=severity)


def _entry(value: Any, message: str) -> Path:
    """Return the step to the entry of a map that has the quoted text as key or value.

    Servers name only the map, such as labels.
    """
    quoted = _QUOTED_VALUE.match(message)
    if not quoted or not isinstance(value, dict):
        return ()
    return tuple(key for key, inside in value.items() if quoted[1] in (key, inside))[:1]


def at_line(question: Question, rule: str, message: str, line: int) -> Diagnostic:
    """Return a diagnostic at a line of the text that was sent.

    If jobspec wrote that text, the diagnostic is at the document.
    """
    document = question.document
    mark = Mark(document.file, line + question.lines_before, 1) if question.lines_before is not None else document.marks.place()
    return Diagnostic(rule, message, mark, document=document.index)
