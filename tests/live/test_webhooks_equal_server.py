"""`validate` says what a real server with real operators and their webhooks says: to manifests and to mutants of them."""

from collections.abc import Iterator
from random import Random

import pytest

from tests.agreement import corpus
from tests.agreement.live import Live
from tests.agreement.parts import parts
from tests.hunt import manifests
from tests.hunt.finds import report
from tests.support.mutants import Change
from tests.support.seeds import seed
from tests.support.server import NEWEST_OPERATORS, WITH_OPERATORS, server_at

_MUTANTS = dict(zip(manifests.CHANGES, (600, 400, 250, 250), strict=True))


@pytest.fixture(scope="module", params=WITH_OPERATORS, ids=["old", "newest"])
def live(request: pytest.FixtureRequest) -> Iterator[Live]:
    """A server with the operators of the target, to which the trainer's own runtimes belong."""
    server = server_at(request.param)
    yield manifests.operators(server, newest=request.param == NEWEST_OPERATORS)
    server.close()


def test_manifests_of_real_projects(live: Live) -> None:
    cases = manifests.of_operators(corpus.of_projects())
    assert len(cases) > 150
    assert report(live.disagreements(cases)) == ""


def test_our_own_cases(live: Live) -> None:
    assert report(live.disagreements(manifests.of_operators(corpus.our_own()))) == ""


@pytest.mark.parametrize("kind", sorted(manifests.OF_OPERATORS - {"ClusterTrainingRuntime"}))  # whose parts are those of a TrainingRuntime
def test_each_part_with_what_it_requires(kind: str, live: Live) -> None:
    cases = list(parts(kind, live.cluster.target))
    assert len(cases) > 50
    assert report(live.disagreements(cases)) == ""


@pytest.mark.slow
@pytest.mark.parametrize("change", _MUTANTS)
def test_mutants(change: Change, live: Live) -> None:
    setting = manifests.with_webhooks(live)
    assert report(setting.finds(change, Random(seed()), count=_MUTANTS[change])) == ""


def test_what_is_known_to_differ_does(live: Live) -> None:
    assert report(live.outdated()) == ""
