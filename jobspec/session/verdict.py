"""The verdict on the files of a command line: find, build, check, judge, report."""

from __future__ import annotations

import os
import sys

from jobspec.apis.kinds import PROJECT, PROJECT_FILE, group_kind
from jobspec.diagnostics.diagnostic import has_error
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.results import DocumentResult, FileResult
from jobspec.documents.document import PAGES, result_of
from jobspec.journey.journey import Journey, one_by_one, travel
from jobspec.journey.parts import PART
from jobspec.journey.steps import Checked
from jobspec.session.delivery import deliver
from jobspec.session.finding import find_for, projects_around
from jobspec.session.found import Found
from jobspec.session.found_file import FoundFile
from jobspec.session.inputs import Judging, RunContext, load_run_context, require_workload
from jobspec.session.options import Options
from jobspec.session.processes import spread_if_many
from jobspec.session.progress import with_progress
from jobspec.session.reading import parts_of, reader
from jobspec.session.reported import reported
from jobspec.world.world import Cluster, StoredObjects, releases_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from jobspec.journey.journey import Kept
    from jobspec.lint.ignores import ReportFilter
    from jobspec.session.project import Plan

    #: Takes what is reported, the files that were read, and what they were checked with.
    Then = Callable[[Sequence[FileResult], Sequence[Found], RunContext], None]


def check_and_report(
    options: Options, settings: ReportFilter | None, how: Judging, *, stored: StoredObjects | None = None, then: Then | None = None
) -> int:
    """Fix files where that is asked, or else check and judge them, and report; 1 where an error was found, or what the settings say.

    *then*: what is done in place of the report.
    """
    run_context = load_run_context(options, stored=stored)
    if settings:
        from jobspec.session.cluster import with_contracts

        run_context = run_context.with_cluster(with_contracts(run_context.cluster, settings))
    if (options.fix or options.fix_only or options.diff) and not run_context.wrong:
        from jobspec.session.fixing import fix_files

        if fix_files(options, run_context, settings, how.judge):
            return 1
        if options.fix_only and not options.diff:
            return 0
    given = options.paths
    if options.within is not None:
        options = Options(**{**vars(options), "paths": [options.within]})
    found = files_for(options, run_context, settings)
    results, fails, projects = verdict_on(found, options, run_context, settings, how, given=given)
    if then:
        then([*run_context.remarks, *results], [*found, *(each for planned in projects.values() for each in planned.read)], run_context)
    else:
        releases = _releases_met(run_context.cluster, results, projects)
        deliver([*run_context.remarks, *results], releases, options, sys.stdout, read=reader(found))
    return 1 if fails else 0


def _releases_met(cluster: Cluster, results: Sequence[FileResult], projects: Mapping[str, Plan]) -> dict[str, str]:
    """The releases that a report names: those of the clusters that projects' variants meet, and of the *cluster* that all else meets."""
    if not projects:
        return cluster.releases
    others = [cluster] if any(each.documents and each.path not in projects for each in results) else []
    return releases_of([*others, *(each for planned in projects.values() for each in planned.met)])


def verdict_on(
    found: Sequence[Found],
    options: Options,
    run_context: RunContext,
    settings: ReportFilter | None,
    how: Judging,
    *,
    given: Sequence[str] = (),
    kept: Kept | None = None,
) -> tuple[list[FileResult], bool, dict[str, Plan]]:
    """What is reported of files, whether it fails, and the projects among them by path: the journey of CI and editors alike.

    *given*: the paths that the user names; *kept* as in `journey.check_files`.
    """
    found, checked, results, projects = judged_files(found, options, run_context, how, kept=kept)
    read = {path: planned.read for path, planned in projects.items()}
    if options.changed_since is not None or options.within is not None:
        results = only_changed(results, found, read, options, given)
    fails = not all(each.valid for each in results)
    marked = list(dict.fromkeys(each.result.path.partition(PART)[0] for each in checked if each.comments))
    if settings or marked or read or options.write_baseline is not None:
        from jobspec.session.choosing import verdict_of

        results, fails = verdict_of(results, settings, found, options, marked=marked, read=read, lint=how.rules is not None)
    return results, fails, projects


def judged_files(
    found: Sequence[Found], options: Options, run_context: RunContext, how: Judging, *, kept: Kept | None = None, documents: bool = False
) -> tuple[Sequence[Found], list[Checked], list[FileResult], dict[str, Plan]]:
    """The journey of files in every command: read as the repository has them, checked, judged, with the variants of projects.

    Returns the files, of which those that projects are rendered to are skipped; all as they were checked; what is said of them; and
    the projects among them by path. *documents*: those of files are needed. The others are as in `verdict_on`.
    """
    skip_unknown, documents = options.skip_unknown, documents or how.rules is not None
    found, plans, bases = plans_among(found, options, run_context)
    checked = check_files(
        found, run_context, skip_unknown=skip_unknown, outcome=how.outcome, documents=documents, definitions=False, kept=kept
    )
    unjudged = [each for each in checked if bases and os.path.normpath(each.result.path.partition(PART)[0]) in bases]
    judged = [each for each in checked if each not in unjudged] if unjudged else checked
    results = run_context.wrong or reported(
        how.judge(judged, run_context, None), found, skip_unknown=skip_unknown, values=run_context.values
    )
    if run_context.overlays:
        results = require_workload(run_context.overlays, results)
    results, projects = _with_projects(results, options, found, run_context.cluster, checked, how, plans)
    results += [_unjudged(each.result) for each in unjudged]
    return found, checked, results, projects


