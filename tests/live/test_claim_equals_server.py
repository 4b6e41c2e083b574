"""`validate` says of a PersistentVolumeClaim what a real API server says, whatever stands in its fields."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest
import yaml

from jobspec.cluster import Cluster
from jobspec.diagnostics import Diagnostic
from jobspec.targets import choose
from tests.support import server as servers
from tests.support.checking import result
from tests.support.reference import ROOT
from tests.support.seeds import settled_seed
from tests.support.server import Server

_TEXTS = yaml.safe_load((ROOT / "tests" / "cases" / "mutants" / "claims.yaml").read_text())
_CLAIMS = 800
_HOLE = re.compile(r"<([a-z ]+)>")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    yield from servers.find()


def _claim(random: Random) -> str:
    """A good claim after some of its fields got any of their texts, or were left out."""
    changed = random.sample(list(_TEXTS["fields"]), random.choice((0, 1, 1, 1, 2, 3)))
    spec = {**_TEXTS["good"], **{field: _filled(_TEXTS["fields"][field], random) for field in changed}}
    if "dataSource" in changed and random.random() < 0.3:
        spec["dataSourceRef"] = spec["dataSource"]
    if random.random() < 0.1:
        del spec[random.choice(list(spec))]
    metadata = _filled(_TEXTS["metadata"], random) if random.random() < 0.2 else "labels: {}"
    status = f"status: {_filled(_TEXTS['status'], random)}\n" if random.random() < 0.1 else ""
    head = f"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: a, {metadata}}}\nspec:\n"
    return head + "".join(f"  {field}: {value}\n" for field, value in spec.items()) + status


def _filled(pool: list[str], random: Random) -> str:
    """One of the pool's texts, with its holes filled."""
    return _HOLE.sub(lambda hole: _filled(_TEXTS["pools"][hole[1]], random), random.choice(pool))


def _errors(text: str, file: Path) -> list[Diagnostic]:
    file.write_text(text)
    return result(file, Cluster(choose([]))).diagnostics


def _disagreement(server: Server, text: str, file: Path) -> str:
    errors, answer = _errors(text, file), server.judge("PersistentVolumeClaim", text)
    return "" if answer.accepted == (not errors) else f"{text}ours: {errors}\nserver: {answer.code} {answer.message[:400]}\n"


def test_generated_claims(server: Server, tmp_path: Path) -> None:
    random = Random(settled_seed())
    texts = [_claim(random) for _ in range(_CLAIMS)]
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda pair: _disagreement(server, pair[1], tmp_path / f"{pair[0]}.yaml"), enumerate(texts)))
    assert not any(found), "\n".join(filter(None, found))


_SIZED = (
    "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a}\nspec: {accessModes: [ReadWriteOnce], resources: %s}\nstatus: %s\n"
)


@pytest.mark.parametrize(
    ("resources", "status", "fields"),
    [
        ("{requests: {storage: 1e10000000}}", "{}", []),
        ("{requests: {storage: 1e2147483647}}", "{}", ["spec.resources.requests[storage]"]),
        ("{requests: {storage: -1e2147483647}}", "{}", ["spec.resources.requests[storage]"]),
        ("{requests: {storage: 1, cpu: 1e2147483647}}", "{capacity: {storage: 1e2147483647}}", []),
        ("{requests: {storage: 1, cpu: 1E+2147483648}}", "{}", ["spec.resources.requests[cpu]"]),
        ('{requests: {storage: 1}, limits: {cpu: "1e-2147483648"}}', "{}", ["spec.resources.limits[cpu]"]),
        ("{requests: {storage: 1}, limits: {cpu: 1e4294967296}}", "{}", []),
        ("{requests: {storage: 1}}", "{capacity: {storage: 1e2147483648}}", ["status.capacity[storage]"]),
        ("{requests: {storage: 1}}", "{allocatedResources: {a: 1e2147483648}}", ["status.allocatedResources[a]"]),
    ],
)
def test_exponents_that_keep_a_server_busy_are_out_of_range(resources: str, status: str, fields: list[str], tmp_path: Path) -> None:
    errors = _errors(_SIZED % (resources, status), tmp_path / "claim.yaml")  # no case, since cases are sent to a server
    assert [(each.rule, each.field) for each in errors] == [("out-of-range", field) for field in fields]
