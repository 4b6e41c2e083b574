"""The admission plugins say of pods what a real API server says, in namespaces with all sorts of policies."""

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from tests.hunt import pod_policies
from tests.hunt.finds import report
from tests.support.seeds import seed
from tests.support.server import CONTROL_PLANE, OPERATORS, Server, kubeconfig


@pytest.fixture(params=[CONTROL_PLANE, OPERATORS])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    found = Server(kubeconfig(request.param))
    yield found
    found.close()


def test_random_pods(server: Server) -> None:
    tally: Counter[str] = Counter()
    assert report(pod_policies.finds(server, Random(seed()), tally, count=5)) == ""
    assert min(tally[each] for each in ("accepted", "pod security")) > 5, tally
