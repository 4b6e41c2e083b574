"""`validate` says of workloads and Services what a real API server says, and names the same fields."""

import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from jobspec.documents.reader import read
from tests.agreement import known
from tests.hunt import updates, workloads
from tests.hunt.finds import report
from tests.hunt.updates import OnServer, documents, json_of
from tests.support import server as servers
from tests.support.cases import states
from tests.support.reference import ROOT
from tests.support.seeds import examples, seed
from tests.support.server import WORKLOADS, Server

CASES = [
    path
    for path in sorted((ROOT / "tests" / "cases" / "validate").glob("*.yaml"))
    if re.match(rf"({'|'.join(workloads.KINDS)})(-|$)".lower(), path.stem)
]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    yield from servers.find()


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_server_says_the_same_to_each_case(path: Path, server: Server, tmp_path: Path) -> None:
    made = [document.data for document in read(path.read_text(), file=path.name)[0]]
    assert len(made) > 1
    assert report(workloads.compared(server, made, tmp_path)) == ""


@pytest.mark.parametrize("name", ["job", "service", "workloads"])
def test_a_server_says_the_same_to_each_update(name: str, server: Server, tmp_path: Path) -> None:
    before, after = states((ROOT / "tests" / "cases" / "updates" / f"{name}.yaml").read_text())
    with updates.namespace(server) as namespace, workloads.freed(server, namespace):
        stored = {(each.kind, each.name): OnServer(server, each, namespace) for each in documents(before, "old.yaml")}
        assert [each.refusal for each in stored.values() if each.refusal] == []
        pairs = [(json_of(each.data), stored[each.kind, each.name]) for each in documents(after, "new.yaml")]
        assert report(updates.finds(pairs, tmp_path)) == ""


def test_workloads_at_random(server: Server, tmp_path: Path) -> None:
    assert report(workloads.finds(server, Random(seed()), tmp_path, count=examples(settled=200, fresh=400))) == ""


@pytest.mark.slow
def test_updates_of_workloads_at_random(server: Server, tmp_path: Path) -> None:
    assert report(workloads.update_finds(server, Random(seed()), tmp_path, count=examples(settled=120, fresh=250))) == ""


def test_a_create_refuses_the_node_port_that_a_dry_run_takes(server: Server, tmp_path: Path) -> None:
    (refusal,) = [each for each in known.refusals("control-plane") if each.kind == "Service"]
    assert server.judge("Service", refusal.witness).accepted
    assert "provided port is not in the valid range" in server.call("POST", WORKLOADS["Service"].format("default"), refusal.witness).message
    assert [refusal.is_reported_by(error) for error in workloads.errors(refusal.witness, tmp_path / "service.yaml")] == [True]
