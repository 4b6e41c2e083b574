"""In namespaces with all sorts of policies, the pods of a PyTorchJob come where `validate` says so, and are refused where it says that."""

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from tests.hunt import job_policies
from tests.hunt.finds import report
from tests.support import server as servers
from tests.support.seeds import seed
from tests.support.server import WITH_OPERATORS, Server


@pytest.fixture(params=WITH_OPERATORS, ids=["old", "newest"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    yield from servers.find("PyTorchJob", at=request.param)


def test_random_jobs(server: Server) -> None:
    tally: Counter[str] = Counter()
    assert report(job_policies.finds(server, Random(seed()), tally)) == ""
    assert min(tally[each] for each in ("came", "refused")) > 1, tally
