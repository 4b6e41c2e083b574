"""Objects of every built-in kind at random: decoding refuses what a server's decoding refuses, at the same fields."""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from random import Random
from typing import Any

from jobspec.apis import kinds
from jobspec.diagnostics.places import spell
from jobspec.diagnostics.problems import Problem
from jobspec.documents.reader import read
from jobspec.kubernetes.structural import schema_problems
from jobspec.schemas import shapes
from tests.hunt.finds import Find
from tests.support.builtin_growth import of_kind
from tests.support.server import STRICT, Answer, Server, target

#: A definition holds itself, and has a hunt of its own; nobody creates a ComponentStatus.
_NEVER = ("CustomResourceDefinition", "ComponentStatus")
_IS_DECODING = re.compile("strict decoding error|cannot be handled as a|couldn't get version/kind")
_UNKNOWN = re.compile(r'unknown field "([^"]*)"')
_GO_FIELD = re.compile(r"Go struct field [A-Za-z]+\.(\S+) of type")
KINDS = [(version, kind.name) for kind in kinds.built_in() for version in kind.api_versions if kind.name not in _NEVER]


def served(server: Server) -> list[tuple[str, str]]:
    """The kinds that our target's release serves; the server has to serve them, too."""
    found = [kind for kind in KINDS if shapes.load(*kind, target())]
    assert [kind for kind in found if not path_of(server, *kind)] == []
    return found


@cache
def path_of(server: Server, api_version: str, kind: str) -> str:
    """The URL where objects of a kind are created; empty where the server has none."""
    root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    for resource in server.get(root).get("resources", ()):
        if resource["kind"] == kind and "/" not in resource["name"]:
            return f"{root}/namespaces/default/{resource['name']}" if resource["namespaced"] else f"{root}/{resource['name']}"
    return ""


def finds(server: Server, random: Random, *, each: int = 12) -> Iterator[Find]:
    """The objects whose decoding a server and we disagree about, as many of each kind."""
    texts = [(kind, _text(*kind, random)) for kind in served(server) for _ in range(each)]
    with ThreadPoolExecutor(4) as pool:
        for text, answer in pool.map(lambda made: (made[1], server.call("POST", path_of(server, *made[0]) + STRICT, made[1])), texts):
            if found := disagreement(text, answer):
                yield Find(text, found, str(answer), "control-plane", answer.accepted)


def _text(api_version: str, kind: str, random: Random) -> str:
    shape = shapes.load(api_version, kind, target())
    assert shape
    return json.dumps(of_kind(shape, api_version, kind, random))


def disagreement(text: str, answer: Answer) -> str:
    """What we say of an object where the server says something else of its decoding; empty where both say the same.

    The server reports all unknown fields, but of one wrong type alone.
    """
    ours = _decoding_problems(text)
    is_refused = answer.code == 400 and _IS_DECODING.search(answer.message) is not None
    reported = str([(each.rule, spell(each.path)) for each in ours])
    if bool(ours) != is_refused:
        return f"decoded otherwise: {reported}"
    fields = {spell(each.path) for each in ours}
    if unknown := set(_UNKNOWN.findall(answer.message)):
        mine = {spell(each.path) for each in ours if each.rule == "unknown-field"}
        return "" if {_plain(each) for each in unknown} <= {_plain(each) for each in mine} else f"other unknown fields: {reported}"
    if go := _GO_FIELD.search(answer.message):
        return "" if any(_is_named(go[1], each) for each in fields) else f"another field of a wrong type: {reported}"
    return ""


def _plain(field: str) -> str:
    """A field without quotes, dots and brackets, which servers and we set otherwise around the keys of maps."""
    return re.sub(r"[\[\]\".]+", ".", field).strip(".")


def _is_named(go: str, field: str) -> bool:
    """Whether Go means a field of ours, whose path it names without indices and keys, with the types of embedded structs in between."""
    steps = iter(_plain(field).split("."))
    return all(any(step == each for each in steps) for step in go.split(".") if not step[:1].isupper())


def _decoding_problems(text: str) -> list[Problem]:
    documents, problems = read(text, file="object.yaml")
    assert not problems, problems
    data: Any = documents[0].data
    shape = shapes.load(documents[0].api_version, documents[0].kind, target())
    assert shape
    return [each for each in schema_problems(data, shape, typed=True) if each.rule != "missing-field"]
