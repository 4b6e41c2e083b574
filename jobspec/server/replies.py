"""What a server answers about a document, as diagnostics at the lines that wrote it."""

from __future__ import annotations

import re

from jobspec.diagnostics import Diagnostic, Mark
from jobspec.server.paths import resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from jobspec.diagnostics import Path, Severity
    from jobspec.server.client import Reply
    from jobspec.server.question import Question

#: Why a cause of a refusal is one, to the rule that it falls under; what a reason leaves open, the words say.
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
_UNKNOWN_FIELD = re.compile(r'unknown field "((?:[^"\\]|\\.)*)"')
_DUPLICATE_KEY = re.compile(r'line (\d+): key "((?:[^"\\]|\\.)*)" already set in map')
_YAML_LINE = re.compile(r"yaml: (?:unmarshal errors:\s+)?line (\d+): (.*)", re.DOTALL)
_GO_TYPE = re.compile(r"json: cannot unmarshal (\w+)(?: [^ ]+)? into Go (?:struct field (\w+)\.(\S+)|value) of type (\S+)")
_TYPED_PATCH = re.compile(r"failed to create typed patch object \([^)]*\): (.*)", re.DOTALL)
_DENIED = re.compile(r'admission webhook "([^"]+)" denied the request: (.*)', re.DOTALL)
_CALL_FAILED = re.compile(r'failed calling webhook "([^"]+)": (.*)', re.DOTALL)
_NO_NAMESPACE = re.compile(r'^namespaces "([^"]*)" not found$')
_RBAC = re.compile(r'User "([^"]*)" cannot (\w+) resource "([^"]*)"(?:.* in the namespace "([^"]*)")?')
_FIELD = r"\.?[A-Za-z][\w-]*(?:\.[\w/-]+|\[[^\]]*\])*"
_SAID_OF_FIELD = re.compile(rf"^({_FIELD}): (.*)", re.DOTALL)
_SAID_IN_PATCH = re.compile(r"\s*((?:[^:\[\s]|\[[^\]]*\])+): (.*)")
_FIELD_FIRST = re.compile(rf"^({_FIELD})(?=[: ]|$)")
_QUOTED_VALUE = re.compile(r'^Invalid value: "((?:[^"\\]|\\.)*)"')
_GO_VALUE = re.compile(r"^Invalid value: &?[\w.*\[\]]+\{.*?\}: ", re.DOTALL)  # as Go prints it for debugging, addresses of memory included
_NEXT_OF_LIST = re.compile(rf", (?={_FIELD}: (?:Invalid|Required|Unsupported|Duplicate|Forbidden|Not found|Too|Internal))")
_UNCHECKED = "some validation rules were not checked because the object was invalid"


def no_verdict(reply: Reply) -> str:
    """Why a reply says nothing about the document, in plain words; empty where it does."""
    failed = _CALL_FAILED.search(reply.message)
    if failed:
        why = failed[2].rpartition(": ")[2]
        return f"the webhook `{failed[1]}`, which the server has to ask, does not answer: {why}; is its operator running?"
    denied = _RBAC.search(reply.message)
    if reply.status == 403 and denied:
        place = f" in the namespace `{denied[4]}`" if denied[4] else ""
        return f"`{denied[1]}` may not {denied[2]} {denied[3]}{place} (403): a dry-run needs the rights to get, create and patch"
    if reply.status >= 500 and not _TYPED_PATCH.search(reply.message):
        return f"the server failed ({reply.status}): {reply.message}"
    return f"the server is too busy: {reply.message}" if reply.status == 429 else ""


def is_about_managers(reply: Reply) -> bool:
    """Whether an apply is refused since other managers have set fields to other values."""
    return any(cause.get("reason") == _CONFLICT for cause in _causes(reply))


def _causes(reply: Reply) -> list[dict[str, str]]:
    return (reply.body.get("details") or {}).get("causes") or []


def refusals(question: Question, reply: Reply) -> list[Diagnostic]:
    """Everything that a refusal says about a document; never nothing."""
    found = list(_details(question, reply)) or list(_message(question, reply.message))
    found = found or [_at_first_field(question, "refused-by-server", reply.message)]
    return list({(each.field, each.message, str(each.mark)): each for each in found}.values())


