"""A real API server takes and refuses CustomResourceDefinitions as we say, and names the places that we name."""

import http.client
import json
import re
import time
from collections.abc import Iterator
from random import Random, SystemRandom
from typing import Any

import pytest
import yaml

from jobspec.diagnostics import Diagnostic
from jobspec.documents.reader import read
from jobspec.targets import choose
from jobspec.validation.verdict import verdict
from tests.support import cel_growth, crd_documents, crd_growth
from tests.support.reference import ROOT
from tests.support.seeds import settled_seed
from tests.support.server import Answer, Server, kubeconfig

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_STRICT = "?dryRun=All&fieldValidation=Strict"
_DEFINITIONS = 800
_EXPRESSIONS = 150
_AT_ONCE = 20
_RULE = re.compile(r"x-kubernetes-validations\[(\d+)\]")
_UPDATES = ROOT / "tests" / "cases" / "updates" / "crd.yaml"
#: What the server names besides, because of a mistake that stands elsewhere.
_FOLLOWS = {
    "spec.names.listKind": ("spec.names.kind",),
    "spec.names.singular": ("spec.names.kind",),
    "metadata.name": ("spec", "spec.group", "spec.names", "spec.names.plural", "metadata.generateName"),
    "metadata.generateName": ("spec", "spec.group", "spec.names", "spec.names.plural"),
    "status.storedVersions": ("spec", "spec.versions", *(f"spec.versions[{index}].storage" for index in range(4))),
}
#: Of a rule that does not compile the server says that it does not use `oldSelf`, of a default that it is of no type that there is;
#: of an embedded object with a wrong `apiVersion` it says nothing more.
_SECOND = ((".rule", ".optionalOldSelf"), (".type", ".default"), (".apiVersion", ".kind"))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server(kubeconfig())
    yield server
    server.close()


def _said(definition: dict[str, Any], old: dict[str, Any] | None = None) -> tuple[str, list[Diagnostic]]:
    documents = [read(json.dumps(each, ensure_ascii=False), file="crd.json")[0][0] for each in (definition, old) if each]
    said = verdict(documents[0], choose([]), old=documents[1] if old else None)
    return said.status, said.diagnostics


def _asked(server: Server, method: str, path: str, definition: dict[str, Any]) -> Answer:
    try:
        return server.call(method, path + _STRICT, json.dumps(definition, ensure_ascii=False))
    except http.client.RemoteDisconnected:  # a panic: some definitions, wrong ones, make the server's code fall over
        return Answer(500)


def _disagreement(definition: dict[str, Any], answer: Answer, old: dict[str, Any] | None = None) -> str:
    status, found = _said(definition, old)
    unsure = any(each.severity == "warning" for each in found) and status == "valid"
    if unsure or "budget" in answer.message or (answer.accepted and crd_documents.is_refused_on_purpose(found)):  # the cost of rules
        return ""
    ours, theirs = {_place(each.field) for each in found}, {_place(field) for field in answer.fields}
    alike = not theirs or (_covers(ours, _without_followers(theirs)) and _covers(theirs | _causes(theirs), ours))
    if answer.accepted == (status == "valid") and (answer.accepted or alike):
        return ""
    return f"ours: {found}\n  server: {answer.code} {answer.message[:600]}\n    {json.dumps(definition, ensure_ascii=False)}"


def _place(field: str) -> str:
    """A place as it is spelt in a document; the server means the first of what all versions share, and has names of its own."""
    field = re.sub(r"^spec\.validation(?=$|[.[])", "spec.versions[0].schema", field)
    field = re.sub(r"^spec\.(subresources|additionalPrinterColumns|selectableFields)", r"spec.versions[0].\1", field)
    field = re.sub(r"^spec\.conversion\.webhookClientConfig", "spec.conversion.webhook.clientConfig", field)
    field = re.sub(r"^spec\.conversion\.conversionReviewVersions", "spec.conversion.webhook.conversionReviewVersions", field)
    field = re.sub(r"^spec\.version$", "spec.versions[0].name", field).replace(".JSONPath", ".jsonPath").replace(".[", "[")
    before, default, inside = field.partition(".default")
    return before + default + re.sub(r"\[([^\]]*[^\]\d][^\]]*|)\]", r".\1", inside) if default else field


def _without_followers(theirs: set[str]) -> set[str]:
    """Without defaults in whose schema a type or `uniqueItems` is refused: the server judges them by what it refuses, too."""
    refused = [field for field in theirs if field.endswith((".uniqueItems", ".type"))]
    return {
        field
        for field in theirs
        if ".default" not in field or not any(_is_inside(each, field.partition(".default")[0]) for each in refused)
    }


def _is_inside(inner: str, outer: str) -> bool:
    return inner.startswith(outer) and inner[len(outer)] in ".["


def _causes(theirs: set[str]) -> set[str]:
    return {cause for field in theirs for cause in _FOLLOWS.get(field, ())}


