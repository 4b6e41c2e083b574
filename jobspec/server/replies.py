"""A server's reply to a document as diagnostics: its causes and messages, at the line that wrote the value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Mark, Path
from jobspec.documents.fields import path_of
from jobspec.server.client import Reply
from jobspec.server.questions import Question

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics.diagnostic import Severity


#: The `reason` of a cause -> the rule. For other reasons, the words of the message decide.
_REASONS = {
    "FieldValueRequired": "missing-field",
    "FieldValueNotSupported": "unsupported-choice",
    "FieldValueTypeInvalid": "wrong-type",
    "FieldValueDuplicate": "duplicate-item",
    "FieldValueTooLong": "wrong-size",
    "FieldValueTooMany": "wrong-size",
    "FieldValueTooShort": "wrong-size",
}
_WORDS = (
    (re.compile(r"immutable|cannot be changed|may not change", re.IGNORECASE), "immutable-field"),
    (re.compile(r"should be (greater|less) than|must be (greater|less) than|non-negative"), "out-of-range"),
    (re.compile(r"should match|must match the regex|must consist of|regex used for validation"), "wrong-format"),
)
_CONFLICT = "FieldManagerConflict"
_CALL_FAILED = re.compile(r'failed calling webhook "([^"]+)": (.*)', re.DOTALL)
_RBAC = re.compile(r'User "([^"]*)" cannot (\w+) resource "([^"]*)"(?:.* in the namespace "([^"]*)")?')


def no_verdict(reply: Reply) -> str:
    """Return why a reply is no verdict on the document; empty if it is one.

    Reasons are a broken webhook, missing rights, and a failing server.
    """
    failed = _CALL_FAILED.search(reply.message)
    if failed:
        why = failed[2].rpartition(": ")[2]
        return f"the webhook `{failed[1]}` does not answer: {why}; is its operator running?"
    denied = _RBAC.search(reply.message)
    if reply.status == 403 and denied:
        place = f" in the namespace `{denied[4]}`" if denied[4] else ""
        return f"`{denied[1]}` is not allowed to {denied[2]} {denied[3]}{place} (403): a dry-run needs the rights to get, create and patch"
    if reply.status >= 500 and not TYPED_PATCH.search(reply.message):
        return f"the server failed ({reply.status}): {reply.message}"
    return f"the server is too busy: {reply.message}" if reply.status == 429 else ""


def is_about_managers(reply: Reply) -> bool:
    """True if an apply is refused because other field managers set fields to other values."""
    return any(cause.get("reason") == _CONFLICT for cause in _causes(reply))


def _causes(reply: Reply) -> list[dict[str, str]]:
    return (reply.body.get("details") or {}).get("causes") or []


def refusals(question: Question, reply: Reply) -> list[Diagnostic]:
    """Return the diagnostics of a refusal, at least one."""
    found = list(_details(question, reply)) or list(from_message(question, reply.message))
    found = found or [at_first_field(question, "refused-by-server", reply.message)]
    return list({(each.field, each.message, str(each.mark)): each for each in found}.values())


def warnings(question: Question, reply: Reply) -> list[Diagnostic]:
    """Return the server's `Warning` headers as diagnostics."""
    return [at_first_field(question, "server-warning", text, severity="warning") for text in dict.fromkeys(reply.warnings)]


def _details(question: Question, reply: Reply) -> Iterator[Diagnostic]:
    """The diagnostics of the causes that a refusal lists."""
    causes = _causes(reply)
    for field, managers in _managers(causes).items():
        yield _conflict(question, field, managers)
    denied = DENIED.search(reply.message)
    for cause in causes:
        field, message = str(cause.get("field") or ""), str(cause.get("message") or "")
        if cause.get("reason") == _CONFLICT or (len(causes) > 1 and _is_consequence(message)):
            continue
        rule = "refused-by-webhook" if denied else _rule_of_reason(str(cause.get("reason")), field, message)
        text = f"{message} (webhook {denied[1]})" if denied else message
        yield at_first_field(question, rule, text) if field in ("", "<nil>") else at_field(question, rule, text, field)


