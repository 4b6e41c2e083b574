"""Names and labels of kustomizations that custom resources do not follow, and the configurations that --fix writes."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support import quick_yaml
from tests.support.manifests import write
from tests.support.processes import program, run_here

OBJECTS = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  pytorchReplicaSpecs:
    Worker:
      template:
        spec:
          serviceAccountName: trainer
          priorityClassName: high
          imagePullSecrets: [{name: pull}]
          containers:
          - {name: pytorch, image: "example.com/train:v1", envFrom: [{configMapRef: {name: settings}}]}
          volumes:
          - {name: data, persistentVolumeClaim: {claimName: data}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: tune}
spec: {runtimeRef: {name: torch, kind: TrainingRuntime}, trainer: {image: "example.com/tune:v1"}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: fetch, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  template:
    spec: {restartPolicy: Never, serviceAccountName: trainer, containers: [{name: a, image: "example.com/a:v1"}]}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: torch, labels: {trainer.kubeflow.org/framework: torch}}
spec:
  mlPolicy: {numNodes: 1}
  template: {spec: {replicatedJobs: []}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: team}, spec: {clusterQueue: all}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: all}
spec:
  namespaceSelector: {}
  resourceGroups:
  - {coveredResources: [cpu], flavors: [{name: cheap, resources: [{name: cpu, nominalQuota: 1}]}]}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: cheap}}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: trainer}}
---
{apiVersion: v1, kind: Secret, metadata: {name: pull}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}
"""
PREFIXED = "resources: [objects.yaml]\nnamePrefix: dev-\n"
RULES = ("renamed-reference", "labels-not-on-pods", "hashed-name", "image-not-reached")

pytestmark = pytest.mark.skipif(not shutil.which("kustomize"), reason="kustomize is not installed")


def _found(folder: Path) -> list[tuple[str, int, str, str]]:
    files = json.loads(run_here("validate", ".", "-o", "json", cwd=folder).stdout)["files"]
    found = [one for file in files for one in file["diagnostics"] if one["rule"] in RULES]
    return [(one["file"], one["line"], one["rule"], one["message"]) for one in found]


def _place(folder: Path, kustomization: str, objects: str = OBJECTS, **more: str) -> Path:
    write(folder, {".git/HEAD": "", "objects.yaml": objects, "kustomization.yaml": kustomization, **more})
    return folder


def _built(folder: Path) -> str:
    return program("kustomize", "build", folder, check=True).stdout


def test_each_reference_that_a_prefix_breaks_is_reported_at_the_prefix(tmp_path: Path) -> None:
    found = _found(_place(tmp_path, PREFIXED))
    assert {each[:3] for each in found} == {("kustomization.yaml", 2, "renamed-reference")}
    assert sorted(each[3].split()[0] for each in found) == [
        "ClusterQueue",
        "LocalQueue",
        "PersistentVolumeClaim",
        "PriorityClass",
        "ResourceFlavor",
        "Secret",
        "ServiceAccount",
        "TrainingRuntime",
    ]


def test_what_a_fix_writes_makes_kustomize_follow(tmp_path: Path) -> None:
    labels = "labels:\n- pairs: {team: a}\n  includeTemplates: true\nimages:\n- {name: example.com/tune, newTag: v2}\n"
    generator = "configMapGenerator:\n- {name: settings, literals: [a=b]}\n"
    _place(tmp_path, f"# ours\n{PREFIXED}{labels}{generator}")
    assert {each[2] for each in _found(tmp_path)} == set(RULES)
    done = run_here("validate", ".", "--fix", cwd=tmp_path)
    assert "kustomization.yaml: 12 problems fixed by kustomize-configuration.yaml\n" in done.stderr
    assert (tmp_path / "kustomization.yaml").read_text().startswith(f"# ours\n{PREFIXED}{labels}{generator}")
    objects = {each["kind"]: each for each in quick_yaml.load_all(_built(tmp_path))}
    job = objects["PyTorchJob"]["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]
    assert job["metadata"]["labels"] == {"team": "a"}
    pod = job["spec"]
    assert [pod["serviceAccountName"], pod["priorityClassName"], pod["imagePullSecrets"]] == [
        "dev-trainer",
        "dev-high",
        [{"name": "dev-pull"}],
    ]
    assert pod["containers"][0]["envFrom"][0]["configMapRef"]["name"] == objects["ConfigMap"]["metadata"]["name"]
    assert pod["volumes"][0]["persistentVolumeClaim"]["claimName"] == "dev-data"
    assert objects["PyTorchJob"]["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "dev-team"
    assert objects["Job"]["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "dev-team"
    assert objects["TrainJob"]["spec"]["runtimeRef"]["name"] == "dev-torch"
    assert objects["TrainJob"]["spec"]["trainer"]["image"] == "example.com/tune:v2"
    assert objects["LocalQueue"]["spec"]["clusterQueue"] == "dev-all"
    assert objects["ClusterQueue"]["spec"]["resourceGroups"][0]["flavors"][0]["name"] == "dev-cheap"
    assert _found(tmp_path) == []


@pytest.mark.parametrize(
    ("more", "objects"),
    [
        ("configurations: [own.yaml]\n", OBJECTS),
        ("", "{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: team}, spec: {clusterQueue: all}}\n"),
        ("", "{apiVersion: v1, kind: Namespace, metadata: {name: team}}\n"),
        (
            "patches:\n- patch: '[{op: replace, path: /spec/clusterQueue, value: dev-all}]'\n  target: {kind: LocalQueue}\n",
            "{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: team}, spec: {clusterQueue: all}}\n---\n"
            "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: all}}\n",
        ),
    ],
)
def test_what_follows_or_may_follow_is_not_reported(more: str, objects: str, tmp_path: Path) -> None:
    assert _found(_place(tmp_path, PREFIXED + more, objects, **{"own.yaml": "nameReference: []\n"})) == []


def test_a_reference_that_a_base_breaks_is_reported_there_alone(tmp_path: Path) -> None:
    _place(tmp_path / "base", PREFIXED)
    write(tmp_path, {".git/HEAD": "", "prod/kustomization.yaml": "resources: [../base]\nnameSuffix: -1\n"})
    assert {each[0] for each in _found(tmp_path)} == {"base/kustomization.yaml"}
