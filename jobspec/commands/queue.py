"""`jobspec queue`: say whether Kueue ever admits jobs, and with which flavors."""

from __future__ import annotations

import os
import sys

from jobspec.commands.files import PROJECT, Found, find, reader
from jobspec.commands.inputs import load_setting, pinned_cluster, project_among
from jobspec.commands.options import Option, Options, add_paths, declare, journey_options
from jobspec.commands.output import deliver, takes_colour, width_of
from jobspec.commands.validate import check_files
from jobspec.diagnostics import FileResult, JobspecError
from jobspec.kinds import QUEUE_GROUP
from jobspec.operators.kueue.admission import Answer, ask
from jobspec.operators.kueue.workload import KINDS, RELEASE, queue_name, workload_of
from jobspec.operators.kueue.world import World, world_of
from jobspec.pipeline import context_of, items_of
from jobspec.reports.queue import REPORTS, Asked, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterable, Sequence

    from jobspec.commands.cluster import PinnedCluster
    from jobspec.documents.document import Document
    from jobspec.targets import Target


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    what = "a file or folder with the queues: ClusterQueues, LocalQueues, Cohorts, ResourceFlavors, Topologies, Nodes; repeatable"
    options = [
        Option("--queues", metavar="PATH", repeatable=True, what=what),
        *journey_options(),
        Option("--output", "-o", dest="form", choices=tuple(REPORTS), what="output format"),
    ]
    declare(add_paths(parser, number="*"), options)


def run(options: Options) -> int:
    """Say of all jobs in files, or of the variants of a project, what Kueue does with them; 1 where one is never admitted or not valid."""
    pinned = pinned_cluster(options)
    setting = load_setting(options)
    paths = options.paths or [PROJECT if os.path.isfile(PROJECT) else os.curdir]
    if project_among(paths):
        results, jobs, read = _of_project(options, paths[0])
    else:
        found = find(paths, skip_unknown=options.skip_unknown)
        checked = check_files(found, setting, skip_unknown=options.skip_unknown)
        results, read = [*setting.remarks, *(setting.wrong or [each.result for each in checked])], found
        jobs = [(job, context_of(file, checked, setting.cluster)) for file in checked for job in file.documents]
    if not all(each.valid for each in results):
        deliver(results, setting.cluster.releases, options, sys.stderr, read=reader(read))
        return 1
    world = world_for(options.queues, [document for document, _ in jobs], pinned)
    if not world.queues and not any(world.of_kind("LocalQueue")):
        raise JobspecError("no queues: give the folder of the ClusterQueues and LocalQueues with --queues, or a pinned --cluster")
    asked = [Asked(job, answer_of(job, context, setting.cluster.target, world)) for job, context in jobs if job.group_kind in KINDS]
    if not asked:
        raise JobspecError(f"no job to ask for: the files hold no {', no '.join(kind for _, kind in KINDS)}")
    release = setting.cluster.target.get("kueue", RELEASE)
    text = Text(width_of(sys.stdout), release, colour=takes_colour(sys.stdout))
    sys.stdout.write(REPORTS[options.form or "text"](asked, world, text))
    return 1 if any(each.answer and each.answer.verdict == "never" for each in asked) else 0


def answer_of(job: Document, context: Sequence[Document], target: Target, world: World) -> Answer | None:
    """What becomes of a job; None where it names no queue."""
    return ask(workload_of(job, context, target, world), world) if queue_name(job, world) else None


def world_for(paths: Sequence[str], documents: Iterable[Document], pinned: PinnedCluster | None) -> World:
    """The queues in the files at some paths, among documents and in a pinned cluster."""
    from jobspec.commands.cluster import from_files

    given = [document for path in paths for document in from_files(path).all()]
    given += [*(each for document in documents for each in items_of(document)), *(pinned.objects if pinned else ())]
    kept = [each.data for each in given if each.group_kind[0] in (QUEUE_GROUP, *_OTHERS)]
    return world_of(kept, pinned.nodes if pinned and pinned.nodes else None)


#: The groups of what Kueue looks at besides its own objects: namespaces, LimitRanges and nodes, priority and runtime classes.
_OTHERS = ("", "scheduling.k8s.io", "node.k8s.io")


def _of_project(options: Options, path: str) -> tuple[list[FileResult], list[tuple[Document, list[Document]]], Sequence[Found]]:
    """The results of a project, and each document of its variants with what it may refer to."""
    from jobspec.commands.project import plan_with_contracts
    from jobspec.commands.trees import ProjectFiles
    from jobspec.project.rendering import documents_of

    planned = plan_with_contracts(options, ProjectFiles(path)).with_variants()
    results = list(planned.results)
    jobs: list[tuple[Document, list[Document]]] = []
    for variant in planned.variants:
        checked, objects = documents_of(variant, planned.cluster)
        results.append(checked.result)
        jobs += [(each, [*objects.values(), *planned.cluster.lookups]) for each in objects.values()]
    return results, jobs, planned.read
