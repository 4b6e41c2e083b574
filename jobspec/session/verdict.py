"""Report the verdict on the files of a command line: judge them, choose what is reported, write the report."""

from __future__ import annotations

import os
import sys

from jobspec.apis.kinds import COMPONENTS
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.results import FileResult
from jobspec.documents.document import KUSTOMIZATIONS
from jobspec.journey.parts import PART
from jobspec.session.disk import Contents
from jobspec.session.finding import in_working_folder
from jobspec.session.found import Found
from jobspec.session.inputs import RunContext, load_run_context
from jobspec.session.judging import Depth, RunResults, files_for, judge_files
from jobspec.session.options import Options
from jobspec.session.reading import reader
from jobspec.world.world import Cluster, releases_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobspec.diagnostics.diagnostic import Diagnostic
    from jobspec.lint.ignores import ReportFilter
    from jobspec.reports.text import ReadText
    from jobspec.session.build_fixes import BuildFix
    from jobspec.session.delivery import RunReport
    from jobspec.session.kept_runs import Recall
    from jobspec.session.project import Plan


def check_and_report(options: Options, settings: ReportFilter | None, depth: Depth) -> int:
    """Fix files if the user asks for fixes, or else judge the files and report.

    Return 1 if an error was found, or what the settings say.
    """
    options = in_working_folder(options)
    known = _recall(options, settings, depth)
    if known and known.report:
        return _deliver(known.report, options, known.said)
    context = context_for(options, settings)
    if (options.fix or options.fix_only or options.diff) and not context.wrong:
        from jobspec.session.fixing import fix_files

        shown = fix_files(options, context, settings, depth.chosen)
        if options.build:
            shown |= _fix_builds(options, context, settings, depth)
        if shown:
            return 1
        if options.fix_only and not options.diff:
            return 0
    if known and known.earlier:
        depth = depth.changed(earlier=known.earlier)
    results = results_of(options, context, settings, depth)
    files, fails = chosen_results(results, options, settings, depth)
    releases = _releases_met(context.cluster, files, results.projects)
    from jobspec.session.delivery import RunReport

    report = RunReport([*context.remarks, *files], fails, releases)
    said = known.said if known else "cache: not used"
    if known and known.before:
        from jobspec.session.kept_runs import keep

        said = keep(report, results, known, options=options, settings=settings, depth=depth)
    if options.write_baseline is not None and not options.reports and options.output_file is None:  # the findings are in that file
        if not context.remarks:
            return 1 if fails else 0
        report = RunReport(context.remarks, fails, releases)
    return _deliver(report, options, said, results.text)


def _recall(options: Options, settings: ReportFilter | None, depth: Depth) -> Recall | None:
    """Look for what an earlier run has reported. If the run has no folder to judge, or is not to use the cache, return None."""
    if not options.cache or not any(map(os.path.isdir, options.paths or [os.curdir])):
        return None
    from jobspec.session.kept_runs import recall

    return recall(options, settings, depth)


def _deliver(report: RunReport, options: Options, said: str, read: ReadText | None = None) -> int:
    """Write the report of a run; 1 if it fails. With `--verbose`, say what the cache had for it."""
    from jobspec.session.delivery import deliver

    deliver(report.files, report.releases, options, sys.stdout, read=read or reader(()))
    if options.verbose and sys.stderr:
        sys.stderr.write(f"jobspec: {said}\n")
    return 1 if report.fails else 0


def _fix_builds(options: Options, context: RunContext, settings: ReportFilter | None, depth: Depth) -> bool:
    """Write the files beside kustomizations that fix their builds, or show them with `--diff`; whether any is shown.

    A kustomization that then cannot be built, or loses as much as before, is left as it was.
    """
    from jobspec.session.build_fixes import build_fixes, show_fixes, tell, undo, write_fixes

    if not any(os.path.basename(each.path) in KUSTOMIZATIONS for each in files_for(options, context, settings)):
        return False

    def judged() -> Sequence[FileResult]:
        return chosen_results(results_of(options, context, settings, depth), options, settings, depth)[0]

    done: list[BuildFix] = []
    failed: list[BuildFix] = []
    while fixes := [
        each
        for each in build_fixes(judged(), context, lists_by=options.fix_lists)
        if not any((each.by, each.kustomization) == (one.by, one.kustomization) for one in done)
    ]:
        if options.diff:
            show_fixes(fixes)
            return True
        each = fixes[0]  # one after the other, since a kustomization may need several
        write_fixes([each])
        after = judged()
        if any(_is_of(one, each) for file in after for one in file.diagnostics):
            undo([each])
            failed.append(each)
        done.append(each)
    tell(done, failed)
    return False


