"""A server's reply to a document as diagnostics: its causes, at the line that wrote the value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.server.client import Reply
from jobspec.server.messages import DENIED, TYPED_PATCH, from_message
from jobspec.server.questions import Question
from jobspec.server.reply_places import at_field, at_first_field

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
