"""Webhooks: the lines that a rule is written beside are the lines that it is reported for, at the releases of the first line."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from jobspec.apis.releases import choose
from jobspec.lint.catalogue import ADMISSION
from jobspec.world.world import Cluster, StoredObjects
from tests.hunt import odd_updates
from tests.hunt.finds import report
from tests.support.cases import assert_reported, expectations, target_of
from tests.support.checking import documents, result
from tests.support.processes import run_here
from tests.support.reference import ROOT
from tests.support.seeds import seed

CASES = sorted(path for path in (ROOT / "tests" / "cases" / "admission").glob("*.yaml") if not path.stem.endswith(".old"))
_JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: {name}}}
spec: {{runtimeRef: {{name: {runtime}}}, initializer: {{dataset: {{}}}}}}
"""
_RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {{name: {name}}}
spec: {spec}
"""


def _stored(path: Path) -> StoredObjects | None:
    old = path.with_suffix(".old.yaml")
    return StoredObjects(documents(old, choose([]))) if old.exists() else None


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_each_rule_is_reported_where_it_is_expected_and_nowhere_else(path: Path) -> None:
    text = path.read_text()
    assert_reported(expectations(text), _reported(path, Cluster(target_of(text), stored=_stored(path))))


def test_every_rule_has_a_case_that_trips_it() -> None:
    tripped = {each.rule for path in CASES for each in expectations(path.read_text())}
    assert {rule.name for each in ADMISSION for rule in each} <= tripped


def test_without_webhooks_nothing_of_them_is_reported() -> None:
    found = {
        each.rule for path in CASES for each in _reported(path, Cluster(target_of(path.read_text()), webhooks=False, stored=_stored(path)))
    }
    assert not found & {"unresolved-reference", *(rule.name for each in ADMISSION for rule in each)}


_OWN_RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: team}
spec: {template: {spec: {replicatedJobs: []}}}
---
"""


