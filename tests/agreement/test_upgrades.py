"""`upgrade` between two recorded releases says what their records show to differ, and nothing else: verdicts, and pods of jobs."""

import json
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.journey.checking import TextFile
from jobspec.journey.journey import Journey, travel
from jobspec.journey.steps import Source
from jobspec.migrate.upgrade import RULE, JudgedJob, UpgradeState, changes
from jobspec.operators.workloads import takes_overlays
from jobspec.world.world import Cluster
from tests.agreement import known
from tests.agreement.records import Record, is_known, records, target_of
from tests.agreement.test_records import RECORDED
from tests.support.reference import folder

_SHIPPED = "ghcr.io/kubeflow/trainer/"
_PAIRS = [(one, other) for one, other in pairwise(RECORDED) if one.rpartition("-")[0] == other.rpartition("-")[0]]


@pytest.mark.parametrize(("before", "after"), _PAIRS)
def test_what_changes_between_two_releases(before: str, after: str) -> None:
    golden = folder("golden")
    older, newer = _states(before), _states(after)
    partial = {*known.parts(), *known.trainjob_parts()}
    wrong, compared = {}, 0
    for name in older.keys() & newer.keys():
        (record, old), (other, new) = older[name], newer[name]
        found = changes(old, new, lambda jobs, work: list(map(work, jobs)))
        refused = _refused(found) - _refused(old.diagnostics)
        if refused != _refused_later(record, other):
            wrong[record.name] = (refused, _refused_later(record, other), found)
        pods = [_pods(golden / release / f"{record.name}.json") for release in (before, after)]
        if record.name not in partial and all(pods):
            said = [each.message for each in found if each.rule == RULE and _SHIPPED not in each.message]
            compared += 1
            if bool(said) != (pods[0] != pods[1]):
                wrong[record.name] = said
    assert wrong == {}
    assert len(newer) > 200
    assert compared > 20


def _pods(record: Path) -> dict[str, Any]:
    """The specs of the pods in a record by name, without the shipped images, whose tags are not recorded; none where it holds a part."""
    data = json.loads(record.read_text())
    if data["warning events"] or any(each["code"] != 201 or "generateName" in str(each) for each in data["documents"]):
        return {}
    pods = {each["metadata"]["name"]: each["spec"] for each in data["created"] if each["kind"] == "Pod"}
    for spec in pods.values():
        for container in (*spec["containers"], *spec.get("initContainers", ())):
            container["env"] = sorted(container.get("env", ()), key=lambda each: str(each["name"]))  # their order means nothing here
            if container["image"].startswith(_SHIPPED):
                del container["image"], container["imagePullPolicy"]
    return pods


def _refused(found: Iterable[Diagnostic]) -> set[int | None]:
    return {each.document for each in found if each.severity == "error" and each.stage != "outcome"}


@lru_cache(maxsize=2)
def _states(release: str) -> dict[str, tuple[Record, UpgradeState]]:
    """The records of a release in which we are not known to differ, each with its state; the next pair begins with the same ones."""
    return {each.name: (each, _state(each)) for each in records(folder("golden"), release) if not is_known(each)}


def _state(record: Record) -> UpgradeState:
    cluster = Cluster(target_of(record.release), closed=True)
    source = Source(record.manifest.name, record.manifest.read_bytes())
    (checked,) = travel(Journey([TextFile(source)], cluster, outcome=True))
    valid = {row.index for row in checked.result.documents if row.status == "valid"}
    jobs = [each for each in checked.documents if takes_overlays(each) and each.index in valid]
    judged = {f"{each.index} {each.name}": JudgedJob(each.name, each, checked.documents, cluster.target) for each in jobs}
    return UpgradeState(cluster, checked.result.diagnostics, judged)


def _refused_later(before: Record, after: Record) -> set[int]:
    """The documents that the older server took and the newer one refused."""
    codes = [{reply["index"]: reply["code"] for reply in each.replies} for each in (before, after)]
    return {index for index, code in codes[0].items() if code == 201 and codes[1].get(index) not in (201, None)}
