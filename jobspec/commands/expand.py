"""`jobspec expand`: print the objects that operators will make of jobs."""

from __future__ import annotations

import sys
from functools import cache

from jobspec.apis.kinds import CRON_JOB
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import Mark
from jobspec.diagnostics.results import FileResult
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, set_by
from jobspec.documents.writer import write
from jobspec.kubernetes.index import Index, data_of
from jobspec.operators.expansion import ExpandedJob, expand
from jobspec.operators.workloads import JOBS, is_workload
from jobspec.reports.expansion import ordered, table, with_origin
from jobspec.session.applied import AppliedFile
from jobspec.session.delivery import deliver
from jobspec.session.finding import unbuilt
from jobspec.session.inputs import load_run_context, settings_of
from jobspec.session.judging import Depth
from jobspec.session.options import Help, Option, Options, add_paths, declare, journey_options, repository_options
from jobspec.session.reading import reader
from jobspec.session.terminal import is_terminal, takes_colour, width_of
from jobspec.session.verdict import results_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable, Sequence

    from jobspec.apis.releases import Target
    from jobspec.operators.kueue.world import World
    from jobspec.world.world import Cluster


def options() -> list[Option]:
    """Its options."""
    forms = ("auto", "table", "yaml", "json")
    return [
        *journey_options(),
        *repository_options(),
        Option("--output", "-o", dest="form", choices=forms, what="a table on a terminal and YAML elsewhere (auto), or one of these"),
        Option("--defaults", what="add what the API server fills in, as `kubectl get` will show it"),
        Option(
            "--gang-scheduler",
            metavar="NAME",
            what="expand as a training-operator with this `--gang-scheduler-name` does: volcano, or a scheduler of scheduler-plugins",
        ),
        Option("--queued", what="add the Workload that Kueue makes of each job with a queue; with its queues, the pods are as admitted"),
        Option(
            "--queues",
            metavar="PATH",
            repeatable=True,
            what="with --queued, a file or folder with the queues; those among the files and of --cluster count, too",
        ),
        Option("--origin", what="write behind each line of YAML where it comes from"),
    ]


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    shown = Help(
        examples=(
            ("jobspec expand job.yaml", "the pods, their environment and what else operators create"),
            ("jobspec expand job.yaml -o yaml --defaults", "the objects as `kubectl get -o yaml` will show them"),
            ("jobspec expand job.yaml --queued --queues queues/", "with the Workload that Kueue makes, and its flavors"),
        ),
        used_most="output defaults origin target cluster overlay set queues",
        not_shown="skip-unknown closed-world no-admission",
    )
    declare(add_paths(parser), options(), shown=shown)


def run(options: Options) -> int:
    """Print what becomes of all jobs in files that a server accepts; 1 where an error was found."""
    form = options.form
    if form == "auto":
        form = "table" if is_terminal(sys.stdout) and not options.origin else "yaml"
    if options.origin and form != "yaml":
        raise JobspecError("--origin is for YAML: remove `-o`, or write `-o yaml`")
    run_context = load_run_context(options)
    queues: list[Document] = []
    if options.queued:
        from jobspec.session.queues import queue_documents, with_lookups

        queues = queue_documents(options.queues)
        run_context = with_lookups(run_context, queues)
    given = results_of(options, run_context, settings_of(options), Depth(False, documents=True), encrypted=False)
    results = [*run_context.remarks, *given.files]
    accepted = given.applied if all(each.valid for each in results) else []
    documents = [document for each in accepted for document in each.checked.documents]
    if accepted and not any(map(is_workload, documents)):
        kinds = ", ".join(kind for _, kind in JOBS)
        raise JobspecError(f"nothing to expand: the files hold no {kinds}{unbuilt(given.read, 'expand')}")
    world = None
    if options.queued:
        from jobspec.session.queues import world_for

        world = world_for(queues, documents, next((each.cluster for each in accepted), run_context.cluster))
    expanded, reported = _expanded(accepted, options, world)
    _write_expansion(expanded, form, run_context.cluster.target, origin=options.origin)
    results = [_with(each, reported.get(each.path, ())) for each in results]
    if any(each.diagnostics for each in results):
        deliver(results, run_context.cluster.releases, options, sys.stderr, read=reader(given.read))
    if not accepted:
        sys.stderr.write("jobspec: nothing is expanded before these errors are fixed\n")
    return 0 if all(each.valid for each in results) else 1


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

                objects = with_api_defaults(objects, context, target)
            if not any(each.rule == "unresolved-reference" for each in expansion.diagnostics):  # without its runtime nobody knows
                found.append(ExpandedJob(job, [*workload, *objects], target, made.counts))
            reported.setdefault(file.checked.result.path, []).extend(expansion.diagnostics)
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


def _with(result: FileResult, reported: Sequence[Diagnostic]) -> FileResult:
    """A file's result with the diagnostics of the expansion of its jobs, in place of those of the check, whose hints stay."""
    checked = {(each.rule, str(each.mark)): each for each in result.diagnostics}
    same = {(each.rule, str(each.mark)) for each in reported}
    kept = [each for each in result.diagnostics if (each.rule, str(each.mark)) not in same]
    hints = [checked[key].hint if (key := (each.rule, str(each.mark))) in checked else each.hint for each in reported]
    return FileResult(result.path, result.documents, [*kept, *(each.with_hint(hint) for each, hint in zip(reported, hints, strict=True))])


def _write_expansion(expanded: Sequence[ExpandedJob], form: str, target: Target, *, origin: bool) -> None:
    if form == "table":
        sys.stdout.write(table(expanded, width=width_of(sys.stdout), colour=takes_colour(sys.stdout)))
        return
    objects = ordered([each for job in expanded for each in job.objects], target)
    if form == "json":
        import json

        whole = {"apiVersion": "v1", "kind": "List", "items": [each.data() for each in objects]}
        sys.stdout.write(json.dumps(whole, indent=2, ensure_ascii=False) + "\n")
    elif origin:
        sys.stdout.write("---\n".join(map(with_origin, objects)))
    else:
        sys.stdout.write(write(each.data() for each in objects) if objects else "")
