"""Fix what kustomize makes of a repository by files beside kustomizations: the schema by which patches merge lists, and configurations."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.problems import Change, set_to
from jobspec.diagnostics.record import Record
from jobspec.diagnostics.results import FileResult
from jobspec.diagnostics.wording import counted
from jobspec.documents.atomic_writes import Replacement, replace_files
from jobspec.documents.writer import write
from jobspec.project.tree import differences
from jobspec.session.fixes import with_remedies
from jobspec.session.inputs import RunContext
from jobspec.session.json_patch_fixes import with_json_patch
from jobspec.session.kustomize_schema import edited_kustomization, kustomization_of, repository_of, schema_document, schema_of
from jobspec.session.options import JSON_PATCH, SCHEMA
from jobspec.session.writing import write_whole

CONFIGURATION_FILE = "kustomize-configuration.yaml"
"""The name of the configuration beside a kustomization: fields with names of objects, images and labels of pods."""


class BuildFix(Record):
    """What fixes the builds of a kustomization: its own text, and files beside it."""

    kustomization: str
    by: str
    """The file, or the patch in the kustomization, that fixes them."""
    contents: Mapping[str, bytes]
    """The new contents of files, by path."""
    found: Sequence[Diagnostic]
    before: Mapping[str, bytes]
    """The contents of the files that are there already."""


def _fix(kustomization: str, by: str, contents: Mapping[str, bytes], found: Sequence[Diagnostic]) -> BuildFix:
    there = {path: text for path in contents if (text := _content(path)) is not None}
    return BuildFix(kustomization, by, contents, found, there)


def build_fixes(files: Sequence[FileResult], context: RunContext, *, lists_by: str) -> list[BuildFix]:
    """Return the fixes of what is found in builds, one for each kustomization and file.

    A kustomization that cannot be edited, or whose schema cannot be, has none, and a line on standard error. *lists_by*: one
    of `LIST_FIXES`.
    """
    found = [each for file in files for each in file.diagnostics]
    patched: dict[str, list[Diagnostic]] = {}
    lists: dict[str, list[Diagnostic]] = {}
    for each in found:
        if each.replaced and lists_by == JSON_PATCH:
            patched.setdefault(f"{each.mark.file} {each.replaced.operations}", []).append(each)
        for build in each.builds if each.replaced and lists_by == SCHEMA else ():
            lists.setdefault(build, []).append(each)
    configured: dict[str, list[Diagnostic]] = {}
    for each in found:
        if each.configuration:
            configured.setdefault(os.path.dirname(each.mark.file) or os.curdir, []).append(each)
    made: list[BuildFix] = []
    for fix, by_folder in ((_schema_fix, lists), (_patch_fix, patched), (_configuration_fix, configured)):
        for folder, those in sorted(by_folder.items()):
            try:
                made.append(fix(folder, those, context))
            except JobspecError as error:
                sys.stderr.write(f"jobspec: {error}\n")
    return made


def _schema_fix(folder: str, found: Sequence[Diagnostic], context: RunContext) -> BuildFix:
    schema = schema_of(folder)
    only = None if schema.own is None else {(each.replaced.api_version, each.replaced.kind) for each in found if each.replaced}
    document = schema_document([repository_of(folder)], context.cluster.target, context.cluster.custom_kinds, only)
    return _fix(schema.kustomization, schema.path, schema.contents(document), found)


def _patch_fix(_: str, found: Sequence[Diagnostic], __: RunContext) -> BuildFix:
    replaced = found[0].replaced
    assert replaced
    kustomization, by, contents = with_json_patch(found[0].mark, replaced.operations)
    return _fix(kustomization, by, contents, found)


def _configuration_fix(folder: str, found: Sequence[Diagnostic], _: RunContext) -> BuildFix:
    path = kustomization_of(folder)
    place = os.path.join(os.path.dirname(path), CONFIGURATION_FILE)
    was = _content(place)

    def entry(data: Mapping[str, Any]) -> Change | None:
        named = data.get("configurations") or []
        return None if CONFIGURATION_FILE in named else set_to(("configurations",), [*named, CONFIGURATION_FILE])

    named = edited_kustomization(path, entry)
    asked = [each.configuration or {} for each in found]
    text = _with_rows(was, asked, place) if was else write([_joined({}, asked)])
    return _fix(path, place, {place: text.encode(), path: named.after}, found)


def _content(path: str) -> bytes | None:
    if not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        return file.read()


def _with_rows(before: bytes, asked: Sequence[Mapping[str, Any]], path: str) -> str:
    """Return the text of a configuration with further rows. Raises JobspecError if it cannot be edited."""
    from jobspec.documents.reader import read

    documents, problems = read(before.decode(), file=path)
    data = documents[0].data if len(documents) == 1 and not problems else None
    if not isinstance(data, dict):
        raise JobspecError(f"{path}: not a configuration that can be edited; add `{next(iter(asked[0]), '')}` to it")
    text = before.decode()
    for change in _additions(data, _joined(data, asked)):  # one after the other, since several may be at the end of one list
        text, made = with_remedies(text, [(0, [change])], file=path)
        if not made:
            raise JobspecError(f"{path}: cannot be edited; add `{next(iter(asked[0]), '')}` to it")
    return text


def _additions(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the changes that add rows to a configuration, and fields to its rows."""
    for field, rows in after.items():
        there = before.get(field)
        if not isinstance(there, list):
            yield set_to((field,), rows)
            continue
        for at, row in enumerate(rows):
            if at >= len(there):
                yield set_to((field, at), row)
            elif row != there[at]:
                specs = there[at]["fieldSpecs"]
                yield from (
                    set_to((field, at, "fieldSpecs", len(specs) + n), each) for n, each in enumerate(row["fieldSpecs"][len(specs) :])
                )


