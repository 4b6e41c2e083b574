"""`jobspec dry-run --pods`: what a real server says of the pods that an accepted job will have, at the lines of the job."""

from pathlib import Path

from tests.support.cluster import Runner

NAMESPACE = """\
apiVersion: v1
kind: Namespace
metadata:
  name: strict
  labels: {pod-security.kubernetes.io/enforce: baseline, pod-security.kubernetes.io/warn: restricted}
---
"""
JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: bert, namespace: strict}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          containers:
          - name: pytorch
            image: example.com/train:v1
            volumeMounts: [{name: dat, mountPath: /data}]
    Worker:
      replicas: 3
      template:
        spec:
          hostNetwork: true
          containers: [{name: pytorch, image: "example.com/train:v1"}]
"""


RESUMED = JOB.replace("spec:\n  pytorch", "spec:\n  runPolicy: {suspend: true}\n  pytorch").replace("bert", "resumed")


def test_pods_are_refused_at_the_lines_of_their_job(dry_run: Runner, tmp_path: Path) -> None:
    """Those of a job that is suspended, too: they come when it is resumed."""
    (tmp_path / "job.yaml").write_text(NAMESPACE + JOB)
    (tmp_path / "resumed.yaml").write_text(RESUMED)
    without = dry_run(tmp_path, "--envtest")
    assert (without.code, without.reported) == (0, [])
    done = dry_run(tmp_path, "--envtest", "--pods")
    assert done.code == 1
    mount = "spec.containers[0].volumeMounts[0].name"
    assert [each for each in done.reported if each[1] == "pods-refused"] == [
        ("job.yaml:9:18", "pods-refused", ""),
        ("job.yaml:19:35", "pods-refused", mount),
        ("resumed.yaml:3:18", "pods-refused", ""),
        ("resumed.yaml:14:35", "pods-refused", mount),
    ]
    by_policy, by_code, *others = [each for each in done.messages if each.startswith("the server refuses")]
    assert len(others) == 2
    assert by_policy.startswith("the server refuses the job's pods: ") and "host namespaces" in by_policy
    assert by_code == 'the server refuses the job\'s pods: Not found: "dat"'
    assert [each["runs"] for each in done.report["files"][0]["documents"]] == [None, False]
    assert done.statuses == ["valid", "valid", "valid"]


def test_pods_that_a_server_takes(dry_run: Runner, tmp_path: Path) -> None:
    good = JOB.replace("hostNetwork: true", "hostNetwork: false").replace("            volumeMounts: [{name: dat, mountPath: /data}]\n", "")
    (tmp_path / "job.yaml").write_text(good.replace("namespace: strict", "namespace: default"))
    done = dry_run(tmp_path / "job.yaml", "--envtest", "--pods")
    assert (done.code, done.reported, done.statuses) == (0, [], ["valid"])
