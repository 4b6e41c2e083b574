"""A cluster in a file: what `--cluster` and a project's `cluster` make of it, and what is wrong with such a file."""

import json
from pathlib import Path

import pytest

from tests.support.manifests import write
from tests.support.processes import run_here

_CLUSTER = """\
apiVersion: jobspec.dev/v1alpha1
kind: Cluster
metadata: {name: prod}
spec:
  releases: {kubernetes: "1.37", trainer: "2.1.0", training-operator: null, kueue: "0.19.2"}
  complete: [ResourceQuota]
  crds: [prod-crds/apps.example.com.yaml]
  objects:
    - {apiVersion: v1, kind: ResourceQuota, metadata: {name: gpus, namespace: nlp}, spec: {hard: {requests.nvidia.com/gpu: "8"}}}
    - apiVersion: trainer.kubeflow.org/v1alpha1
      kind: ClusterTrainingRuntime
      metadata: {name: team, labels: {trainer.kubeflow.org/framework: torch}}
      spec:
        mlPolicy: {numNodes: 1, torch: {}}
        template:
          spec:
            replicatedJobs:
              - name: node
                template:
                  metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
                  spec: {template: {spec: {containers: [{name: node, image: "ghcr.io/example/train:1"}]}}}
  nodes: [{count: 4, labels: {pool: gpu}, taints: [{key: gpu, effect: NoSchedule}], allocatable: {cpu: "64", nvidia.com/gpu: "8"}}]
  unread: {LimitRange: forbidden}
"""
_CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: apps.example.com}
spec:
  group: example.com
  names: {kind: App, plural: apps}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
"""
_JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: bert, namespace: nlp}
spec:
  runtimeRef: {name: team}
  trainer: {numNodes: 2, command: [torchrun, train.py], resourcesPerNode: {limits: {nvidia.com/gpu: 8}}}
"""
_FILES = {"clusters/prod.yaml": _CLUSTER, "clusters/prod-crds/apps.example.com.yaml": _CRD, "job.yaml": _JOB}
_NEVER_FITS = "job.yaml:3:18: error: exceeds ResourceQuota `gpus`: the job's pods request 16 of `requests.nvidia.com/gpu`, the quota is 8"


def test_releases_objects_and_kinds_count(tmp_path: Path) -> None:
    write(tmp_path, {**_FILES, "app.yaml": "apiVersion: example.com/v1\nkind: App\nmetadata: {name: a}\nspec: {size: big}\n"})
    done = run_here("validate", "job.yaml", "app.yaml", "--cluster", "clusters/prod.yaml", "-o", "concise", cwd=tmp_path)
    first, second, last = done.stdout.splitlines()
    assert first.startswith(_NEVER_FITS)
    assert second == 'app.yaml:4:14: error: `size`: expected an integer, got the string "big" [wrong-type]'
    assert last.endswith("(training-operator 1.9.4, trainer 2.1.0)")


def test_a_release_of_the_command_line_wins(tmp_path: Path) -> None:
    write(tmp_path, _FILES)
    done = run_here("validate", "job.yaml", "--cluster", "clusters/prod.yaml", "--target", "trainer=2.3", "-o", "concise", cwd=tmp_path)
    assert done.stdout.endswith("(training-operator 1.9.4, trainer 2.3.0)\n")


@pytest.mark.parametrize("command", [["validate"], ["lint"], ["lint", "jobspec.yaml"]])
def test_a_project_names_its_cluster(command: list[str], tmp_path: Path) -> None:
    variants = "  defaults: {namespace: nlp}\n  variants: [{name: a, base: job.yaml}]\n"
    project = "apiVersion: jobspec.dev/v1alpha1\nkind: Project\nspec:\n  cluster: clusters/prod.yaml\n"
    write(tmp_path, {**_FILES, "jobspec.yaml": project + variants})
    done = run_here(*command, "-o", "concise", cwd=tmp_path)
    if command[0] == "lint":
        assert "exceeds ResourceQuota `gpus`" in done.stdout
    write(tmp_path, {"jobspec.yaml": (project + variants).replace("prod.yaml", "nowhere.yaml")})
    done = run_here(*command, "-o", "concise", cwd=tmp_path)
    assert "jobspec.yaml:4:12: error: no cluster at `clusters/nowhere.yaml`: there is no such file [invalid-project]" in done.stdout


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (_CLUSTER.replace("releases:", "release:"), "error: unknown field `release` in `spec`"),
        (_JOB, "jobspec: clusters/prod.yaml: a cluster's file holds one document of the kind Cluster of jobspec.dev/v1alpha1"),
    ],
)
def test_what_is_wrong_with_a_file(content: str, said: str, tmp_path: Path) -> None:
    write(tmp_path, {**_FILES, "clusters/prod.yaml": content})
    done = run_here("validate", "job.yaml", "--cluster", "clusters/prod.yaml", cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert said in done.stdout + done.stderr


def test_a_release_that_came_later_is_judged_as_the_newest(tmp_path: Path) -> None:
    write(tmp_path, {**_FILES, "clusters/prod.yaml": _CLUSTER.replace('"2.1.0"', '"2.9.0"')})
    done = run_here("validate", "job.yaml", "--cluster", "clusters/prod.yaml", "-o", "concise", cwd=tmp_path)
    assert done.stdout.endswith("(training-operator 1.9.4, trainer 2.3.0)\n")


def test_the_runtimes_of_the_file_are_expanded(tmp_path: Path) -> None:
    write(tmp_path, _FILES)
    done = run_here("expand", "job.yaml", "--cluster", "clusters/prod.yaml", "-o", "table", cwd=tmp_path)
    assert (done.returncode, "ghcr.io/example/train:1" in done.stdout) == (0, True), done.stderr


def test_the_runtimes_of_the_file_are_compared_in_an_upgrade(tmp_path: Path) -> None:
    write(tmp_path, {**_FILES, "clusters/prod.yaml": _CLUSTER.replace('"2.1.0"', '"2.0.0"')})
    done = run_here("upgrade", "job.yaml", "--cluster", "clusters/prod.yaml", "--to", "trainer=2.1", "-o", "json", cwd=tmp_path)
    found = [each["message"] for file in json.loads(done.stdout)["files"] for each in file["diagnostics"]]
    assert any("`nproc_per_node`" in each for each in found), found


def test_an_upgrade_of_the_cluster_in_a_file(tmp_path: Path) -> None:
    write(tmp_path, _FILES)
    done = run_here("upgrade", "job.yaml", "--cluster", "clusters/prod.yaml", "--to", "trainer=2.3", "-o", "concise", cwd=tmp_path)
    assert done.stdout.endswith("(trainer 2.1.0 → 2.3.0, kubernetes 1.37, kueue 0.19.2)\n")