def _covers(some: set[str], others: set[str]) -> bool:
    """Whether each place is told by another one: itself, what is around it, or what is inside of it."""
    return all(any(_is_near(one, other) for one in some) or some & set(_FOLLOWS.get(other, ())) for other in others)


def _is_near(one: str, other: str) -> bool:
    if any(second in other and one == other.partition(second)[0] + first for first, second in _SECOND):
        return True
    inner, outer = sorted((one, other), key=len, reverse=True)
    return inner == outer or not outer or _is_inside(inner, outer)


@pytest.mark.slow
def test_definitions_at_random(server: Server) -> None:
    random = Random(settled_seed())
    definitions = [crd_growth.definition(random) for _ in range(_DEFINITIONS)]
    found = [_disagreement(each, _asked(server, "POST", _CRDS, each)) for each in definitions]
    assert list(filter(None, found)) == []


def _ruled(*rules: dict[str, Any]) -> dict[str, Any]:
    schema = {**cel_growth.schema(), "x-kubernetes-validations": list(rules)}
    whole = {"type": "object", "properties": {"a": schema}}
    return crd_growth.plain_definition(
        {"versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": whole}}]}
    )


@pytest.mark.slow
def test_rules_at_random(server: Server) -> None:
    random = Random(settled_seed())
    definitions = [_ruled({"rule": cel_growth.expression(random)}) for _ in range(_EXPRESSIONS)]
    found = [_disagreement(each, _asked(server, "POST", _CRDS, each)) for each in definitions]
    assert list(filter(None, found)) == []


@pytest.mark.parametrize("name", ["rules", "rules-with-optional-old-self", "messages"])
def test_a_server_refuses_the_expressions_that_are_expected_to_be(server: Server, name: str) -> None:
    """Several at once: a server takes long to look at any rule of a definition, and hardly longer to look at more of them."""
    more: dict[str, Any] = {"optionalOldSelf": True} if "optional" in name else {}
    wrong = []
    expressions = cel_growth.expressions(name)
    for some in (expressions[start : start + _AT_ONCE] for start in range(0, len(expressions), _AT_ONCE)):
        texts = [text for text, _ in some]
        rules = [{"rule": "true", "messageExpression": text} if name == "messages" else {"rule": text, **more} for text in texts]
        answer = _asked(server, "POST", _CRDS, _ruled(*rules))
        refused = {int(found[1]) for field in answer.fields if (found := _RULE.search(field))}
        wrong += [(text, answer.message[:600]) for number, (text, expected) in enumerate(some) if (number in refused) != expected]
    assert wrong == []


def _pairs(group: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The definitions of the case of updates, in a group of this run's own: what is stored, and what it becomes."""
    before, after = _UPDATES.read_text().replace("example.com", group).replace("//" + group, "//example.com").split("--- # becomes\n")
    return list(zip(yaml.safe_load_all(before), yaml.safe_load_all(after), strict=True))


def test_updates_of_definitions(server: Server) -> None:
    pairs = _pairs(f"t{SystemRandom().randrange(1 << 32):x}.example.com")
    found = []
    for old, new in pairs:
        if "conditions" in old.get("status", {}):
            continue  # a server establishes a definition at once
        name = old["metadata"]["name"]
        assert server.call("POST", _CRDS, json.dumps({**old, "status": {}})).accepted
        try:
            found.append(_update(server, f"{_CRDS}/{name}", old, new))
        finally:
            server.call("DELETE", f"{_CRDS}/{name}")
    assert list(filter(None, found)) == []


def _update(server: Server, path: str, old: dict[str, Any], new: dict[str, Any]) -> str:
    while not _is_settled(stored := server.get(path)):
        time.sleep(0.1)
    if "status" in old:
        answer = server.call("PUT", f"{path}/status", json.dumps({**stored, "status": {**stored["status"], **old["status"]}}))
        assert answer.accepted, answer.message
    version = server.get(path)["metadata"]["resourceVersion"]
    placed = {**new, "metadata": {**new["metadata"], "resourceVersion": version}}
    answer = _asked(server, "PUT", path, placed)
    status, problems = _said(new, old)
    return "" if answer.accepted == (status == "valid") else f"ours: {problems}\n  server: {answer.message[:600]}"


def _is_settled(stored: dict[str, Any]) -> bool:
    """Whether the server has established a definition, or said why it never will: its webhook's certificates are none."""
    conditions = stored.get("status", {}).get("conditions") or []
    return any(each["type"] == "Established" and (each["status"] == "True" or each["reason"] == "InvalidCABundle") for each in conditions)


def test_what_all_cases_name_is_what_the_server_names(server: Server) -> None:
    found = [_disagreement(each, _asked(server, "POST", _CRDS, each)) for each, _ in crd_documents.cases()]
    assert list(filter(None, found)) == []
