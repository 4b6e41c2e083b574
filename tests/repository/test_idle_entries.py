"""Entries of kustomizations that do not reach what they mean."""

import json
from pathlib import Path

import pytest

from tests.support.manifests import write
from tests.support.processes import run_here

TRAINJOB = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train, labels: {tier: dev}}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    image: ghcr.io/acme/train:1.2
    env: [{name: A, valueFrom: {configMapKeyRef: {name: settings, key: a}}}]
"""
JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: fetch}
spec:
  template:
    spec:
      restartPolicy: Never
      initContainers: [{name: b, image: "registry:5000/wait@sha256:aa"}]
      containers: [{name: a, image: "ghcr.io/acme/fetch:1.2", envFrom: [{configMapRef: {name: settings}}]}]
"""
BASE = "resources: [trainjob.yaml, job.yaml]\nnamePrefix: base-\n"
RULES = ("selects-nothing", "image-not-reached", "hashed-name")


def _found(folder: Path) -> list[tuple[str, int, str]]:
    """File, line and rule."""
    files = json.loads(run_here("validate", ".", "-o", "json", cwd=folder).stdout)["files"]
    return [(one["file"], one["line"], one["rule"]) for file in files for one in file["diagnostics"] if one["rule"] in RULES]


def _patch(target: str) -> str:
    return f"resources: [../base]\nnamePrefix: prod-\npatches:\n  - target: {target}\n    patch: '[]'\n"


@pytest.mark.parametrize(
    ("target", "is_idle"),
    [
        ("{kind: TrainJob}", False),
        ("{kind: TrainJob, name: train}", False),
        ("{kind: TrainJob, name: base-train}", False),
        ("{name: 't.*'}", False),
        ("{kind: TrainJob, name: prod-base-train}", True),
        ("{kind: TrainJob, name: prod-train}", True),
        ("{kind: TrainJobs}", True),
        ("{group: kubeflow.org, kind: TrainJob}", True),
        ("{version: v1}", False),
        ("{labelSelector: tier=dev}", False),
        ("{labelSelector: 'tier in (prod)'}", False),
        ("{labelSelector: tier=prod}", True),
        ("{annotationSelector: tier}", True),
        ("{namespace: elsewhere}", True),
    ],
)
def test_a_patch_that_selects_nothing(target: str, is_idle: bool, tmp_path: Path) -> None:
    files = {"base/kustomization.yaml": BASE, "base/trainjob.yaml": TRAINJOB, "base/job.yaml": JOB}
    write(tmp_path, {".git/HEAD": "", **files, "prod/kustomization.yaml": _patch(target)})
    assert _found(tmp_path) == ([("prod/kustomization.yaml", 4, "selects-nothing")] if is_idle else [])


@pytest.mark.parametrize(
    ("kustomization", "rules"),
    [
        ("images: [{name: ghcr.io/acme/train, newTag: '2'}]\n", ["image-not-reached"]),
        ("images: [{name: ghcr.io/acme/train, digest: 'sha256:aa'}]\nconfigurations: [images.yaml]\n", []),
        ("images: [{name: ghcr.io/acme/fetch, newName: fetch}, {name: 'registry:5000/wait', newTag: '2'}, {name: fetch, newTag: a}]\n", []),
        ("images: [{name: ghcr.io/acme/fech, newTag: '2'}]\n", ["selects-nothing"]),
        ("configMapGenerator: [{name: settings, literals: [a=b]}]\n", ["hashed-name"]),
        ("configMapGenerator: [{name: settings, literals: [a=b]}]\ngeneratorOptions: {disableNameSuffixHash: true}\n", []),
        ("configMapGenerator: [{name: other, literals: [a=b]}]\n", []),
        ("secretGenerator: [{name: settings, literals: [a=b]}]\n", []),
        (
            "replacements:\n  - source: {kind: Job, name: fetch}\n    targets: [{select: {kind: Jobb}, fieldPaths: [metadata.labels.a]}]\n",
            ["selects-nothing"],
        ),
        ("images: [{name: nothing, newTag: '2'}]\nresources: [https://example.com/more]\n", []),
    ],
)
def test_images_generated_names_and_replacements(kustomization: str, rules: list[str], tmp_path: Path) -> None:
    head = "" if "resources" in kustomization else "resources: [trainjob.yaml, job.yaml]\n"
    images = "images: [{path: spec/trainer/image, kind: TrainJob}]\n"
    write(tmp_path, {".git/HEAD": "", "trainjob.yaml": TRAINJOB, "job.yaml": JOB, "images.yaml": images})
    write(tmp_path, {"kustomization.yaml": head + kustomization})
    assert [rule for _, _, rule in _found(tmp_path)] == rules


REPLACEMENT = "source: {kind: Job, name: fetch}\ntargets:\n- select: {kind: %s, name: train}\n  fieldPaths: [metadata.labels.a]\n"