def _is_consequence(message: str) -> bool:
    """True if a cause only follows from another one.

    For example, CEL rules were not evaluated since the schema refuses the object.
    """
    return "some validation rules were not checked because the object was invalid" in message or " accessor error: " in message


def _rule_of_reason(reason: str, field: str, message: str) -> str:
    if field == "metadata.name":
        return "missing-name" if reason == "FieldValueRequired" else "invalid-name"
    by_words = next((rule for words, rule in _WORDS if words.search(message)), "refused-value")
    return _REASONS.get(reason, by_words)


def _managers(causes: Iterable[dict[str, str]]) -> dict[str, list[str]]:
    """Field -> the other managers that an apply is in conflict with."""
    managers: dict[str, list[str]] = {}
    for cause in causes:
        if cause.get("reason") == _CONFLICT:
            message = str(cause.get("message") or "")
            managers.setdefault(str(cause.get("field") or ""), []).append(message.partition('"')[2].partition('"')[0] or message)
    return managers


def _conflict(question: Question, field: str, managers: Iterable[str]) -> Diagnostic:
    who = [f"`{manager}`" for manager in sorted(set(managers))]
    what = f"{who[0]} manages" if len(who) == 1 else f"{' and '.join(who)} manage"
    return at_field(
        question,
        "field-conflict",
        f"{what} this field of the live object and set another value",
        field,
        hint=f"leave the field to {' and '.join(who)}, or take it over: kubectl apply --server-side --force-conflicts",
    )


# The message of a refusal without causes as diagnostics, by the known forms of such messages.


DENIED = re.compile(r'admission webhook "([^"]+)" denied the request: (.*)', re.DOTALL)
TYPED_PATCH = re.compile(r"failed to create typed patch object \([^)]*\): (.*)", re.DOTALL)
_UNKNOWN_FIELD = re.compile(r'unknown field "((?:[^"\\]|\\.)*)"')
_DUPLICATE_KEY = re.compile(r'line (\d+): key "((?:[^"\\]|\\.)*)" already set in map')
_YAML_LINE = re.compile(r"yaml: (?:unmarshal errors:\s+)?line (\d+): (.*)", re.DOTALL)
_GO_TYPE = re.compile(r"json: cannot unmarshal (\w+)(?: [^ ]+)? into Go (?:struct field (\w+)\.(\S+)|value) of type (\S+)")
_NO_NAMESPACE = re.compile(r'^namespaces "([^"]*)" not found$')
FIELD = r"\.?[A-Za-z][\w-]*(?:\.[\w/-]+|\[[^\]]*\])*"
_SAID_OF_FIELD = re.compile(rf"^({FIELD}): (.*)", re.DOTALL)
_SAID_IN_PATCH = re.compile(r"\s*((?:[^:\[\s]|\[[^\]]*\])+): (.*)")
_NEXT_OF_LIST = re.compile(rf", (?={FIELD}: (?:Invalid|Required|Unsupported|Duplicate|Forbidden|Not found|Too|Internal))")


def from_message(question: Question, message: str) -> Iterator[Diagnostic]:
    """Yield the diagnostics of a message. If its form is unknown, yield none."""
    for form, diagnostics in _FORMS:
        found = form.search(message)
        if found:
            yield from diagnostics(question, found)
            return


def _strict_decoding(question: Question, found: re.Match[str]) -> Iterator[Diagnostic]:
    """The unknown fields and duplicate keys that strict decoding lists."""
    text = found[1]
    for field in _UNKNOWN_FIELD.findall(text):
        yield unknown_field(question, field)
    duplicates = _DUPLICATE_KEY.findall(text)
    if duplicates and question.duplicates:
        yield from question.duplicates
        return
    for line, key in duplicates:
        yield at_line(question, "duplicate-key", f"duplicate key `{key}`", int(line))


