"""A given CRD gives the verdict that a real API server with it gives, on objects of all sorts and on mutants of them."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.hunt import objects
from tests.hunt.finds import report
from tests.hunt.objects import Served
from tests.support import server as servers
from tests.support.seeds import seed
from tests.support.server import Server

#: Upstream's CRDs. The schema of a ClusterTrainingRuntime is a TrainingRuntime's; other kinds of the cluster are among them.
_REFERENCE = sorted(
    path.name
    for path in Path(os.environ.get("JOBSPEC_REFERENCE", "/nowhere"), "crds").glob("*.yaml")
    if not path.name.startswith("clustertrainingruntimes.")
)

#: The kind with a rule for which the CEL library lacks a function.
_NOT_ALL_EVALUATED = "Ruled"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    yield from servers.find()


@pytest.fixture(params=objects.CASES, ids=lambda path: path.stem)
def odd(server: Server, request: pytest.FixtureRequest) -> Iterator[Served]:
    """A case's CRD, in a group of this run's own."""
    with objects.case(server, request.param) as served:
        yield served


def _disagreements(served: Served, texts: list[str]) -> str:
    """The disagreements on objects; few of one kind alone, and none of others, may have a rule that we cannot evaluate."""
    tally: Counter[str] = Counter()
    found = report(objects.finds(served, texts, tally))
    assert tally["not evaluated"] <= (tally["compared"] / 10 if served.spec["names"]["kind"] == _NOT_ALL_EVALUATED else 0), tally
    return found


def test_objects_of_odd_kinds(odd: Served) -> None:
    alone = [text for each in odd.objects for text in _field_by_field(each)]
    assert _disagreements(odd, [*odd.objects, *alone]) == ""


def _field_by_field(text: str) -> Iterator[str]:
    """The object with one of its fields at a time, since one that is wrong hides what is said of others."""
    data = objects.document(text).data
    head = {key: data[key] for key in ("apiVersion", "kind", "metadata")}
    for key in data.keys() - head.keys():
        yield json.dumps({**head, key: data[key]}, ensure_ascii=False)
        if isinstance(data[key], dict) and key == "spec":
            for inner, value in data[key].items():
                yield json.dumps({**head, key: {inner: value}}, ensure_ascii=False)


@pytest.mark.slow
def test_mutants_of_objects_of_odd_kinds(odd: Served) -> None:
    assert _disagreements(odd, objects.changed_objects(odd, Random(seed()))) == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", _REFERENCE, ids=str)
def test_grown_objects_of_operators_kinds(server: Server, name: str) -> None:
    with objects.operators(server, name) as served:
        assert _disagreements(served, objects.grown_objects(served, Random(seed()))) == ""
