"""Placeholders: values that others fill in later, such as `${NAME}`, `<NAME>` and `{{ name }}`, and what SOPS has encrypted.

Where a repository is judged, a value of the right type stands in for each that the server would refuse, so that everything around it is
judged; nothing is said of the value itself. Where an engine fills in all values, what is left is no placeholder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from functools import cache
from typing import Any
from zlib import crc32

from jobspec.apis.kinds import OVERLAY
from jobspec.apis.releases import Target
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import Mark, Path, span_of, value_at
from jobspec.diagnostics.results import FileResult
from jobspec.diagnostics.rules import REFUSALS
from jobspec.diagnostics.wording import counted
from jobspec.documents.document import Document, with_value_at
from jobspec.documents.fields import path_of
from jobspec.repository.in_build import InBuild, Undecrypted
from jobspec.repository.origins import is_patched_in
from jobspec.repository.source_files import SourceFiles
from jobspec.repository.substitution import Variables, substituted, with_texts_changed
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape

#: Placeholders: of shells, Flux and make, of documentation, of Helm and Jinja, of SOPS, and by convention.
_PLACEHOLDER = re.compile(
    r"\$\{[^}]*\}|\$\([^()]*\)|\$[A-Za-z_]\w*\b|< ?[A-Za-z][\w .-]*>|<path:[^<>]*>|\{\{.*?\}\}|\{[\w.-]*\}|ENC\[[^]]*\]"
    r"|\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b|\b(?:NAMESPACE|PROJECT|IMAGE|REGION|CLUSTER|HOSTNAME|PORT|RELEASE-NAME|REPLACEME|CHANGEME)\b"
    r"|__[A-Z][A-Z0-9_]*__|\b[A-Z]{2,}(?: [A-Z]{2,})+\b|^(?:\.\.\.(?:.*\.\.\.)?|_)$"
)
#: Texts that are placeholders only in fields that are not strings.
_WORDS = re.compile(r"[A-Z][A-Z0-9_-]+|(?i:.*\b(?:your[-_ ]|(?:enter|replace|insert)[-_ ]?(?:your|this|with|me)).*)")
_FILLED_IN = re.compile(r"\{\{.*?\}\}")
_ACTION = re.compile(r"\s*(- )?(\S+:\s+)?(\{\{|\{%|%\{|\{[\w-]+\}\S)")
#: A line that is no YAML because of a placeholder: a mapping has no such line, and no value begins with `%`.
_ALONE = re.compile(r"\s*(?:([A-Z][A-Z0-9]*_[A-Z0-9_-]+|\$\{?[A-Za-z_]\w*\}?)|(?:- )?(?:\S+: )?(%[dqstv]))(?:\|.*)?\s*")
#: Names of files that a program or a person completes.
_TEMPLATE = re.compile(r"(?:^|[/._-])templates?(?:[/._-]|$)")
_BOOLEAN = re.compile(r"y|yes|on|n|no|off", re.IGNORECASE)  # besides those of YAML 1.2
_FLAG = re.compile(r"--?[\w-]+=")
_NAME_SIGNS = re.compile(r"[${}]")
_STEP = re.compile(r"\.[^.\[]+|\[[^]]*\]")
#: The stand-in for a value of a type or a format.
_STAND_INS: dict[str, Any] = {
    "integer": 1,
    "number": 1,
    "boolean": True,
    "int-or-string": 1,
    "byte": "eA==",
    "quantity": "1",
    "date-time": "2000-01-01T00:00:00Z",
    "duration": "1s",
}


def without_parameters(document: Document, parameter: re.Pattern[str], target: Target) -> Document:
    """The document with a value of the right type in place of each text that has a parameter."""

    def change(value: str, shape: Shape | None) -> Any:
        return _of_type(parameter.sub("x", value), shape) if parameter.search(value) else value

    return with_texts_changed(document, change, target)


_LINE = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*)")


def read_env(text: str, file: str) -> dict[str, str]:
    """Read a file of NAME=VALUE lines, with comments and quotes as in a shell.

    Raises JobspecError for all other lines.
    """
    found, wrong = {}, []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if not (parts := _LINE.fullmatch(line)):
            wrong.append(f"{file}:{number}: write NAME=VALUE")
            continue
        value = parts[2]
        quote = value[:1] if value[:1] in ("'", '"') and len(value) > 1 else ""
        found[parts[1]] = value[1:].partition(quote)[0] if quote else value.partition(" #")[0].rstrip()
    if wrong:
        raise JobspecError("\n".join(wrong))
    return found


# Stand-ins for placeholders without a value.


def stood_in(
    documents: Sequence[Document], errors: Sequence[Diagnostic], target: Target, given: Variables
) -> tuple[list[Document], list[Diagnostic]]:
    """Put values in place of the placeholders with errors, and note each such place.

    *given*: what is filled in otherwise.
    """
    made, notes = [], []
    for document in documents:
        data = document.data
        shape = shapes.load(document.api_version, document.kind, target)
        for error in (each for each in errors if each.document == document.index and _may_be_about_one(each, document.data, shape, given)):
            for path in [("sops",)] if error.field == "sops" else _paths_to(error.mark, document):
                changed = _with_stand_in(data, path, shape, given)
                if changed is not data:
                    field = "sops" if error.field == "sops" else ""
                    notes.append(Diagnostic(_NOTE, "", error.mark, field=field, document=document.index, severity="info"))
                    data = changed
        made.append(document if data is document.data else document.changed(data))
    return made, notes


def with_hints(result: FileResult, documents: Sequence[Document]) -> FileResult:
    """Add to each error at a value with a placeholder such as `${NAME}` how to give its value."""
    named = {each.index: each for each in documents if not each.is_item and each.group_kind[0] != OVERLAY[0]}
    changed = [
        _with_hint(each, named[each.document]) if each.severity == "error" and each.document in named else each
        for each in result.diagnostics
    ]
    return result.with_only(changed, ignored=0)


_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)")


def _with_hint(found: Diagnostic, document: Document) -> Diagnostic:
    paths = [path_of(found.field, document.data)] if found.field else _paths_to(found.mark, document)
    values = [value_at(document.data, path) for path in paths]
    name = next((name for each in values if isinstance(each, str) and (name := _VARIABLE.search(each))), None)
    hint = (
        f"if `{name[0] + ('}' if name[0][1:2] == '{' else '')}` is filled in later, give a value: --substitute {name[1]}=VALUE"
        if name
        else ""
    )
    return found.with_hint("; ".join(filter(None, [found.hint, hint]))) if hint else found


def _may_be_about_one(error: Diagnostic, data: Any, shape: Shape | None, given: Variables) -> bool:
    """Whether an error may be about a placeholder: by its schema the one at its field; webhooks may report a field of another cause."""
    return error.stage != "schema" or error.field == "sops" or _with_stand_in(data, path_of(error.field, data), shape, given) is not data


def _paths_to(mark: Mark, document: Document) -> list[Path]:
    """The paths of the values at a place, which may be that of their key."""
    found = document.marks.paths().get(span_of(mark))
    return list(dict.fromkeys([*([found] if found else []), *document.marks.paths_to(mark)]))


def _with_stand_in(data: Any, path: Path, shape: Shape | None, given: Variables) -> Any:
    """The data with another value at a path, where that is a placeholder; the same data where it is none."""
    if path == ("sops",) and isinstance(data, dict):
        return {key: each for key, each in data.items() if key != "sops"} if "sops" in data else data
    before = value_at(data, path)
    after = _stand_in(before, shape.at(path) if shape else None, given, has_default=path != _NAME)
    if path == _NAMESPACE and after is not before:  # may be any namespace, as where none is written
        return {**data, "metadata": {key: each for key, each in data["metadata"].items() if key != "namespace"}}
    return data if after is before else with_value_at(data, path, after)


_NAME = ("metadata", "name")
_NAMESPACE = ("metadata", "namespace")


def _stand_in(value: Any, shape: Shape | None, given: Variables, *, has_default: bool) -> Any:
    """Return a value of the right type for a placeholder, its default where *has_default*; the same value if it is no placeholder."""
    if isinstance(value, dict) and len(value) == 1 and None in value.values() and shape and shape.type not in ("object", "any"):
        text = f"{{{next(iter(value))}}}"
    elif isinstance(value, str) and (_PLACEHOLDER.search(given.unsettled(value)) or (_is_word(value, shape))):
        text = substituted(value, Variables(is_open=True)) if has_default else value
    else:
        return value
    return _of_type(_with_names(text), shape)


def _is_word(value: str, shape: Shape | None) -> bool:
    return bool(shape and {shape.type, shape.format} & _STAND_INS.keys() and _WORDS.fullmatch(value))


def _with_names(text: str) -> str:
    """Put a short name in place of each placeholder of a text: the same for the same placeholder, so that names differ where theirs do."""
    return _PLACEHOLDER.sub(lambda found: f"x{crc32(found[0].encode()) & 0xFFFF:04x}", text)


#: A name that stands in for a placeholder.
STAND_IN = re.compile("x[0-9a-f]{4}")


def _of_type(text: str, shape: Shape | None) -> Any:
    """The stand-in for a placeholder in a field; the text itself in a string field, and where it is a choice or an integer."""
    if shape and shape.enum:
        return text if text in shape.enum else next((each for each in shape.enum if each), shape.enum[0])
    if shape and "integer" in (shape.type, shape.format) and text.isdecimal():
        return int(text)
    for name in (shape.format, shape.type) if shape else ():
        if name in _STAND_INS:
            return max(_STAND_INS[name], shape.minimum or 1) if shape and name == "integer" else _STAND_INS[name]
    return text


_NOTE = "unjudged-template"
_HINT = "check the rendered manifests, or give values by --substitute or --set-env"
_SHOWN = 3  # names in a hint
_ABOUT_PLACEHOLDERS = ("unfilled-placeholder", "unexpanded-variable")
"""The rules whose findings are about placeholders."""
_ENCRYPTED = "ENC[AES256_GCM"


# Drop findings about placeholders.


def placeholder_in(text: str) -> str:
    """The first placeholder in a text; empty without one."""
    found = _PLACEHOLDER.search(text) if any(sign in text for sign in _SIGNS) or not text.islower() else None
    return found[0] if found else ""


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
    return Diagnostic(_NOTE, message, Mark(file, places[0], 1), severity="info", hint="check what it renders to")


def without_placeholders(
    result: FileResult, read: Callable[[str], str], within: InBuild, given: Variables, files: SourceFiles
) -> FileResult:
    """Drop what is said of values filled in later, and add one note with their number.

    Those are values with a placeholder, such as `${NAME}`, `<NAME>`, `{{ name }}` or `V_NAME`, and what SOPS has encrypted, with its own
    key `sops`. What lint and outcomes find is left out only where the placeholder is all of the value, where a server refuses what
    an operator creates, and where the message names what stands in for the value. What the builds that it is *within* have completed is not
    missing; what is *given* is no placeholder. What stands behind a flag and `=` is a value, too, if the placeholder of that name stands
    where a server refuses it.
    """
    unjudged = [each for each in result.diagnostics if each.rule == _NOTE and not each.message]
    fills_in = within.build is not None and within.build.has_actions
    lines_of = cache(lambda file: (_without_actions(read(file)) if fills_in else read(file)).split("\n"))
    filled_in = {str(each.mark) for each in unjudged}
    certain = {_NAME_SIGNS.sub("", each) for note in unjudged for each in _PLACEHOLDER.findall(_written_at(note.mark, lines_of))}
    own = {row.index for row in result.documents if row.api_version.startswith(f"{OVERLAY[0]}/")}  # whose `${NAME}` are parameters
    dropped = [
        each
        for each in result.diagnostics
        if each.rule != _NOTE
        and each.document not in own
        and (_is_placeholder(each, lines_of, given, certain) or (each.severity == "error" and str(each.mark) in filled_in))
    ]
    objects = {row.index: (row.kind, row.name) for row in result.documents}

    def object_of(found: Diagnostic) -> tuple[str, str]:
        return objects.get(found.document or 0, ("", ""))

    is_template = _TEMPLATE.search(result.path) is not None
    nameless = {each.document for each in result.diagnostics if each.rule == "missing-name" and object_of(each)[0] == "Pod"}
    unset = [
        each
        for each in result.diagnostics
        if each.rule in ("missing-field", "missing-name") and (is_template or each.document in nameless) and each not in dropped
    ]
    left_out = {id(each) for each in (*unjudged, *dropped, *unset)}
    unknown = [each for each in dropped if each.rule == "unknown-field"]
    completed = [
        each
        for each in result.diagnostics
        if _is_filled_in(each, *object_of(each), within, lines_of, files) or any(_is_beside(each, other) for other in unknown)
    ]
    kept = [each for each in result.diagnostics if id(each) not in left_out and each not in completed]
    if len(kept) == len(result.diagnostics):
        return result
    places = list(dict.fromkeys(str(each.mark) for each in (*unjudged, *dropped)))
    number = counted(len(places), "value")
    first = min(
        (each.mark for each in (*unjudged, *dropped)), key=lambda mark: (mark.file != result.path, mark.line, mark.column), default=None
    )
    is_encrypted = first is not None and _ENCRYPTED in read(first.file)
    message = f"encrypted by SOPS: {number} not checked" if is_encrypted else f"placeholders: {number} not checked"
    hint = "" if is_encrypted else _HINT
    if differing := sorted(name for name in given.differing if name in read(result.path)):
        hint = f"Flux's Kustomizations of this folder have several values for {', '.join(f'`{each}`' for each in differing[:_SHOWN])}"
    notes = [Diagnostic(_NOTE, message, Mark(first.file, first.line, first.column), severity="info", hint=hint)] if first else []
    if unset:
        message = f"a template: {counted(len(unset), 'required field')} not set"
        notes.append(Diagnostic(_NOTE, message, unset[0].mark, severity="info", hint="check what it renders to"))
    if within.by_engine.undecrypted and (encrypted := next((each for each in (*unjudged, *dropped) if each.field == "sops"), None)):
        notes.append(_not_decrypted(encrypted, within.by_engine.undecrypted))
    broken = {each.document for each in kept if each.severity == "error"}
    in_part = {each.document for each in (*unjudged, *dropped, *unset)} - broken
    in_part |= {row.index for row in result.documents if row.status == "invalid"} - broken
    why = "required fields that a template may set"
    if first:
        why = "values that are encrypted by SOPS" if is_encrypted else "values of placeholders"
    left = [row.index in in_part and row.status in ("invalid", "valid") for row in result.documents]
    rows = [
        row.changed(status="partly", diff=None, runs=None, reason=f"without {why}") if is_left else row
        for row, is_left in zip(result.documents, left, strict=True)
    ]
    return FileResult(result.path, rows, [*kept, *notes], ignored=result.ignored)


def _without_actions(text: str) -> str:
    """A template with what stands for its actions, which helm has filled in, as long as they are: columns stay."""
    return _FILLED_IN.sub(lambda found: "x" * len(found[0]), text)


def _not_decrypted(found: Diagnostic, undecrypted: Undecrypted) -> Diagnostic:
    """A warning about what SOPS has encrypted, and an engine does not decrypt."""
    return Diagnostic(
        "encrypted-manifest",
        f"encrypted by SOPS, and {undecrypted.why}",
        found.mark,
        field="sops",
        document=found.document,
        severity="warning",
        hint=undecrypted.hint,
    )


def _is_filled_in(
    found: Diagnostic, kind: str, name: str, within: InBuild, lines_of: Callable[[str], list[str]], files: SourceFiles
) -> bool:
    """Whether builds, or patches that Flux applies to objects of a kind, fill in what is missing, make text of a value, or pin an image.

    kustomize makes texts of annotations, and of `yes` and the like, which are booleans to Kubernetes alone.
    """
    completed = within.completed
    if found.rule == "wrong-type" and "annotations" in completed:
        return found.field.startswith("metadata.annotations[") or _BOOLEAN.fullmatch(_written_at(found.mark, lines_of)) is not None
    if found.field == "spec.selector" and found.rule in ("missing-field", "wrong-size") and "selector" in completed:
        return True
    said = found.message.partition("`")[2].partition("`")[0]
    is_about_image = found.rule == "unpinned-image" or (found.rule == "unfilled-placeholder" and found.field.endswith(".image"))
    if is_about_image and f"image {said.removesuffix(':latest')}" in completed:
        return True
    is_namespace = found.field.startswith("subjects[") and found.field.endswith("].namespace")
    is_missing = found.rule == "missing-field"
    if is_missing and (("namespace" in completed and is_namespace) or f"{kind} {said}" in completed):
        return True
    return (is_missing or is_about_image) and is_patched_in(within.patched_in, kind, name, found.field, files)


def _is_beside(missing: Diagnostic, unknown: Diagnostic) -> bool:
    """Whether a placeholder for a whole field may be the field that is missing in the same object."""
    parent = missing.field.rpartition(".")[0]
    is_inside = missing.document == unknown.document and unknown.field.startswith(parent)
    return missing.rule == "missing-field" and is_inside and _STEP.fullmatch(unknown.field[len(parent) :]) is not None


def _written_at(mark: Mark, lines_of: Callable[[str], list[str]]) -> str:
    """What is written at a mark in its line; empty where there is no such line."""
    lines = lines_of(mark.file) if mark.line else []
    end = mark.end_column - 1 if mark.end_line == mark.line else None
    return lines[mark.line - 1][mark.column - 1 : end] if 0 < mark.line <= len(lines) else ""


def _is_placeholder(found: Diagnostic, lines_of: Callable[[str], list[str]], given: Variables, certain: Container[str]) -> bool:
    """Whether the value at the place of a finding has a placeholder without a value; of lint and outcomes, whether it is nothing else.

    *certain*: the names of what can only be placeholders.
    """
    if found.field == "sops" and found.rule == "unknown-field":
        return True
    value = given.unsettled(_written_at(found.mark, lines_of).strip("\"'"))
    takes_words = found.rule in ("wrong-type", "wrong-format") or (found.rule == "invalid-name" and " " in value)
    if found.rule in _ABOUT_PLACEHOLDERS:
        return False
    if (flag := _FLAG.match(value)) and _NAME_SIGNS.sub("", value[flag.end() :]) in certain:
        value = value[flag.end() :]
    place = _PLACEHOLDER.search(value) or (_WORDS.fullmatch(value) if takes_words else None)
    if place is None or place[0] == value:
        return place is not None
    is_image = found.rule == "invalid-image" and place[0].startswith(("$", "{"))
    is_named = f"`{_with_names(value)}`" in found.message
    return found.stage not in ("outcome", "lint") or found.rule in REFUSALS or is_image or is_named
