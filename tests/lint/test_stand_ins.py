"""Placeholders for numbers: findings that hold for any number, without a number."""

from pathlib import Path

from tests.support.processes import run_here

_JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: Never
      template:
        spec:
          containers:
          - name: pytorch
            image: train:1.4
            command: [torchrun, --nproc-per-node=8, train.py]
            resources: {limits: {nvidia.com/gpu: GPUS}}
"""


def _found(folder: Path, gpus: str, *rules: str) -> list[str]:
    (folder / "job.yaml").write_text(_JOB.replace("GPUS", gpus))
    said = run_here("lint", ".", cwd=folder).stdout.splitlines()
    return [line.partition(": ")[2] for line in said if any(f"[{rule}]" in line for rule in rules)]


def test_a_finding_has_no_number_that_is_computed_from_a_placeholder(tmp_path: Path) -> None:
    rules = ("no-deadline", "more-processes-than-gpus")
    deadline = "warning: no deadline: a hanging job holds {} forever [no-deadline]"
    assert _found(tmp_path, "1", *rules) == [
        deadline.format("1 GPU"),
        "warning: 8 processes per pod, but only 1 GPU [more-processes-than-gpus]",
    ]
    for placeholder in ('"${GPUS}"', "<number-of-gpus>", '"{{ gpus }}"', "$COUNT"):
        assert _found(tmp_path, placeholder, *rules) == [deadline.format("GPUs")]
