"""`validate` says of a PersistentVolumeClaim what a real API server says, whatever stands in its fields."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.hunt import claims
from tests.hunt.finds import report
from tests.support import server as servers
from tests.support.seeds import seed
from tests.support.server import Server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    yield from servers.find("PyTorchJob")


def test_generated_claims(server: Server, tmp_path: Path) -> None:
    assert report(claims.finds(server, Random(seed()), tmp_path)) == ""


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
    errors = claims.errors(_SIZED % (resources, status), tmp_path / "claim.yaml")  # no case, since cases are sent to a server
    assert [(each.rule, each.field) for each in errors] == [("out-of-range", field) for field in fields]