def test_a_job_whose_runtime_is_of_the_other_kind_is_reported_with_that_kind(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(_OWN_RUNTIME + _JOB.format(name="a", runtime="team"))
    (reports,) = _reported(tmp_path / "a.yaml", Cluster(choose([])))
    assert (reports.rule, reports.hint) == ("unresolved-reference", "write `kind: TrainingRuntime`, as that of this name is")


def _reported(path: Path, cluster: Cluster) -> list[Any]:
    return list(result(path, cluster).diagnostics)


def test_fields_are_those_that_the_webhook_names() -> None:
    path = ROOT / "tests" / "cases" / "admission" / "trainjob.yaml"
    found = result(path, Cluster(choose([]), closed=True)).diagnostics
    assert {each.rule: each.field for each in found if each.document in (4, 5)} == {
        "unresolved-reference": "spec.runtimeRef",
        "initializer-job": "spec.runtimeRef",
        "undecodable-value": "spec.trainer.resourcesPerNode.limits[cpu]",
        "reserved-environment": "spec.trainer.env",
        "patch-manager": "spec.runtimePatches.manager",
        "patched-environment": "spec.runtimePatches",
    }


def _jobspec(*arguments: str, cwd: Path, text: str = "") -> tuple[int, dict[str, Any]]:
    """The exit code and the JSON report of `validate`."""
    done = run_here("validate", "--no-outcome", "-o", "json", *arguments, cwd=cwd, stdin=text)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


def _rules(report: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(each["path"], said["rule"], said["severity"]) for each in report["files"] for said in each["diagnostics"]]


_MOUNTING = """\
{template: {spec: {replicatedJobs: [{name: dataset-initializer, template: {spec: {template: {spec: {
  containers: [{name: dataset-initializer, volumeMounts: [{name: initializer, mountPath: /data}]}]}}}}}]}}}"""


def test_a_runtime_is_looked_for_among_the_given_files(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(_JOB.format(name="a", runtime="team"))
    (tmp_path / "runtime.yaml").write_text(_RUNTIME.format(name="team", spec=_MOUNTING))
    assert _rules(_jobspec("job.yaml", cwd=tmp_path)[1]) == [("job.yaml", "unresolved-reference", "warning")]
    assert _jobspec("job.yaml", "runtime.yaml", "--closed-world", cwd=tmp_path)[0] == 0
    (tmp_path / "runtime.yaml").write_text(_RUNTIME.format(name="team", spec="{mlPolicy: {numNodes: 1}}"))
    assert _rules(_jobspec("job.yaml", "runtime.yaml", cwd=tmp_path)[1]) == [("job.yaml", "initializer-job", "error")]


def test_a_runtime_from_standard_input_is_a_given_one(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(_JOB.format(name="a", runtime="team"))
    code, report = _jobspec("job.yaml", "-", "--closed-world", cwd=tmp_path, text=_RUNTIME.format(name="team", spec=_MOUNTING))
    assert (code, _rules(report)) == (0, [])


def test_a_given_runtime_goes_before_a_shipped_one_and_one_in_the_same_file_before_both(tmp_path: Path) -> None:
    job = _JOB.format(name="a", runtime="torch-distributed")
    good = _RUNTIME.format(name="torch-distributed", spec=_MOUNTING)
    (tmp_path / "job.yaml").write_text(job)
    assert _rules(_jobspec("job.yaml", cwd=tmp_path)[1]) == [("job.yaml", "initializer-job", "error")]
    (tmp_path / "runtime.yaml").write_text(good)
    assert _jobspec(".", cwd=tmp_path)[0] == 0
    (tmp_path / "runtime.yaml").write_text(_RUNTIME.format(name="torch-distributed", spec="{mlPolicy: {numNodes: 1}}"))
    (tmp_path / "job.yaml").write_text(f"{job}---\n{good}")
    assert _jobspec(".", cwd=tmp_path)[0] == 0


def test_of_two_given_runtimes_nobody_knows_which_is_meant(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(_JOB.format(name="a", runtime="team"))
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(_RUNTIME.format(name="team", spec=_MOUNTING))
    assert _rules(_jobspec(".", cwd=tmp_path)[1]) == [("job.yaml", "unresolved-reference", "warning")]
    assert _rules(_jobspec(".", "--closed-world", cwd=tmp_path)[1]) == [("job.yaml", "unresolved-reference", "error")]


def test_a_runtime_that_is_refused_is_none(tmp_path: Path) -> None:
    refused = _RUNTIME.format(name="team", spec="{mlPolicy: {numNodes: many}}")
    (tmp_path / "job.yaml").write_text(_JOB.format(name="a", runtime="team"))
    (tmp_path / "runtime.yaml").write_text(refused)
    both = [("job.yaml", "unresolved-reference", "error"), ("runtime.yaml", "wrong-type", "error")]
    assert _rules(_jobspec(".", "--closed-world", cwd=tmp_path)[1]) == both
    (tmp_path / "runtime.yaml").unlink()
    (tmp_path / "job.yaml").write_text(f"{_JOB.format(name='a', runtime='team')}---\n{refused}")
    assert _rules(_jobspec(".", cwd=tmp_path)[1]) == [("job.yaml", "unresolved-reference", "info"), ("job.yaml", "wrong-type", "error")]
    _, report = _jobspec(".", "--closed-world", cwd=tmp_path)
    assert [document["status"] for document in report["files"][0]["documents"]] == ["invalid", "invalid"]


_PRIORITY_CLASSES_OF_OTHERS = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: priorityclasses.example.com}
spec:
  group: example.com
  names: {kind: PriorityClass, plural: priorityclasses}
  scope: Cluster
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
"""


def test_what_a_given_runtime_needs_is_looked_for_too(tmp_path: Path) -> None:
    pods = "{spec: {priorityClassName: high, containers: [{name: node}]}}"
    jobs = f"[{{name: node, template: {{spec: {{template: {pods}}}}}}}]"
    spec = f"{{podGroupPolicy: {{volcano: {{}}}}, template: {{spec: {{replicatedJobs: {jobs}}}}}}}"
    (tmp_path / "job.yaml").write_text(_JOB.format(name="a", runtime="team").replace(", initializer: {dataset: {}}", ""))
    (tmp_path / "runtime.yaml").write_text(_RUNTIME.format(name="team", spec=spec))
    assert _rules(_jobspec(".", cwd=tmp_path)[1]) == [("job.yaml", "unresolved-reference", "warning")]
    (tmp_path / "class.yaml").write_text("apiVersion: example.com/v1\nkind: PriorityClass\nmetadata: {name: high}\n")
    (tmp_path / "crd.yaml").write_text(_PRIORITY_CLASSES_OF_OTHERS)
    code, report = _jobspec(".", "--crd", "crd.yaml", cwd=tmp_path)
    assert (code, _rules(report)) == (0, [("job.yaml", "unresolved-reference", "warning")])
    (tmp_path / "class.yaml").write_text("apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1\n")
    assert _rules(_jobspec(".", "--closed-world", cwd=tmp_path)[1]) == []


def test_many_files_find_their_runtime_in_whatever_process_they_are_checked(tmp_path: Path) -> None:
    for number in range(60):
        (tmp_path / f"{number}.yaml").write_text(_JOB.format(name=f"job-{number}", runtime="team"))
    (tmp_path / "runtime.yaml").write_text(_RUNTIME.format(name="team", spec=_MOUNTING))
    code, report = _jobspec(".", "--closed-world", cwd=tmp_path)
    assert (code, report["summary"]["valid"]) == (0, 61)


def test_the_options_leave_webhooks_out_and_close_the_world(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(_JOB.format(name="a", runtime="absent"))
    assert _jobspec("job.yaml", cwd=tmp_path)[0] == 0
    assert _jobspec("job.yaml", "--closed-world", cwd=tmp_path)[0] == 1
    assert _rules(_jobspec("job.yaml", "--closed-world", "--no-admission", cwd=tmp_path)[1]) == []


_RUNTIMES_OF_ANY_CONTENT = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clustertrainingruntimes.trainer.kubeflow.org}
spec:
  group: trainer.kubeflow.org
  names: {kind: ClusterTrainingRuntime, plural: clustertrainingruntimes}
  scope: Cluster
  versions:
    - {name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
"""


@pytest.mark.parametrize("files", [("job.yaml", "runtime.yaml"), ("both.yaml",)])
def test_a_runtime_of_odd_content_is_looked_up_as_go_decodes_it(files: tuple[str, ...], tmp_path: Path) -> None:
    runtime = _RUNTIME.format(name="team", spec="{template: {spec: {replicatedJobs: [5, {name: 3, template: [a]}]}}}")
    texts = {"job.yaml": _JOB.format(name="a", runtime="team"), "runtime.yaml": runtime}
    for name, text in {**texts, "both.yaml": "---\n".join(texts.values()), "crd.yaml": _RUNTIMES_OF_ANY_CONTENT}.items():
        (tmp_path / name).write_text(text)
    assert _rules(_jobspec(*files, "--crd", "crd.yaml", cwd=tmp_path)[1]) == [(files[0], "initializer-job", "error")]


@pytest.mark.slow
def test_updates_of_odd_objects_end_in_a_report(tmp_path: Path) -> None:
    assert report(odd_updates.finds(Random(seed()), tmp_path)) == ""
