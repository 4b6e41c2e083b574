"""A given CRD gives the verdict that a real API server with it gives, on objects of all sorts and on mutants of them.

A server takes or refuses the CRDs themselves as we say, too.
"""

import http.client
import json
import os
import re
import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

import pytest

from jobspec.diagnostics import Diagnostic
from jobspec.documents.document import Document
from jobspec.documents.reader import read
from jobspec.targets import choose
from jobspec.validation.custom_kinds import CustomKinds
from jobspec.validation.verdict import verdict
from tests.support import crd_documents
from tests.support.reference import ROOT, folder
from tests.support.seeds import settled_seed
from tests.support.server import Answer, Server, kubeconfig

_TARGET = choose([])
_CASES = ROOT / "tests" / "cases" / "crds"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_GROUP = "odd.example.com"
_STRICT = "?dryRun=All&fieldValidation=Strict"
_MUTANTS = 120  # of each CRD
_GROWN = 40  # of each of the reference's CRDs
_REFERENCE = sorted(path.name for path in Path(os.environ.get("JOBSPEC_REFERENCE", "/nowhere"), "crds").glob("*.yaml"))
_START = re.compile(r"^---$\n", re.MULTILINE)


@dataclass(frozen=True)
class Served:
    """A CRD that the server has, and the text of objects of its kind."""

    crd: Document
    objects: list[str]

    @property
    def spec(self) -> dict[str, Any]:
        return self.crd.data["spec"]  # type: ignore[no-any-return]

    def path(self, version: str) -> str:
        within = "namespaces/default/" if self.spec["scope"] == "Namespaced" else ""
        return f"/apis/{self.spec['group']}/{version}/{within}{self.spec['names']['plural']}"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server(kubeconfig())
    yield server
    server.close()


def _crd(text: str) -> Document:
    (document,), problems = read(text, file="crd.yaml")
    assert problems == []
    return document


def _serve(server: Server, text: str, objects: list[str]) -> Served:
    served = Served(_crd(text), objects)
    answer = server.call("POST", _CRDS, text)
    assert answer.code == 201, answer.message
    for each in served.spec["versions"]:
        while each["served"] and not server.call("GET", served.path(each["name"])).accepted:
            time.sleep(0.1)
    return served


@pytest.fixture(params=sorted(_CASES.glob("*.yaml")), ids=lambda path: path.stem)
def odd(server: Server, request: pytest.FixtureRequest) -> Iterator[Served]:
    """A case's CRD, in a group of this run's own."""
    group = f"t{SystemRandom().randrange(1 << 32):x}.{_GROUP}"
    crd, *objects = _START.split(request.param.read_text().replace(_GROUP, group))
    served = _serve(server, crd, objects)
    yield served
    server.call("DELETE", f"{_CRDS}/{served.crd.name}")


def _ours(served: Served, text: str) -> list[Diagnostic] | None:
    """What we say to the first document of a text; None where a rule could not be evaluated, and nothing else is wrong."""
    documents, problems = read(text, file="object.yaml")
    if not documents or problems:
        return problems
    answer = verdict(documents[0], _TARGET, kinds=CustomKinds([served.crd]))
    errors = [each for each in answer.diagnostics if each.severity == "error"]
    return errors if errors or not answer.diagnostics else None


def _disagreement(server: Server, served: Served, text: str) -> str:
    version = re.search(r"apiVersion[\"']?: [\"']?[^/\s]*/(\w+)", text)
    answer = server.call("POST", served.path(version[1] if version else "v1") + _STRICT, text)
    ours = _ours(served, text)
    if ours is None or answer.accepted == (not ours):
        return ""
    return f"ours: {ours}\n  server: {answer.code} {answer.message[:600]}\n{textwrap.indent(text, '    ')}"


def test_objects_of_odd_kinds(server: Server, odd: Served) -> None:
    alone = [text for each in odd.objects for text in _field_by_field(each)]
    assert list(filter(None, (_disagreement(server, odd, text) for text in [*odd.objects, *alone]))) == []


