"""`validate` says of pods and their templates what a real API server says, at the same fields."""

from collections.abc import Iterator
from random import Random

import pytest

from tests.hunt import pods
from tests.hunt.finds import report
from tests.support.seeds import seed
from tests.support.server import Server, kubeconfig


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server(kubeconfig())
    yield pods.prepare(server)
    server.close()


def test_generated_pods(server: Server) -> None:
    assert report(pods.finds(server, Random(seed()), count=300)) == ""
