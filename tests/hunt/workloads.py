"""Workloads and Services at random, whose fields hold any of their values: `validate` and a server say the same to them."""

import copy
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import RemoteDisconnected
from pathlib import Path
from random import Random
from typing import Any

import yaml

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.world.world import Cluster, StoredObjects
from tests.hunt.finds import Find
from tests.hunt.updates import OnServer, documents, json_of, namespace
from tests.support import quick_yaml
from tests.support.checking import result
from tests.support.reference import ROOT
from tests.support.server import STRICT, WORKLOADS, Answer, Server, target

KINDS: dict[str, dict[str, Any]] = {
    name: each
    for name, each in yaml.load((ROOT / "tests" / "cases" / "mutants" / "workloads.yaml").read_text(), yaml.CSafeLoader).items()
    if name[0].isupper()
}
VERSIONS = {kind: re.sub(r"^/apis?/(.*)/namespaces.*", r"\1", path) for kind, path in WORKLOADS.items()}
#: What a server says that only its cluster decides: addresses and ports that it has, or has given away.
_ONLY_THE_CLUSTER_KNOWS = re.compile(
    r"failed to allocate IP|not configured on this cluster|not configured for dual-stack|provided port is already allocated"
)


def finds(server: Server, random: Random, folder: Path, *, count: int = 800) -> Iterator[Find]:
    """The objects at random on which a server and we disagree."""
    yield from compared(server, [changed(random) for _ in range(count)], folder)


def compared(server: Server, objects: list[dict[str, Any]], folder: Path) -> Iterator[Find]:
    """Those of some objects on which a server and we disagree."""
    with ThreadPoolExecutor(4) as pool:
        for each, answer in pool.map(lambda each: (each, ask(server, each)), objects):
            text = quick_yaml.dump(each, sort_keys=False, allow_unicode=True)
            found = errors(text, folder / "workload.yaml")
            if apart := difference(found, answer):
                yield Find(text, str(found), f"{apart}: {answer}", "control-plane", answer.accepted)


def ask(server: Server, data: dict[str, Any]) -> Answer:
    """What a server says to an object."""
    try:
        return server.call("POST", WORKLOADS[data["kind"]].format("default") + STRICT, json.dumps(data))
    except RemoteDisconnected:  # it panics where an Indexed Job has a `successPolicy`, and no `completions`
        return Answer(500, "the server panics, and hangs up")


def update_finds(server: Server, random: Random, folder: Path, *, count: int = 800) -> Iterator[Find]:
    """The updates at random on which a server and we disagree."""
    with namespace(server) as name, freed(server, name):
        stored = [
            (base, OnServer(server, documents(json_of({"apiVersion": VERSIONS[kind], "kind": kind, **base}), "old.yaml")[0], name))
            for kind in KINDS
            for base in _named([*KINDS[kind].get("stored", ()), *KINDS[kind]["good"]])
        ]
        assert [each.refusal for _, each in stored if each.refusal] == []
        for _, each in stored:
            if each.document.kind == "Service" or random.random() < 0.5:  # what a Service was given, only the server can say
                each.document = each.read()
        for number in range(count):
            base, old = random.choice(stored)
            kind = old.document.kind
            new = {"apiVersion": VERSIONS[kind], "kind": kind, **_with_changes(base, kind, random, updating=True)}
            new["metadata"]["name"] = old.document.name
            yield from _update_find(new, old, folder / f"{number}.yaml")


def _named(bases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"metadata": {"name": f"a{number}"}, **base} for number, base in enumerate(bases)]


def _update_find(new: dict[str, Any], old: OnServer, file: Path) -> Iterator[Find]:
    text = json_of(new)
    file.write_text(text)
    cluster = Cluster(target(), webhooks=False, stored=StoredObjects([old.document]))
    found = [each for each in result(file, cluster).diagnostics if each.severity == "error"]
    try:
        answer = old.update(new)
    except RemoteDisconnected:
        answer = Answer(500, "the server panics, and hangs up")
    if not _ONLY_THE_CLUSTER_KNOWS.search(answer.message) and answer.accepted != (not found):
        yield Find(text, str(found), str(answer), "control-plane", answer.accepted, stored=json_of(old.document.data))


@contextmanager
def freed(server: Server, namespace: str) -> Iterator[None]:
    """Delete the namespace's Services in the end, since a server without controllers keeps them, and their node ports."""
    place = WORKLOADS["Service"].format(namespace)
    try:
        yield
    finally:
        for each in server.get(place)["items"]:
            server.call("DELETE", f"{place}/{each['metadata']['name']}")


def errors(text: str, file: Path) -> list[Diagnostic]:
    """What we have against an object."""
    file.write_text(text)
    return [each for each in result(file, Cluster(target())).diagnostics if each.severity == "error"]


