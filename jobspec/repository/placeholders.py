"""Placeholders: values that others fill in later, such as `${NAME}`, `<NAME>` and `{{ name }}`, and texts that are templates."""

from __future__ import annotations

import re
from zlib import crc32

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Mark
from jobspec.diagnostics.rules import UNJUDGED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Sequence

#: Placeholders: of shells, Flux and make, of documentation, of Helm and Jinja, of SOPS, and by convention.
PLACEHOLDER = re.compile(
    r"\$\{[^}]*\}|\$\([^()]*\)|\$[A-Za-z_]\w*\b|< ?[A-Za-z][\w .-]*>|<path:[^<>]*>|\{\{.*?\}\}|\{[\w.-]*\}|ENC\[[^]]*\]"
    r"|\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b|\b(?:NAMESPACE|PROJECT|IMAGE|REGION|CLUSTER|HOSTNAME|PORT|RELEASE-NAME|REPLACEME|CHANGEME)\b"
    r"|__[A-Z][A-Z0-9_]*__|\b[A-Z]{2,}(?: [A-Z]{2,})+\b|^(?:\.\.\.(?:.*\.\.\.)?|_)$"
)
#: Texts that are placeholders only in fields that are not strings.
WORDS = re.compile(r"[A-Z][A-Z0-9_-]+|(?i:.*\b(?:your[-_ ]|(?:enter|replace|insert)[-_ ]?(?:your|this|with|me(?![a-z]))).*)")
_ACTION = re.compile(r"\s*(- )?(\S+:\s+)?(\{\{|\{%|%\{|\{[\w-]+\}\S)")
#: A line that is no YAML because of a placeholder: a mapping has no such line, and no value begins with `%`.
_ALONE = re.compile(r"\s*(?:([A-Z][A-Z0-9]*_[A-Z0-9_-]+|\$\{?[A-Za-z_]\w*\}?)|(?:- )?(?:\S+: )?(%[dqstv]))(?:\|.*)?\s*")

#: Capabilities of Linux, names of variables and references that have the form of a placeholder.
_CAPABILITY = re.compile(
    r"\b(?:CAP_)?(?:AUDIT_(?:CONTROL|READ|WRITE)|BLOCK_SUSPEND|CHECKPOINT_RESTORE|DAC_(?:OVERRIDE|READ_SEARCH)|IPC_(?:LOCK|OWNER)"
    r"|LINUX_IMMUTABLE|MAC_(?:ADMIN|OVERRIDE)|NET_(?:ADMIN|BIND_SERVICE|BROADCAST|RAW)"
    r"|SYS_(?:ADMIN|BOOT|CHROOT|MODULE|NICE|PACCT|PTRACE|RAWIO|RESOURCE|TIME|TTY_CONFIG)|WAKE_ALARM)\b"
)
_VARIABLE = re.compile("[A-Z][A-Z0-9_]*")
_REFERENCE = re.compile(r"\$\(([A-Za-z_][\w.-]*)\)")
#: Fields that name variables, and those in which the kubelet expands `$(NAME)`.
_OF_VARIABLES = re.compile(r".*env(?:\[\d+\]\.name)?")
_EXPANDED = re.compile(r".*(?:(?:command|args)\[\d+\]|env\[\d+\]\.value|subPathExpr)")


def without_real_values(text: str, field: str, placeholders: Container[str] = ()) -> str:
    """Remove from the text of a *field* what has the form of a placeholder and is none.

    That is a capability such as `IPC_LOCK`, the name of a variable, and a reference `$(NAME)` that the kubelet expands. If NAME is one of
    the *placeholders*, the reference stays.
    """
    text = _CAPABILITY.sub("", text)
    if _OF_VARIABLES.fullmatch(field) and _VARIABLE.fullmatch(text):
        return ""
    if _EXPANDED.fullmatch(field):
        text = _REFERENCE.sub(lambda found: found[0] if found[1] in placeholders else "", text)
    return text


def is_misspelt_choice(value: object, error: Diagnostic) -> bool:
    """True if a refused value is one of the choices but for capitals, `_` and `-`, such as `ON_FAILURE`."""
    choices = _QUOTED.findall(error.message.partition(" one of ")[2]) if error.rule == "unsupported-choice" else ()
    return _letters(str(value)) in map(_letters, choices)


_QUOTED = re.compile("`([^`]+)`")


def _letters(text: str) -> str:
    return text.replace("_", "").replace("-", "").lower()


def placeholder_in(text: str) -> str:
    """The first placeholder in a text; empty without one."""
    found = PLACEHOLDER.search(text) if may_have_placeholder(text) else None
    return found[0] if found else ""


def may_have_placeholder(text: str) -> bool:
    """True if a text has a sign or a capital, which every placeholder has."""
    return text != text.lower() or any(sign in text for sign in _SIGNS)


_SIGNS = "$<{[_."


def template_in(text: str, file: str, problems: Sequence[Diagnostic]) -> Diagnostic | None:
    """Note that a text with *problems* is a template; else return None.

    A template has lines with `{{`, or with a placeholder because of which the text is no YAML.
    """
    lines = list(enumerate(text.splitlines(), 1))
    actions = [number for number, line in lines if _ACTION.match(line)]
    is_no_yaml = any(each.rule == "yaml-syntax" for each in problems)
    alone = [(number, found[1] or found[2]) for number, line in lines if is_no_yaml and (found := _ALONE.fullmatch(line))]
    if not actions and not alone:
        return None
    what, example, plural = ("an action", "{{ name }}", "actions") if actions else ("a placeholder", alone[0][1], "placeholders")
    places = actions or [number for number, _ in alone]
    said = f"1 line has {what}" if len(places) == 1 else f"{len(places)} lines have {plural}"
    message = f"a template, not checked: {said}, such as `{example}`"
    return Diagnostic(UNJUDGED, message, Mark(file, places[0], 1), severity="info", hint="check what it renders to")


def with_names(text: str) -> str:
    """Put a short name in place of each placeholder of a text: the same for the same placeholder, so that names differ where theirs do."""
    return PLACEHOLDER.sub(lambda found: f"x{crc32(found[0].encode()) & 0xFFFF:04x}", text)


#: A name that stands in for a placeholder.
STAND_IN = re.compile("x[0-9a-f]{4}")
