"""Ask what becomes of jobs in the queues of Kueue."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import Literal

from jobspec.apis.kinds import CLUSTER, QUEUE_GROUP, WEBHOOK_LOOKUPS
from jobspec.apis.releases import Target, choose
from jobspec.diagnostics.diagnostic import has_error
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.results import FileResult
from jobspec.documents.document import Document, items_of
from jobspec.journey.parts import PART
from jobspec.journey.policies import as_policies_leave
from jobspec.journey.steps import Checked
from jobspec.kubernetes.index import data_of
from jobspec.kubernetes.verdict import verdict
from jobspec.operators.kueue.admission import QueueAnswer, ask, ask_in_turn
from jobspec.operators.kueue.children import children_in_queues
from jobspec.operators.kueue.fitting import fitting
from jobspec.operators.kueue.versions import KINDS, makes_workloads_of
from jobspec.operators.kueue.workload import is_managed, workload_of, workloads_of
from jobspec.operators.kueue.world import World, world_of
from jobspec.operators.workloads import is_workload, queued_object
from jobspec.project.rendering import documents_of
from jobspec.reports.queue import Asked
from jobspec.session.applied import AppliedFile
from jobspec.session.found import Found
from jobspec.session.inputs import RunContext, load_run_context, settings_of
from jobspec.session.judging import Depth, RunResults, judge_files
from jobspec.session.options import Options
from jobspec.session.project import Plan
from jobspec.session.stored import documents_in
from jobspec.session.verdict import results_of
from jobspec.world.world import Cluster


@dataclass(frozen=True)
class Answers:
    """The results of files or a project, and what becomes of each job of the valid ones in its queue."""

    results: Sequence[FileResult]
    cluster: Cluster
    read: Sequence[Found]
    """The files that were read."""
    asked: Sequence[Asked] = ()
    world: World = field(default_factory=lambda: world_of(()))
    lacks: Literal["jobs", "queues"] | None = None
    """What is missing. If nothing is, or files were left out, None."""
    left_out: Sequence[str] = ()
    """The files and variants with errors, whose jobs were not asked about."""


def answers(options: Options, given: Found | None = None) -> Answers:
    """Return Kueue's answers to the jobs of a command line, or of the *given* text.

    If there is no job or no queue, the answers say what is missing. Raises JobspecError for jobs that meet several clusters, each of which
    has its own queues.
    """
    run_context = load_run_context(options)
    queues = queue_documents(options)
    run_context = with_lookups(run_context, queues)
    depth = Depth(False, documents=True)
    if given:
        found = judge_files([given], options, run_context, depth)
    else:
        found = results_of(options, run_context, settings_of(options), depth, encrypted=False)
    read, results = found.read, [*run_context.remarks, *found.files]
    wrong = [each for each in results if not each.valid]
    variants = [f"variant `{each.variant}`" for each in found.applied if each.variant and not each.checked.result.valid]
    files = sorted(each.path for each in wrong if not variants or each.path not in found.projects)
    left_out = [*files, *variants]
    accepted = _accepted(found, {each.path for each in wrong})
    cluster = cluster_of(accepted, run_context.cluster)
    asked = ask_queues(accepted, queues, cluster, closed=have_no_queues(wrong))
    if not any(map(_is_asked_for, asked.jobs)):
        return Answers(results, cluster, read, world=asked.world, lacks=None if wrong else "jobs", left_out=left_out)
    if not asked.has_queues:
        return Answers(results, cluster, read, world=asked.world, lacks=None if wrong else "queues", left_out=left_out)
    return Answers(results, cluster, read, asked.answers(), asked.world, left_out=left_out)


def have_no_queues(files: Iterable[FileResult]) -> bool:
    """Return whether files have jobs alone, so that no queue is lost if they are left out."""
    return all(is_workload(row) for each in files for row in each.documents)


def _accepted(found: RunResults, wrong: Set[str]) -> list[AppliedFile]:
    """Return the files and variants that a cluster gets, without *wrong* files and what is built of them."""
    builds = ((each.path, each.in_build.build) for each in found.found if each.in_build and each.in_build.build)
    left_out = wrong | {path for path, build in builds if not wrong.isdisjoint(build.sources())}

    def is_accepted(applied: AppliedFile) -> bool:
        result = applied.checked.result
        return result.valid if applied.variant else result.path.partition(PART)[0] not in left_out

    return [each for each in found.applied if is_accepted(each)]


@dataclass(frozen=True)
class QueuedFiles:
    """Accepted files and variants, the queues that their jobs meet, and the jobs as policies leave them."""

    applied: Sequence[AppliedFile]
    sent: Sequence[Checked]
    target: Target
    world: World

    @property
    def jobs(self) -> Iterator[Document]:
        """All documents as policies leave them."""
        return (each for file in self.sent for each in file.documents)

    @property
    def has_queues(self) -> bool:
        """True if there is anything of Kueue that can be asked."""
        return bool(self.world.queues or self.world.configuration or any(self.world.of_kind("LocalQueue")))

    def answers(self) -> list[Asked]:
        """What becomes of all jobs."""
        return [answer for number in range(len(self.sent)) for found in self.of_file(number) for answer in found]

    def of_file(self, number: int) -> list[list[Asked]]:
        """What becomes of each document of a file: one answer, several of a LeaderWorkerSet, none of what Kueue does not know."""
        context = self.applied[number].context
        return [asked_of([(job, context)], self.target, self.world) for job in self.sent[number].documents]


def ask_queues(applied: Sequence[AppliedFile], queues: Collection[Document], cluster: Cluster, *, closed: bool = True) -> QueuedFiles:
    """The accepted files with the queues of `--queues`, of their own objects and of a cluster.

    *closed*: there are no other queues.
    """
    sent = as_policies_leave([each.checked for each in applied], cluster)
    objects = [each for file in applied for each in (*file.checked.objects, *file.checked.documents)]
    return QueuedFiles(applied, sent, cluster.target, world_for(queues, objects, cluster, closed=closed))


def cluster_of(applied: Sequence[AppliedFile], otherwise: Cluster) -> Cluster:
    """The cluster whose queues the jobs of files meet: a project's, which has the objects of other files, too.

    Raises JobspecError for jobs that meet several clusters, each of which has its own queues.
    """
    with_jobs = [each.cluster for each in applied if any(map(_is_asked_for, each.checked.documents))]
    cluster = max(with_jobs or [otherwise], key=lambda each: len(each.objects))
    if any(_key_of_cluster(each) != _key_of_cluster(cluster) for each in with_jobs):
        raise JobspecError("the jobs meet several clusters; name the one to ask with --cluster")
    return cluster


#: What is missing -> what to do about it.
LACKING = {
    "jobs": f"no job to ask for: the files hold no {', no '.join(kind for _, kind in KINDS)}",
    "queues": "no queues: give the folder of the ClusterQueues and LocalQueues with --queues, or a pinned --cluster",
}


def _key_of_cluster(cluster: Cluster) -> tuple[object, ...]:
    """The releases of a cluster, and the file that it is pinned in."""
    return dict(cluster.target), [str(each.marks.mark) for each in cluster.objects if each.group_kind == CLUSTER]


def asked_of(jobs: Iterable[tuple[Document, Sequence[Document]]], target: Target, world: World) -> list[Asked]:
    """Return Kueue's answers to the jobs among documents, each with its context.

    The context of a job is what the job may refer to.
    """
    return [asked for job, context in jobs if _is_asked_for(job) for asked in _asked(job, context, target, world)]


def _is_asked_for(job: Document) -> bool:
    """True if Kueue can make Workloads of a job, or of the Jobs of a CronJob."""
    return makes_workloads_of(queued_object(job))


def _asked(job: Document, context: Sequence[Document], target: Target, world: World) -> list[Asked]:
    """What becomes of a job: one answer, or one for each group of a LeaderWorkerSet. Of a CronJob, what becomes of its next Job."""
    queued = queued_object(job)
    if not is_managed(queued, target, world):
        return [Asked(job, None, children_in_queues(queued, context, target, world))]
    found = ask_in_turn(workloads_of(queued, context, target, world), world)
    return [Asked(job, each, room=fitting(each, world)) for each in found]


def answer_of(job: Document, context: Sequence[Document], target: Target, world: World) -> QueueAnswer | None:
    """What becomes of a job; None where it names no queue, and Kueue leaves it alone."""
    queued = queued_object(job)
    if is_managed(queued, target, world):
        return ask(workload_of(queued, context, target, world), world)
    return None


def queue_documents(options: Options) -> list[Document]:
    """The documents in the files and folders that `--queues` names."""
    return [document for path in options.queues for document in documents_in(path, option="--queues", disk=options.disk)]


def with_lookups(run_context: RunContext, given: Iterable[Document]) -> RunContext:
    """Add the runtimes and priority classes beside given queues to a run context.

    Jobs may refer to these runtimes and priority classes.
    """
    target = run_context.cluster.target
    accepted = [each for each in given if each.group_kind in WEBHOOK_LOOKUPS and verdict(each, target).status == "valid"]
    return run_context.with_cluster(run_context.cluster.with_objects(accepted)) if accepted else run_context


def world_for(given: Collection[Document], documents: Iterable[Document], cluster: Cluster, *, closed: bool = True) -> World:
    """Return the queues *given* by `--queues`, among documents and in a cluster.

    *closed*: there are no other queues. Raises JobspecError where a server refuses a given one.
    """
    wrong = [problem for each in given if each.group_kind[0] == QUEUE_GROUP for problem in verdict(each, choose(())).diagnostics]
    if has_error(wrong):
        raise JobspecError("\n".join(f"--queues {each.mark}: {each.message}" for each in wrong if each.severity == "error"))
    objects = [*cluster.objects, *(each for document in documents for each in items_of(document)), *given]
    return world_of(data_of(objects), closed=closed)


def jobs_of(planned: Plan) -> list[tuple[Document, Sequence[Document]]]:
    """Each document of a project's variants, with what it may refer to."""
    jobs: list[tuple[Document, Sequence[Document]]] = []
    for variant in planned.variants:
        cluster = planned.met_by(variant)
        _, objects = documents_of(variant, cluster)
        jobs += [(each, [*objects.values(), *cluster.lookups]) for each in objects.values()]
    return jobs