@pytest.mark.parametrize(
    ("entry", "file", "found"),
    [
        ("patchesJson6902: [{target: {version: v1alpha1, kind: TrainJob, name: tran}, patch: '[]'}]", "", ("kustomization.yaml", 2)),
        ("patchesJson6902: [{target: {version: v1alpha1, kind: TrainJob, name: train}, patch: '[]'}]", "", None),
        ("replacements: [{path: file.yaml}]", REPLACEMENT % "TrainJobs", ("file.yaml", 3)),
        ("replacements: [{path: file.yaml}]", REPLACEMENT % "TrainJob", None),
        ("replacements: [{path: file.yaml}]", f"- {REPLACEMENT}".replace("\n", "\n  ") % "TrainJobs", ("file.yaml", 3)),
        ("replacements: [{path: file.yaml}]", REPLACEMENT % "TrainJob" + "  reject: [{name: train}]\n", ("file.yaml", 5)),
        ("replacements: [{path: file.yaml}]", REPLACEMENT % "TrainJob" + "  reject: [{name: trai}]\n", None),
        ("replacements: [{path: file.yaml}]", REPLACEMENT % "TrainJob" + "  reject: [{kind: Job, name: train}]\n", None),
    ],
)
def test_json_patches_and_replacements_in_files(entry: str, file: str, found: tuple[str, int] | None, tmp_path: Path) -> None:
    files = {"trainjob.yaml": TRAINJOB.replace("labels: {", "labels: {a: b, "), "job.yaml": JOB, "file.yaml": file}
    write(tmp_path, {".git/HEAD": "", **files, "kustomization.yaml": f"resources: [trainjob.yaml, job.yaml]\n{entry}\n"})
    assert _found(tmp_path) == ([(*found, "selects-nothing")] if found else [])


def test_a_component_is_judged_by_all_that_use_it(tmp_path: Path) -> None:
    component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches: [{target: {kind: TrainJob}, patch: '[]'}]\n"
    files = {
        "a/kustomization.yaml": "resources: [job.yaml]\ncomponents: [../component]\n",
        "a/job.yaml": JOB,
        "b/kustomization.yaml": "resources: [trainjob.yaml]\ncomponents: [../component]\n",
        "b/trainjob.yaml": TRAINJOB,
        "component/kustomization.yaml": component,
    }
    write(tmp_path, {".git/HEAD": "", **files})
    assert _found(tmp_path) == []
    (tmp_path / "b/kustomization.yaml").write_text("resources: [trainjob.yaml]\n")
    assert _found(tmp_path) == [("component/kustomization.yaml", 3, "selects-nothing")]


def test_nothing_is_said_where_a_script_adds_the_manifests(tmp_path: Path) -> None:
    entries = "patches: [{target: {kind: TrainJob}, patch: '[]'}]\nimages: [{name: ghcr.io/acme/train, newTag: '2'}]\n"
    write(tmp_path, {".git/HEAD": "", "kustomization.yaml": entries})
    assert _found(tmp_path) == []


def test_the_hint_names_the_condition_that_no_object_meets(tmp_path: Path) -> None:
    general = "kustomize says nothing and goes on: check kind and name, which are those before this `namePrefix`"
    targets = {
        "{kind: TrainJob, name: base}": "without `name: base` it selects TrainJob `train`; names are those before this `namePrefix`",
        "{kind: TrainJob, labelSelector: tier=prod}": "without `labelSelector: tier=prod` it selects TrainJob `train`",
        "{kind: Trainjob, name: train}": "without `kind: Trainjob` it selects TrainJob `train`",
        "{group: metallb.io, name: '.*'}": general,
        "{group: metallb.io, namespace: default}": general,
        "{group: metallb.io, name: tr.*}": "without `group: metallb.io` it selects TrainJob `train`",
        "{kind: TrainJobs}": general,
    }
    for target, hint in targets.items():
        write(tmp_path, {"base/trainjob.yaml": TRAINJOB, "base/job.yaml": JOB, "base/kustomization.yaml": BASE})
        write(tmp_path, {"prod/kustomization.yaml": _patch(target)})
        files = json.loads(run_here("validate", ".", "-o", "json", cwd=tmp_path).stdout)["files"]
        assert [one["hint"] for file in files for one in file["diagnostics"] if one["rule"] == "selects-nothing"] == [hint]


def test_without_a_prefix_the_hint_speaks_of_none(tmp_path: Path) -> None:
    kustomization = "resources: [trainjob.yaml]\npatches: [{target: {kind: TrainJobs}, patch: '[]'}]\n"
    write(tmp_path, {".git/HEAD": "", "trainjob.yaml": TRAINJOB, "kustomization.yaml": kustomization})
    assert "    hint: kustomize says nothing and goes on: check kind and name\n" in run_here("validate", ".", cwd=tmp_path).stdout
