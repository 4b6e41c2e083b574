"""`validate --from` says of updates of pods what a real API server says where they are applied."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from jobspec.kubernetes.verdict import verdict
from tests.agreement import known
from tests.hunt import pod_updates, updates
from tests.hunt.finds import report
from tests.hunt.updates import OnServer, documents, json_of
from tests.support import server as servers
from tests.support.cases import states
from tests.support.reference import ROOT
from tests.support.seeds import seed
from tests.support.server import Server, target

_CASES = ROOT / "tests" / "cases" / "updates"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    yield from servers.find()


def test_our_own_cases(server: Server, tmp_path: Path) -> None:
    before, after = states((_CASES / "pod.yaml").read_text())
    with updates.namespace(server) as namespace:
        stored = {each.name: OnServer(server, each, namespace) for each in documents(before, "old.yaml")}
        assert [each.refusal for each in stored.values() if each.refusal] == []
        pairs = [(json_of(each.data), stored[each.name]) for each in documents(after, "new.yaml")]
        assert report(updates.finds(pairs, tmp_path)) == ""


def test_our_own_cases_that_are_applied(server: Server) -> None:
    pairs = zip(*(documents(each, "pod.yaml") for each in states((_CASES / "pod-applied.yaml").read_text())), strict=True)
    with updates.namespace(server) as namespace:
        found = [found for old, new in pairs if (found := pod_updates.difference(server, namespace, old.data, new.data))]
    assert found == []


def test_generated_updates(server: Server) -> None:
    assert report(pod_updates.finds(server, Random(seed()), count=100)) == ""


@pytest.mark.parametrize("case", known.pods(), ids=lambda case: case.says)
def test_what_we_take_on_purpose_and_the_server_refuses(case: known.Acceptance, server: Server) -> None:
    (new,) = documents(case.witness, "new.yaml")
    stored = documents(case.stored, "old.yaml")
    with updates.namespace(server) as namespace:
        if case.applied:
            answer = pod_updates.applied(server, namespace, stored[0].data, new.data)
        elif stored:
            answer = OnServer(server, stored[0], namespace).update(new.data)
        else:
            answer = server.call("POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", case.witness)
    assert answer.code == 422 and case.says in answer.message
    assert verdict(new, target(), old=stored[0] if stored else None).diagnostics == []


@pytest.mark.parametrize("case", known.unnamed(), ids=lambda case: case.field)
def test_what_we_name_besides_where_a_pod_is_applied(case: known.Unnamed, server: Server) -> None:
    (old,), (new,) = documents(case.stored, "old.yaml"), documents(case.witness, "new.yaml")
    named = [each.field for each in verdict(new, target(), old=old).diagnostics]
    with updates.namespace(server) as one, updates.namespace(server) as other:
        replaced = OnServer(server, old, one).update(new.data)
        applied = pod_updates.applied(server, other, old.data, new.data)
    assert sorted(named) == sorted(replaced.fields) and case.field in named
    assert sorted(applied.fields) == sorted(field for field in named if field != case.field)