def _field_by_field(text: str) -> Iterator[str]:
    """The object with one of its fields at a time, since one that is wrong hides what is said of others."""
    data = read(text, file="object.yaml")[0][0].data
    head = {key: data[key] for key in ("apiVersion", "kind", "metadata")}
    for key in data.keys() - head.keys():
        yield json.dumps({**head, key: data[key]}, ensure_ascii=False)
        if isinstance(data[key], dict) and key == "spec":
            for inner, value in data[key].items():
                yield json.dumps({**head, key: {inner: value}}, ensure_ascii=False)


@pytest.mark.slow
def test_mutants_of_objects_of_odd_kinds(server: Server, odd: Served) -> None:
    random = Random(settled_seed())
    schema = odd.spec["versions"][0]["schema"]["openAPIV3Schema"]
    bases = [read(text, file="object.yaml")[0][0].data for text in odd.objects]
    texts = [json.dumps(mutant(random.choice(bases), schema, random), ensure_ascii=False) for _ in range(_MUTANTS)]
    disagreements = list(filter(None, (_disagreement(server, odd, text) for text in texts)))
    assert disagreements == [], "\n".join(disagreements)


@pytest.mark.slow
@pytest.mark.parametrize("name", _REFERENCE, ids=str)
def test_grown_objects_of_operators_kinds(server: Server, name: str) -> None:
    random = Random(settled_seed())
    group = f"t{SystemRandom().randrange(1 << 32):x}"
    text = re.sub(r"^(  group: |  name: \w+\.)", rf"\g<1>{group}.", (folder("crds") / name).read_text(), flags=re.MULTILINE)
    served = _serve(server, text, [])
    try:
        texts = [json.dumps(_object_of(served, random), ensure_ascii=False) for _ in range(_GROWN)]
        disagreements = list(filter(None, (_disagreement(server, served, text) for text in texts)))
    finally:
        server.call("DELETE", f"{_CRDS}/{served.crd.name}")
    assert disagreements == [], "\n".join(disagreements)


def _object_of(served: Served, random: Random) -> dict[str, Any]:
    version = served.spec["versions"][0]
    fields = version["schema"]["openAPIV3Schema"]["properties"]
    head = {"apiVersion": f"{served.spec['group']}/{version['name']}", "kind": served.spec["names"]["kind"], "metadata": {"name": "a"}}
    return {**{name: grown(schema, random) for name, schema in fields.items() if random.random() < 0.95}, **head}


_ODD: dict[str, list[Any]] = {
    "string": ["", "a", "äöü", "1", "x" * 5, "2026-01-31", "1h", "10.0.0.0/8", "10.0.0.1", "::1", "a@b.c", "https://a:8080/", "true"],
    "integer": [0, 1, -1, 2, 3, 6, 80, 2**31, 2**31 - 1, -(2**63), 2**63 - 1],
    "number": [0, 1, 0.5, 1.5, 2.5, 0.3, -1.5, 1e300],
    "boolean": [True, False],
}
_ANY: list[Any] = [None, 1, 1.5, "a", True, [], {}, [1], {"a": 1}, [None], {"a": None}, [{}], "", 10**20]


def mutant(base: Any, schema: dict[str, Any], random: Random) -> Any:
    """An object with one to three changes: fields dropped, added, grown from the schema, or given an odd value."""
    made = json.loads(json.dumps(base))
    for _ in range(random.choice((1, 1, 2, 3))):
        fields = schema.get("properties") or {}
        name = random.choice([*fields, *made.keys() - {"apiVersion", "kind", "metadata"}] or ["a"])
        change = random.choice(("grow", "grow", "grow", "change", "change", "odd", "drop", "null", "meta"))
        if change == "meta":
            made["metadata"] = random.choice(({"name": "b"}, {"generateName": "r-"}, {"name": "B"}, {"name": "b", "labels": {"a": "b"}}))
        elif change == "drop":
            made.pop(name, None)
        elif change in ("grow", "odd", "null"):
            made[name] = {"grow": grown(fields.get(name, {}), random), "odd": random.choice(_ANY), "null": None}[change]
        else:
            made[name] = _changed(made.get(name), fields.get(name, {}), random)
    return made


