"""What `jobspec capture` makes of what a program posted: manifests, and findings at the lines that posted them."""

from __future__ import annotations

import os
import re
from functools import partial
from itertools import count

from jobspec.captures.server import CaptureServer
from jobspec.diagnostics.diagnostic import has_error
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.grouping import grouped
from jobspec.diagnostics.record import Record
from jobspec.diagnostics.results import FileResult
from jobspec.documents.writer import write
from jobspec.journey.journey import Journey, travel
from jobspec.journey.reading import read
from jobspec.journey.steps import LoadedFile, Source
from jobspec.lint.linting import lint
from jobspec.operators.expansion import expand
from jobspec.operators.trainer.runtimes import shipped
from jobspec.operators.workloads import KINDS, is_workload
from jobspec.project.import_overlays import originals
from jobspec.session.imports import existing_project, plan_import, write_import
from jobspec.session.inputs import by_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.captures.captured import CapturedObject
    from jobspec.diagnostics.diagnostic import Diagnostic
    from jobspec.diagnostics.places import Data, Mark
    from jobspec.project.project import LoadedProject
    from jobspec.session.options import Options
    from jobspec.world.world import Cluster


def server_for(cluster: Cluster, *, namespace: str) -> CaptureServer:
    """Return a server that has the cluster's runtimes and refuses what the cluster refuses."""
    runtimes = {**shipped(cluster.target), **{f"{each.namespace}/{each.name}": each.data for each in cluster.lookups}}
    refusal, pods = partial(_refusal, cluster=cluster), partial(_pods, cluster=cluster)
    return CaptureServer(list(runtimes.values()), cluster.target, refusal, pods, namespace=namespace)


def _refusal(made: CapturedObject, cluster: Cluster) -> Sequence[Diagnostic]:
    """Return the errors with which a server refuses an object."""
    checked = travel(Journey([_loaded([made], cluster)], cluster, outcome=False))
    return [each for each in checked[0].result.diagnostics if each.severity == "error"]


def _pods(made: CapturedObject, cluster: Cluster) -> Sequence[Data]:
    """Return the pods that operators create for an accepted job; none of a job whose pods are not known, or too many."""
    documents = _loaded([made], cluster).manifests.documents
    try:
        objects = [each for job in documents if is_workload(job) for each in expand(job, [job, *cluster.lookups], cluster.target).objects]
    except JobspecError:
        return ()
    return [data for each in objects if (data := each.data())["kind"] == "Pod"]


def _loaded(captured: Sequence[CapturedObject], cluster: Cluster) -> LoadedFile:
    """Return captured objects as a file under the name of the program's."""
    return LoadedFile(read(Source(captured[0].place.file, text_of_captured(captured)), cluster.target))


def results_of_captured(captured: Sequence[CapturedObject], cluster: Cluster) -> list[FileResult]:
    """Return the findings on captured objects, by the files of the program that posted them."""
    results = []
    for path, objects in grouped(captured, lambda each: each.place.file).items():
        checked = travel(Journey([_loaded(objects, cluster)], cluster, outcome=True))
        (result,) = lint(checked, cluster)
        remarks = [remark for index, made in enumerate(objects) for remark in made.remarks(index)]
        results.append(FileResult(path, result.documents, [*(_at_call(each, objects) for each in result.diagnostics), *remarks]))
    return results


def _at_call(found: Diagnostic, objects: Sequence[CapturedObject]) -> Diagnostic:
    """Return a diagnostic of a captured object at the line that posted the object."""
    return found.changed(mark=objects[found.document or 0].place, changes=(), related=())


def accepted(captured: Sequence[CapturedObject]) -> list[CapturedObject]:
    """Return the captured objects that the server took."""
    return [each for each in captured if not has_error(each.refused)]


def files_of_captured(captured: Sequence[CapturedObject], folder: str) -> dict[str, str]:
    """Return the text of a file for each captured object, by its path in a folder.

    Objects of one kind and name share a file.
    """
    named = grouped(captured, lambda each: f"{each.data['kind'].lower()}-{each.data['metadata'].get('name') or 'job'}.yaml")
    return {os.path.join(folder, name): text_of_captured(objects) for name, objects in named.items()}


class AddedJobs(Record):
    """What captured jobs became in a project."""

    lines: Sequence[str]
    """What was written, a line each; none if there is an error."""
    results: Sequence[FileResult]
    """Why a job cannot be added, at the lines that posted the jobs."""


def add_to_project(captured: Sequence[CapturedObject], project: LoadedProject | None, cluster: Cluster, options: Options) -> AddedJobs:
    """Add captured jobs to a project, as `jobspec import` adds manifests.

    The project is that of the working folder, or a new one.
    """
    jobs = _named_for_script([each for each in captured if (each.data["apiVersion"], each.data["kind"]) in KINDS], options.script)
    others = [f"not added: {each.data['kind']} {each.data['metadata'].get('name', '')}\n" for each in captured if not _is_same(each, jobs)]
    if not jobs:
        return AddedJobs(others, ())
    name, text = os.path.basename(options.script), text_of_captured(jobs)
    (checked,) = travel(Journey([LoadedFile(read(Source(name, text), cluster.target))], cluster, outcome=False))
    made = originals(name, text, checked.documents, cluster.target, jobs=checked.documents)
    planned = plan_import(made, project, cluster, options.changed(to=options.to_dir or _BASES))
    if planned.diagnostics:
        wrong = [each.changed(mark=_place_of(each, jobs), changes=(), related=()) for each in planned.diagnostics]
        return AddedJobs((), by_file(wrong))
    write_import(planned, existing_project(project))
    variants = [f"  variant {each.name}: {each.base}\n" for each in planned.entries]
    return AddedJobs([*(f"{path}\n" for path in planned.files), *variants, *others], ())


_BASES = "base"
_RANDOM_NAME = re.compile("[a-z][0-9a-f]{11}")
"""The names that TrainerClient gives to jobs without one."""


def _named_for_script(captured: Sequence[CapturedObject], script: str) -> list[CapturedObject]:
    """Return captured jobs, with names of the script for random ones, which would be other jobs each time."""
    stem = re.sub(r"[^a-z0-9]+", "-", os.path.splitext(os.path.basename(script))[0].lower()).strip("-")[:40] or "job"
    taken = {each.data["metadata"].get("name") for each in captured}
    found = []
    for each in captured:
        metadata = each.data["metadata"]
        if "name" not in metadata or _RANDOM_NAME.fullmatch(str(metadata["name"])):
            choices = (stem if number == 1 else f"{stem}-{number}" for number in count(1))
            name = next(choice for choice in choices if choice not in taken)
            taken.add(name)
            rest = {key: value for key, value in metadata.items() if key not in ("name", "generateName")}
            each = each.changed(data={**each.data, "metadata": {"name": name, **rest}})
        found.append(each)
    return found


def _is_same(captured: CapturedObject, jobs: Sequence[CapturedObject]) -> bool:
    return any(each.data.get("spec") is captured.data.get("spec") for each in jobs)


def _place_of(found: Diagnostic, jobs: Sequence[CapturedObject]) -> Mark:
    """Return the line that posted the job of a diagnostic; its own place if that is in the project."""
    return jobs[found.document or 0].place if found.mark.file == os.path.basename(jobs[0].place.file) else found.mark


def text_of_captured(captured: Sequence[CapturedObject]) -> str:
    """Return captured objects as YAML."""
    return write([each.data for each in captured])
