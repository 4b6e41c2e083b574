"""`jobspec validate`: predict an API server's verdict on files."""

from __future__ import annotations

import os
import sys

import jobspec.pipeline as pipeline
from jobspec.cluster import Cluster, StoredObjects, releases_of
from jobspec.commands.files import Found, find_for, is_judged_in_build, parts_of, parts_with, projects_around, reader, reported, source_of
from jobspec.commands.inputs import Judging, RunContext, load_run_context, require_workload, settings_of
from jobspec.commands.options import PROJECT_OR_FOLDER, Option, Options, add_paths, declare, judging_options, outcome_option
from jobspec.commands.output import deliver, spread_if_many, with_progress
from jobspec.diagnostics import DocumentResult, FileResult, JobspecError, has_error
from jobspec.documents.document import PAGES, result_of
from jobspec.kinds import PROJECT, PROJECT_FILE, group_kind
from jobspec.pipeline import Checked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable, Collection, Mapping, Sequence

    from jobspec.commands.project import Plan
    from jobspec.pipeline import Kept
    from jobspec.rules.ignores import ReportFilter

    #: Takes what is reported, the files that were read, and what they were checked with.
    Then = Callable[[Sequence[FileResult], Sequence[Found], RunContext], None]


def options() -> list[Option]:
    """Its options."""
    return judging_options(
        Option("--from", dest="stored", metavar="PATH", exclusive=True, what="check as updates of the objects in this file or folder"),
        Option("--from-ref", dest="ref", metavar="REF", exclusive=True, what="check as updates of the same files at this Git ref"),
        outcome_option(),
    )


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    declare(add_paths(parser, by_default=PROJECT_OR_FOLDER), options())


def run(options: Options) -> int:
    """Check files, folders and standard input, and report; 1 where an error was found, or what the settings say."""

    def judge(files: Sequence[Checked], _: RunContext, __: Collection[str] | None) -> list[FileResult]:
        return [each.result for each in files]

    return check_and_report(options, settings_of(options), Judging(judge, outcome=options.outcome), stored=_stored(options))


def check_and_report(
    options: Options, settings: ReportFilter | None, how: Judging, *, stored: StoredObjects | None = None, then: Then | None = None
) -> int:
    """Fix files where that is asked, or else check and judge them, and report; 1 where an error was found, or what the settings say.

    *then*: what is done in place of the report.
    """
    run_context = load_run_context(options, stored=stored)
    if settings:
        from jobspec.commands.cluster import with_contracts

        run_context = run_context.with_cluster(with_contracts(run_context.cluster, settings))
    if (options.fix or options.fix_only or options.diff) and not run_context.wrong:
        from jobspec.commands.fixing import fix_files

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

    *given*: the paths that the user names; *kept* as in `pipeline.check_files`.
    """
    found, checked, results, projects = judged_files(found, options, run_context, how, kept=kept)
    read = {path: planned.read for path, planned in projects.items()}
    if options.changed_since is not None or options.within is not None:
        results = only_changed(results, found, read, options, given)
    fails = not all(each.valid for each in results)
    marked = list(dict.fromkeys(each.result.path.partition(pipeline.PART)[0] for each in checked if each.comments))
    if settings or marked or read or options.write_baseline is not None:
        from jobspec.commands.choosing import verdict_of

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
    unjudged = [each for each in checked if bases and os.path.normpath(each.result.path.partition(pipeline.PART)[0]) in bases]
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
    from jobspec.commands.project import plans_in

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
    from jobspec.commands.changes import changed_since, concerned

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

            from jobspec.commands.project import judged_variants, mistakes_of, plan_with_contracts, reported_once
            from jobspec.commands.trees import ProjectFiles

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

    def load(each: Found, cluster: Cluster) -> pipeline.Manifests:
        return pipeline.load(source_of(each, skip_unknown=skip_unknown, values=run_context.values), run_context.overlays, cluster)

    def run(items: Sequence[Found], work: Callable[[Found], Checked]) -> list[Checked]:
        spreads = kept is None and (outcome or not documents)
        return with_progress(items, work, run=None if spreads else pipeline.one_by_one)

    if run_context.wrong:
        return []
    parts = [part for each in found for part in parts_of(each)]

    def has_placeholders(each: Found) -> bool:
        return not run_context.overlays and is_judged_in_build(each, skip_unknown=skip_unknown)

    folders = ["" if each.named else os.path.dirname(each.path) or os.curdir for each in parts]
    return pipeline.check_files(
        parts,
        load,
        run_context.cluster,
        outcome=outcome,
        documents=documents,
        definitions=definitions,
        run=run,
        folders=folders,
        has_placeholders=has_placeholders,
        kept=kept,
        is_left_out=lambda each: each.in_build is not None and each.in_build.is_left_out,
        parts_with=lambda each, kinds, words: () if kept else parts_with(each, {kind for _, kind in kinds}, words),
    )


def _stored(options: Options) -> StoredObjects | None:
    if options.stored is None and options.ref is None:
        return None
    from jobspec.commands.cluster import from_files, from_ref

    return from_ref(options.ref, options.paths or [os.curdir]) if options.ref is not None else from_files(options.stored)
