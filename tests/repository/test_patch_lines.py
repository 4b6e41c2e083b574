"""A fault that a patch brings in is reported at the line of the patch."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.manifests import write
from tests.support.processes import run_here

TRAINJOB = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    numNodes: 2
    image: ghcr.io/acme/train:1.2
"""
PYTORCHJOB = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    Worker:
      template:
        spec:
          containers:
            - name: pytorch
              image: ghcr.io/acme/train:1.2
              command: [python, train.py]
"""
MERGE = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: train}\nspec:\n  "
LIST = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    Worker: {template: {spec: {containers: [{name: pytorch}]}}}
"""

pytestmark = pytest.mark.skipif(not (shutil.which("kustomize") or shutil.which("kubectl")), reason="no kustomize or kubectl")


@pytest.mark.parametrize(
    ("base", "patch", "line", "rule"),
    [
        (TRAINJOB, "- {op: replace, path: /spec/trainer/numNodes, value: two}\n", 1, "wrong-type"),
        (TRAINJOB, "- {op: remove, path: /spec/runtimeRef/name}\n- {op: add, path: /spec/suspend, value: true}\n", 1, "missing-field"),
        (TRAINJOB, MERGE + "trainer: {numNodes: two}\n", 5, "wrong-type"),
        (TRAINJOB, MERGE + "runtimeRef: {name: null}\n", 5, "missing-field"),
        (TRAINJOB, MERGE + "trainer:\n    numNode: 2\n", 6, "unknown-field"),
        (PYTORCHJOB, LIST, 6, "container-image"),
    ],
)
@pytest.mark.parametrize("is_inline", [True, False])
def test_a_fault_of_a_patch_is_reported_at_its_line(base: str, patch: str, line: int, rule: str, is_inline: bool, tmp_path: Path) -> None:
    head = "resources: [job.yaml]\npatches:\n  - target: {name: train}\n"
    text = "    patch: |-\n" + "".join(f"      {each}\n" for each in patch.splitlines()) if is_inline else "    path: patch.yaml\n"
    write(tmp_path, {"job.yaml": base, "patch.yaml": patch, "kustomization.yaml": head + text})
    files = json.loads(run_here("validate", ".", "-o", "json", cwd=tmp_path).stdout)["files"]
    found = [one for file in files for one in file["diagnostics"] if one["severity"] == "error"]
    expected = ("kustomization.yaml", 4 + line, rule) if is_inline else ("patch.yaml", line, rule)
    assert [(each["file"], each["line"], each["rule"]) for each in found] == [expected]


def test_a_fault_of_a_generated_object_with_replacements_is_reported_at_its_generator(tmp_path: Path) -> None:
    """No file has the generated object itself, and a replacement may change every ConfigMap."""
    kustomization = """resources: [job.yaml]
configMapGenerator:
  - name: settings
    literals: [token=0123456789abcdef0123]
replacements:
  - source: {kind: Job, fieldPath: metadata.name}
    targets: [{select: {kind: ConfigMap}, fieldPaths: [data.name], options: {create: true}}]
"""
    job = """apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: ghcr.io/acme/train:1.2
          env: [{name: WANDB_API_KEY, valueFrom: {configMapKeyRef: {name: settings, key: token}}}]
"""
    write(tmp_path, {".git/HEAD": "", "kustomization.yaml": kustomization, "job.yaml": job})
    done = run_here("lint", ".", "-o", "concise", "--select", "secret-in-manifest", cwd=tmp_path)
    assert (done.returncode, done.stdout.partition(" ")[0]) == (0, "kustomization.yaml:4:16:")