def plans_among(found: Sequence[Found], options: Options, run_context: RunContext) -> tuple[Sequence[Found], dict[str, Plan], set[str]]:
    """The files, and the projects in folders whose variants are judged in place of their bases, and of what they were rendered to.

    The bases come last: their files, but for those that the user named, and not a hook.
    """
    by_hook = options.skip_unknown
    candidates = [*found, *projects_around(found)] if by_hook else [each for each in found if not each.named]
    if run_context.wrong or run_context.overlays or not any(os.path.basename(each.path) == PROJECT_FILE for each in candidates):
        return found, {}, set()
    from jobspec.session.project import plans_in

    found, plans = plans_in(found, options, run_context.cluster.contracts)
    named = set() if by_hook else {os.path.normpath(each.path) for each in found if each.named}
    return found, plans, {base for planned in plans.values() for base in planned.bases} - named


def _unjudged(base: FileResult) -> FileResult:
    """The result of a base, of which only its variants are judged."""
    return FileResult(base.path, [result_of(each, "skipped", reason="project base") for each in base.documents], ())


def files_for(options: Options, run_context: RunContext, settings: ReportFilter | None, *, encrypted: bool = True) -> list[Found]:
    """The files of a command line, with what is built of them unless they are compared with stored objects."""
    build, kubernetes = options.build and not run_context.cluster.stored, run_context.cluster.target["kubernetes"]
    return find_for(options, settings, build=build, kubernetes=kubernetes, encrypted=encrypted, run=spread_if_many)


def only_changed(
    results: Sequence[FileResult], found: Sequence[Found], read: Mapping[str, Sequence[Found]], options: Options, given: Sequence[str]
) -> list[FileResult]:
    """The results that the changes since a Git ref concern, or the files that are *given* within a folder.

    Raises JobspecError where a baseline is to be written of that part.
    """
    from jobspec.session.changes import changed_since, concerned

    option = "--changed-since" if options.changed_since is not None else "--within"
    if options.write_baseline is not None:
        raise JobspecError(f"--write-baseline: what changed is a part of the files; leave {option} out")
    changed = set(map(os.path.realpath, given)) if options.within is not None else set()
    if options.changed_since is not None:
        since = changed_since(options.changed_since, options.paths or [os.curdir])
        changed = since & changed if options.within is not None else since
    return concerned(results, found, read, changed)


def is_project(document: DocumentResult) -> bool:
    """Whether a document is a project that is valid by itself."""
    return document.status == "valid" and group_kind(document.api_version, document.kind) == PROJECT


def _with_projects(
    results: Sequence[FileResult],
    options: Options,
    found: Sequence[Found],
    cluster: Cluster,
    checked: Sequence[Checked],
    how: Judging,
    plans: Mapping[str, Plan],
) -> tuple[list[FileResult], dict[str, Plan]]:
    """The results, those of projects with what is wrong with the files that they name, and these projects by path.

    The variants of projects that the user names, and of *plans* in folders, are judged among the objects of the *checked* files.
    """
    projects: dict[str, Plan] = {}
    named = {each.path for each in found if each.named}
    earlier = [each for result in results for each in result.diagnostics]
    answers = []
    for each in results:
        if any(map(is_project, each.documents)) and not each.path.endswith(PAGES) and os.path.isfile(each.path):
            from functools import partial

            from jobspec.session.project import judged_variants, mistakes_of, plan_with_contracts, reported_once
            from jobspec.session.trees import ProjectFiles

            planned = plans.get(each.path) or plan_with_contracts(options, ProjectFiles(each.path), cluster.contracts).with_variants()
            wrong = mistakes_of(planned, each.path, [one.path for one in found])
            rows = [result_of(row, "invalid") if has_error(wrong) and is_project(row) else row for row in each.documents]
            variants: Sequence[FileResult] = ()
            if each.path in named or each.path in plans:
                judge = how.judge_variants or partial(judged_variants, rules=how.rules or (), outcome=options.outcome)
                variants = judge(planned.among([one for file in checked for one in file.objects]))
            rows += [row for one in variants for row in one.documents]
            said = [*each.diagnostics, *wrong, *reported_once(variants, earlier)]
            answers.append(FileResult(each.path, rows, said, ignored=each.ignored))
            projects[each.path] = planned
        else:
            answers.append(each)
    return answers, projects


def check_files(
    found: Sequence[Found],
    run_context: RunContext,
    *,
    skip_unknown: bool,
    outcome: bool = False,
    documents: bool = True,
    definitions: bool = True,
    kept: Kept | None = None,
) -> list[Checked]:
    """Check files with each other, in several processes where they are many and their *documents* are not needed, and none are *kept*."""

    def run(items: Sequence[Any], work: Callable[[Any], Checked]) -> list[Checked]:
        spreads = kept is None and (outcome or not documents)
        return with_progress(items, work, run=None if spreads else one_by_one)

    if run_context.wrong:
        return []
    files = [FoundFile(part, run_context, skip_unknown, kept is not None) for each in found for part in parts_of(each)]
    return travel(Journey(files, run_context.cluster, outcome=outcome, documents=documents, definitions=definitions, spread=run, kept=kept))
