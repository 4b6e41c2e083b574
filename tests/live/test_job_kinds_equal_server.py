"""`validate` says of jobs of all kinds, after changes at random, what a server with their operators and webhooks says."""

from collections.abc import Iterator
from random import Random

import pytest

from tests.agreement.live import Live
from tests.hunt import job_kinds
from tests.hunt.finds import report
from tests.support.seeds import examples, seed
from tests.support.server import JOBS, NEWEST_OPERATORS, server_at


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    server = server_at(JOBS)
    yield job_kinds.prepare(server)
    server.close()


@pytest.mark.parametrize("kind", job_kinds.KINDS)
def test_mutants(kind: str, live: Live) -> None:
    cases = list(job_kinds.changed(live, kind, Random(seed()), examples(settled=30, fresh=150)))
    assert len(cases) > 15
    assert report(job_kinds.disagreements(live, kind, cases)) == ""


def test_mutants_of_mpijobs_of_training_operator() -> None:
    server = server_at(NEWEST_OPERATORS)
    kinds = job_kinds.WITHOUT_MPI_OPERATOR
    live = job_kinds.prepare(server, kinds)
    for kind in kinds:
        cases = list(job_kinds.changed(live, kind, Random(seed()), examples(settled=30, fresh=150), kinds))
        assert len(cases) > 15
        assert report(job_kinds.disagreements(live, kind, cases)) == ""
    server.close()
