"""Lists of custom resources that a merge patch of kustomize replaces as a whole."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.manifests import write
from tests.support.processes import program, run_here

JOB = """apiVersion: {version}
kind: {kind}
metadata: {{name: train}}
spec:
  trainer:
    env:
      - {{name: EPOCHS, value: "3"}}
      - {{name: SEED, value: "1"}}
  template:
    spec:
      containers:
        - {{name: a, image: "a:1", command: [python], env: [{{name: A, value: a}}]}}
"""
ENV = "spec:\n  trainer:\n    env: [{name: EPOCHS, value: '4'}]\n"
CONTAINERS = "spec:\n  template:\n    spec:\n      containers: [{name: a, image: 'a:2'}]\n"
ALL = "spec:\n  trainer:\n    env: [{name: EPOCHS, value: '4'}, {name: SEED, value: '2'}]\n"
ONE = [("patch.yaml", 6, "the patch replaces the whole list `env`: `SEED` of the base is lost")]
TWO = [("patch.yaml", 7, "the patch replaces the whole list `containers`: `command`, `env` of the base are lost")]

pytestmark = pytest.mark.skipif(not (shutil.which("kustomize") or shutil.which("kubectl")), reason="no kustomize or kubectl")


@pytest.mark.parametrize(
    ("kind", "patch", "more", "expected"),
    [
        ("trainer.kubeflow.org/v1alpha1 TrainJob", ENV, "", ONE),
        ("jobset.x-k8s.io/v1alpha2 JobSet", CONTAINERS, "", TWO),
        ("trainer.kubeflow.org/v1alpha1 TrainJob", ALL, "", []),
        ("trainer.kubeflow.org/v1alpha1 TrainJob", "spec:\n  trainer:\n    numNodes: 2\n", "", []),
        ("batch/v1 Job", CONTAINERS, "", []),
        ("trainer.kubeflow.org/v1alpha1 TrainJob", ENV, "openapi: {path: schema.json}\n", []),
    ],
)
def test_what_a_replaced_list_loses_is_reported_at_the_patch(
    kind: str, patch: str, more: str, expected: list[object], tmp_path: Path
) -> None:
    version, name = kind.split()
    head = f"apiVersion: {version}\nkind: {name}\nmetadata: {{name: train}}\n"
    files = {
        "job.yaml": JOB.format(version=version, kind=name),
        "patch.yaml": head + patch,
        "schema.json": '{"definitions": {}}',
        "kustomization.yaml": f"resources: [job.yaml]\npatches: [{{path: patch.yaml}}]\n{more}",
    }
    write(tmp_path, files)
    found = json.loads(run_here("validate", ".", "-o", "json", cwd=tmp_path).stdout)["files"]
    lost = [one for file in found for one in file["diagnostics"] if one["rule"] == "list-replaced-by-patch"]
    assert [(each["file"], each["line"], each["message"]) for each in lost] == expected


BASE = """apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  replicatedJobs:
  - name: node
    template:
      spec:
        template:
          spec:
            restartPolicy: Never
            containers:
            - name: main
              image: example.com/train:v1
              env: [{name: EPOCHS, value: "3"}]
              volumeMounts: [{name: data, mountPath: /data}]
            volumes: [{name: data, emptyDir: {}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: board}
spec:
  selector: {matchLabels: {app: board}}
  template:
    metadata: {labels: {app: board}}
    spec: {containers: [{name: board, image: "example.com/board:v1"}]}
"""
PATCH = """apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  replicatedJobs:
  - name: node
    template:
      spec:
        template:
          spec:
            containers:
            - name: main
              env: [{name: SEED, value: "1"}]
              volumeMounts: [{name: data, mountPath: /more}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: board}
spec:
  template:
    spec: {containers: [{name: board, env: [{name: A, value: a}]}]}
"""
KEPT = ("example.com/train:v1", "EPOCHS", "SEED", "/data", "/more", "example.com/board:v1")


def _overlays(folder: Path, more: str = "") -> Path:
    kustomization = f"# ours\nresources: [../../base]\npatches:\n- path: patch.yaml\n{more}"
    write(
        folder,
        {
            ".git/HEAD": "",
            "base/jobs.yaml": BASE,
            "base/kustomization.yaml": "resources: [jobs.yaml]\n",
            **{f"overlays/{name}/patch.yaml": PATCH for name in ("dev", "prod")},
            **{f"overlays/{name}/kustomization.yaml": kustomization for name in ("dev", "prod")},
        },
    )
    return folder


def _built(folder: Path) -> str:
    command = ("kustomize", "build") if shutil.which("kustomize") else ("kubectl", "kustomize")
    return program(*command, folder, check=True).stdout


def test_what_a_fix_writes_brings_back_what_was_lost(tmp_path: Path) -> None:
    _overlays(tmp_path)
    found = json.loads(run_here("lint", ".", "-o", "json", cwd=tmp_path).stdout)["files"]
    lost = [one for file in found for one in file["diagnostics"] if one["rule"] == "list-replaced-by-patch"]
    assert [(each["file"], each["line"], each["builds"]) for each in lost] == [
        (f"overlays/{name}/patch.yaml", 5, [f"overlays/{name}"]) for name in ("dev", "prod")
    ]
    assert all("`image`, `EPOCHS`, `/data`" in each["message"] for each in lost)
    shown = run_here("lint", ".", "--diff", cwd=tmp_path)
    assert shown.returncode == 1
    assert "+  path: kustomize-schema.json" in shown.stdout
    assert not (tmp_path / "overlays" / "dev" / "kustomize-schema.json").exists()
    done = run_here("validate", ".", "--fix", cwd=tmp_path)
    assert "list-replaced-by-patch" not in done.stdout
    assert "overlays/dev/kustomization.yaml: 1 problem fixed by overlays/dev/kustomize-schema.json\n" in done.stderr
    for name in ("dev", "prod"):
        assert (tmp_path / "overlays" / name / "kustomization.yaml").read_text().startswith("# ours\nresources: [../../base]\n")
        built = _built(tmp_path / "overlays" / name)
        assert [each for each in KEPT if each not in built] == []


def test_a_schema_of_the_users_own_is_left(tmp_path: Path) -> None:
    _overlays(tmp_path, "openapi: {path: own.json}\n")
    write(tmp_path, {f"overlays/{name}/own.json": '{"definitions": {}}' for name in ("dev", "prod")})
    done = run_here("validate", ".", "--fix", cwd=tmp_path)
    assert "list-replaced-by-patch" not in done.stdout + done.stderr
    assert not (tmp_path / "overlays" / "dev" / "kustomize-schema.json").exists()
