"""Objects of other people's CRDs at random: `validate --crd` and a server that has the CRD say the same to them."""

import json
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.documents.document import Document
from jobspec.documents.reader import read
from jobspec.kubernetes.custom_kinds import CustomKinds
from jobspec.kubernetes.verdict import verdict
from tests.hunt.finds import Find, bug
from tests.support.object_growth import changed, grown
from tests.support.reference import ROOT, folder
from tests.support.server import CRDS, STRICT, Server, target

CASES = sorted((ROOT / "tests" / "cases" / "crds").glob("*.yaml"))
START = re.compile(r"^---$\n", re.MULTILINE)
_GROUP = "odd.example.com"


@dataclass(frozen=True)
class Served:
    """A CRD that a server has, and the texts of objects of its kind."""

    server: Server
    text: str
    crd: Document
    objects: list[str]

    @cached_property
    def kinds(self) -> CustomKinds:
        """The kind as we know it: compiled once for all objects, which takes longer than judging one."""
        return CustomKinds([self.crd])

    @property
    def spec(self) -> dict[str, Any]:
        return self.crd.data["spec"]  # type: ignore[no-any-return]

    @property
    def schema(self) -> dict[str, Any]:
        return self.spec["versions"][0]["schema"]["openAPIV3Schema"]  # type: ignore[no-any-return]

    def path(self, version: str) -> str:
        within = "namespaces/default/" if self.spec["scope"] == "Namespaced" else ""
        return f"/apis/{self.spec['group']}/{version}/{within}{self.spec['names']['plural']}"


def document(text: str) -> Document:
    """The one document of a text without mistakes."""
    (found,), problems = read(text, file="crd.yaml")
    assert problems == []
    return found


@contextmanager
def case(server: Server, path: Path) -> Iterator[Served]:
    """The CRD of a case on the server, with the case's objects."""
    crd, *objects = START.split(path.read_text().replace(_GROUP, f"{_own_group()}.{_GROUP}"))
    with _served(server, crd, objects) as served:
        yield served


@contextmanager
def operators(server: Server, name: str) -> Iterator[Served]:
    """A CRD of the reference data on the server."""
    text = re.sub(r"^(  group: |  name: \w+\.)", rf"\g<1>{_own_group()}.", (folder("crds") / name).read_text(), flags=re.MULTILINE)
    with _served(server, text, []) as served:
        yield served


def _own_group() -> str:
    """The name of a group that nobody else uses meanwhile."""
    return f"t{SystemRandom().randrange(1 << 32):x}"


@contextmanager
def _served(server: Server, text: str, objects: list[str]) -> Iterator[Served]:
    served = Served(server, text, document(text), objects)
    answer = server.call("POST", CRDS, text)
    assert answer.code == 201, answer.message
    try:
        for each in served.spec["versions"]:
            while each["served"] and not server.call("GET", served.path(each["name"])).accepted:
                time.sleep(0.1)
        yield served
    finally:
        server.call("DELETE", f"{CRDS}/{served.crd.name}")


def changed_objects(served: Served, random: Random, *, count: int = 120) -> list[str]:
    """The objects of a case after changes."""
    bases = [document(text).data for text in served.objects]
    return [json.dumps(changed(random.choice(bases), served.schema, random), ensure_ascii=False) for _ in range(count)]


def grown_objects(served: Served, random: Random, *, count: int = 40) -> list[str]:
    """Objects that are made from a CRD's schema."""
    version = served.spec["versions"][0]
    head = {"apiVersion": f"{served.spec['group']}/{version['name']}", "kind": served.spec["names"]["kind"], "metadata": {"name": "a"}}
    return [
        json.dumps(
            {**{name: grown(each, random) for name, each in served.schema["properties"].items() if random.random() < 0.95}, **head},
            ensure_ascii=False,
        )
        for _ in range(count)
    ]


def finds(served: Served, texts: Iterable[str], tally: Counter[str]) -> Iterator[Find]:
    """The objects on which the server and we disagree; the tally counts those that we could not decide."""
    for text in texts:
        version = re.search(r"apiVersion[\"']?: [\"']?[^/\s]*/(\w+)", text)
        answer = served.server.call("POST", served.path(version[1] if version else "v1") + STRICT, text)
        tally["compared"] += 1
        try:
            found = _reported(served, text)
        except Exception:
            yield Find(text, bug(), str(answer), "control-plane", answer.accepted, crd=served.text)
            continue
        errors = [each for each in found if each.severity == "error"]
        if found and not errors:
            tally["not evaluated"] += 1
        elif answer.accepted != (not errors):
            yield Find(text, str(found), str(answer), "control-plane", answer.accepted, crd=served.text)


def _reported(served: Served, text: str) -> list[Diagnostic]:
    """What we report for the first document of a text."""
    documents, problems = read(text, file="object.yaml")
    if not documents or problems:
        return problems
    return verdict(documents[0], target(), custom_kinds=served.kinds).diagnostics
