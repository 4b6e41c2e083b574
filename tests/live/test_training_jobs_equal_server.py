"""`validate` says of jobs of training-operator's other kinds, and of mutants of them, what a server with its webhooks says."""

from collections.abc import Iterator
from random import Random

import pytest

from jobspec.apis.sibling_kinds import API_VERSION, SIBLINGS
from jobspec.schemas import shapes
from jobspec.world.world import Cluster
from tests.agreement.corpus import ENDLESS, Case
from tests.agreement.live import Live
from tests.hunt.finds import report
from tests.support import quick_yaml
from tests.support.job_growth import grown_sibling
from tests.support.mutants import Change, at_one_place, at_two_places
from tests.support.seeds import examples, seed
from tests.support.server import NEWEST_OPERATORS, WITH_OPERATORS, server_at

_LONGEST = 3000  # characters of what is mutated


@pytest.fixture(scope="module", params=WITH_OPERATORS, ids=["old", "newest"])
def live(request: pytest.FixtureRequest) -> Iterator[Live]:
    server = server_at(request.param)
    server.needs("PyTorchJob")
    name = "newest-operators" if request.param == NEWEST_OPERATORS else "operators"
    yield Live(name, server, Cluster(server.target, closed=True))
    server.close()


def _mutants(live: Live, change: Change, random: Random, count: int) -> Iterator[Case]:
    target = live.cluster.target
    served = [kind for kind, sibling in SIBLINGS.items() if sibling.is_in(target["training-operator"])]
    for number in range(count):
        kind = random.choice(served)
        base = quick_yaml.dump(grown_sibling(kind, "a", random))
        text = change(base, shapes.part(API_VERSION, kind, target), random) if len(base) < _LONGEST else base
        if not ENDLESS.search(text):
            yield Case(f"{kind} changed {change.__name__}, number {number}", f"{kind} of v1", text)


@pytest.mark.parametrize("change", [at_one_place, at_two_places])
def test_mutants(live: Live, change: Change) -> None:
    cases = list(_mutants(live, change, Random(seed()), examples(settled=150, fresh=400)))
    assert report(live.disagreements(cases)) == ""
