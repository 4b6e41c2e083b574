"""`validate` says what a real Kueue and the API server around it say: to its kinds, and to jobs that wait in its queues."""

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from tests.hunt import kueue
from tests.hunt.finds import report
from tests.support.seeds import seed
from tests.support.server import KUEUE, Server, kubeconfig


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server(kubeconfig(KUEUE))
    kueue.prepare(server)
    yield server
    server.close()


def test_new_objects(server: Server) -> None:
    tally: Counter[str] = Counter()
    assert report(kueue.finds(server, Random(seed()), tally, count=600)) == ""
    assert tally["accepted"] > 150 < tally["refused"]


def test_our_own_cases(server: Server) -> None:
    tally: Counter[str] = Counter()
    assert report(kueue.of_cases(server, tally)) == ""
    assert tally["accepted"] > 2 < tally["refused"]


@pytest.mark.slow
def test_updates(server: Server) -> None:
    tally: Counter[str] = Counter()
    with kueue.stored(server) as objects:
        assert report(kueue.update_finds(objects, Random(seed()), tally, count=400)) == ""
    assert tally["accepted"] > 60 < tally["refused"]
