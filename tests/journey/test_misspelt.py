"""Documents that are refused for unknown fields alone: later stages see them with these fields corrected, where that is clear."""

from pathlib import Path

import pytest

from jobspec.journey.journey import Journey, travel
from jobspec.journey.steps import LoadedFile
from jobspec.lint.linting import lint
from jobspec.world.world import Cluster
from tests.support.cases import assert_reported, expectations, target_of
from tests.support.checking import read
from tests.support.manifests import write
from tests.support.processes import run_here
from tests.support.reference import ROOT

CASES = sorted((ROOT / "tests" / "cases" / "misspelt").glob("*.yaml"))
_OF_EVERY_PYTORCHJOB = "legacy-operator"


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_each_case_is_judged_as_expected(path: Path) -> None:
    case = path.read_text()
    cluster = Cluster(target_of(case))
    files = travel(Journey([LoadedFile(read(path, cluster.target))], cluster, outcome=True))
    (found,) = lint(files, cluster, lambda rule: rule.by_default and rule.name != _OF_EVERY_PYTORCHJOB)
    assert_reported(expectations(case), found.diagnostics)
    assert [row.status for row in found.documents] == ["invalid"]


def test_a_corrected_field_keeps_its_place() -> None:
    path = ROOT / "tests" / "cases" / "misspelt" / "moved.yaml"
    cluster = Cluster(target_of(""))
    (file,) = travel(Journey([LoadedFile(read(path, cluster.target))], cluster, outcome=True))
    marks = file.seen[0].marks.nearest(("spec", "runPolicy", "activeDeadlineSeconds"))
    assert (marks.mark.line, marks.mark.column) == (6, 26)
    assert file.documents[0].data["spec"]["activeDeadlineSeconds"] == 3600


_JOB = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train, namespace: team-a}
spec:
  runPolicy: {activeDeadlineSecond: 60}
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: Never
      template: {spec: {containers: [{name: main, image: "train:1.0", command: [python, train.py]}]}}
"""


def test_the_last_line_says_which_stages_saw_corrected_fields(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"job.yaml": _JOB.replace("name: main", "name: pytorch"), "other.yaml": _JOB, "unclear.yaml": _JOB.replace("60", "an hour")},
    )
    *_, last = run_here("lint", "job.yaml", "-o", "concise", "--ignore=unpinned-image", cwd=tmp_path).stdout.splitlines()
    assert "1 invalid (1 checked for admission, outcome and lint as if unknown fields were corrected)" in last
    *_, last = run_here("lint", "other.yaml", "-o", "concise", cwd=tmp_path).stdout.splitlines()
    assert "1 invalid (1 not checked for outcome and lint; 1 checked for admission as if unknown fields were corrected)" in last
    *_, last = run_here("lint", "unclear.yaml", "-o", "concise", cwd=tmp_path).stdout.splitlines()
    assert "1 invalid (1 not checked for admission, outcome and lint), 1 error" in last


def test_fixes_of_later_stages_are_made_once_the_field_is(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": _JOB})
    run_here("lint", "job.yaml", "--fix", cwd=tmp_path)
    assert (tmp_path / "job.yaml").read_text() == _JOB.replace("Second:", "Seconds:").replace("name: main", "name: pytorch")


def test_a_refused_runtime_is_not_there_for_jobs(tmp_path: Path) -> None:
    runtime = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: torch, namespace: team-a}
spec:
  mlPolicys: {numNodes: 1}
  template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {containers: [{name: node, image: "a:1"}]}}}}}]}}
"""
    job = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train, namespace: team-a}
spec: {runtimeRef: {kind: TrainingRuntime, name: torch}}
"""
    write(tmp_path, {"runtime.yaml": runtime, "job.yaml": job})
    said = run_here("validate", ".", "-o", "concise", cwd=tmp_path).stdout
    assert "is refused" in said and "runtime.yaml:5:3: error: unknown field `mlPolicys`" in said
