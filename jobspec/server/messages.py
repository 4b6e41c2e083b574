"""The message of a refusal without causes as diagnostics, by the known forms of such messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.documents.fields import path_of
from jobspec.server.questions import Question
from jobspec.server.reply_places import FIELD, at_field, at_line, unknown_field

DENIED = re.compile(r'admission webhook "([^"]+)" denied the request: (.*)', re.DOTALL)
TYPED_PATCH = re.compile(r"failed to create typed patch object \([^)]*\): (.*)", re.DOTALL)
_UNKNOWN_FIELD = re.compile(r'unknown field "((?:[^"\\]|\\.)*)"')
_DUPLICATE_KEY = re.compile(r'line (\d+): key "((?:[^"\\]|\\.)*)" already set in map')
_YAML_LINE = re.compile(r"yaml: (?:unmarshal errors:\s+)?line (\d+): (.*)", re.DOTALL)
_GO_TYPE = re.compile(r"json: cannot unmarshal (\w+)(?: [^ ]+)? into Go (?:struct field (\w+)\.(\S+)|value) of type (\S+)")
_NO_NAMESPACE = re.compile(r'^namespaces "([^"]*)" not found$')
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
