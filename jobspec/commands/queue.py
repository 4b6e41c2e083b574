"""`jobspec queue`: say whether Kueue ever admits jobs, and with which flavors."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jobspec.cluster import Cluster
from jobspec.commands.cluster import documents_in
from jobspec.commands.files import PROJECT, Found, find, reader
from jobspec.commands.inputs import load_run_context, project_among
from jobspec.commands.options import PROJECT_OR_FOLDER, Option, Options, add_paths, declare, journey_options
from jobspec.commands.output import deliver, takes_colour, width_of
from jobspec.commands.project import plan_with_contracts
from jobspec.commands.trees import ProjectFiles
from jobspec.commands.validate import check_files
from jobspec.diagnostics import FileResult, JobspecError
from jobspec.documents.document import Document
from jobspec.kinds import CLUSTER, QUEUE_CONFIGURATION, QUEUE_GROUP
from jobspec.operators.kueue.admission import QueueAnswer, ask
from jobspec.operators.kueue.versions import KINDS, RELEASE
from jobspec.operators.kueue.workload import queue_name, workload_of
from jobspec.operators.kueue.world import World, world_of
from jobspec.pipeline import context_of, items_of
from jobspec.project.rendering import documents_of
from jobspec.reports.queue import REPORTS, Asked, TextOptions
from jobspec.targets import Target


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    what = "a file or folder with the queues: ClusterQueues, LocalQueues, Cohorts, ResourceFlavors, Topologies, Nodes; repeatable"
    options = [
        Option("--queues", metavar="PATH", repeatable=True, what=what),
        *journey_options(),
        Option("--output", "-o", dest="form", choices=tuple(REPORTS), what="output format"),
    ]
    declare(add_paths(parser, by_default=PROJECT_OR_FOLDER), options)


def run(options: Options) -> int:
    """Say of all jobs in files, or of the variants of a project, what Kueue does with them; 1 where one is never admitted or not valid."""
    paths = options.paths or [PROJECT if os.path.isfile(PROJECT) else os.curdir]
    found = _of_project(options, paths[0]) if project_among(paths) else _of_files(options, paths)
    jobs, target = found.jobs, found.cluster.target
    if not all(each.valid for each in found.results):
        deliver(found.results, found.cluster.releases, options, sys.stderr, read=reader(found.read))
        return 1
    world = world_for(options.queues, [document for document, _ in jobs], found.cluster)
    if not world.queues and not any(world.of_kind("LocalQueue")):
        raise JobspecError("no queues: give the folder of the ClusterQueues and LocalQueues with --queues, or a pinned --cluster")
    asked = [Asked(job, answer_of(job, context, target, world)) for job, context in jobs if job.group_kind in KINDS]
    if not asked:
        raise JobspecError(f"no job to ask for: the files hold no {', no '.join(kind for _, kind in KINDS)}")
    text = TextOptions(width_of(sys.stdout), target.get("kueue", RELEASE), colour=takes_colour(sys.stdout))
    sys.stdout.write(REPORTS[options.form or "text"](asked, world, text))
    return 1 if any(each.answer and each.answer.verdict == "never" for each in asked) else 0


def answer_of(job: Document, context: Sequence[Document], target: Target, world: World) -> QueueAnswer | None:
    """What becomes of a job; None where it names no queue."""
    return ask(workload_of(job, context, target, world), world) if queue_name(job, world) else None


def world_for(paths: Sequence[str], documents: Iterable[Document], cluster: Cluster) -> World:
    """The queues in the files at some paths, among documents and in a cluster."""
    given = [document for path in paths for document in documents_in(path)]
    given += [*(each for document in documents for each in items_of(document)), *cluster.objects]
    return world_of(each.data for each in given if each.group_kind[0] in (QUEUE_GROUP, QUEUE_CONFIGURATION[0], *_OTHERS))


#: The groups of what Kueue looks at besides its own objects: namespaces, LimitRanges and nodes, priority and runtime classes.
_OTHERS = ("", "scheduling.k8s.io", "node.k8s.io", CLUSTER[0])


@dataclass(frozen=True, slots=True)
class _Jobs:
    """The documents of files or of a project, each with what it may refer to, and the cluster that they meet."""

    jobs: Sequence[tuple[Document, Sequence[Document]]]
    cluster: Cluster
    results: Sequence[FileResult]
    read: Sequence[Found]


def _of_files(options: Options, paths: Sequence[str]) -> _Jobs:
    setting = load_run_context(options)
    found = find(paths, skip_unknown=options.skip_unknown)
    checked = check_files(found, setting, skip_unknown=options.skip_unknown)
    jobs = [(job, context_of(file, checked, setting.cluster)) for file in checked for job in file.documents]
    results = [*setting.remarks, *(setting.wrong or [each.result for each in checked])]
    return _Jobs(jobs, setting.cluster, results, found)


def _of_project(options: Options, path: str) -> _Jobs:
    """Raises JobspecError for variants that meet several clusters, each of which has queues of its own."""
    planned = plan_with_contracts(options, ProjectFiles(path)).with_variants()
    results = list(planned.results)
    cluster, *others = planned.met
    if others:
        raise JobspecError(f"{path}: its variants meet several clusters; name the one to ask with --cluster")
    jobs: list[tuple[Document, Sequence[Document]]] = []
    for variant in planned.variants:
        checked, objects = documents_of(variant, cluster)
        results.append(checked.result)
        jobs += [(each, [*objects.values(), *cluster.lookups]) for each in objects.values()]
    return _Jobs(jobs, cluster, results, planned.read)
