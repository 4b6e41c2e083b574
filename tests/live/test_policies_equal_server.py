"""The policies that `jobspec policy` writes are accepted by a real API server, and warn of what lint finds."""

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from jobspec.apis.releases import choose
from jobspec.world.world import Cluster
from tests.hunt import policies
from tests.hunt.finds import report
from tests.lint.test_lint import CASES, files_of
from tests.support.cases import target_of
from tests.support.checking import checked
from tests.support.seeds import seed
from tests.support.server import Server, kubeconfig


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server(kubeconfig())
    yield found
    found.close()


def test_cases_of_lint(server: Server) -> None:
    """Of those that the server has the releases for, and accepts."""
    tally: Counter[str] = Counter()
    found = []
    kinds = policies.served(server)
    with policies.stored(server):
        for case in CASES:
            files = files_of(case)
            if (target := target_of(files[0].read_text())) != choose([]):
                continue
            cluster = Cluster(target)
            for each in policies.seen_in([checked(file, cluster) for file in files], cluster):
                if each.document.given.kind in kinds and (said := policies.said_by_server(each, server)) is not None:
                    found += policies.differences(each, said, tally)
    assert found == []
    assert sum(tally[policies.BROKEN + name] > 0 for name in policies.COMPARED) > len(policies.COMPARED) // 2, tally


def test_random_jobs(server: Server) -> None:
    tally: Counter[str] = Counter()
    assert report(policies.server_finds(server, Random(seed()), tally, count=30)) == ""
    assert min(tally[policies.JUDGED + name] for name in policies.judged_on(server)) > 15, tally