def grown(schema: dict[str, Any], random: Random, depth: int = 0) -> Any:
    """A value that mostly fits; the deeper, the less is in it."""
    kind = schema.get("type") or ("string" if random.random() < 0.5 else "integer")
    if random.random() < (0.05 if depth < 2 else 0.01):
        return random.choice(_ANY)
    if schema.get("enum") and random.random() < 0.7:
        return random.choice(schema["enum"])
    if kind == "object":
        required = schema.get("required") or ()
        odds = 0.7 if depth < 2 else 0.1
        names = [name for name in schema.get("properties") or {} if random.random() < (0.98 if name in required else odds)]
        made = {name: grown(schema["properties"][name], random, depth + 1) for name in names}
        others = schema.get("additionalProperties")
        if isinstance(others, dict) or random.random() < 0.1:
            made |= {
                name: grown(others if isinstance(others, dict) else {}, random, depth + 1) for name in random.sample(("a", "bb", "x y"), 2)
            }
        return made
    if kind == "array":
        items = [grown(schema["items"], random, depth + 1) for _ in range(random.choice((0, 1, 2, 3)))]
        return [*items, items[0]] if items and random.random() < 0.2 else items
    return random.choice(_ODD[kind])


def _changed(value: Any, schema: dict[str, Any], random: Random) -> Any:
    """The value with a change somewhere inside."""
    if isinstance(value, dict) and value and random.random() < 0.8:
        name = random.choice(list(value))
        inner = (schema.get("properties") or {}).get(name) or schema.get("additionalProperties") or {}
        return {**value, name: _changed(value[name], inner if isinstance(inner, dict) else {}, random)}
    if isinstance(value, list) and value and random.random() < 0.8:
        at = random.randrange(len(value))
        return [*value[:at], _changed(value[at], schema.get("items") or {}, random), *value[at + 1 :]]
    if isinstance(value, str) and random.random() < 0.6:
        at = random.randrange(len(value) + 1)
        return value[:at] + random.choice(("", "1", "-", ":", ".", "ä", "/", " ")) + value[at + random.choice((0, 1)) :]
    return random.choice((grown(schema, random), random.choice(_ANY)))


def _disagreement_on(server: Server, definition: dict[str, Any]) -> str:
    text = json.dumps(definition, ensure_ascii=False)
    try:
        answer = server.call("POST", _CRDS + _STRICT, text)
    except http.client.RemoteDisconnected:  # a panic: some definitions, wrong ones, make the server's code fall over
        answer = Answer(500)
    said = verdict(_crd(text), _TARGET)
    status, found = said.status, said.diagnostics
    unsure = [each for each in found if each.severity == "warning"]
    if answer.accepted == (status == "valid") or (unsure and status == "valid") or "cost" in answer.message:
        return ""
    if answer.accepted and crd_documents.is_refused_on_purpose(found):
        return ""
    return f"ours: {found}\n  server: {answer.code} {answer.message[:600]}\n    {text}"


def test_definitions_of_our_own(server: Server) -> None:
    disagreements = [_disagreement_on(server, definition) for definition, _ in crd_documents.cases()]
    assert list(filter(None, disagreements)) == []


def _small_definitions() -> list[dict[str, Any]]:
    texts = [_START.split(path.read_text())[0] for path in sorted(_CASES.glob("*.yaml"))]
    texts += [path.read_text() for path in sorted(folder("crds").glob("*.yaml")) if path.stat().st_size < 50_000]
    found = [_crd(text).data for text in texts]
    return [*found, *(definition for definition, _ in crd_documents.cases())]


@pytest.mark.slow
def test_mutants_of_definitions(server: Server) -> None:
    random = Random(settled_seed())
    bases = _small_definitions()
    definitions = [_mutated(random.choice(bases), random) for _ in range(_MUTANTS * 4)]
    disagreements = list(filter(None, (_disagreement_on(server, each) for each in definitions)))
    assert disagreements == [], "\n".join(disagreements)


