"""Diagnostics at the place in a document that a server names: a field, a line of the text, or nothing."""

from __future__ import annotations

import re

from jobspec.diagnostics import Diagnostic, Mark
from jobspec.server.paths import resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.diagnostics import Path, Severity
    from jobspec.server.question import Question

FIELD = r"\.?[A-Za-z][\w-]*(?:\.[\w/-]+|\[[^\]]*\])*"
_FIELD_FIRST = re.compile(rf"^({FIELD})(?=[: ]|$)")
_QUOTED_VALUE = re.compile(r'^Invalid value: "((?:[^"\\]|\\.)*)"')
_GO_VALUE = re.compile(r"^Invalid value: &?[\w.*\[\]]+\{.*?\}: ", re.DOTALL)  # Go's debugging format, with memory addresses


def unknown_field(question: Question, field: str) -> Diagnostic:
    """The diagnostic of an unknown field, at its key."""
    path = resolve(field, question.document.data)
    marks = question.document.marks.nearest(path)
    mark, field = marks.key or marks.mark, field.removeprefix(".")
    return Diagnostic("unknown-field", f"unknown field `{path[-1]}`", mark, field=field, document=question.document.index)


def at_first_field(question: Question, rule: str, message: str, *, severity: Severity = "error") -> Diagnostic:
    """A diagnostic at the field that the message begins with; at the document where it begins with none."""
    found = _FIELD_FIRST.match(message.removeprefix("Invalid value: "))
    field = found[1] if found and resolve(found[1], question.document.data)[0] in question.document.data else ""
    return at_field(question, rule, message, field, severity=severity)


def at_field(question: Question, rule: str, message: str, field: str, *, hint: str = "", severity: Severity = "error") -> Diagnostic:
    """A diagnostic at a field, as the server spells it; at the document where *field* is empty."""
    document = question.document
    path = resolve(field, document.data)
    mark = document.marks.nearest((*path, *_entry(question.value(path), message))).place()
    field = field.removeprefix(".")
    return Diagnostic(rule, _GO_VALUE.sub("", message), mark, field=field, document=document.index, hint=hint, severity=severity)


def _entry(value: Any, message: str) -> Path:
    """The step to the entry of a map, such as labels, that has the quoted text as key or value: servers name the map only."""
    quoted = _QUOTED_VALUE.match(message)
    if not quoted or not isinstance(value, dict):
        return ()
    return tuple(key for key, inside in value.items() if quoted[1] in (key, inside))[:1]


def at_line(question: Question, rule: str, message: str, line: int) -> Diagnostic:
    """A diagnostic at a line of the text that was sent; at the document where jobspec wrote that text."""
    document = question.document
    mark = Mark(document.file, line + question.lines_before, 1) if question.lines_before is not None else document.marks.place()
    return Diagnostic(rule, message, mark, document=document.index)
