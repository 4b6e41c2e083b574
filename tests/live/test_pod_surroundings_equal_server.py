"""`validate` says of the fields of a pod around its containers what a real API server says, and at the same places."""

import re
from collections.abc import Iterator
from random import Random

import pytest

from tests.hunt import pod_surroundings, pods
from tests.hunt.finds import report
from tests.support.reference import ROOT
from tests.support.seeds import examples, seed
from tests.support.server import Server, kubeconfig


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server(kubeconfig())
    yield pods.prepare(server)
    server.close()


def test_generated_pods(server: Server) -> None:
    assert report(pod_surroundings.finds(server, Random(seed()), count=examples(settled=250, fresh=500))) == ""


def test_our_own_cases(server: Server) -> None:
    cases = [
        document
        for path in sorted((ROOT / "tests" / "cases" / "validate").glob("pod-*.yaml"))
        for document in re.split(r"^---\n", path.read_text(), flags=re.MULTILINE)
    ]
    assert len(cases) > 50
    assert report(pods.compared(server, cases)) == ""
