"""Small manifests that many tests start from."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: train
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          containers:
          - name: pytorch
            image: example.com/train:v1
"""
TRAINJOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train}
spec:
  runtimeRef: {name: ours, kind: TrainingRuntime}
"""
RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata:
  name: ours
spec:
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: "example.com/train:v1"}]}}}
"""
#: A document of a kind whose Go code nobody follows: it is checked partly.
CLASS = "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast}\nprovisioner: example.com/disks\n"
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n"
#: How a project begins.
PROJECT_HEAD = "apiVersion: jobspec.dev/v1alpha1\nkind: Project\nspec:\n"
#: An overlay that has a job's pods run the newest image.
NEWEST = """\
apiVersion: jobspec.dev/v1alpha1
kind: Overlay
metadata: {name: newest}
spec:
  description: the newest image
  pods:
    - template:
        spec:
          containers:
            - name: ${training}
              image: train:latest
"""
COMPOSE = "services:\n  web: {image: nginx}\n"


def placed(manifest: str, namespace: str) -> str:
    """The manifest in a namespace, which stands in the line after the name."""
    return re.sub(r"(?m)^(metadata:\n  name: .*\n)", rf"\1  namespace: {namespace}\n", manifest)


def write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files by their paths below a folder."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def files_in(folder: Path) -> dict[str, bytes]:
    """Everything in a folder, by its path there."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def paths_in(data: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The paths of all values inside of plain data."""
    steps = list(data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ())
    return [found for step, child in steps for found in ((*path, step), *paths_in(child, (*path, step)))]
