"""What live operators create of a job of each kind is what `expand` says.

`python -m tests.hunt.examples` asks of whole repositories.
"""

from tests.hunt import examples
from tests.support.reference import ROOT
from tests.support.server import JOBS, server_at


def test_a_job_of_each_kind() -> None:
    server = server_at(JOBS)
    server.needs("MPIJob", "RayCluster", "LeaderWorkerSet", "JobSet")
    found = list(examples.examples_in([ROOT / "tests" / "cases" / "examples"]))
    outcome = examples.compare(server, found)
    assert (outcome.different, outcome.refused, outcome.unknown) == ({}, {}, {})
    assert outcome.equal.total() == len(found) >= 7
