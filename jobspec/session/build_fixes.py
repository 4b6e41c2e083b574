"""Fix what kustomize makes of a repository: give kustomizations the schema by which patches merge lists."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Sequence

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.record import Record
from jobspec.diagnostics.results import FileResult
from jobspec.diagnostics.wording import counted
from jobspec.documents.atomic_writes import Replacement, replace_files
from jobspec.project.tree import differences
from jobspec.session.inputs import RunContext
from jobspec.session.kustomize_schema import SCHEMA_FILE, repository_of, schema_text, with_schema
from jobspec.session.writing import write_whole

RULE = "list-replaced-by-patch"


def needs_schema(files: Sequence[FileResult]) -> dict[str, list[Diagnostic]]:
    """Return the folders of kustomizations that lose items of lists, each with the findings in their builds."""
    found: dict[str, list[Diagnostic]] = {}
    for each in (one for file in files for one in file.diagnostics if one.rule == RULE):
        for build in each.builds:
            found.setdefault(build, []).append(each)
    return dict(sorted(found.items()))


class SchemaFix(Record):
    """A kustomization that is to name a schema, with both texts."""

    kustomization: str
    named: Replacement
    """The kustomization before and after."""
    schema: str

    @property
    def schema_path(self) -> str:
        """Return the path of the schema, beside the kustomization."""
        return os.path.join(os.path.dirname(self.kustomization), SCHEMA_FILE)


def schema_fixes(folders: Collection[str], context: RunContext) -> dict[str, SchemaFix]:
    """Return the fixes of kustomizations by their folders.

    A kustomization that has another schema, or cannot be edited, has none, and a line on standard error.
    """
    found: dict[str, SchemaFix] = {}
    for folder in folders:
        try:
            path, named = with_schema(folder)
        except JobspecError as error:
            sys.stderr.write(f"jobspec: {error}\n")
            continue
        found[folder] = SchemaFix(path, named, schema_text([repository_of(folder)], context.cluster.target, context.cluster.custom_kinds))
    return found


def write_fixes(fixes: Collection[SchemaFix]) -> None:
    """Write schemas beside kustomizations, and name them in these."""
    for each in fixes:
        write_whole(each.schema_path, each.schema)
    replace_files({each.kustomization: each.named for each in fixes})


def show_fixes(fixes: Collection[SchemaFix]) -> None:
    """Print what `write_fixes` would write as a diff."""
    before = {each.kustomization: each.named.before for each in fixes}
    after = {each.kustomization: each.named.after for each in fixes} | {each.schema_path: each.schema.encode() for each in fixes}
    sys.stdout.writelines(differences(before, after))
    sys.stdout.flush()


def undo(fixes: Collection[SchemaFix]) -> None:
    """Take schemas out of kustomizations whose builds are no better with them."""
    replace_files({each.kustomization: Replacement(each.named.after, each.named.before) for each in fixes})
    for each in fixes:
        os.unlink(each.schema_path)


def tell(found: dict[str, list[Diagnostic]], fixed: Collection[str]) -> None:
    """Write a line for each kustomization that was fixed, and for each that was not."""
    for folder, problems in found.items():
        if folder not in fixed:
            sys.stderr.write(f"{problems[0].mark}: not fixed, fix it by hand [{RULE}]\n")
        else:
            sys.stderr.write(f"{folder}: {counted(len(problems), 'problem')} fixed by {os.path.join(folder, SCHEMA_FILE)}\n")