def _at_yaml_line(question: Question, found: re.Match[str]) -> Iterator[Diagnostic]:
    yield at_line(question, "yaml-syntax", found[2], int(found[1]))


def _go_type(question: Question, found: re.Match[str]) -> Iterator[Diagnostic]:
    """Yield a diagnostic for a value of another type than a built-in kind's field.

    If the value is an entry of a map, the server names only the map.
    """
    was, owner, inside, wanted = found[1], found[2] or "", found[3] or "", found[4]
    field = f"metadata.{inside}" if owner == "ObjectMeta" and not inside.startswith("metadata") else inside
    path = path_of(field, question.document.data)
    value = question.value(path)
    if isinstance(value, dict) and was != "object":
        path = (*path, *[key for key, each in value.items() if _JSON_NAMES[type(each)] == was][:1])
    mark = question.document.marks.nearest(path).place()
    message = f"expected {wanted.lstrip('*')}, got {was}"
    yield Diagnostic("wrong-type", message, mark, field=field, document=question.document.index)


_JSON_NAMES = {bool: "bool", int: "number", float: "number", str: "string", dict: "object", list: "array", type(None): "null"}


def _typed_patch(question: Question, found: re.Match[str]) -> Iterator[Diagnostic]:
    """The mistakes that server-side apply lists when it cannot decode a document by the schema."""
    for line in found[1].removeprefix("errors:").splitlines():
        said = _SAID_IN_PATCH.match(line)
        if not said:
            continue
        field, message = said.groups()
        if message == "field not declared in schema":
            yield unknown_field(question, field)
        else:
            rule = "wrong-type" if message.startswith("expected") else "duplicate-item" if "duplicate" in message else "refused-value"
            yield at_field(question, rule, message.partition(", got &value")[0], field)


def _denied(question: Question, found: re.Match[str]) -> Iterator[Diagnostic]:
    """The errors of a validating webhook: one, or several in brackets."""
    webhook, text = found[1], found[2].strip()
    go_type = _GO_TYPE.search(text)
    if go_type:
        yield from _go_type(question, go_type)
        return
    listed = _NEXT_OF_LIST.split(text[1:-1]) if text.startswith("[") and text.endswith("]") else [text]
    for each in listed:
        said = _SAID_OF_FIELD.match(each)
        field, message = said.groups() if said else ("", each)
        yield at_field(question, "refused-by-webhook", f"{message} (webhook {webhook})", field)


def _no_namespace(question: Question, found: re.Match[str]) -> Iterator[Diagnostic]:
    yield at_field(question, "missing-namespace", f"the server has no namespace `{found[1]}`", "metadata.namespace")


def _stale(question: Question, _: re.Match[str]) -> Iterator[Diagnostic]:
    message = "the live object has another version than this, which an update must match"
    yield at_field(question, "refused-by-server", message, "metadata.resourceVersion", hint="remove `resourceVersion` from files")


def _other_namespace(question: Question, _: re.Match[str]) -> Iterator[Diagnostic]:
    yield at_field(question, "invalid-name", "this is not a namespace that an object of this kind can be in", "metadata.namespace")


#: The known forms of a message, and the function that makes diagnostics of each; the first that matches counts.
_FORMS: tuple[tuple[re.Pattern[str], Callable[[Question, re.Match[str]], Iterator[Diagnostic]]], ...] = (
    (re.compile(r"(?:strict decoding error|error strict decoding (?:YAML|patch)): (.*)", re.DOTALL), _strict_decoding),
    (DENIED, _denied),
    (TYPED_PATCH, _typed_patch),
    (_GO_TYPE, _go_type),
    (_YAML_LINE, _at_yaml_line),
    (_NO_NAMESPACE, _no_namespace),
    (re.compile(r"^the namespace of the provided object does not match"), _other_namespace),
    (re.compile(r"^Operation cannot be fulfilled on .* the object has been modified"), _stale),
)


# Diagnostics at the place in a document that a server names: a field, a line of the text, or nothing.


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
