"""`validate` says what a real server with real operators and their webhooks says: to manifests and to mutants of them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from jobspec.cluster import Cluster
from jobspec.runtimes.runtime import shipped
from jobspec.targets import choose
from tests.agreement import corpus
from tests.agreement.corpus import VERSIONS, Case
from tests.agreement.live import Live
from tests.agreement.parts import parts
from tests.support.mutants import Change, at_one_place, at_two_places, in_other_words, in_the_text
from tests.support.seeds import seed
from tests.support.server import Server

_TARGET = choose(["training-operator=1.8.1", "trainer=2.0.0", "jobset=0.8.2"])
_KINDS = VERSIONS.keys() - {"PersistentVolumeClaim"}
_RUNTIMES = "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes/{}?fieldManager=tests&force=true"
_MUTANTS: dict[Change, int] = {at_one_place: 600, at_two_places: 400, in_the_text: 250, in_other_words: 250}


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    """A server with the operators of the target, to which the trainer's own runtimes belong."""
    place = os.environ.get("JOBSPEC_TEST_OPERATORS_KUBECONFIG")
    if not place:
        pytest.skip("JOBSPEC_TEST_OPERATORS_KUBECONFIG names no kubeconfig of a server with operators (see CONTRIBUTING.md)")
    found = Server(Path(place))
    found.needs(*_KINDS)
    for name, runtime in shipped(_TARGET).items():
        answer = found.apply(_RUNTIMES.format(name), yaml.safe_dump(runtime))
        assert answer.accepted, answer.message
    yield Live("operators", found, Cluster(_TARGET, closed=True))
    found.close()


def _of_operators(cases: list[Case]) -> list[Case]:
    return [case for case in cases if case.kind in _KINDS]


def test_manifests_of_real_projects(live: Live, tmp_path: Path) -> None:
    cases = _of_operators(corpus.of_projects())
    assert len(cases) > 150
    disagreements = live.disagreements(cases, tmp_path)
    assert disagreements == [], "\n".join(disagreements)


def test_our_own_cases(live: Live, tmp_path: Path) -> None:
    disagreements = live.disagreements(_of_operators(corpus.our_own()), tmp_path)
    assert disagreements == [], "\n".join(disagreements)


@pytest.mark.parametrize("kind", sorted(_KINDS - {"ClusterTrainingRuntime"}))  # whose parts are those of a TrainingRuntime
def test_each_part_with_what_it_requires(kind: str, live: Live, tmp_path: Path) -> None:
    cases = list(parts(kind, _TARGET))
    assert len(cases) > 50
    disagreements = live.disagreements(cases, tmp_path)
    assert disagreements == [], "\n".join(disagreements)


@pytest.mark.slow
@pytest.mark.parametrize("change", _MUTANTS)
def test_mutants(change: Change, live: Live, tmp_path: Path) -> None:
    bases = _of_operators(corpus.of_projects())
    cases = corpus.mutants(bases, change, _MUTANTS[change], target=_TARGET, seed=seed(), endless=_KINDS)
    disagreements = live.disagreements(cases, tmp_path)
    assert disagreements == [], "\n".join(disagreements)


def test_what_is_known_to_differ_does(live: Live, tmp_path: Path) -> None:
    assert live.outdated(tmp_path) == []
