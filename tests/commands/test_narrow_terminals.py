"""A terminal of 60 columns: texts are broken between words, and tables that do not fit become lines."""

from pathlib import Path

import pytest

from jobspec.commands import COMMANDS
from tests.support.manifests import PROJECT_HEAD, write
from tests.support.processes import environment, run_here
from tests.support.repositories import committed

_WIDTH = 60
_JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: bert, namespace: nlp, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {numNodes: 2, command: [torchrun], resourcesPerNode: {limits: {nvidia.com/gpu: 8}}}
"""
_QUEUES = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: spot-h100-preemptible-with-a-long-name}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec:
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [nvidia.com/gpu, memory]
      flavors:
        - name: spot-h100-preemptible-with-a-long-name
          resources: [{name: nvidia.com/gpu, nominalQuota: 8}, {name: memory, nominalQuota: 512Gi}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: team, namespace: nlp}
spec: {clusterQueue: team}
"""


def _said(folder: Path, *arguments: str) -> list[str]:
    return run_here(*arguments, cwd=folder, env=environment(COLUMNS=str(_WIDTH))).stdout.splitlines()


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_is_broken_between_words(command: str, tmp_path: Path) -> None:
    lines = _said(tmp_path, *filter(None, [command]), "--help")
    assert [line for line in lines if len(line) > _WIDTH and not line.startswith("  jobspec ")] == []


@pytest.mark.parametrize(
    "arguments",
    [["list", "overlays"], ["queue", "job.yaml", "--queues", "queues.yaml"], ["diff", "HEAD"], ["explain", "never-admitted"]],
    ids=lambda each: each[0],
)
def test_tables_that_do_not_fit_become_lines(arguments: list[str], tmp_path: Path) -> None:
    project = f"{PROJECT_HEAD}  variants: [{{name: %s, base: job.yaml, overlays: [{{gpu-nccl: {{gpus: %s}}}}]}}]\n"
    name = "a-variant-with-a-name-of-forty-characters"
    committed(tmp_path, {"job.yaml": _JOB, "queues.yaml": _QUEUES, "jobspec.yaml": project % (name, 4)})
    write(tmp_path, {"jobspec.yaml": project % (name, 8)})
    lines = _said(tmp_path, *arguments)
    assert len(lines) > 4
    assert [line for line in lines if len(line) > _WIDTH] == []
    assert "…" not in "".join(lines)
