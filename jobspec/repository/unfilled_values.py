"""Leave out what is said of values that others fill in later, and of what SOPS has encrypted, and say how much that is.

Where an engine fills in all values, what is left is no placeholder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from functools import cache

from jobspec.apis.kinds import OVERLAY
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Mark
from jobspec.diagnostics.results import FileResult
from jobspec.diagnostics.rules import REFUSALS, UNJUDGED
from jobspec.diagnostics.wording import counted
from jobspec.repository.in_build import InBuild, Undecrypted
from jobspec.repository.origins import is_patched_in
from jobspec.repository.other_numbers import NAMING_TOTALS
from jobspec.repository.placeholders import PLACEHOLDER, WORDS, is_misspelt_choice, may_have_placeholder, with_names, without_real_values
from jobspec.repository.source_files import SourceFiles
from jobspec.repository.substitution import Variables

_FILLED_IN = re.compile(r"\{\{.*?\}\}")
_TEMPLATE = re.compile(r"(?:^|[/._-])templates?(?:[/._-]|$)")
_BOOLEAN = re.compile(r"y|yes|on|n|no|off", re.IGNORECASE)  # besides those of YAML 1.2
_FLAG = re.compile(r"--?[\w-]+=")
_NAME_SIGNS = re.compile(r"[${}()]")
_QUOTED = re.compile("`([^`]+)`")
_STEP = re.compile(r"\.[^.\[]+|\[[^]]*\]")
_HINT = "check the rendered manifests, or give values by --substitute or --set-env"
_SHOWN = 3  # names in a hint
_ABOUT_PLACEHOLDERS = ("unfilled-placeholder", "unexpanded-variable", "variable-before-definition")
"""The rules whose findings are about placeholders."""
_ENCRYPTED = "ENC[AES256_GCM"


def is_template_path(path: str) -> bool:
    """Return True if a program or a person completes a file, by its path in the repository."""
    return _TEMPLATE.search(path) is not None


def without_placeholders(
    result: FileResult,
    read: Callable[[str], str],
    within: InBuild,
    given: Variables,
    files: SourceFiles,
    *,
    is_template: Callable[[], bool] = lambda: False,
) -> FileResult:
    """Drop what is said of values filled in later, and add one note with their number.

    Those are values with a placeholder, such as `${NAME}`, `<NAME>`, `{{ name }}` or `V_NAME`, and what SOPS has encrypted, with its own
    key `sops`. What lint and outcomes find is left out only where the placeholder is all of the value, where a server refuses what
    an operator creates, and where the message names what stands in for the value. What the builds that it is *within* have completed is not
    missing; what is *given* is no placeholder. What stands behind a flag and `=` is a value, too, if the placeholder of that name stands
    where a server refuses it. *is_template*: says whether a program or a person completes the file, as `is_template_path` does.
    """
    unjudged = result.stand_ins
    fills_in = within.build is not None and within.build.has_actions
    lines_of = cache(lambda file: (_without_actions(read(file)) if fills_in else read(file)).split("\n"))
    filled_in = {str(each.mark) for each in unjudged}
    certain = {_NAME_SIGNS.sub("", each) for note in unjudged for each in PLACEHOLDER.findall(_written_at(note.mark, lines_of))}
    own = {row.index for row in result.documents if row.api_version.startswith(f"{OVERLAY[0]}/")}  # whose `${NAME}` are parameters
    dropped = [
        each
        for each in result.diagnostics
        if each.rule != UNJUDGED
        and each.document not in own
        and (_is_placeholder(each, lines_of, given, certain) or (each.severity == "error" and str(each.mark) in filled_in))
    ]
    objects = {row.index: (row.kind, row.name) for row in result.documents}

    def object_of(found: Diagnostic) -> tuple[str, str]:
        return objects.get(found.document or 0, ("", ""))

    nameless = {each.document for each in result.diagnostics if each.rule == "missing-name" and object_of(each)[0] == "Pod"}
    unset = [
        each
        for each in result.diagnostics
        if each.rule in ("missing-field", "missing-name") and (each.document in nameless or is_template()) and each not in dropped
    ]
    if not (unjudged or dropped or unset or within.completed or within.patched_in):
        return result
    left_out = {id(each) for each in (*unjudged, *dropped, *unset)}
    unknown = [each for each in dropped if each.rule == "unknown-field"]
    completed = [
        each
        for each in result.diagnostics
        if _is_filled_in(each, *object_of(each), within, lines_of, files) or any(_is_beside(each, other) for other in unknown)
    ]
    kept = [each for each in result.diagnostics if id(each) not in left_out and each not in completed]
    in_spec = {each.document for each in unjudged if not each.field.startswith("metadata.")}
    kept = [_with_least_total(each) if each.document in in_spec else each for each in kept]
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
    notes = [Diagnostic(UNJUDGED, message, Mark(first.file, first.line, first.column), severity="info", hint=hint)] if first else []
    if unset:
        message = f"a template: {counted(len(unset), 'required field')} not set"
        notes.append(Diagnostic(UNJUDGED, message, unset[0].mark, severity="info", hint="check what it renders to"))
    if within.by_engine.undecrypted and (encrypted := next((each for each in (*unjudged, *dropped) if each.field == "sops"), None)):
        notes.append(_not_decrypted(encrypted, within.by_engine.undecrypted))
    broken = {each.document for each in kept if each.severity == "error"}
    in_part = {each.document for each in (*unjudged, *dropped, *unset) if each.stage != "lint"} - broken
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


def _with_least_total(found: Diagnostic) -> Diagnostic:
    """Say "at least" before a total that was computed with the least value for a placeholder."""
    return found.with_message(_TOTAL.sub(r"at least \g<0>", found.message)) if found.rule in NAMING_TOTALS else found


_TOTAL = re.compile(r"(?<=request )\d\S* of `|(?<=the job has )\d+|\b\d\S* wanted\b")


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
    if found.rule == "conflicting-values" and found.field == "spec.template.metadata.labels":
        wanted = [each.partition(": ") for each in _QUOTED.findall(found.message)]
        return all(f"label {key}" in completed or f"label {key}: {value}" in completed for key, _, value in wanted)
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
    has_sign = may_have_placeholder(value)
    value = without_real_values(value, found.field, certain) if has_sign else value
    takes_words = found.rule in ("wrong-type", "wrong-format") or (found.rule == "invalid-name" and " " in value)
    if not (has_sign or takes_words):
        return False
    if found.rule in _ABOUT_PLACEHOLDERS or is_misspelt_choice(value, found) or _names_missing_key(found.message, value):
        return False
    if (flag := _FLAG.match(value)) and _NAME_SIGNS.sub("", value[flag.end() :]) in certain:
        value = value[flag.end() :]
    place = PLACEHOLDER.search(value) or (WORDS.fullmatch(value) if takes_words else None)
    if place is None or place[0] == value:
        return place is not None
    is_image = found.rule == "invalid-image" and place[0].startswith(("$", "{"))
    is_named = f"`{with_names(value)}`" in found.message
    return found.stage not in ("outcome", "lint") or found.rule in REFUSALS or is_image or is_named


#: How messages name a key that an object lacks.
_MISSING = (" has no key `{}`", "fieldPath `{}` is missing for replacement source", 'unable to find field "{}" in replacement target')


def _names_missing_key(message: str, value: str) -> bool:
    """True if a message says that an object has no such key. Keys of ConfigMaps are often in capitals, as placeholders are."""
    return any(each.format(value) in message for each in _MISSING)
