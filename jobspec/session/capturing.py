"""What `jobspec capture` makes of what a program posted: manifests, and findings at the lines that posted them."""

from __future__ import annotations

import os

from jobspec.capture.server import CaptureServer
from jobspec.diagnostics.diagnostic import has_error
from jobspec.diagnostics.grouping import grouped
from jobspec.diagnostics.results import FileResult
from jobspec.documents.writer import write
from jobspec.journey.journey import Journey, travel
from jobspec.journey.reading import read
from jobspec.journey.steps import LoadedFile, Source
from jobspec.lint.linting import DEFAULT_RULES, lint
from jobspec.operators.trainer.runtimes import shipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.capture.captured import CapturedObject
    from jobspec.diagnostics.diagnostic import Diagnostic
    from jobspec.world.world import Cluster


def server_for(cluster: Cluster, *, namespace: str) -> CaptureServer:
    """Return a server that has the cluster's runtimes and refuses what the cluster refuses."""
    runtimes = {**shipped(cluster.target), **{f"{each.namespace}/{each.name}": each.data for each in cluster.lookups}}
    return CaptureServer(list(runtimes.values()), cluster.target, lambda made: _refusal(made, cluster), namespace=namespace)


def _refusal(made: CapturedObject, cluster: Cluster) -> Sequence[Diagnostic]:
    """Return the errors with which a server refuses an object."""
    checked = travel(Journey([_loaded([made], cluster)], cluster, outcome=False))
    return [each for each in checked[0].result.diagnostics if each.severity == "error"]


def _loaded(captured: Sequence[CapturedObject], cluster: Cluster) -> LoadedFile:
    """Return captured objects as a file under the name of the program's."""
    return LoadedFile(read(Source(captured[0].place.file, text_of_captured(captured)), cluster.target))


def results_of_captured(captured: Sequence[CapturedObject], cluster: Cluster) -> list[FileResult]:
    """Return the findings on captured objects, by the files of the program that posted them."""
    results = []
    for path, objects in grouped(captured, lambda each: each.place.file).items():
        checked = travel(Journey([_loaded(objects, cluster)], cluster, outcome=True))
        (result,) = lint(checked, cluster, [each for each in DEFAULT_RULES if each.by_default])
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
    """Return the text of a file for each captured object, by its path in a folder. Objects of one kind and name share a file."""
    named = grouped(captured, lambda each: f"{each.data['kind'].lower()}-{each.data['metadata'].get('name') or 'job'}.yaml")
    return {os.path.join(folder, name): text_of_captured(objects) for name, objects in named.items()}


def text_of_captured(captured: Sequence[CapturedObject]) -> str:
    """Return captured objects as YAML."""
    return write([each.data for each in captured])
