"""Built-in kinds have the structure that a real API server has, and their decoding refuses what the server's refuses."""

import json
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

import pytest

from jobspec.apis.releases import RELEASES
from jobspec.schemas.upstream import table
from tests.hunt import builtin_kinds, exact_kinds
from tests.hunt.finds import report
from tests.support import server as servers
from tests.support.reference import ROOT
from tests.support.seeds import seed
from tests.support.server import Server

NEWEST = list(RELEASES["kubernetes"])[-1]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    yield from servers.find()


def test_decoding(server: Server) -> None:
    assert report(builtin_kinds.finds(server, Random(seed()), each=3)) == ""


def test_new_objects(server: Server) -> None:
    assert report(exact_kinds.finds(server, Random(seed()), each=10)) == ""


def test_updates(server: Server) -> None:
    assert report(exact_kinds.changes(server, Random(seed()), count=3)) == ""


def _structures(table: dict[str, Any]) -> dict[str, Any]:
    """The structure of each kind that a table has for the newest release, with nothing referred to by index."""

    @cache
    def expanded(index: int) -> Any:
        row = dict(table["structures"][index])
        if "fields" in row:
            row["fields"] = {name: expanded(child) for name, child in sorted(row["fields"].items())}
        return row | {key: expanded(row[key]) for key in ("items", "values") if key in row}

    return {kind: expanded(index) for kind, index in sorted(table["releases"][NEWEST].items())}


def test_structure(server: Server) -> None:
    document = server.get("/openapi/v2")
    assert document["info"]["version"].removeprefix("v").startswith(NEWEST)
    newer = [server.get(each["serverRelativeURL"]) for each in server.get("/openapi/v3")["paths"].values()]
    theirs = _structures(json.loads(table({NEWEST: (document, newer)})))
    ours = _structures(json.loads((ROOT / "schemas" / "kubernetes.json").read_text()))
    assert len(ours) > 60
    assert [kind for kind in theirs if ours[kind] != theirs[kind]] == []
    assert ours.keys() == theirs.keys()