def _is_of(found: Diagnostic, fix: BuildFix) -> bool:
    """Whether a finding is one that a fix was to end, or says that the build of its kustomization fails."""
    if found.rule == "broken-kustomization":
        return found.mark.file == fix.kustomization and found.severity != "info"
    return any((each.rule, str(each.mark), each.message) == (found.rule, str(found.mark), found.message) for each in fix.found) and (
        not found.builds or (os.path.dirname(fix.kustomization) or os.curdir) in found.builds
    )


def context_for(options: Options, settings: ReportFilter | None) -> RunContext:
    """Load the context that files are checked with.

    The context has the world, the objects that the files update, and what settings say of images and kinds.
    """
    context = load_run_context(options)
    if options.stored is not None or options.stored_ref is not None:
        context = with_stored(context, options)
    if not settings:
        return context
    from jobspec.session.contracts import with_contracts
    from jobspec.session.pods_settings import with_pods

    return context.with_cluster(with_pods(with_contracts(context.cluster, settings), settings))


def with_stored(context: RunContext, options: Options) -> RunContext:
    """Add the stored objects that manifests update."""
    from jobspec.session.stored import from_files, from_ref

    target, build = context.cluster.target, options.build
    if options.stored_ref is not None:
        found = from_ref(options.stored_ref, options.paths or [os.curdir], target, build=build, keep=options.cache)
    else:
        assert options.stored is not None
        found = from_files(options.stored, target, build=build, keep=options.cache)
    stored = found.objects.applied_at(options.apply)
    return context.changed(cluster=context.cluster.updating(stored), remarks=[*context.remarks, *found.remarks])


def results_of(options: Options, context: RunContext, settings: ReportFilter | None, depth: Depth, *, encrypted: bool = True) -> RunResults:
    """Find the files of a command line, and judge them.

    With `--within`, judge all manifests of that folder.
    """
    seen = options if options.within is None else options.changed(paths=[options.within])
    earlier = depth.earlier
    disk = seen.disk.changed(contents=Contents()) if seen.disk.opened is None else seen.disk
    seen = seen.changed(disk=disk.changed(listing=earlier.listing) if earlier else disk)
    found = files_for(seen, context, settings, encrypted=encrypted, facts=earlier.facts if earlier else None)
    return judge_files(found, seen, context, depth)


def chosen_results(results: RunResults, options: Options, settings: ReportFilter | None, depth: Depth) -> tuple[Sequence[FileResult], bool]:
    """Choose what is reported of results, and say if the run fails.

    Settings, comments, a baseline, and what has changed decide what is reported.
    """
    files = results.files
    read = {path: planned.read for path, planned in results.projects.items()}
    if options.changed_since is not None or options.within is not None:
        files = only_changed(files, results.found, read, options)
    fails = not all(each.valid for each in files)
    marked = list(dict.fromkeys(each.result.path.partition(PART)[0] for each in results.checked if each.comments))
    if settings or marked or read or options.write_baseline is not None:
        from jobspec.session.choosing import verdict_of

        files, fails = verdict_of(files, settings, results.found, options, marked=marked, read=read, lint=depth.chosen is not None)
    return files, fails


def _releases_met(cluster: Cluster, results: Sequence[FileResult], projects: Mapping[str, Plan]) -> dict[str, str]:
    """The releases that a report names: those of the clusters that projects' variants meet, and of the *cluster* that all else meets.

    Operators are named if the files have objects of their kinds, and those of training always.
    """
    rows = [row for file in results for row in file.documents if row.status != "skipped"]
    met = {COMPONENTS.get((row.api_version, row.kind), "") for row in rows} - {"kubernetes"}
    if not projects:
        return cluster.releases_met(met)
    others = [cluster] if any(each.documents and each.path not in projects for each in results) else []
    return releases_of([*others, *(each for planned in projects.values() for each in planned.met)], met)


def only_changed(
    results: Sequence[FileResult], found: Sequence[Found], read: Mapping[str, Sequence[Found]], options: Options
) -> list[FileResult]:
    """Keep the results that changes since a Git ref concern, or with `--within` those of the files that are given.

    Raises JobspecError where a baseline is to be written of that part.
    """
    from jobspec.session.changes import changed_since, concerned, files_met

    option = "--changed-since" if options.changed_since is not None else "--within"
    if options.write_baseline is not None:
        raise JobspecError(f"--write-baseline: what changed is a part of the files; leave {option} out")
    given = options.paths or [os.curdir]
    if options.changed_since is not None:
        changed = changed_since(options.changed_since, given if options.within is None else [options.within])
    elif missing := [each for each in given if not os.path.exists(each)]:
        raise JobspecError("\n".join(f"{each}: no such file or folder" for each in missing))
    else:
        changed = set(map(os.path.realpath, [*given, *files_met(results, found, read)]))
    if options.within is not None:
        here = [os.path.join(os.path.realpath(each), "") for each in given]
        changed = {each for each in changed if f"{each}{os.sep}".startswith(tuple(here))}
    return concerned(results, found, read, changed)