def _joined(before: Mapping[str, Any], configurations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Join configurations: lists one after the other, each item once; name references of one kind with all of their fields."""
    joined: dict[str, Any] = {field: list(map(dict, rows)) if isinstance(rows, list) else rows for field, rows in before.items()}
    for field, rows in (pair for each in configurations for pair in each.items()):
        for row in rows:
            there = joined.setdefault(field, [])
            same = next((each for each in there if _target_of(each) == _target_of(row) and "fieldSpecs" in row), None)
            if same:
                same["fieldSpecs"] = [*same["fieldSpecs"], *(each for each in row["fieldSpecs"] if each not in same["fieldSpecs"])]
            elif row not in there:
                there.append(dict(row))
    return joined


def _target_of(row: Mapping[str, Any]) -> tuple[Any, Any]:
    return row.get("group"), row.get("kind")


def write_fixes(fixes: Collection[BuildFix]) -> None:
    """Write kustomizations, and the files beside them."""
    for fix in fixes:
        for path, text in fix.contents.items():
            if path not in fix.before:
                write_whole(path, text.decode())
        replace_files({path: Replacement(was, fix.contents[path]) for path, was in fix.before.items()})


def show_fixes(fixes: Collection[BuildFix]) -> None:
    """Print what `write_fixes` would write as a diff."""
    before = {path: was for each in fixes for path, was in each.before.items()}
    after = {path: text for each in fixes for path, text in each.contents.items()}
    sys.stdout.writelines(differences(before, after))
    sys.stdout.flush()


def undo(fixes: Collection[BuildFix]) -> None:
    """Make the files as they were of kustomizations whose builds are no better."""
    for fix in fixes:
        replace_files({path: Replacement(fix.contents[path], was) for path, was in fix.before.items()})
        for path in fix.contents.keys() - fix.before.keys():
            os.unlink(path)


def tell(fixes: Collection[BuildFix], failed: Collection[BuildFix]) -> None:
    """Write a line for each kustomization that was fixed, and for each that was not."""
    for each in fixes:
        if each in failed:
            sys.stderr.writelines(f"{one.mark}: not fixed, fix it by hand [{one.rule}]\n" for one in each.found)
        else:
            sys.stderr.write(f"{each.kustomization}: {counted(len(each.found), 'problem')} fixed by {each.by}\n")
