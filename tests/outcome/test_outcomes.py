"""Outcomes: the lines that a rule is written beside are the lines that it is reported for, and no others."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from jobspec.apis.kinds import CLUSTER, LIMIT_RANGE
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.explanations import RULES
from jobspec.diagnostics.results import FileResult
from jobspec.documents.document import Document
from jobspec.documents.reader import read
from jobspec.journey import checking
from jobspec.journey.checking import TextFile
from jobspec.journey.journey import Journey, travel
from jobspec.journey.outcomes import foresee
from jobspec.journey.steps import Source
from jobspec.kubernetes.index import Index
from jobspec.operators.workloads import is_workload
from jobspec.world.world import Cluster, StoredObjects
from tests.support.cases import assert_reported, expectations, states, target_of
from tests.support.checking import checked
from tests.support.reference import ROOT

CASES = sorted(path for folder in ("outcome", "outcome-updates") for path in (ROOT / "tests" / "cases" / folder).glob("*.yaml"))


def foreseen(path: Path) -> FileResult:
    text = path.read_text()
    pinned = [each for each in read(text, file=str(path))[0] if each.group_kind == CLUSTER]
    cluster = Cluster(target_of(text), closed=path.stem == "closed-world", objects=pinned)
    if "--- # becomes" in text:
        before, after = states(text)
        cluster = cluster.updating(StoredObjects(read(before, file=str(path))[0]))
        return foresee(checking.checked(Source(str(path), after), (), cluster), cluster).result
    return foresee(checked(path, cluster), cluster).result


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_each_outcome_is_reported_where_it_is_expected_and_nowhere_else(path: Path) -> None:
    result = foreseen(path)
    assert_reported(expectations(path.read_text()), list(result.diagnostics))
    jobs = [each for each in result.documents if is_workload(each)]
    is_one_answer = len({each.runs for each in jobs}) == 1
    for job in jobs:
        found = [each for each in result.diagnostics if is_one_answer or each.document == job.index]
        severities = {each.severity for each in found}
        held = "warning" in severities or "no-pods-created" in {each.rule for each in found}
        assert job.runs is (False if "error" in severities else None if held else True)
    assert {each.stage for each in result.diagnostics} <= {"outcome"}


@pytest.mark.parametrize(
    ("case", "hint"),
    [
        ("trainjob-gpu-request-only", "write `nvidia.com/gpu: 1` under `limits`"),
        ("trainjob-no-trainer", "add `trainer: {}` to `spec`"),
        ("trainjob-patch-unknown-container", "the runtime has no container `sidecar`, so that the patch adds one; it has `node`"),
        ("trainjob-patch-unknown-job", "the runtime has `node`"),
    ],
)
def test_the_hint_names_the_remedy(case: str, hint: str) -> None:
    result = foreseen(next(path for path in CASES if path.stem == case))
    assert [each.hint for each in result.diagnostics] == [hint]


def test_every_outcome_has_a_case_that_trips_it() -> None:
    tripped = {each.rule for path in CASES for each in expectations(path.read_text())}
    ours = {name for name in RULES if Diagnostic(name, "", None).stage == "outcome"}  # type: ignore[arg-type]
    assert ours - tripped == set()


def test_a_line_of_a_runtime_in_another_file_is_warned_of_once(tmp_path: Path) -> None:
    case = (ROOT / "tests" / "cases" / "outcome" / "runtime-of-two-jobs-restarts.yaml").read_text()
    paths = [tmp_path / name for name in ("runtime.yaml", "a.yaml", "b.yaml")]
    for path, text in zip(paths, case.split("---\n"), strict=True):
        path.write_text(text)
    cluster = Cluster()
    sources = [Source(str(path), path.read_bytes()) for path in paths]
    files = travel(Journey(list(map(TextFile, sources)), cluster, outcome=True))
    results = [each.result for each in files]
    assert [[(each.rule, each.mark.file) for each in result.diagnostics] for result in results] == [
        [],
        [("restarts-forever", str(paths[0]))],
        [],
    ]
    assert [[row.runs for row in result.documents] for result in results] == [[None], [None], [None]]


def test_policies_are_looked_up_once_for_all_jobs_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quota = "{apiVersion: v1, kind: ResourceQuota, metadata: {name: few, namespace: team}, spec: {hard: {pods: 0}}}"
    template = "{spec: {containers: [{name: pytorch, image: 'a:1', command: [python, a.py]}]}}"
    spec = f"{{pytorchReplicaSpecs: {{Worker: {{replicas: 1, template: {template}}}}}}}"
    job = "{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: NAME, namespace: team}, spec: SPEC}".replace("SPEC", spec)
    (tmp_path / "jobs.yaml").write_text("\n---\n".join([quota, *(job.replace("NAME", name) for name in "abc")]))
    seen: list[list[str]] = []

    def data_of(documents: Sequence[Document]) -> list[Any]:
        seen.append([each.name for each in documents])
        return [each.data for each in documents]

    monkeypatch.setattr("jobspec.journey.outcomes.data_of", data_of)
    assert [each.rule for each in foreseen(tmp_path / "jobs.yaml").diagnostics] == ["never-fits"] * 3
    assert seen == [["few", "a", "b", "c"]]


_REFUSED = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: team}
spec: {template: {spec: {replicatedJobs: node}}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: a}
spec: {runtimeRef: {kind: TrainingRuntime, name: team}, trainer: {image: "registry.example/mnist:1"}}
"""


def test_nothing_is_foreseen_from_a_runtime_that_is_refused(tmp_path: Path) -> None:
    (tmp_path / "both.yaml").write_text(_REFUSED)
    result = foreseen(tmp_path / "both.yaml")
    assert [(each.rule, each.mark.line) for each in result.diagnostics] == [("wrong-type", 4), ("unresolved-reference", 9)]
    assert [each.runs for each in result.documents if each.kind == "TrainJob"] == [None]


def test_of_two_objects_of_a_name_the_last_counts_though_the_index_has_it_already() -> None:
    first, last = ({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "a"}, "spec": number} for number in (1, 2))
    assert Index([last]).recording([first, last]).in_namespace(LIMIT_RANGE, "") == [("a", last)]