_KEYWORDS: dict[str, list[Any]] = {
    "type": ["object", "array", "string", "integer", "number", "boolean", "", "null", None],
    "format": ["int32", "date", "duration", "odd"],
    "default": [None, 1, "a", {}, [], {"a": 1}, {"apiVersion": "v1", "kind": "A"}, True],
    "nullable": [True, False],
    "enum": [["a"], [1, None], []],
    "pattern": ["^a$", "(", "\\d+"],
    "minLength": [0, 2, "1"],
    "maximum": [1, 1.5, "1"],
    "maxProperties": [1],
    "required": [["a"], [], ["name"], "a"],
    "items": [{"type": "string"}, {}, [{"type": "string"}], {"type": "object"}, None],
    "properties": [{"a": {"type": "string"}}, {}, {"metadata": {"type": "object"}}, {"a": {}}, {"a": None}],
    "additionalProperties": [True, False, {"type": "string"}, {}, None],
    "allOf": [[{"maxLength": 1}], [{"type": "string"}], [{"properties": {"a": {"maxLength": 1}}}], [], [{"items": {"maxLength": 1}}]],
    "anyOf": [[{"type": "integer"}, {"type": "string"}], [{"required": ["a"]}]],
    "not": [{}, {"enum": ["a"]}, {"not": {"type": "string"}}],
    "description": ["a"],
    "title": ["a"],
    "uniqueItems": [True, False],
    "x-kubernetes-preserve-unknown-fields": [True, False],
    "x-kubernetes-embedded-resource": [True, False],
    "x-kubernetes-int-or-string": [True, False],
    "x-kubernetes-list-type": ["atomic", "set", "map", "odd"],
    "x-kubernetes-list-map-keys": [["name"], ["a"], []],
    "x-kubernetes-map-type": ["atomic", "granular", "odd"],
    "x-kubernetes-validations": [
        [{"rule": "self == oldSelf"}],
        [{"rule": "has(self.a)"}],
        [{"rule": "size(self) > 0"}],
        [{"rule": "self"}],
    ],
    "odd": [1],
}


def _mutated(base: Any, random: Random) -> Any:
    """A definition with one to three changes, most of them in its schemas."""
    made = json.loads(json.dumps(base))
    for _ in range(random.choice((1, 1, 2, 3))):
        versions = made["spec"].get("versions")
        nodes = [node for version in (versions if isinstance(versions, list) else []) for node in _schemas_in(_schema_of(version))]
        places = [place for place in _mappings(made["spec"]) if place]
        if nodes and random.random() < 0.8:
            node = random.choice(nodes)
            keyword = random.choice([*_KEYWORDS, *node.keys() & _KEYWORDS.keys()])
            if keyword in node and random.random() < 0.4:
                del node[keyword]
            else:
                node[keyword] = json.loads(json.dumps(random.choice(_KEYWORDS[keyword])))
        elif places:
            place = random.choice(places)
            name = random.choice(list(place))
            if random.random() < 0.5:
                del place[name]
            else:
                place[name] = random.choice((None, "", "a", "A", 1, True, [], {}, ["a"]))
    return made


def _schema_of(version: Any) -> Any:
    schema = version.get("schema") if isinstance(version, dict) else None
    return schema.get("openAPIV3Schema") if isinstance(schema, dict) else None


def _schemas_in(schema: Any) -> Iterator[dict[str, Any]]:
    """A schema and those inside of it."""
    if not isinstance(schema, dict):
        return
    yield schema
    for keyword in ("items", "additionalProperties", "not"):
        yield from _schemas_in(schema.get(keyword))
    for keyword in ("allOf", "anyOf", "oneOf"):
        for each in schema.get(keyword) or [] if isinstance(schema.get(keyword), list) else []:
            yield from _schemas_in(each)
    for each in (schema.get("properties") or {}).values() if isinstance(schema.get("properties"), dict) else []:
        yield from _schemas_in(each)


def _mappings(value: Any) -> Iterator[dict[str, Any]]:
    """The mappings of a definition outside of its schemas."""
    if isinstance(value, dict):
        yield value
        for name, inner in value.items():
            if name != "openAPIV3Schema":
                yield from _mappings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _mappings(inner)
