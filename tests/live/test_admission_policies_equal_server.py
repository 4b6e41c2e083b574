"""ValidatingAdmissionPolicies refuse and warn of what a real API server refuses and warns of by them, in its words."""

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from tests.hunt import admission_policies
from tests.hunt.finds import report
from tests.support.seeds import seed
from tests.support.server import Server, kubeconfig


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server(kubeconfig())
    found.needs("PyTorchJob", "TrainJob")
    yield found
    found.close()


def test_random_policies_and_objects(server: Server) -> None:
    tally: Counter[str] = Counter()
    assert report(admission_policies.finds(server, Random(seed()), tally, policies=60, objects=400)) == ""
    assert min(tally[each] for each in ("accepted", "refused", "warned of")) > 10, tally
