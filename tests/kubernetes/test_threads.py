"""Threads that share a cluster: each gets the verdicts that one thread alone gets."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from jobspec.apis.releases import RELEASES, choose
from jobspec.journey.checking import check
from jobspec.journey.reading import read
from jobspec.journey.steps import Source
from jobspec.kubernetes.custom_kinds import CustomKinds, UnreadFile
from jobspec.schemas import shapes
from jobspec.world.world import Cluster
from tests.support.reference import ROOT

_CASES = ROOT / "tests" / "cases"
_THREADS = 4
_ENDS = [f"{component}={list(RELEASES[component])[end]}" for component in ("training-operator", "trainer") for end in (0, -1)]

Said = list[tuple[bool, list[dict[str, object]]]]


@pytest.fixture(autouse=True)
def _switch_threads_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def _said(paths: list[Path], cluster: Cluster, *, start: Barrier | None = None) -> Said:
    """What a cluster says to files; *start* is waited for once they are read, so that threads meet in its shapes."""
    files = [read(Source(path.name, path.read_bytes()), cluster.target) for path in paths]
    if start:
        start.wait()
    results = [check(file, cluster).result for file in files]
    return [(result.valid, [each.as_dict() for each in result.diagnostics]) for result in results]


def _said_to_threads(paths: list[Path], cluster: Cluster) -> list[Said]:
    start = Barrier(_THREADS)
    with ThreadPoolExecutor(_THREADS) as threads:
        return list(threads.map(lambda _: _said(paths, cluster, start=start), range(_THREADS)))


@pytest.mark.slow
@pytest.mark.parametrize("release", _ENDS)
def test_shapes_that_were_not_used_before(release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = sorted((_CASES / "validate").glob("*.yaml"))
    cluster = Cluster(choose([release]))
    alone = _said(paths, cluster)
    monkeypatch.setattr(shapes, "_loaded", {})
    assert _said_to_threads(paths, cluster) == [alone] * _THREADS


@pytest.mark.parametrize("path", sorted((_CASES / "crds").glob("*.yaml")), ids=lambda path: path.stem)
def test_crds_that_were_not_read_before(path: Path) -> None:
    crd = path.read_text().partition("\n---\n")[0]
    alone, shared = (Cluster(custom_kinds=CustomKinds([UnreadFile("crd.yaml", crd)])) for _ in range(2))
    assert _said_to_threads([path], shared) == [_said([path], alone)] * _THREADS
