"""Every value of what comes of a TrainJob has the place that caused it: the job, an overlay, the runtime, or one of the operators."""

from collections.abc import Iterator
from pathlib import Path

from jobspec.apis.releases import choose
from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.operators.api_defaults import with_api_defaults
from jobspec.operators.expansion import expand
from jobspec.session.inputs import load_overlays
from jobspec.world.world import Cluster
from tests.support.checking import checked

TARGET = choose(["trainer=2.3.0"])
FILE = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata:
  name: own
spec:
  mlPolicy:
    torch: {}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata:
            labels:
              trainer.kubeflow.org/trainjob-ancestor-step: trainer
          spec:
            template:
              spec:
                containers:
                - name: node
                  image: example.com/base:v1
                  env:
                  - {name: FROM, value: runtime}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: train
spec:
  runtimeRef: {kind: TrainingRuntime, name: own}
  trainer:
    numNodes: 2
    command: [torchrun, train.py]
    resourcesPerNode:
      limits: {nvidia.com/gpu: 4}
"""
TRAINER, JOBSET, CONTROLLER, SERVER = "trainer 2.3.0", "jobset 0.12.0", "kube-controller-manager 1.37", "kube-apiserver 1.37"


def _objects(tmp_path: Path, *overlays: str) -> dict[str, MarkedTree]:
    (tmp_path / "job.yaml").write_text(FILE)
    layers, problems = load_overlays(overlays, (), TARGET)
    assert problems == []
    file = checked(tmp_path / "job.yaml", Cluster(TARGET), layers)
    assert file.result.valid
    *context, job = file.documents
    made = with_api_defaults(expand(job, file.documents, TARGET).objects, context, TARGET)
    return {f"{text(each, 'kind')} {text(each, 'metadata', 'name')}": each for each in made}


def _line(words: str) -> str:
    """The place of the first line in which some words stand."""
    return f"job.yaml:{FILE[: FILE.index(words)].count(chr(10)) + 1}"


def _place(tree: MarkedTree | None) -> str:
    assert tree
    mark = tree.mark
    return f"{Path(mark.file).name}:{mark.line}" if mark.line else mark.file


def _places(tree: MarkedTree) -> Iterator[str]:
    yield _place(tree)
    inside = tree.value.values() if isinstance(tree.value, dict) else items(tree)
    for child in inside:
        yield from _places(child)


def test_objects_stand_in_the_order_in_which_they_come(tmp_path: Path) -> None:
    assert list(_objects(tmp_path)) == [
        "ConfigMap train-runtime-snapshot",
        "JobSet train",
        "Service train",
        "Job train-node-0",
        "Pod train-node-0-0-<random>",
        "Pod train-node-0-1-<random>",
    ]


def test_values_of_a_pod_stand_where_they_were_caused(tmp_path: Path) -> None:
    pod = _objects(tmp_path)["Pod train-node-0-1-<random>"]
    (container,) = items(pod.get("spec", "containers"))
    variables = {text(each, "name"): _place(each.get("value") or each.get("valueFrom")) for each in items(container.get("env"))}
    assert variables == {
        "FROM": _line("name: FROM"),
        "PET_NNODES": _line("numNodes"),
        "PET_NPROC_PER_NODE": TRAINER,
        "PET_NODE_RANK": TRAINER,
        "PET_MASTER_ADDR": _line("name: train"),
        "PET_MASTER_PORT": TRAINER,
        "JOB_COMPLETION_INDEX": CONTROLLER,
    }
    assert _place(container.get("image")) == _line("image:")
    assert _place(items(container.get("command"))[0]) == _line("command:")
    assert _place(container.get("resources", "limits", "nvidia.com/gpu")) == _line("gpu")
    assert _place(container.get("imagePullPolicy")) == SERVER
    assert _place(pod.get("spec", "restartPolicy")) == JOBSET
    assert _place(pod.get("spec", "subdomain")) == _line("name: train")
    assert _place(pod.get("metadata", "labels", "jobset.sigs.k8s.io/replicatedjob-name")) == _line("- name: node")
    assert _place(pod.get("metadata", "finalizers")) == CONTROLLER


def test_values_of_an_overlay_stand_in_the_overlay(tmp_path: Path) -> None:
    (tmp_path / "slow.yaml").write_text("""\
apiVersion: jobspec.dev/v1alpha1
kind: Overlay
metadata: {name: slow}
spec:
  description: nodes of their own
  pods:
  - template:
      spec:
        nodeSelector: {pool: slow}
""")
    pod = _objects(tmp_path, str(tmp_path / "slow.yaml"))["Pod train-node-0-0-<random>"]
    assert _place(pod.get("spec", "nodeSelector", "pool")) == "slow.yaml:9"


def test_no_place_is_left_open(tmp_path: Path) -> None:
    known = {TRAINER, JOBSET, CONTROLLER, SERVER, "the CRD of JobSet", "the CRD of TrainJob", "the CRD of TrainingRuntime"}
    found = {place for each in _objects(tmp_path).values() for place in _places(each)}
    assert {place for place in found if not place.startswith("job.yaml:")} <= known
