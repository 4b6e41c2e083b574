"""Expand the jobs of a command line: the objects that operators will make of them."""

from __future__ import annotations

from functools import cache

from jobspec.apis.kinds import CRON_JOB, RAY_CRON_JOB
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import Mark
from jobspec.diagnostics.record import Record
from jobspec.diagnostics.results import FileResult
from jobspec.documents.marked_tree import MarkedTree, set_by
from jobspec.kubernetes.index import Index, data_of
from jobspec.operators.expansion import ExpandedJob, expand
from jobspec.operators.workloads import JOBS, is_workload, queue_of, suspension
from jobspec.session.finding import unbuilt
from jobspec.session.inputs import load_run_context, settings_of
from jobspec.session.judging import Depth, judge_files
from jobspec.session.verdict import results_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobspec.apis.releases import Target
    from jobspec.diagnostics.diagnostic import Diagnostic
    from jobspec.documents.document import Document
    from jobspec.operators.kueue.world import World
    from jobspec.session.applied import AppliedFile
    from jobspec.session.found import Found
    from jobspec.session.options import Options
    from jobspec.world.world import Cluster


#: The kinds whose `suspend` stops the runs to come. `expand` shows one run.
_SUSPEND_RUNS = (CRON_JOB, RAY_CRON_JOB)


class ExpandedFiles(Record):
    """The objects of all jobs of a command line, and what is reported of its files."""

    jobs: Sequence[ExpandedJob]
    results: Sequence[FileResult]
    is_accepted: bool
    """Whether a server accepts all files; nothing is expanded otherwise."""
    read: Sequence[Found]
    cluster: Cluster


def expand_files(options: Options, given: Found | None = None) -> ExpandedFiles:
    """Expand the jobs of a command line, or of the *given* text.

    Raises JobspecError if accepted files hold no job.
    """
    run_context = load_run_context(options)
    queues: list[Document] = []
    if options.queued:
        from jobspec.session.queues import queue_documents, with_lookups

        queues = queue_documents(options)
        run_context = with_lookups(run_context, queues)
    depth = Depth(False, documents=True)
    if given:
        found = judge_files([given], options, run_context, depth)
    else:
        found = results_of(options, run_context, settings_of(options), depth, encrypted=False)
    results = [*run_context.remarks, *found.files]
    accepted = found.applied if all(each.valid for each in results) else []
    documents = [document for each in accepted for document in each.checked.documents]
    if accepted and not any(map(is_workload, documents)):
        kinds = ", ".join(kind for _, kind in JOBS)
        raise JobspecError(f"nothing to expand: the files hold no {kinds}{unbuilt(found.read, 'expand')}")
    world = None
    if options.queued:
        from jobspec.session.queues import world_for

        world = world_for(queues, documents, next((each.cluster for each in accepted), run_context.cluster))
    expanded, reported = _expanded(accepted, options, world)
    results = [_with(each, reported.get(each.path, ())) for each in results]
    return ExpandedFiles(expanded, results, bool(accepted), found.read, run_context.cluster)


def _expanded(files: Sequence[AppliedFile], options: Options, world: World | None) -> tuple[list[ExpandedJob], dict[str, list[Diagnostic]]]:
    """All jobs with their objects, and by file what is to be said of them; *world*: the queues that they wait in, None for no Kueue."""
    found = []
    policies_in = _policies_of(files)
    reported: dict[str, list[Diagnostic]] = {}
    for file in files:
        target, policies = file.cluster.target, policies_in(file.cluster)
        for written in filter(is_workload, file.checked.documents):
            context, job = file.context, written
            if policies is not None:
                from jobspec.operators.policies import changed_job, changed_objects

                job = changed_job(written, policies, target)
            job, workload = _queued(job, context, target, world) if world else (job, [])
            expansion = expand(job, context, target, gang_scheduler=options.gang_scheduler or "")
            made = ExpandedJob(job, expansion.objects, target, expansion.counts)
            if policies is not None:
                made = changed_objects(made, policies, context).job
            objects = made.objects
            if options.defaults:
                from jobspec.operators.api_defaults import with_api_defaults

                objects = with_api_defaults(objects, context, target, is_stored=True)
            if not any(each.rule == "unresolved-reference" for each in expansion.diagnostics):  # of the runtime
                found.append(ExpandedJob(job, [*workload, *objects], target, made.counts))
            said = _with_suspension(expansion.diagnostics, job, is_queued=options.queued)
            reported.setdefault(file.checked.result.path, []).extend(said)
    return found, reported


def _policies_of(files: Sequence[AppliedFile]) -> Callable[[Cluster], Index | None]:
    """By cluster, the policies of files and of the cluster where these change objects."""
    objects = [each for file in files for each in file.checked.objects]

    @cache
    def of_cluster(cluster: Cluster) -> Index | None:
        policies = cluster.index.with_others(data_of(objects))
        return policies if policies.change_objects else None

    return of_cluster


def _queued(job: Document, context: Sequence[Document], target: Target, world: World) -> tuple[Document, list[MarkedTree]]:
    """An admitted job as Kueue starts it, and its Workloads; the unchanged job where it names no queue."""
    from jobspec.operators.kueue.admission import ask, changes_of
    from jobspec.operators.kueue.versions import RELEASE
    from jobspec.operators.kueue.workload import admitted, queue_name, workloads_of

    if job.group_kind == CRON_JOB or not queue_name(job, target, world):  # each Job of a CronJob waits for itself
        return job, []
    workloads = workloads_of(job, context, target, world)
    made = [set_by(Mark(f"kueue {RELEASE}"), each.as_object()) for each in workloads if each.pod_sets]
    if not workloads:
        return job, []
    answer = ask(workloads[0], world)
    starts = answer.verdict in ("fits", "borrows")
    return admitted(job, changes_of(answer, world)) if starts else job, made


def _with_suspension(diagnostics: Sequence[Diagnostic], job: Document, *, is_queued: bool) -> list[Diagnostic]:
    """What is said of a job, and of each suspended one which options show its pods."""
    said = [] if job.group_kind in _SUSPEND_RUNS else suspension(job)
    others = [each for each in diagnostics if each.message not in {one.message for one in said}]
    if any(each.rule in ("no-pods-created", "refused-by-operator") for each in others):
        return others
    if not queue_of(job):
        hint = "to see its pods, expand it with `suspend: false`"
    elif is_queued:
        hint = "name the queues with --queues; `jobspec queue` says why Kueue does not admit a job"
    else:
        hint = "`--queued --queues PATH` shows the pods as Kueue starts them"
    return [*others, *(each.with_hint(hint) for each in said)]


def _with(result: FileResult, reported: Sequence[Diagnostic]) -> FileResult:
    """A file's result with the diagnostics of the expansion of its jobs, in place of those of the check, whose hints stay."""
    checked = {(each.rule, str(each.mark)): each for each in result.diagnostics}
    same = {(each.rule, str(each.mark)) for each in reported}
    kept = [each for each in result.diagnostics if (each.rule, str(each.mark)) not in same]
    hints = [checked[key].hint if (key := (each.rule, str(each.mark))) in checked else each.hint for each in reported]
    return FileResult(result.path, result.documents, [*kept, *(each.with_hint(hint) for each, hint in zip(reported, hints, strict=True))])
