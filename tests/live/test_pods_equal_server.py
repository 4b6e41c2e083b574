"""`validate` says of pods and their templates what a real API server says, at the same fields."""

import json
import re
from collections.abc import Iterator
from random import Random

import pytest

from tests.hunt import pods
from tests.hunt.finds import report
from tests.support.long_pods import long_pods
from tests.support.reference import ROOT
from tests.support.seeds import examples, seed
from tests.support.server import Server, kubeconfig


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server(kubeconfig())
    yield pods.prepare(server)
    server.close()


def test_generated_pods(server: Server) -> None:
    assert report(pods.finds(server, Random(seed()), count=examples(settled=150, fresh=300))) == ""


def test_cases(server: Server) -> None:
    texts = [
        text
        for path in sorted((ROOT / "tests" / "cases" / "validate").glob("pod-*.yaml"))
        for text in re.split(r"^---\n", path.read_text(), flags=re.MULTILINE)
        if re.search(r"^kind: (Pod|PodTemplate)$", text, re.MULTILINE)
    ]
    assert len(texts) > 90
    assert report(pods.compared(server, texts)) == ""


def test_what_is_too_long(server: Server) -> None:
    assert report(pods.compared(server, [json.dumps(pod) for pod, _ in long_pods()])) == ""