def warnings(question: Question, reply: Reply) -> list[Diagnostic]:
    """The server's `Warning` headers."""
    return [_at_first_field(question, "server-warning", text, severity="warning") for text in dict.fromkeys(reply.warnings)]


def _details(question: Question, reply: Reply) -> Iterator[Diagnostic]:
    """The causes that a refusal lists."""
    causes = _causes(reply)
    for field, managers in _managers(causes).items():
        yield _conflict(question, field, managers)
    for cause in causes:
        field, message = str(cause.get("field") or ""), str(cause.get("message") or "")
        if cause.get("reason") != _CONFLICT and not (len(causes) > 1 and (_UNCHECKED in message or " accessor error: " in message)):
            denied = _DENIED.search(reply.message)
            rule = "refused-by-webhook" if denied else _rule(str(cause.get("reason")), field, message)
            text = f"{message} (webhook {denied[1]})" if denied else message
            if field in ("", "<nil>"):
                yield _at_first_field(question, rule, text)
            else:
                yield _at(question, rule, text, field)


def _rule(reason: str, field: str, message: str) -> str:
    if field == "metadata.name":
        return "missing-name" if reason == "FieldValueRequired" else "invalid-name"
    by_words = next((rule for words, rule in _WORDS if words.search(message)), "refused-value")
    return _REASONS.get(reason, by_words)


def _managers(causes: Iterable[dict[str, str]]) -> dict[str, list[str]]:
    """By field, the other managers that an apply is in conflict with."""
    managers: dict[str, list[str]] = {}
    for cause in causes:
        if cause.get("reason") == _CONFLICT:
            message = str(cause.get("message") or "")
            managers.setdefault(str(cause.get("field") or ""), []).append(message.partition('"')[2].partition('"')[0] or message)
    return managers


def _conflict(question: Question, field: str, managers: Iterable[str]) -> Diagnostic:
    who = [f"`{manager}`" for manager in sorted(set(managers))]
    what = f"{who[0]} manages" if len(who) == 1 else f"{' and '.join(who)} manage"
    return _at(
        question,
        "field-conflict",
        f"{what} this field of the live object and set another value",
        field,
        hint=f"leave the field to {' and '.join(who)}, or take it over: kubectl apply --server-side --force-conflicts",
    )


def _message(question: Question, message: str) -> Iterator[Diagnostic]:
    """What a refusal without causes says."""
    for words, told in _FORMS:
        found = words.search(message)
        if found:
            yield from told(question, found)
            return
    yield _at_first_field(question, "refused-by-server", message)


def _strictly(question: Question, found: re.Match[str]) -> Iterator[Diagnostic]:
    """Unknown fields and duplicate keys, as strict decoding lists them."""
    text = found[1]
    for field in _UNKNOWN_FIELD.findall(text):
        yield _unknown_field(question, field)
    duplicates = _DUPLICATE_KEY.findall(text)
    if duplicates and question.duplicates:
        yield from question.duplicates
        return
    for line, key in duplicates:
        yield _at_line(question, "duplicate-key", f"`{key}` stands twice in this mapping", int(line))


def _at_yaml_line(question: Question, found: re.Match[str]) -> Iterator[Diagnostic]:
    yield _at_line(question, "yaml-syntax", found[2], int(found[1]))


def _go_type(question: Question, found: re.Match[str]) -> Iterator[Diagnostic]:
    """A value that does not fit a built-in type; of maps, the server names only the map itself."""
    was, owner, inside, wanted = found[1], found[2] or "", found[3] or "", found[4]
    field = f"metadata.{inside}" if owner == "ObjectMeta" and not inside.startswith("metadata") else inside
    path = resolve(field, question.document.data)
    value = question.value(path)
    if isinstance(value, dict) and was != "object":
        path = (*path, *[key for key, each in value.items() if _JSON_NAMES[type(each)] == was][:1])
    mark = question.document.marks.nearest(path).place()
    message = f"this takes {wanted.lstrip('*')}, not {was}"
    yield Diagnostic("wrong-type", message, mark, field=field, document=question.document.index)


_JSON_NAMES = {bool: "bool", int: "number", float: "number", str: "string", dict: "object", list: "array", type(None): "null"}


