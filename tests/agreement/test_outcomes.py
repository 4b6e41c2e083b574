"""What `validate` foresees of accepted jobs is what became of them, in the records of real operators of eight releases."""

from collections.abc import Iterator
from functools import cache

import pytest

from jobspec.apis.releases import RELEASES
from jobspec.outcome.ordinary import foresee
from jobspec.world.world import Cluster
from tests.agreement.created import made
from tests.agreement.created_of_trainjobs import made_of_trainjobs
from tests.agreement.records import records, target_of
from tests.support.checking import documents
from tests.support.reference import folder

_RECORDED = [
    f"{operator}-{release}" for operator in ("training-operator", "trainer") for release in RELEASES[operator] if release != "2.2.0"
]
_REFUSALS = {"pods-refused", "service-refused", "job-refused", "jobset-refused", "claim-refused", "autoscaler-refused"}

#: The end of a record's name -> why its objects came in part, which no file says.
_UNFORESEEN = {
    "priority-class": "the cluster had no such PriorityClass",
    "service-account": "the cluster had no such ServiceAccount",
    "02-runtime-patches": "the cluster had no such ServiceAccount",
    "own-cosched": "the cluster had no CRD for PodGroup",
    "04-volcano-integration": "the cluster had no CRD for PodGroup",
    **dict.fromkeys(
        ("llama3.2-1b", "qwen2.5-1.5b", "torchtune-args", "torchtune-bare", "torchtune-initializers", "torchtune-two-nodes"),
        "the Job that trains waits for Jobs which had no volume to write to",
    ),
}


@cache
def _foreseen(release: str) -> list[tuple[str, bool, set[str]]]:
    return list(_each_foreseen(release))


def _each_foreseen(release: str) -> Iterator[tuple[str, bool, set[str]]]:
    """Each record with accepted jobs: its name, whether all objects came, and the rules of the errors that we foresee."""
    golden = folder("golden")
    found = made(golden, release) if release.startswith("training-operator") else made_of_trainjobs(golden, release)
    whole: dict[str, bool] = {}
    for each in found:
        whole[each.record] = whole.get(each.record, True) and each.is_whole
    for record in records(golden, release):
        if record.name in whole:
            target = target_of(release)
            accepted = {reply["index"] for reply in record.replies if reply.get("stored")}
            there = [each for each in documents(record.manifest, target) if each.index in accepted]
            jobs = [foresee(each, there, Cluster(target)) for each in there if each.kind in ("PyTorchJob", "TrainJob")]
            reported = [each for job in jobs if job for each in job.diagnostics if each.severity == "error"]
            yield record.name, whole[record.name], {each.rule for each in reported}


@pytest.mark.parametrize("release", _RECORDED)
def test_what_is_refused_did_not_come_and_what_came_in_part_was_foreseen(release: str) -> None:
    folder("golden", release)
    found = _foreseen(release)
    assert len(found) > 20
    assert [name for name, whole, reported in found if whole and reported & _REFUSALS] == []
    unforeseen = [name for name, whole, reported in found if not whole and not reported]
    assert [name for name in unforeseen if not name.endswith(tuple(_UNFORESEEN))] == []


def test_refusals_are_foreseen_on_each_operator() -> None:
    reported = {rule for release in _RECORDED for _, whole, rules in _foreseen(release) if not whole for rule in rules}
    assert reported == _REFUSALS - {"claim-refused", "autoscaler-refused"}
