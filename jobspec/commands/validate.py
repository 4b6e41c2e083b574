"""`jobspec validate`: predict an API server's verdict on files."""

from __future__ import annotations

import os
import sys

from jobspec import pipeline
from jobspec.commands.files import PAGES, find, reader, source_of
from jobspec.commands.inputs import load, require_workload
from jobspec.commands.output import deliver, how_to_run, with_progress
from jobspec.kinds import PROJECT, group_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.choice.settings import Settings
    from jobspec.cluster import Cluster, StoredObjects
    from jobspec.commands.files import Found
    from jobspec.commands.inputs import Inputs, Setting
    from jobspec.pipeline import Checked
    from jobspec.results import DocumentResult, FileResult


def run(
    inputs: Inputs,
    *,
    stored: str | None = None,
    ref: str | None = None,
    outcome: bool = True,
    fix: bool = False,
    diff: bool = False,
    settings: Settings | None = None,
    write_baseline: str | None = None,
) -> int:
    """Check files, folders and standard input, and report; 1 where an error was found, or what *settings* say.

    Manifests are judged as updates of the objects in *stored*, a file or folder, or in the same files at *ref*. *outcome*: what becomes
    of accepted jobs is told, too. *fix* mends first what has a certain remedy, *diff* shows that and writes nothing.
    """
    setting = load(inputs, stored=_stored(inputs, stored, ref))
    if settings:
        from jobspec.commands.contracts import with_contracts

        setting = with_contracts(setting, settings)
    found = find(inputs.paths, markdown=inputs.markdown)
    if (fix or diff) and _fix(inputs, setting, settings, found, diff=diff):
        return 1
    checked, marked = ([], []) if setting.wrong else check_files(found, setting, skip_unknown=inputs.skip_unknown, outcome=outcome)
    results = require_workload(setting.overlays, setting.wrong or [each.result for each in checked])
    results = [_with_project(each, inputs, found) if any(map(is_project, each.documents)) else each for each in results]
    fails = not all(each.valid for each in results)
    if settings or marked or write_baseline is not None:
        from jobspec.commands.choosing import verdict_of

        results, fails = verdict_of(results, settings, found, marked=marked, write_baseline=write_baseline, outcome=outcome)
    deliver([*setting.remarks, *results], setting.cluster.releases, inputs, sys.stdout, read=reader(found))
    return 1 if fails else 0


def _fix(inputs: Inputs, setting: Setting, settings: Settings | None, found: Sequence[Found], *, diff: bool) -> bool:
    """Write the fixes of files, or show them; whether any are shown, which are all that is printed then."""
    from jobspec.commands.fixing import fix_files

    return not setting.wrong and fix_files(inputs, found, setting, settings, lambda files, _: [each.result for each in files], diff=diff)


def is_project(document: DocumentResult) -> bool:
    """Whether a document is a project that is valid by itself."""
    return document.status == "valid" and group_kind(document.api_version, document.kind) == PROJECT


def _with_project(result: FileResult, inputs: Inputs, found: Sequence[Found]) -> FileResult:
    """A project's result with what is wrong with the bases, overlays and variants that it names."""
    if not os.path.isfile(result.path) or result.path.endswith(PAGES):  # a page shows projects, and is none
        return result
    from jobspec.commands.project import mistakes_in

    return result.with_diagnostics(mistakes_in(result.path, inputs, [each.path for each in found]))


def check_files(
    found: Sequence[Found], setting: Setting, *, skip_unknown: bool, outcome: bool = False, documents: bool = False
) -> tuple[list[Checked], list[str]]:
    """Check files in a cluster, in several processes where they are many; and the files that have comments for jobspec.

    The *documents* are there too, where something follows. Where objects of other files decide on the pods of jobs, files with jobs are
    checked once more, with these objects.
    """

    def all_in(cluster: Cluster, files: Sequence[Found]) -> list[tuple[Checked, bool]]:
        def check_one(each: Found) -> tuple[Checked, bool]:
            source = source_of(each, skip_unknown=skip_unknown)
            checked = pipeline.checked(source, setting.overlays, cluster)
            checked = pipeline.foresee(checked, cluster) if outcome else checked
            return checked if documents else checked.without_documents(), b"jobspec: ignore" in source.content

        return with_progress(files, check_one, how_to_run(files))

    cluster = setting.cluster
    answers = all_in(cluster, found)
    checked = [each for each, _ in answers]
    policies = pipeline.with_policies(checked, cluster) if outcome and len(found) > 1 else None
    if policies:
        again = [number for number, each in enumerate(checked) if each.has_jobs]
        for number, (each, _) in zip(again, all_in(policies, [found[number] for number in again]), strict=True):
            checked[number] = each
    resolved = pipeline.resolve(checked, cluster)
    marked = [each.result.path for each, is_marked in answers if is_marked]
    return (pipeline.foresee_rest(resolved, policies or cluster) if outcome else resolved), marked


def _stored(inputs: Inputs, stored: str | None, ref: str | None) -> StoredObjects | None:
    if stored is None and ref is None:
        return None
    from jobspec.commands.stored import from_files, from_ref

    return from_ref(ref, inputs.paths) if ref is not None else from_files(stored or "")
