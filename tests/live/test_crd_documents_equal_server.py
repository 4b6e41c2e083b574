"""A real API server takes and refuses CustomResourceDefinitions as we say, and names the places that we name."""

import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from random import Random, SystemRandom
from typing import Any

import pytest

from tests.hunt import definitions
from tests.hunt.finds import report
from tests.support import cel_growth, crd_documents, quick_yaml
from tests.support import server as servers
from tests.support.cases import states
from tests.support.reference import ROOT
from tests.support.seeds import seed
from tests.support.server import CRDS, Server

_AT_ONCE = 20
_RULE = re.compile(r"x-kubernetes-validations\[(\d+)\]")
_UPDATES = ROOT / "tests" / "cases" / "updates" / "crd.yaml"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    yield from servers.find()


@pytest.mark.slow
def test_definitions_at_random(server: Server) -> None:
    tally: Counter[str] = Counter()
    assert report(definitions.finds(server, definitions.grown(Random(seed())), tally)) == ""
    assert tally["not evaluated"] <= 2, tally
    assert tally["compared"] > 10 * sum(count for why, count in tally.items() if why != "compared")


@pytest.mark.slow
def test_rules_at_random(server: Server) -> None:
    tally: Counter[str] = Counter()
    assert report(definitions.finds(server, definitions.with_rules(Random(seed())), tally)) == ""
    assert tally["not evaluated"] == 0


@pytest.mark.slow
def test_rules_that_cost_about_the_budget(server: Server) -> None:
    tally: Counter[str] = Counter()
    assert report(definitions.finds(server, definitions.costly(Random(seed())), tally)) == ""
    assert tally["not evaluated"] == 0


@pytest.mark.slow
def test_mutants_of_definitions(server: Server) -> None:
    tally: Counter[str] = Counter()
    assert report(definitions.finds(server, definitions.changed(Random(seed())), tally, places=False)) == ""
    assert tally["not evaluated"] == 0


def test_the_definitions_of_the_cases(server: Server) -> None:
    tally: Counter[str] = Counter()
    assert report(definitions.finds(server, [each for each, _ in crd_documents.cases()], tally)) == ""
    assert tally["not evaluated"] == 0


@pytest.mark.parametrize("name", ["rules", "rules-with-optional-old-self", "messages"])
def test_a_server_refuses_the_expressions_that_are_expected_to_be(server: Server, name: str) -> None:
    """Several at once: a server takes long to look at any rule of a definition, and hardly longer to look at more of them."""
    more: dict[str, Any] = {"optionalOldSelf": True} if "optional" in name else {}
    wrong = []
    expressions = cel_growth.expressions(name)
    for some in (expressions[start : start + _AT_ONCE] for start in range(0, len(expressions), _AT_ONCE)):
        texts = [text for text, _ in some]
        rules = [{"rule": "true", "messageExpression": text} if name == "messages" else {"rule": text, **more} for text in texts]
        answer = definitions.asked(server, "POST", CRDS, definitions.ruled(*rules))
        refused = {int(found[1]) for field in answer.fields if (found := _RULE.search(field))}
        wrong += [(text, answer.message[:600]) for number, (text, expected) in enumerate(some) if (number in refused) != expected]
    assert wrong == []


def _pairs(group: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The definitions of the case of updates, in a group of this run's own: what is stored, and what it becomes."""
    before, after = states(_UPDATES.read_text().replace("example.com", group).replace("//" + group, "//example.com"))
    return list(zip(quick_yaml.load_all(before), quick_yaml.load_all(after), strict=True))


def test_updates_of_definitions(server: Server) -> None:
    pairs = _pairs(f"t{SystemRandom().randrange(1 << 32):x}.example.com")
    found = []
    for old, new in pairs:
        if "conditions" in old.get("status", {}):
            continue  # a server establishes a definition at once
        name = old["metadata"]["name"]
        assert server.call("POST", CRDS, json.dumps({**old, "status": {}})).accepted
        try:
            found.append(_update(server, f"{CRDS}/{name}", old, new))
        finally:
            server.call("DELETE", f"{CRDS}/{name}")
    assert list(filter(None, found)) == []


def _update(server: Server, path: str, old: dict[str, Any], new: dict[str, Any]) -> str:
    while not _is_settled(stored := server.get(path)):
        time.sleep(0.1)
    if "status" in old:
        answer = server.call("PUT", f"{path}/status", json.dumps({**stored, "status": {**stored["status"], **old["status"]}}))
        assert answer.accepted, answer.message
    version = server.get(path)["metadata"]["resourceVersion"]
    placed = {**new, "metadata": {**new["metadata"], "resourceVersion": version}}
    answer = definitions.asked(server, "PUT", path, placed)
    status, problems = definitions.said(new, old)
    return "" if answer.accepted == (status == "valid") else f"ours: {problems}\n  server: {answer.message[:600]}"


def _is_settled(stored: dict[str, Any]) -> bool:
    """Whether the server has established a definition, or said why it never will: its webhook's certificates are none."""
    conditions = stored.get("status", {}).get("conditions") or []
    return any(each["type"] == "Established" and (each["status"] == "True" or each["reason"] == "InvalidCABundle") for each in conditions)
