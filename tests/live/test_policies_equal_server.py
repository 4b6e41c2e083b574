"""The policies that `jobspec policy` writes are accepted by a real API server, and warn of what lint finds."""

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from tests.hunt import policies
from tests.hunt.finds import report
from tests.support.seeds import seed
from tests.support.server import Server, kubeconfig


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server(kubeconfig())
    yield found
    found.close()


def test_random_jobs(server: Server) -> None:
    tally: Counter[str] = Counter()
    assert report(policies.server_finds(server, Random(seed()), tally, count=30)) == ""
    assert min(tally[policies.JUDGED + name] for name in policies.judged_on(server)) > 15, tally
