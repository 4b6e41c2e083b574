"""A field or a value that another release takes is reported with that release."""

import json
from pathlib import Path
from typing import Any

import pytest

from jobspec.apis.releases import RELEASES, choose, is_at_least, reported
from jobspec.documents.document import Document
from jobspec.documents.reader import read
from jobspec.kubernetes.verdict import verdict
from jobspec.operators.admitted import as_admitted
from tests.support.processes import run_here

_JOB = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: a}\nspec:\n  runtimeRef: {name: b}\n"
_RUNTIME = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: {name: a}\nspec:\n  template: {}\n"
_POD = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: a}
spec: {pytorchReplicaSpecs: {Worker: {template: {spec: {containers: [{name: pytorch, %s}], %s}}}}}
"""


def _document(text: str) -> Document:
    (document,), problems = read(text, file="a.yaml")
    assert problems == []
    return document


def _said(text: str, *wishes: str) -> list[Any]:
    problems = verdict(_document(text), choose(wishes)).diagnostics
    return [(problem.rule, problem.message, problem.hint) for problem in problems]


def _if(component: str, release: str) -> str:
    return f"if the cluster has {component} {release}, pass `--target {component}={release}`"


@pytest.mark.parametrize(
    ("text", "wish", "rule", "message", "hint"),
    [
        (
            *(_JOB + "  podTemplateOverrides: []\n", "trainer=2.2", "unknown-field"),
            "`podTemplateOverrides` was removed in trainer 2.2.0; use `runtimePatches`",
            _if("trainer", "2.1.0"),
        ),
        (
            *(_JOB + "  podSpecOverrides: []\n", "trainer=2.1", "unknown-field"),
            "`podSpecOverrides` was removed in trainer 2.1.0; use `podTemplateOverrides`, or `runtimePatches` from 2.2 on",
            _if("trainer", "2.0.0"),
        ),
        (
            *(_JOB + "  runtimePatches: []\n", "trainer=2.0", "unknown-field"),
            "`runtimePatches` was added in trainer 2.2.0, and the target is 2.0.0",
            "remove it, or pass `--target trainer=2.2.0`",
        ),
        (
            *(_JOB + "  trainer: {numProcPerNode: auto}\n", "trainer=2.3", "wrong-type"),
            '`numProcPerNode`: expected an integer, got the string "auto"',
            "trainer 2.0.0 to 2.1.0 accept it (`--target trainer=2.1.0`); the target is 2.3.0",
        ),
        (
            *(_RUNTIME + "  mlPolicy: {mpi: {mpiImplementation: ''}}\n", "trainer=2.0", "unsupported-choice"),
            "`mpiImplementation`: expected one of `OpenMPI`, got an empty string",
            "trainer 2.1.0 to 2.3.0 accept it (`--target trainer=2.3.0`); the target is 2.0.0",
        ),
        (
            *(_POD % ("restartPolicyRules: []", ""), "training-operator=1.9.0", "unknown-field"),
            "`restartPolicyRules` was added in training-operator 1.9.4, and the target is 1.9.0",
            "remove it, or pass `--target training-operator=1.9.4`",
        ),
        (
            *(_POD % ("", "resourceClaims: [{name: a, source: {}}]"), "training-operator=1.9", "unknown-field"),
            "`source` was removed in training-operator 1.9.0; use `resourceClaimName` or `resourceClaimTemplateName` right beside `name`",
            _if("training-operator", "1.8.1"),
        ),
    ],
)
def test_a_field_of_another_release(text: str, wish: str, rule: str, message: str, hint: str) -> None:
    assert _said(text, wish) == [(rule, message, hint)]


def test_a_field_of_no_release_has_its_own_words() -> None:
    ((rule, message, hint),) = _said(_JOB + "  trainers: {}\n")
    assert (rule, hint) == ("unknown-field", "did you mean `trainer`?")
    assert "trainer 2" not in message


def test_a_target_chooses_the_newest_patch_and_jobset_follows_the_trainer() -> None:
    assert choose(["trainer=2.2"])["trainer"] == "2.2.1"
    assert choose(["trainer=2.0"])["jobset"] == "0.8.2"
    assert choose(["trainer=2.0", "jobset=0.12"])["jobset"] == "0.12.0"
    assert reported(choose(["trainer=2.0"])) == {"training-operator": "1.9.4", "trainer": "2.0.0"}
    assert reported(choose(["jobset=0.10"])) == {"training-operator": "1.9.4", "trainer": "2.3.0", "jobset": "0.10.1"}


def test_a_later_release_is_judged_by_the_crds_that_come_with_it(tmp_path: Path) -> None:
    crd = json.loads(run_here("schema", "crd", "TrainJob", "-o", "json").stdout)
    fields = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    fields["newField"] = {"type": "string"}
    (tmp_path / "crd.json").write_text(json.dumps(crd))
    (tmp_path / "job.yaml").write_text(_JOB + "  newField: a\n")
    (tmp_path / "runtime.yaml").write_text(
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: {name: a}\nspec: {}\n"
    )
    later = ("--target", "trainer=2.4", "--crd", str(tmp_path / "crd.json"))
    done = run_here("validate", str(tmp_path / "job.yaml"), str(tmp_path / "runtime.yaml"), *later, "-o", "json")
    report = json.loads(done.stdout)
    found = [(each["rule"], each["severity"], each["file"]) for file in report["files"] for each in file["diagnostics"]]
    found = [each for each in found if each[0] != "unresolved-reference"]
    assert found == [
        ("later-release", "warning", "--target trainer=2.4"),
        ("unknown-kind", "error", str(tmp_path / "runtime.yaml")),
    ]
    assert report["target"] == {"training-operator": "1.9.4", "trainer": "2.4"}
    assert [file["valid"] for file in report["files"]] == [True, True, False]


def test_a_kind_of_the_training_operator_is_not_judged_by_an_earlier_release(tmp_path: Path) -> None:
    crd = run_here("schema", "crd", "PyTorchJob", "-o", "json").stdout
    (tmp_path / "crd.json").write_text(crd)
    (tmp_path / "job.yaml").write_text("apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {name: a}\nspec: {tfReplicaSpecs: {}}\n")
    done = run_here("validate", str(tmp_path / "job.yaml"), "--target", "training-operator=1.10", "--crd", str(tmp_path / "crd.json"))
    assert "jobspec does not know training-operator 1.10, and no CRD in --crd defines TFJob" in done.stdout


def test_a_later_release_without_its_crds_is_an_error_with_the_way_out() -> None:
    done = run_here("validate", "-", "--target", "trainer=2.4")
    assert (done.returncode, done.stderr.strip().endswith("2.3.0; for a later one, give its CRDs with --crd")) == (2, True)
    assert "--crd" not in run_here("validate", "-", "--target", "trainer=2.0.7").stderr


def test_releases_are_compared_by_their_numbers() -> None:
    assert is_at_least("0.12.0", "0.9")
    assert is_at_least("2.2.0", "2.2")
    assert not is_at_least("2.1.9", "2.2")
    assert all(
        list(releases) == sorted(releases, key=lambda each: [int(part) for part in each.split(".")]) for releases in RELEASES.values()
    )


def test_a_server_drops_volumes_of_images_and_their_mounts_before_1_35() -> None:
    pod = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  automountServiceAccountToken: false
  containers: [{name: a, image: a, volumeMounts: [{name: images, mountPath: /a}, {name: data, mountPath: /b}]}]
  volumes: [{name: images, image: {reference: a}}, {name: data, emptyDir: {}}]
"""
    (document,), _ = read(pod, file="pod.yaml")
    spec = as_admitted(document, choose(["kubernetes=1.34"]))["spec"]
    assert [each["name"] for each in spec["volumes"]] == ["data"]
    assert [each["name"] for each in spec["containers"][0]["volumeMounts"]] == ["data"]
    assert len(as_admitted(document, choose(["kubernetes=1.35"]))["spec"]["volumes"]) == 2


