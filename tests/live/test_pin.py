"""`jobspec pin` of a live cluster: what it writes, what a caller may not read, and what the file then says of jobs, as the cluster does."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.support import quick_yaml
from tests.support.manifests import write
from tests.support.processes import program, run_here
from tests.support.server import NEWEST_OPERATORS, kubeconfig

_OBJECTS = """
apiVersion: v1
kind: Namespace
metadata: {name: NAME, labels: {pod-security.kubernetes.io/enforce: baseline}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: gpus, namespace: NAME}
spec: {hard: {requests.nvidia.com/gpu: "8"}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: most, namespace: NAME}
spec: {limits: [{type: Container, max: {memory: 64Gi}}]}
---
apiVersion: v1
kind: Secret
metadata: {name: token, namespace: NAME}
stringData: {token: never-to-be-read}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NAME}
rules: [{apiGroups: [""], resources: [namespaces, resourcequotas], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: NAME}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: NAME}
subjects: [{kind: ServiceAccount, name: default, namespace: NAME}]
"""
_JOB = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: %s, namespace: %s}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          %s
          containers:
            - {name: pytorch, image: "ghcr.io/example/train:1", resources: {limits: {%s}}}
"""


@pytest.fixture
def namespace(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A namespace of its own in the cluster, which has a quota, limits and a level of Pod Security; `KUBECONFIG` names the cluster."""
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(NEWEST_OPERATORS)))
    name = f"pin-{uuid4().hex[:8]}"
    program("kubectl", "apply", "--filename", "-", stdin=_OBJECTS.replace("NAME", name), check=True)
    yield name
    program("kubectl", "delete", "--wait=false", f"namespace/{name}", f"clusterrole/{name}", f"clusterrolebinding/{name}", check=True)


def _context() -> str:
    return program("kubectl", "config", "current-context", check=True).stdout.strip()


def test_what_is_written(namespace: str, tmp_path: Path) -> None:
    done = run_here("pin", "--context", _context(), "-o", "clusters/live.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "clusters" / "live.yaml").read_text()
    spec = quick_yaml.load(text)["spec"]
    assert {**spec["releases"], "kubernetes": ""} == {
        "jobset": "0.12.0",
        "kubernetes": "",
        "trainer": "2.3.0",
        "training-operator": "1.9.4",
    }
    own = [(each["kind"], each["metadata"]["name"]) for each in spec["objects"] if each["metadata"].get("namespace") == namespace]
    assert own == [("LimitRange", "most"), ("ResourceQuota", "gpus"), ("ServiceAccount", "default")]
    assert "never-to-be-read" not in text
    assert "uid" not in text
    assert "ClusterTrainingRuntime.trainer.kubeflow.org" in spec["complete"]
    assert run_here("validate", "clusters/live.yaml", cwd=tmp_path).returncode == 0


def test_what_a_caller_may_not_read_is_said(namespace: str, tmp_path: Path) -> None:
    token = program("kubectl", "create", "token", "default", "--namespace", namespace, check=True).stdout.strip()
    config = quick_yaml.load(program("kubectl", "config", "view", "--raw", check=True).stdout)
    config["users"] = [{"name": "part", "user": {"token": token}}]
    config["contexts"] = [{"name": "part", "context": {"cluster": config["clusters"][0]["name"], "user": "part"}}]
    write(tmp_path, {"kubeconfig": quick_yaml.dump({**config, "current-context": "part"})})
    done = run_here("pin", "--context", "part", cwd=tmp_path, env={**os.environ, "KUBECONFIG": str(tmp_path / "kubeconfig")})
    assert done.returncode == 0
    spec = quick_yaml.load(done.stdout)["spec"]
    assert spec["complete"] == ["Namespace", "ResourceQuota"]
    assert {each["kind"] for each in spec["objects"]} == {"Namespace", "ResourceQuota"}
    assert spec["unread"]["LimitRange"] == "forbidden"
    assert "jobspec: LimitRange could not be read: forbidden\n" in done.stderr


@pytest.mark.parametrize(
    ("spec", "limits"),
    [
        ("priority: 0", "nvidia.com/gpu: 8"),
        ("priority: 0", "nvidia.com/gpu: 9"),
        ("priority: 0", "memory: 65Gi"),
        ("hostNetwork: true", "nvidia.com/gpu: 1"),
        ("priorityClassName: system-cluster-critical", "nvidia.com/gpu: 1"),
    ],
)
def test_the_file_says_of_pods_what_the_cluster_says(namespace: str, spec: str, limits: str, tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": _JOB % ("job", namespace, spec, limits)})
    assert run_here("pin", "--context", _context(), "-o", "live.yaml", cwd=tmp_path).returncode == 0
    online = run_here("dry-run", "job.yaml", "--pods", "--context", _context(), "-o", "json", cwd=tmp_path)
    offline = run_here("validate", "job.yaml", "--cluster", "live.yaml", "-o", "json", cwd=tmp_path)
    assert offline.returncode == online.returncode, (online.stdout, offline.stdout)
    (row,) = json.loads(offline.stdout)["files"][0]["documents"]
    assert (row["runs"] is False) == (online.returncode == 1)


def test_drift_is_reported_by_its_effect(namespace: str, tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": _JOB % ("job", namespace, "priority: 0", "nvidia.com/gpu: 4")})
    assert run_here("pin", "--context", _context(), "-o", "live.yaml", cwd=tmp_path).returncode == 0
    before, own, after = (
        (tmp_path / "live.yaml")
        .read_text()
        .partition(f"    kind: ResourceQuota\n    metadata:\n      name: gpus\n      namespace: {namespace}\n")
    )
    used = 'requests.nvidia.com/gpu: "4321"'  # no other test has it
    write(tmp_path, {"used.yaml": before + own + after.replace('requests.nvidia.com/gpu: "0"', used, 1)})
    assert used in (tmp_path / "used.yaml").read_text()
    lines = run_here("pin", "--context", _context(), "--check", "used.yaml", "job.yaml", cwd=tmp_path).stdout.splitlines()
    gone, new = (lines.count(f"{sign}        {used}") for sign in "-+")
    assert gone == new  # it may stand behind namespaces of other tests that come and go
    program(
        *("kubectl", "patch", "resourcequota", "gpus", "--namespace", namespace),
        *("--patch", '{"spec": {"hard": {"requests.nvidia.com/gpu": "2"}}}'),
        check=True,
    )
    done = run_here("pin", "--context", _context(), "--check", "live.yaml", "job.yaml", cwd=tmp_path)
    assert done.returncode == 1
    assert '\n+        requests.nvidia.com/gpu: "2"\n' in done.stdout  # other tests have quotas meanwhile
    assert (
        "exceeds ResourceQuota `gpus` (pinned in live.yaml): the job's pods request 4 of `requests.nvidia.com/gpu`, the quota is 2"
        in done.stdout
    )