def _typed_patch(question: Question, found: re.Match[str]) -> Iterator[Diagnostic]:
    """What server-side apply, which decodes against the schema before all else, cannot make sense of."""
    for line in found[1].removeprefix("errors:").splitlines():
        said = _SAID_IN_PATCH.match(line)
        if not said:
            continue
        field, message = said.groups()
        if message == "field not declared in schema":
            yield _unknown_field(question, field)
        else:
            rule = "wrong-type" if message.startswith("expected") else "duplicate-item" if "duplicate" in message else "refused-value"
            yield _at(question, rule, message.partition(", got &value")[0], field)


def _denied(question: Question, found: re.Match[str]) -> Iterator[Diagnostic]:
    """One or several errors, in brackets, of a validating webhook."""
    webhook, text = found[1], found[2].strip()
    go_type = _GO_TYPE.search(text)
    if go_type:
        yield from _go_type(question, go_type)
        return
    listed = _NEXT_OF_LIST.split(text[1:-1]) if text.startswith("[") and text.endswith("]") else [text]
    for each in listed:
        said = _SAID_OF_FIELD.match(each)
        field, message = said.groups() if said else ("", each)
        yield _at(question, "refused-by-webhook", f"{message} (webhook {webhook})", field)


def _no_namespace(question: Question, found: re.Match[str]) -> Iterator[Diagnostic]:
    yield _at(question, "missing-namespace", f"the server has no namespace `{found[1]}`", "metadata.namespace")


def _stale(question: Question, _: re.Match[str]) -> Iterator[Diagnostic]:
    message = "the live object has another version than this, which an update would have to match"
    yield _at(question, "refused-by-server", message, "metadata.resourceVersion", hint="leave `resourceVersion` out of files")


def _other_namespace(question: Question, _: re.Match[str]) -> Iterator[Diagnostic]:
    yield _at(question, "invalid-name", "this is no namespace that an object of this kind can be in", "metadata.namespace")


#: What a message without causes can be, and what is made of it.
_FORMS: tuple[tuple[re.Pattern[str], Callable[[Question, re.Match[str]], Iterator[Diagnostic]]], ...] = (
    (re.compile(r"strict decoding error: (.*)", re.DOTALL), _strictly),
    (re.compile(r"error strict decoding YAML: (.*)", re.DOTALL), _strictly),
    (_DENIED, _denied),
    (_TYPED_PATCH, _typed_patch),
    (_GO_TYPE, _go_type),
    (_YAML_LINE, _at_yaml_line),
    (_NO_NAMESPACE, _no_namespace),
    (re.compile(r"^the namespace of the provided object does not match"), _other_namespace),
    (re.compile(r"^Operation cannot be fulfilled on .* the object has been modified"), _stale),
)


def _unknown_field(question: Question, field: str) -> Diagnostic:
    path = resolve(field, question.document.data)
    marks = question.document.marks.nearest(path)
    mark, field = marks.key or marks.mark, field.removeprefix(".")
    return Diagnostic("unknown-field", f"unknown field `{path[-1]}`", mark, field=field, document=question.document.index)


def _at_first_field(question: Question, rule: str, message: str, *, severity: Severity = "error") -> Diagnostic:
    """A diagnostic of the field that a sentence begins with, else of the document as a whole."""
    found = _FIELD_FIRST.match(message.removeprefix("Invalid value: "))
    field = found[1] if found and resolve(found[1], question.document.data)[0] in question.document.data else ""
    return _at(question, rule, message, field, severity=severity)


def _at(question: Question, rule: str, message: str, field: str, *, hint: str = "", severity: Severity = "error") -> Diagnostic:
    document = question.document
    path = resolve(field, document.data)
    mark = document.marks.nearest((*path, *_entry(question.value(path), message))).place()
    field = field.removeprefix(".")
    return Diagnostic(rule, _GO_VALUE.sub("", message), mark, field=field, document=document.index, hint=hint, severity=severity)


def _entry(value: Any, message: str) -> Path:
    """Of a map that a server names as a whole, such as labels: the entry with the text that the message quotes."""
    quoted = _QUOTED_VALUE.match(message)
    if not quoted or not isinstance(value, dict):
        return ()
    return tuple(key for key, inside in value.items() if quoted[1] in (key, inside))[:1]


def _at_line(question: Question, rule: str, message: str, line: int) -> Diagnostic:
    """A diagnostic of a line of the text that was sent."""
    document = question.document
    mark = Mark(document.file, line + question.first_line, 1) if question.is_own else document.marks.place()
    return Diagnostic(rule, message, mark, document=document.index)
