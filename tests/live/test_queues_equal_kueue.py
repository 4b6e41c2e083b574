"""Kueue admits jobs that fit or borrow by what `queue` says, with the flavors that it names, and preempts for others whom it names."""

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from tests.hunt import queues
from tests.hunt.finds import report
from tests.support import server as servers
from tests.support.seeds import seed
from tests.support.server import KUEUE, Server


@pytest.fixture
def server() -> Iterator[Server]:
    yield from servers.find("PyTorchJob", "TrainJob", "JobSet", at=KUEUE)


def test_random_jobs_in_random_queues(server: Server) -> None:
    tally: Counter[str] = Counter()
    assert report(queues.finds(server, Random(seed()), tally, worlds=16, jobs=3)) == ""
    assert min(tally[each] for each in ("never", "fits", "borrows")) > 1, tally


def test_random_jobs_beside_others(server: Server) -> None:
    """Which jobs wait or preempt depends on when they start; the hunt `running-queues` asks of more."""
    tally: Counter[str] = Counter()
    assert report(queues.running_finds(server, Random(12), tally, worlds=5, jobs=3)) == ""
    assert min(tally[each] for each in ("never", "fits")) > 0, tally
