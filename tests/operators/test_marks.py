"""Every value of an expanded object has the place that caused it: a line of the job, an overlay's, the operator, or the API server."""

from collections.abc import Iterator
from pathlib import Path

from jobspec.apis.releases import choose
from jobspec.documents.marked_tree import MarkedTree
from jobspec.operators.api_defaults import with_api_defaults
from jobspec.operators.expansion import expand
from jobspec.session.inputs import load_overlays
from jobspec.world.world import Cluster
from tests.support.checking import checked

TARGET = choose([])
JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: train
spec:
  nprocPerNode: "2"
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: ExitCode
      template:
        spec:
          containers:
          - name: pytorch
            image: example.com/train:v1
            env:
            - {name: SEED, value: "1"}
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - name: pytorch
            image: example.com/train:v1
"""
OPERATOR = "training-operator 1.9.4"
SERVER = "kube-apiserver 1.37"


def _objects(tmp_path: Path, *overlays: str) -> list[MarkedTree]:
    (tmp_path / "job.yaml").write_text(JOB)
    layers, problems = load_overlays(overlays, (), TARGET)
    assert problems == []
    file = checked(tmp_path / "job.yaml", Cluster(TARGET), layers)
    assert file.result.valid
    (job,) = file.documents
    return with_api_defaults(expand(job, file.documents, TARGET).objects, (), TARGET)


def _places(tree: MarkedTree, path: str = "") -> Iterator[tuple[str, str]]:
    """The path and the place of every scalar."""
    if isinstance(tree.value, dict):
        for name, child in tree.value.items():
            yield from _places(child, f"{path}.{name}".lstrip("."))
    elif isinstance(tree.value, list):
        for number, child in enumerate(tree.value):
            label = child.value.get("name") if isinstance(child.value, dict) else None
            yield from _places(child, f"{path}[{label.value if label else number}]")
    else:
        yield path, f"{tree.mark.layer or Path(tree.mark.file).name}:{tree.mark.line}" if tree.mark.line else tree.mark.file


def test_places_of_a_master(tmp_path: Path) -> None:
    places = dict(_places(_objects(tmp_path)[0]))
    assert set(places.values()) == {OPERATOR, SERVER, *(f"job.yaml:{line}" for line in (4, 6, 10, 14, 15, 17))}
    reported = {
        "metadata.name": OPERATOR,
        "metadata.labels.training.kubeflow.org/job-name": "job.yaml:4",
        "spec.restartPolicy": "job.yaml:10",
        "spec.containers[pytorch].image": "job.yaml:15",
        "spec.containers[pytorch].imagePullPolicy": SERVER,
        "spec.containers[pytorch].env[SEED].value": "job.yaml:17",
        "spec.containers[pytorch].env[WORLD_SIZE].value": OPERATOR,
        "spec.containers[pytorch].env[PET_NPROC_PER_NODE].value": "job.yaml:6",
        "spec.containers[pytorch].ports[pytorchjob-port].containerPort": OPERATOR,
        "spec.containers[pytorch].ports[pytorchjob-port].protocol": SERVER,
        "spec.tolerations[0].key": SERVER,
    }
    assert {path: places[path] for path in reported} == reported


def test_places_in_an_overlay(tmp_path: Path) -> None:
    worker = next(each for each in _objects(tmp_path, "gpu-nccl") if each.data()["metadata"]["name"] == "train-worker-0")
    places = dict(_places(worker))
    assert places["spec.containers[pytorch].resources.limits.nvidia.com/gpu"].startswith("gpu-nccl:")
    assert places["spec.containers[pytorch].resources.requests.nvidia.com/gpu"].startswith("gpu-nccl:")
    assert places["spec.initContainers[init-pytorch].image"] == OPERATOR
