"""Of jobs with changes inside their pod templates, pods come where `validate` says so, and are refused where and for what it says."""

from collections import Counter
from collections.abc import Callable, Iterator
from random import Random

import pytest

from tests.hunt import job_pods, trainjob_pods
from tests.hunt.finds import Find, report
from tests.support.reference import folder
from tests.support.seeds import examples, seed
from tests.support.server import WITH_OPERATORS, Server, server_at


@pytest.fixture(params=WITH_OPERATORS, ids=["old", "newest"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    found = server_at(request.param)
    found.needs("PyTorchJob", "TrainJob")
    folder("corpus")
    yield found
    found.close()


@pytest.mark.parametrize("finds", [job_pods.finds, trainjob_pods.finds], ids=["PyTorchJob", "TrainJob"])
def test_random_jobs(server: Server, finds: Callable[..., Iterator[Find]]) -> None:
    tally: Counter[str] = Counter()
    assert report(finds(server, Random(seed()), tally, jobs=examples(settled=20, fresh=40))) == ""
    assert min(tally[each] for each in ("came", "refused")) > 5, tally
