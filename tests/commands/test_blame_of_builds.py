"""`jobspec blame` for objects that kustomize builds."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.manifests import JOB, write
from tests.support.processes import run_here

pytestmark = pytest.mark.skipif(not shutil.which("kustomize"), reason="kustomize is not installed")
PATCH = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    Master:
      restartPolicy: Never
"""
BASE = JOB.replace("      replicas: 1\n", "      replicas: 1\n      restartPolicy: OnFailure\n")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    overlay = "resources: [../../base]\nnamespace: {}\nimages:\n- name: {}\n  newTag: v9\npatches:\n- path: patch.yaml\n"
    image = BASE.split("image: ")[1].split("\n")[0].rpartition(":")[0]
    write(
        tmp_path,
        {
            ".git/HEAD": "",
            "base/job.yaml": BASE,
            "base/kustomization.yaml": "resources: [job.yaml]\nconfigMapGenerator:\n- {name: settings, literals: [a=b]}\n",
            **{f"overlays/{name}/kustomization.yaml": overlay.format(name, image) for name in ("dev", "prod")},
            **{f"overlays/{name}/patch.yaml": PATCH for name in ("dev", "prod")},
        },
    )
    return tmp_path


def _fields(place: Path, *arguments: str) -> dict[str, tuple[str, int, str]]:
    done = run_here("blame", *arguments, "-o", "json", cwd=place)
    assert done.returncode == 0, done.stderr
    return {each["field"]: (each["file"], each["line"], each["layer"]) for each in json.loads(done.stdout)["fields"]}


def test_each_field_of_a_built_object_has_what_wrote_it(place: Path) -> None:
    found = _fields(place, "PyTorchJob/train", "--in", "overlays/prod")
    assert found["kind"] == ("base/job.yaml", 2, "")
    assert found["metadata.namespace"] == ("overlays/prod/kustomization.yaml", 2, "namespace")
    assert found["spec.pytorchReplicaSpecs[Master].restartPolicy"] == ("overlays/prod/patch.yaml", 7, "patch")
    (image,) = [place for field, place in found.items() if field.endswith(".image")]
    assert image[0] == "overlays/prod/kustomization.yaml"
    assert image[2] == "images"


def test_a_field_shows_what_it_overrides_in_each_build(place: Path) -> None:
    done = run_here("blame", "pytorchjob/train", "restartPolicy", cwd=place)
    assert done.returncode == 0, done.stderr
    heads = ["PyTorchJob/train in overlays/dev", "PyTorchJob/train in overlays/prod"]
    assert [line for line in done.stdout.splitlines() if " in overlays/" in line] == heads
    assert '    is   "Never"      patch  overlays/dev/patch.yaml:7:22\n' in done.stdout
    assert '    was  "OnFailure"  base   base/job.yaml:' in done.stdout


def test_what_is_meant_has_to_be_one_object(place: Path) -> None:
    done = run_here("blame", "overlays/prod", cwd=place)
    assert done.returncode == 2
    assert "name one of its objects: ConfigMap/settings-" in done.stderr
    several = run_here("blame", "base/job.yaml", "-o", "json", cwd=place)
    assert several.returncode == 2
    assert "2 builds have it; choose one: --in overlays/dev, --in overlays/prod" in several.stderr
    assert "no field `restartPolicies`: leave FIELD out" in run_here("blame", "PyTorchJob/train", "restartPolicies", cwd=place).stderr
    assert run_here("blame", "PyTorchJob/none", cwd=place).returncode == 2
