"""`jobspec pin --from-files`: a cluster pinned from what kubectl wrote, without a server."""

from pathlib import Path

import pytest

from tests.support import quick_yaml
from tests.support.manifests import write
from tests.support.processes import run_here

OBJECTS = """\
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Namespace, metadata: {name: nlp, uid: a, labels: {team: nlp}}}
- apiVersion: v1
  kind: ResourceQuota
  metadata: {name: gpus, namespace: nlp, resourceVersion: "3"}
  spec: {hard: {requests.nvidia.com/gpu: "8"}}
- {apiVersion: v1, kind: Secret, metadata: {name: token, namespace: nlp}, data: {token: c2VjcmV0}}
- apiVersion: v1
  kind: Node
  metadata: {name: one, labels: {kubernetes.io/hostname: one, pool: gpu}}
  spec: {}
  status: {allocatable: {cpu: "8", memory: 33333333Ki, nvidia.com/gpu: "8"}}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: kueue-controller-manager, namespace: kueue-system}
  spec: {template: {spec: {containers: [{name: manager, image: "registry.k8s.io/kueue/kueue:v0.18.2"}]}}}
"""
JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: bert, namespace: nlp}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {numNodes: 2, resourcesPerNode: {limits: {nvidia.com/gpu: 8}}}
"""
JOB_OF_TRAINING_OPERATOR = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: bert, namespace: nlp}
spec: {pytorchReplicaSpecs: {Worker: {replicas: 2, template: {spec: {containers: [{name: pytorch, image: "bert:1"}]}}}}}
"""


def test_a_cluster_is_pinned_from_files(tmp_path: Path) -> None:
    write(tmp_path, {"objects.yaml": OBJECTS, "job.yaml": JOB})
    done = run_here("pin", "--from-files", "objects.yaml", "-o", "prod.yaml", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "prod.yaml\n", "")
    spec = quick_yaml.load((tmp_path / "prod.yaml").read_text())["spec"]
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "gpus", "namespace": "nlp"},
        "spec": {"hard": {"requests.nvidia.com/gpu": "8"}},
    }
    assert spec == {
        "releases": {"kueue": "0.18.2"},
        "objects": [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "nlp", "labels": {"team": "nlp"}}}, quota],
        "nodes": [{"count": 1, "allocatable": {"cpu": "8", "memory": "31Gi", "nvidia.com/gpu": "8"}, "labels": {"pool": "gpu"}}],
    }
    said = run_here("validate", "job.yaml", "--cluster", "prod.yaml", "-o", "concise", cwd=tmp_path).stdout
    assert "exceeds ResourceQuota `gpus` (pinned in prod.yaml)" in said


@pytest.mark.parametrize(
    ("image", "releases"),
    [
        ("mpioperator/mpi-operator:0.8.0", {"mpi-operator": "0.8.0"}),
        ("quay.io/kuberay/operator:v1.6.0", {"kuberay": "1.6.0"}),
        ("registry.k8s.io/lws/lws:v0.9.0@sha256:" + "a" * 64, {"lws": "0.9.0"}),
        ("localhost:5000/kuberay/operator:v1.5.1", {"kuberay": "1.5.1"}),
        ("example.com/prometheus/operator:v1.5.1", {}),
    ],
)
def test_an_operator_is_recognised_by_its_image(tmp_path: Path, image: str, releases: dict[str, str]) -> None:
    write(tmp_path, {"objects.yaml": OBJECTS.replace("registry.k8s.io/kueue/kueue:v0.18.2", image)})
    done = run_here("pin", "--from-files", "objects.yaml", "-o", "prod.yaml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert quick_yaml.load((tmp_path / "prod.yaml").read_text())["spec"].get("releases", {}) == releases


def test_what_changed_in_the_files_is_shown(tmp_path: Path) -> None:
    write(tmp_path, {"objects.yaml": OBJECTS})
    assert run_here("pin", "--from-files", "objects.yaml", "-o", "prod.yaml", cwd=tmp_path).returncode == 0
    assert run_here("pin", "--from-files", "objects.yaml", "--check", "prod.yaml", cwd=tmp_path).returncode == 0
    write(
        tmp_path,
        {"objects.yaml": OBJECTS.replace('gpu: "8"}}\n- {apiVersion: v1, kind: Secret', 'gpu: "4"}}\n- {apiVersion: v1, kind: Secret')},
    )
    done = run_here("pin", "--from-files", "objects.yaml", "--check", "prod.yaml", cwd=tmp_path)
    assert (done.returncode, '+        requests.nvidia.com/gpu: "4"' in done.stdout) == (1, True)


def test_files_that_show_no_operator_are_a_cluster_that_may_have_any(tmp_path: Path) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "pods", "namespace": "nlp"}, "spec": {"hard": {"pods": "9"}}}
    write(tmp_path, {"quota.yaml": quick_yaml.dump(quota), "old.yaml": JOB_OF_TRAINING_OPERATOR})
    assert run_here("pin", "--from-files", "quota.yaml", "-o", "prod.yaml", cwd=tmp_path).returncode == 0
    assert quick_yaml.load((tmp_path / "prod.yaml").read_text())["spec"] == {"releases": {}, "objects": [quota]}
    done = run_here("lint", "old.yaml", "--cluster", "prod.yaml", "-o", "concise", "--select", "legacy-operator", cwd=tmp_path)
    first, last = done.stdout.splitlines()
    assert first == "old.yaml:2:7: info: PyTorchJob is legacy: Kubeflow Trainer's TrainJob replaces it [legacy-operator]"
    assert last.startswith("1 document: 1 valid")


def test_pin_says_at_once_what_it_reads(tmp_path: Path) -> None:
    done = run_here("pin", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("jobspec: name the cluster: --context NAME reads a server with your kubeconfig, --from-files FILE reads")
    write(tmp_path, {"empty.yaml": "a: 1\n"})
    done = run_here("pin", "--from-files", "empty.yaml", cwd=tmp_path)
    assert done.stderr == "jobspec: empty.yaml: no object with `apiVersion`, `kind` and `metadata.name`\n"


def test_a_node_that_says_little_is_pinned(tmp_path: Path) -> None:
    write(tmp_path, {"nodes.yaml": "apiVersion: v1\nkind: Node\nmetadata: {name: a, labels: {rack: r1}}\n"})
    done = run_here("pin", "--from-files", "nodes.yaml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "- count: 1\n    labels:\n      rack: r1\n" in done.stdout


def test_what_no_server_stores_is_refused_with_its_place(tmp_path: Path) -> None:
    deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: training-operator, namespace: kubeflow}\nspec: {replicas: one}\n"
    write(tmp_path, {"objects.yaml": f"apiVersion: v1\nkind: Node\nmetadata: {{name: a}}\nspec: worker\n---\n{deployment}"})
    done = run_here("pin", "--from-files", "objects.yaml", cwd=tmp_path)
    assert done.returncode == 2
    first, *others = done.stderr.splitlines()
    assert first.startswith("jobspec: objects.yaml:4:7: `spec`: expected an object, got")
    assert others == ['objects.yaml:9:18: `replicas`: expected an integer, got the string "one"']
