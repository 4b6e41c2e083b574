"""What `jobspec diff` says of updates is what real servers and operators do with a server-side apply over the object before.

Not so for claims: a claim of the case is not bound on these servers, which `diff` says of it. What becomes of TrainJobs is compared in
`test_updates_of_running_jobs`.

It needs the servers with operators (see CONTRIBUTING.md).
"""

import json
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.hunt.updates import namespace
from tests.support import quick_yaml
from tests.support.manifests import write
from tests.support.processes import run_here
from tests.support.reference import ROOT
from tests.support.repositories import committed
from tests.support.server import JOBS, NEWEST_OPERATORS, PLURALS, PODS, WORKLOADS, Answer, Server, server_at

CASE = ROOT / "tests" / "cases" / "diff" / "repository-updates.yaml"
OF_OPERATORS = ROOT / "tests" / "cases" / "diff" / "repository-updates-of-operators.yaml"
_WHERE = {**PLURALS, **WORKLOADS}


def _files(state: str) -> dict[str, str]:
    """The texts of one state of a case, by file."""
    parts = re.split(r"^==== (\S+)\n", state, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


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
    before, after = (
        [each for each in _files(state).values() if "PersistentVolumeClaim" not in each] for state in text.split("#### becomes\n")
    )
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


# What operators do with the updates that a server accepts.


#: The kinds whose objects are looked at, as far as a server has them, and the kinds of the cases on each server.
_MADE = (PODS, *(_WHERE[kind] for kind in ("Job", "StatefulSet", "Service", "JobSet", "RayCluster", "LeaderWorkerSet")))
_KINDS = {
    NEWEST_OPERATORS: ("Job", "CronJob", "JobSet", "PyTorchJob"),
    JOBS: ("MPIJob", "LeaderWorkerSet", "RayCluster", "RayJob"),
}
#: Words of a report -> what is seen of the pods and what else was made; without any of them, nothing restarts.
_SEEN = {
    "no group gets the change": {"changed"},
    "pods are deleted": {"pods gone"},
    "pods are recreated": {"new pods"},
    "groups are recreated": {"new pods"},
    "deletes all pods": {"new pods"},
    "keep the old number of nodes": {"more pods", "fewer pods"},
    "list of the hosts changes": {"more pods", "fewer pods"},
}
_QUIET = {"same", "more pods", "fewer pods", "changed"}


class _Made(NamedTuple):
    """What is made of an object: pods by their identity, and the specs of all else."""

    pods: frozenset[str]
    others: str


def _made(server: Server, place: str) -> dict[str, _Made]:
    """What is made of each object that nothing else has made, by its identity."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for path in _MADE:
        items = server.get(path.format(place)).get("items", ())  # none where the server has no such kind
        found |= {each["metadata"]["uid"]: (path, each) for each in items if "deletionTimestamp" not in each["metadata"]}

    def top(each: dict[str, Any]) -> str:
        owners = each["metadata"].get("ownerReferences") or []
        owner = str(owners[0]["uid"]) if owners else str(each["metadata"]["uid"])
        return top(found[owner][1]) if owners and owner in found else owner

    made: dict[str, tuple[set[str], list[str]]] = {}
    for uid, (path, each) in found.items():
        pods, others = made.setdefault(top(each), (set(), []))
        if path == PODS:
            pods.add(uid)
        elif top(each) != uid:
            others.append(json.dumps([uid, {name: value for name, value in each["spec"].items() if name != "suspend"}], sort_keys=True))
    return {uid: _Made(frozenset(pods), "\n".join(sorted(others))) for uid, (pods, others) in made.items()}


def _settled(server: Server, place: str, *, seconds: float = 8, most: float = 90) -> dict[str, _Made]:
    """What is made once nothing changes any more."""
    before: dict[str, _Made] = {}
    start = quiet_since = time.monotonic()
    while time.monotonic() - quiet_since < seconds and time.monotonic() - start < most:
        found = _made(server, place)
        if found != before:
            before, quiet_since = found, time.monotonic()
        time.sleep(1)
    return before


def _change(before: _Made, after: _Made) -> str:
    if before.pods == after.pods:
        return "same" if before.others == after.others else "changed"
    if not after.pods:
        return "pods gone"
    if not before.pods or not before.pods & after.pods:
        return "new pods"
    return "more pods" if before.pods < after.pods else "fewer pods" if after.pods < before.pods else "some new pods"


def _held(text: str) -> str:
    """A job whose pods find no node, since a simulated node would complete them at once."""
    data = quick_yaml.load(text)

    def hold(value: Any) -> None:
        if isinstance(value, dict):
            if "containers" in value:
                value.setdefault("nodeSelector", {"no": "where"})
            list(map(hold, value.values()))
        elif isinstance(value, list):
            list(map(hold, value))

    if data["kind"] in (*_KINDS[NEWEST_OPERATORS], "MPIJob"):
        hold(data)
    return json.dumps(data)


class _Reported(NamedTuple):
    """What is said of the change of an object."""

    meaning: str
    notes: str
    fields: frozenset[str]
    """What the changed fields mean."""

    def expected(self) -> set[str]:
        """What may be seen of it."""
        for words, seen in _SEEN.items():
            if words in self.notes:
                return seen
        return _QUIET if self.meaning == "in-place" else {"same"} if self.fields == {"ignored"} else {"more pods", "fewer pods"}


def _reported(folder: Path, before: dict[str, str], after: dict[str, str]) -> dict[str, _Reported]:
    """What is said of each object's change, by its name."""
    write(committed(folder, before), after)
    objects = json.loads(run_here("diff", "-o", "json", cwd=folder).stdout)["objects"]
    return {
        each["name"]: _Reported(each["meaning"], " ".join(each["notes"]), frozenset(one["meaning"] for one in each["fields"]))
        for each in objects
    }


def _accepted(kinds: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """The file, and both texts, of each update of some kinds that is said to be accepted."""
    for case in (CASE, OF_OPERATORS):
        text = case.read_text()
        refused = set(re.findall(r"^# reports: (\S+) \S+ refused", text, re.MULTILINE))
        before, after = map(_files, text.split("#### becomes\n"))
        for name, old in before.items():
            if name not in refused and quick_yaml.load(old)["kind"] in kinds:
                yield name, _held(old), _held(after[name])


@pytest.mark.slow
@pytest.mark.parametrize("where", [NEWEST_OPERATORS, JOBS], ids=["newest", "jobs"])
def test_operators_do_with_accepted_updates_what_is_said(where: str, tmp_path: Path) -> None:
    server = server_at(where)
    cases = list(_accepted(_KINDS[where]))
    reported = _reported(tmp_path, *({name: texts[side] for name, *texts in cases} for side in (0, 1)))
    with namespace(server) as place, ThreadPoolExecutor(8) as pool:
        for answer in pool.map(lambda each: _apply(server, place, each[1]), cases):
            assert answer.accepted, answer.message
        before = _settled(server, place)
        for answer in pool.map(lambda each: _apply(server, place, each[2]), cases):
            assert answer.accepted, answer.message
        after = _settled(server, place, seconds=15)
        objects = [quick_yaml.load(each[1]) for each in cases]
        uids = {
            each["metadata"]["name"]: server.get(f"{_WHERE[each['kind']].format(place)}/{each['metadata']['name']}")["metadata"]["uid"]
            for each in objects
        }
    server.close()
    nothing = _Made(frozenset(), "")
    seen = {name: _change(before.get(uid, nothing), after.get(uid, nothing)) for name, uid in uids.items()}
    wrong = {name: (change, reported[name]) for name, change in seen.items() if change not in reported[name].expected()}
    assert wrong == {}
    assert len(seen) >= 20
