"""Updates of objects of other people's CRDs: what may not change, and what may stay wrong.

A case file holds a CRD, objects as they are stored, and after a line `--- # becomes` what they become. A server stores them under a
CRD that asks nothing of values, and gets the real one before the update.
"""

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import SystemRandom
from typing import Any

import pytest

from jobspec.apis.releases import choose
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.documents.document import Document
from jobspec.documents.reader import read
from jobspec.kubernetes.custom_kinds import CustomKinds
from jobspec.kubernetes.verdict import verdict
from tests.support import server as servers
from tests.support.cases import assert_reported, expectations, states
from tests.support.reference import ROOT
from tests.support.server import Server

_CASES = sorted((ROOT / "tests" / "cases" / "crd-updates").glob("*.yaml"))
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_MARKER = "loosened"
_STRUCTURE = ("type", "default", "nullable")
_SCALARS = ("string", "integer", "number", "boolean")


class _Case:
    """What a case file holds, each document on the lines where it stands."""

    def __init__(self, text: str) -> None:
        before, after = states(text)
        self.crd, *self.stored = _documents(before)
        self.updates = _documents(after)
        self.kinds = CustomKinds([self.crd])

    def found(self, update: Document) -> list[Diagnostic]:
        """What we report for an update."""
        old = next(each for each in self.stored if each.name == update.name)
        return verdict(update, choose([]), custom_kinds=self.kinds, old=old).diagnostics


def _documents(text: str) -> list[Document]:
    documents, problems = read(text, file="case.yaml")
    assert problems == []
    return documents


@pytest.mark.parametrize("path", _CASES, ids=lambda path: path.stem)
def test_each_update_is_judged_as_expected(path: Path) -> None:
    text = path.read_text()
    case = _Case(text)
    assert_reported(expectations(text), [each for update in case.updates for each in case.found(update)])


@pytest.fixture
def server() -> Iterator[Server]:
    yield from servers.find()


@pytest.mark.parametrize("path", _CASES, ids=lambda path: path.stem)
def test_a_server_says_the_same(path: Path, server: Server) -> None:
    case = _Case(path.read_text().replace("odd.example.com", f"t{SystemRandom().randrange(1 << 32):x}.odd.example.com"))
    try:
        _store(server, case)
        for update in [*case.updates, *(alone for each in case.updates for alone in _field_by_field(each, case))]:
            assert _answer(server, case, update) == (case.found(update) == []), update.data
    finally:
        server.call("DELETE", f"{_CRDS}/{case.crd.name}")


def _field_by_field(update: Document, case: _Case) -> Iterator[Document]:
    """The stored object with one field at a time as the update has it, since one that is wrong hides what is said of others."""
    old = next(each for each in case.stored if each.name == update.name)
    for field in update.data.keys() - {"apiVersion", "kind", "metadata"}:
        yield from _documents(json.dumps({**old.data, field: update.data[field]}))


def _store(server: Server, case: _Case) -> None:
    """Store the objects under the loose definition, and put the real one in its place."""
    loose = {**case.crd.data, "spec": {**case.crd.data["spec"], "versions": [_loosened(case.crd.data["spec"]["versions"][0])]}}
    made = server.call("POST", _CRDS, json.dumps(loose))
    assert made.accepted, made.message
    _wait(server, case, takes_marker=True)
    for each in case.stored:
        stored = server.call("POST", _place(case) + "?fieldValidation=Strict", json.dumps(each.data))
        assert stored.accepted, stored.message
    version = server.get(f"{_CRDS}/{case.crd.name}")["metadata"]["resourceVersion"]
    strict = {**case.crd.data, "metadata": {**case.crd.data["metadata"], "resourceVersion": version}}
    made = server.call("PUT", f"{_CRDS}/{case.crd.name}", json.dumps(strict))
    assert made.accepted, made.message
    _wait(server, case, takes_marker=False)


def _place(case: _Case) -> str:
    spec = case.crd.data["spec"]
    return f"/apis/{spec['group']}/v1/namespaces/default/{spec['names']['plural']}"


def _wait(server: Server, case: _Case, *, takes_marker: bool) -> None:
    """Wait until the server goes by the definition that it has."""
    spec = case.crd.data["spec"]
    probe = {"apiVersion": f"{spec['group']}/v1", "kind": spec["names"]["kind"], "metadata": {"name": "probe"}, _MARKER: "a"}
    for _ in range(200):
        answer = server.call("POST", _place(case) + "?dryRun=All&fieldValidation=Strict", json.dumps(probe))
        if answer.code != 404 and (_MARKER not in answer.message) == takes_marker:
            return
        time.sleep(0.05)
    raise AssertionError(answer)


def _answer(server: Server, case: _Case, update: Document) -> bool:
    place = f"{_place(case)}/{update.name}"
    version = server.get(place)["metadata"]["resourceVersion"]
    sent = {**update.data, "metadata": {**update.data["metadata"], "resourceVersion": version}}
    return server.call("PUT", f"{place}?dryRun=All&fieldValidation=Strict", json.dumps(sent)).accepted


def _loosened(version: dict[str, Any]) -> dict[str, Any]:
    schema = _structure(version["schema"]["openAPIV3Schema"])
    schema["properties"][_MARKER] = {"type": "string"}
    return {**version, "schema": {"openAPIV3Schema": schema}}


def _structure(schema: dict[str, Any], keys: Sequence[str] = ()) -> dict[str, Any]:
    """A schema with nothing in it that is asked of values, not even a scalar's type, but for the keys of list maps."""
    made = {key: value for key, value in schema.items() if key in _STRUCTURE or key.startswith("x-kubernetes")}
    if made.get("type") in _SCALARS:
        made["x-kubernetes-preserve-unknown-fields"] = True
        del made["type"]
    made.pop("x-kubernetes-validations", None)
    if "properties" in schema:
        made["properties"] = {
            name: {"type": child["type"]} if name in keys else _structure(child) for name, child in schema["properties"].items()
        }
        made["required"] = keys
    if "additionalProperties" in schema:
        made["additionalProperties"] = _structure(schema["additionalProperties"])
    if "items" in schema:
        is_set = schema.get("x-kubernetes-list-type") == "set"
        made["items"] = (
            {"type": schema["items"]["type"]} if is_set else _structure(schema["items"], schema.get("x-kubernetes-list-map-keys", []))
        )
    return made
