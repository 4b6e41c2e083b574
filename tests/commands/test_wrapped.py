"""Jobs inside other objects, such as the trials of Katib: judged there, and written by nobody but their object's author."""

from pathlib import Path

import pytest

from tests.support import quick_yaml
from tests.support.manifests import JOB, write
from tests.support.processes import run_here

EXPERIMENT = """\
apiVersion: kubeflow.org/v1beta1
kind: Experiment
metadata: {name: tune}
spec:
  trialTemplate:
    trialSpec:
      apiVersion: kubeflow.org/v1
      kind: PyTorchJob
      spec:
        pytorchReplicaSpecs:
          Master:
            replicas: 1
            restartPolicy: Never
            template: {spec: {containers: [{name: pytorch, image: "a:1", command: [python, "--lr=${trialParameters.lr}"]}]}}
"""
WRAPPER = """\
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata: {name: wrapper}
spec:
  components:
  - template:
      apiVersion: kubeflow.org/v1
      kind: PyTorchJob
      metadata: {name: inside}
      spec:
        pytorchReplicaSpecs:
          Master: {replicas: 1, restartPolicy: Never, template: {spec: {containers: [{name: pytorch, image: "a:1"}]}}}
"""


@pytest.mark.parametrize("text", [EXPERIMENT, WRAPPER], ids=["Experiment", "AppWrapper"])
def test_a_job_inside_another_object_is_written_by_no_command(tmp_path: Path, text: str) -> None:
    write(tmp_path, {"file.yaml": text})
    for command in (("migrate", "--to", "TrainJob", "--in-place"), ("import",)):
        done = run_here(*command, "file.yaml", cwd=tmp_path)
        assert done.returncode != 0
        assert [each.name for each in tmp_path.iterdir()] == ["file.yaml"]
        assert (tmp_path / "file.yaml").read_text() == text
    assert run_here("render", "file.yaml", cwd=tmp_path).stdout.count("\nkind: ") == 1
    done = run_here("render", "file.yaml", "--overlay", "istio-off", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "the PyTorchJob is inside another object [no-workload]" in done.stderr
    assert "PyTorchJob" in run_here("expand", "file.yaml", cwd=tmp_path).stdout + run_here("expand", "file.yaml", cwd=tmp_path).stderr


def test_trials_of_two_experiments_are_two_jobs(tmp_path: Path) -> None:
    others = EXPERIMENT.replace("name: tune", "name: search"), EXPERIMENT.replace("name: tune", f"name: {'a' * 55}")
    write(tmp_path, {"file.yaml": "---\n".join((EXPERIMENT, *others))})
    found = run_here("validate", "file.yaml", "-o", "concise", cwd=tmp_path).stdout
    assert "repeated-object" not in run_here("lint", "file.yaml", "-o", "concise", cwd=tmp_path).stdout
    assert f"{'a' * 55}-trial000" in found  # is too long for the pods of the job


def test_a_job_behind_a_configmap_in_a_list_is_a_job_of_its_own(tmp_path: Path) -> None:
    items = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}, quick_yaml.load(JOB)]
    write(tmp_path, {"list.yaml": quick_yaml.dump({"apiVersion": "v1", "kind": "List", "items": items})})
    done = run_here("render", "list.yaml", "--overlay", "istio-off", cwd=tmp_path)
    assert (done.returncode, "sidecar.istio.io/inject" in done.stdout) == (0, True), done.stderr
