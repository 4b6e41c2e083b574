"""What `jobspec diff` says is refused is what real servers refuse of a server-side apply over the one before, but for claims.

A claim of the case is not bound on these servers, which `diff` says of it.

It needs the servers with operators (see CONTRIBUTING.md).
"""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from tests.hunt.updates import namespace
from tests.support import quick_yaml
from tests.support.reference import ROOT
from tests.support.server import NEWEST_OPERATORS, PLURALS, WORKLOADS, Answer, Server, server_at

CASE = ROOT / "tests" / "cases" / "diff" / "repository-updates.yaml"
_WHERE = {**PLURALS, **WORKLOADS}


def _objects(state: str) -> Iterator[str]:
    """The texts of the jobs in one state of the case."""
    yield from (each for each in re.split(r"^==== \S+\n", state, flags=re.MULTILINE)[1:] if "PersistentVolumeClaim" not in each)


def _apply(server: Server, place: str, text: str, options: str = "") -> Answer:
    data = quick_yaml.load(text)
    path = f"{_WHERE[data['kind']].format(place)}/{data['metadata']['name']}"
    return server.apply(f"{path}?fieldManager=diff&fieldValidation=Strict{options}", text)


def test_the_server_refuses_the_updates_that_are_said_to_be_refused() -> None:
    text = CASE.read_text()
    said = {
        re.sub(r"\.yaml$", "", name): meaning == "refused" for name, meaning in re.findall(r"^# reports: (\S+) \S+ ([a-z-]+)", text, re.M)
    }
    del said["claim-grows"]  # no claim is bound here
    before, after = (list(_objects(each)) for each in text.split("#### becomes\n"))
    server = server_at(NEWEST_OPERATORS)
    with namespace(server) as place, ThreadPoolExecutor(8) as pool:
        for first in pool.map(lambda each: _apply(server, place, each), before):
            assert first.accepted, first.message
        answers = list(pool.map(lambda each: _apply(server, place, each, "&dryRun=All"), after))
    server.close()
    names = [quick_yaml.load(each)["metadata"]["name"] for each in after]
    found = {name: not answer.accepted for name, answer in zip(names, answers, strict=True)}
    assert len(found) >= 50
    assert found == said, [(name, answer.message) for name, answer in zip(names, answers, strict=True) if found[name] != said[name]]
