"""Lint on public manifests: no error where upstream ships a job as working, and few words, since people switch off what talks too much."""

from collections.abc import Iterator
from functools import cache
from statistics import median

from jobspec.apis import kinds
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.results import FileResult
from jobspec.journey.checking import checked
from jobspec.journey.steps import Checked, Source
from jobspec.lint.linting import lint
from jobspec.operators.workloads import takes_overlays
from jobspec.world.world import Cluster
from tests.support.reference import folder

_KINDS = ("PyTorchJob", "TrainJob", *(kind for _, kind in kinds.RUNTIMES))
_MOST = 2  # warnings of the manifest in the middle


@cache
def _checked() -> list[Checked]:
    """The public manifests, each judged on its own, and files of queues and other companions."""
    paths = [path for name in ("manifests", "companions") for path in sorted(folder("corpus", name).rglob("*.y*ml*"))]
    sources = [Source(str(path), path.read_bytes(), skip_unknown=True) for path in paths]
    return [checked(each, (), Cluster()) for each in sources]


@cache
def _reported() -> list[FileResult]:
    """What is reported of each file alone."""
    return [result for each in _checked() for result in lint([each], Cluster())]


def _advice(results: list[FileResult]) -> Iterator[Diagnostic]:
    return (each for result in results for each in result.diagnostics if each.stage == "lint")


def test_no_error_is_reported_of_what_upstream_ships() -> None:
    assert [each for each in _advice(_reported()) if each.severity == "error"] == []


def test_the_manifest_in_the_middle_gets_few_warnings() -> None:
    jobs = [each for each in _reported() if any(row.kind in _KINDS and row.status == "valid" for row in each.documents)]
    assert len(jobs) > 100
    numbers = [sum(said.severity == "warning" for said in _advice([each])) for each in jobs]
    assert 0 < median(numbers) <= _MOST


def test_everything_that_is_reported_stands_in_the_file_that_wrote_it() -> None:
    assert [each for each in _advice(_reported()) if not each.mark.line or not each.mark.file] == []
    assert [result.path for result in _reported() for each in _advice([result]) if each.mark.file != result.path] == []


def test_in_whatever_order_files_come_the_same_is_reported() -> None:
    files = [each for each in _checked() if any(takes_overlays(document) for document in each.documents)]
    forwards, backwards = (lint(some, Cluster()) for some in (files, files[::-1]))
    texts = [
        sorted(f"{each!r} {each.severity}" for each in _advice(results) if each.rule != "repeated-object")
        for results in (forwards, backwards)
    ]
    assert texts[0] == texts[1] != []
