"""Lists of custom resources that a merge patch of kustomize replaces as a whole."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.manifests import write
from tests.support.processes import run_here

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
    lost = [one for file in found for one in file["diagnostics"] if one["rule"] == "list-replaced"]
    assert [(each["file"], each["line"], each["message"]) for each in lost] == expected
