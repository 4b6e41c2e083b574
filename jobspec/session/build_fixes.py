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
from jobspec.session.kustomize_schema import SCHEMA_FILE, edited_kustomization, kustomization_of, repository_of, schema_text, with_schema
from jobspec.session.writing import write_whole

LISTS = "list-replaced-by-patch"
CONFIGURATION_FILE = "kustomize-configuration.yaml"
"""The name of the configuration beside a kustomization: fields with names of objects, images and labels of pods."""


class BuildFix(Record):
    """A file beside a kustomization, which names the file, and what that fixes."""

    kustomization: str
    named: Replacement
    """The kustomization before and after."""
    path: str
    """The path of the file beside it."""
    text: str
    found: Sequence[Diagnostic]
    was: bytes | None = None
    """The text of that file before; None if it is new."""


def build_fixes(files: Sequence[FileResult], context: RunContext) -> list[BuildFix]:
    """Return the fixes of what is found in builds, one for each kustomization and file.

    A kustomization that names another file of the kind, or cannot be edited, has none, and a line on standard error.
    """
    found = [each for file in files for each in file.diagnostics]
    lists: dict[str, list[Diagnostic]] = {}
    for each in found:
        for build in each.builds if each.rule == LISTS else ():
            lists.setdefault(build, []).append(each)
    configured: dict[str, list[Diagnostic]] = {}
    for each in found:
        if each.configuration:
            configured.setdefault(os.path.dirname(each.mark.file) or os.curdir, []).append(each)
    made: list[BuildFix] = []
    for fix, by_folder in ((_schema_fix, lists), (_configuration_fix, configured)):
        for folder, those in sorted(by_folder.items()):
            try:
                made.append(fix(folder, those, context))
            except JobspecError as error:
                sys.stderr.write(f"jobspec: {error}\n")
    return made


def _schema_fix(folder: str, found: Sequence[Diagnostic], context: RunContext) -> BuildFix:
    path, named = with_schema(folder)
    text = schema_text([repository_of(folder)], context.cluster.target, context.cluster.custom_kinds)
    return BuildFix(path, named, os.path.join(os.path.dirname(path), SCHEMA_FILE), text, found)


def _configuration_fix(folder: str, found: Sequence[Diagnostic], _: RunContext) -> BuildFix:
    path = kustomization_of(folder)
    place = os.path.join(os.path.dirname(path), CONFIGURATION_FILE)
    was = _content(place)

    def entry(data: Mapping[str, Any]) -> Change | None:
        named = data.get("configurations") or []
        return None if CONFIGURATION_FILE in named else set_to(("configurations",), [*named, CONFIGURATION_FILE])

    named = edited_kustomization(path, entry)
    asked = [each.configuration or {} for each in found]
    return BuildFix(path, named, place, _with_rows(was, asked, place) if was else write([_joined({}, asked)]), found, was)


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
    """Write files beside kustomizations, and name them in these."""
    for each in fixes:
        write_whole(each.path, each.text)
    replace_files({each.kustomization: each.named for each in fixes})


def show_fixes(fixes: Collection[BuildFix]) -> None:
    """Print what `write_fixes` would write as a diff."""
    before = {each.kustomization: each.named.before for each in fixes}
    before |= {each.path: each.was for each in fixes if each.was is not None}
    after = {each.kustomization: each.named.after for each in fixes} | {each.path: each.text.encode() for each in fixes}
    sys.stdout.writelines(differences(before, after))
    sys.stdout.flush()


def undo(fixes: Collection[BuildFix]) -> None:
    """Take files out of kustomizations whose builds are no better with them."""
    replace_files({each.kustomization: Replacement(each.named.after, each.named.before) for each in fixes})
    for each in fixes:
        if each.was is None:
            os.unlink(each.path)
        else:
            write_whole(each.path, each.was.decode())


def tell(fixes: Collection[BuildFix], failed: Collection[BuildFix]) -> None:
    """Write a line for each kustomization that was fixed, and for each that was not."""
    for each in fixes:
        if each in failed:
            sys.stderr.writelines(f"{one.mark}: not fixed, fix it by hand [{one.rule}]\n" for one in each.found)
        else:
            sys.stderr.write(f"{each.kustomization}: {counted(len(each.found), 'problem')} fixed by {each.path}\n")