def changed(random: Random) -> dict[str, Any]:
    """A good object of some kind after some of its fields got any of their values."""
    kind = random.choice(list(KINDS))
    base = {"metadata": {"name": "a"}, **random.choice(KINDS[kind]["good"])}
    return {"apiVersion": VERSIONS[kind], "kind": kind, **_with_changes(base, kind, random)}


def _with_changes(base: dict[str, Any], kind: str, random: Random, *, updating: bool = False) -> dict[str, Any]:
    made = copy.deepcopy(base)
    pools = [KINDS[kind]["fields"], *([KINDS[kind]["updates"]] * 2 if updating and "updates" in KINDS[kind] else ())]
    for _ in range(random.choice((0, 1, 1, 1, 2, 2, 3, 4))):
        path, values = random.choice(list(random.choice(pools).items()))
        put(made, path.split("."), copy.deepcopy(random.choice(values)))
    return made


def put(data: Any, steps: list[str], value: Any) -> None:
    """Set the value at the end of some steps, which make the mappings on their way; None takes it out, or is null."""
    first, *rest = steps
    if isinstance(data, list):
        index = int(first)
        if index < len(data) and rest:
            data[index] = {} if data[index] is None else data[index]
            put(data[index], rest, value)
        elif not rest and index <= len(data):
            data[index : index + 1] = [value]
    elif rest:
        if data.get(first) is None:
            data[first] = [] if rest[0].isdecimal() else {}
        put(data[first], rest, value)
    elif value is None:
        data.pop(first, None)
    else:
        data[first] = value


def difference(found: list[Diagnostic], answer: Answer) -> str:
    """In what our answer differs from a server's; empty if it does not."""
    if _ONLY_THE_CLUSTER_KNOWS.search(answer.message):
        return ""
    if answer.accepted != (not found):
        return "verdict"
    ours, theirs = {_plain(each.field) for each in found}, {_plain(each) for each in answer.fields}
    named = {own: {own, *(follows for cause, follows in _FOLLOWING if re.search(cause, own))} for own in ours}
    only_theirs = [each for each in theirs if not any(_same(each, own) for names in named.values() for own in names)]
    only_ours = [own for own, names in named.items() if not any(_same(their, each) for their in theirs for each in names)]
    if all(_ALLOCATED.search(each) for each in theirs):
        only_ours = []
    if any(_OF_SELECTOR.search(each) for each in theirs):
        only_ours = [each for each in only_ours if not re.match(r"spec\.(template|volumeClaimTemplates\[\d\]\.metadata)", each)]
    return f"fields {only_theirs}, only ours {only_ours}" if theirs and (only_theirs or only_ours) else ""


#: What the server allocates before it validates the rest, of which it reports nothing then.
_ALLOCATED = re.compile(r"^spec\.(clusterIP|ipFamil|healthCheck|ports\[\d\]\.nodePort)")
#: With a broken selector, the server does not look at the pod template.
_OF_SELECTOR = re.compile(r"^spec\.selector\.match")
#: Fields as the server calls them -> as they are called in manifests.
_CALLED = (
    (r"\.template\.(labels|annotations)\b", r".template.metadata.\1"),
    (r"LoadBalancerSourceRanges", "loadBalancerSourceRanges"),
    (r"spec\.rollback\.version", "metadata.annotations"),
    (r"^spec\.template\.spec\.volumes\[\d\]", "spec.template.spec.volumes"),  # those of claims come first, in any order
    (r"\.clusterIPs?\b(\[\d\])?", ".clusterIP"),
    (r"\.resources\[storage\]", ".resources.requests[storage]"),
)


#: Fields of ours, and those that the server names besides because of them.
_FOLLOWING = (
    (r"^spec\.selector$", "spec.template.metadata.labels"),
    (r"^spec\.template\.metadata\.labels", "metadata.labels"),
    (r"^spec\.volumeClaimTemplates\[\d\]\.metadata", "spec.template.spec.volumes"),
    (r"^metadata\.name$", "spec.template.metadata.labels"),
    (r"^spec\.ports\[\d\]", "spec.ports"),
    (r"^spec\.minReadySeconds$", "spec.progressDeadlineSeconds"),
)


def _plain(field: str) -> str:
    """A field without what both sides spell in ways of their own."""
    for theirs, ours in _CALLED:
        field = re.sub(theirs, ours, field)
    return field


def _same(theirs: str, ours: str) -> bool:
    """Whether one of two fields is the other or around it."""
    return ours == theirs or ours.startswith((f"{theirs}.", f"{theirs}[")) or theirs.startswith((f"{ours}.", f"{ours}["))