def test_a_version_that_is_gone_has_one_that_lasts_and_the_names_of_its_fields() -> None:
    cohort = "apiVersion: kueue.x-k8s.io/v1alpha1\nkind: Cohort\nmetadata: {name: a}\nspec: {parent: b}\n"
    ((rule, _, hint),) = _said(cohort)
    assert (rule, hint) == (
        "unknown-kind",
        "write `apiVersion: kueue.x-k8s.io/v1beta2` and `kind: Cohort`, where `spec.parent` is `spec.parentName`",
    )


@pytest.mark.parametrize(
    ("version", "kind", "release", "newer"),
    [
        ("resource.k8s.io/v1beta1", "ResourceClaimTemplate", "1.36", "resource.k8s.io/v1"),
        ("resource.k8s.io/v1beta1", "ResourceClaimTemplate", "1.33", ""),
        ("resource.k8s.io/v1alpha3", "DeviceTaintRule", "1.36", ""),
        ("resource.k8s.io/v1alpha3", "PodGroup", "1.36", None),
        ("admissionregistration.k8s.io/v1beta1", "MutatingAdmissionPolicy", "1.36", "admissionregistration.k8s.io/v1"),
        ("batch/v2alpha1", "CronJob", "1.36", "batch/v1"),
    ],
)
def test_a_version_that_a_server_does_not_serve_by_default_is_told_in_a_folder(
    tmp_path: Path, version: str, kind: str, release: str, newer: str | None
) -> None:
    """As a server of 1.36.3 answers: `no matches for kind`. *newer*: the version that it serves; None if it serves none of the kind."""
    (tmp_path / "claims.yaml").write_text(f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\n")
    told = json.loads(run_here("lint", ".", "--target", f"kubernetes={release}", "-o", "json", cwd=tmp_path).stdout)["files"][0]
    assert [row["status"] for row in told["documents"]] == ["skipped"]
    if newer is None:
        assert told["diagnostics"] == []
        return
    ((rule, severity, message, hint),) = [(each["rule"], each["severity"], each["message"], each["hint"]) for each in told["diagnostics"]]
    assert (rule, severity) == ("unknown-kind", "info")
    assert message == f"Kubernetes {release} does not serve {kind} of {version} by default"
    assert hint == (f"write `apiVersion: {newer}` and `kind: {kind}`" if newer else "")
    done = run_here("validate", "claims.yaml", "--target", f"kubernetes={release}", "-o", "concise", cwd=tmp_path)
    assert (done.returncode, f"error: {message}" in done.stdout + done.stderr) == (1, True)
