"""Pods, GPUs, deadlines and prices of jobs."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

import pytest

from jobspec.apis.releases import choose
from jobspec.documents.document import Document
from jobspec.documents.reader import read
from jobspec.journey import checking
from jobspec.journey.steps import Source
from jobspec.operators.accelerators import is_accelerator
from jobspec.operators.expansion import expand
from jobspec.operators.workloads import is_workload
from jobspec.project.capacity import Capacity, PriceList, accelerators, capacity_of, cost_of
from jobspec.reports.diff import duration
from jobspec.world.world import Cluster
from tests.support import manifests, quick_yaml
from tests.support.manifests import RUNTIME
from tests.support.reference import ROOT, folder

PODS = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  runPolicy: {activeDeadlineSeconds: 3600, cleanPodPolicy: Running}
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          nodeSelector: {pool: big, zone: a}
          initContainers:
          - {name: load, image: x, resources: {limits: {cpu: 4, nvidia.com/gpu: 1}}}
          - {name: side, image: x, restartPolicy: Always, resources: {requests: {cpu: 500m}}}
          containers:
          - {name: pytorch, image: x, resources: {limits: {cpu: 2, memory: 4Gi, nvidia.com/gpu: 2}}}
          - {name: other, image: x, resources: {requests: {cpu: 1}, limits: {nvidia.com/mig-1g.5gb: 3}}}
    Worker:
      replicas: 3
      template: {spec: {containers: [{name: pytorch, image: x, resources: {limits: {amd.com/gpu: "4"}}}]}}
"""
TRAINJOB = f"""\
{manifests.TRAINJOB}  activeDeadlineSeconds: 60
  trainer: {{numNodes: 4, resourcesPerNode: {{limits: {{nvidia.com/gpu: 8}}}}}}
---
"""
RESOURCES = 'image: "example.com/train:v1", resources: {limits: {cpu: 2, nvidia.com/gpu: 1}}'
OURS = RUNTIME.replace("spec:\n", "spec:\n  mlPolicy: {numNodes: 2}\n", 1).replace('image: "example.com/train:v1"', RESOURCES)
MPI = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: ours}
spec:
  mlPolicy: {numNodes: 1, mpi: {runLauncherAsNode: AS_NODE}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template: {spec: {template: {spec: {containers: [{name: node, image: x}]}}}}
      - name: launcher
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: x}]}}}
"""
PRICES = """\
spec:
  currency: EUR
  pods: [{nodeSelector: {pool: big}, perHour: 10}, {nodeSelector: {zone: a}, perHour: 1}]
  resources: {amd.com/gpu: 2.5, memory: 0.01, cpu: 0.1}
"""


def _capacity(text: str, *target: str) -> Capacity:
    (job, *context), problems = read(text, file="job.yaml")
    assert not problems
    return capacity_of(job, context, choose(target))


def _numbers(text: str, *target: str) -> tuple[int, int]:
    found = _capacity(text, *target)
    return found.number, found.gpus


def test_pods_and_gpus_of_a_pytorchjob() -> None:
    found = _capacity(PODS)
    assert (found.number, found.gpus, found.deadline) == (4, 1 * 5 + 3 * 4, 3600)
    master, worker = found.pods
    assert master.resources == {"cpu": Decimal(4), "memory": 2**32, "nvidia.com/gpu": 2, "nvidia.com/mig-1g.5gb": 3}
    assert (master.selector, worker.selector) == ({"pool": "big", "zone": "a"}, {})


def test_a_job_that_scales_itself_has_a_number_of_pods_and_the_most_of_them() -> None:
    elastic = PODS.replace("spec:\n", "spec:\n  elasticPolicy: {maxReplicas: 9, metrics: [{type: Resource}]}\n", 1)
    found, plain = _capacity(elastic), _capacity(elastic.replace(", metrics: [{type: Resource}]", ""))
    assert (found.number, found.gpus, found.most, found.most_gpus) == (4, 17, 10, 5 + 9 * 4)
    assert (plain.number, plain.gpus, plain.most, plain.most_gpus) == (4, 17, 4, 17)
    assert _cost(elastic) == Decimal("10.00") + 9 * 4 * Decimal("2.50")


def _expanded(job: Document, context: Sequence[Document], target: Mapping[str, str]) -> tuple[int, int] | None:
    """The pods that the operator makes, and their GPUs; None where it makes none."""
    pods = [each.data() for each in expand(job, context, target).objects if each.data()["kind"] == "Pod"]
    resources = [each.get("resources") or {} for pod in pods for each in pod["spec"]["containers"]]
    asked = [{**(each.get("requests") or {}), **(each.get("limits") or {})} for each in resources]
    return (len(pods), sum(int(amount) for each in asked for name, amount in each.items() if is_accelerator(name))) if pods else None


@pytest.mark.parametrize("target", [(), ("trainer=2.0", "training-operator=1.8.1")])
def test_pods_are_counted_as_operators_make_them(target: tuple[str, ...]) -> None:
    cluster, compared = Cluster(choose(target)), 0
    for path in [*folder("corpus", "manifests").rglob("*.y*ml"), *(ROOT / "tests" / "cases" / "guides").glob("*.yaml")]:
        checked = checking.checked(Source(str(path), path.read_bytes(), skip_unknown=True), (), cluster)
        for job in filter(is_workload, checked.documents if checked.result.valid else ()):
            made, found = _expanded(job, checked.documents, cluster.target), capacity_of(job, checked.documents, cluster.target)
            compared += made is not None
            assert made in (None, (found.number, found.gpus)), path
    assert compared > 60


@pytest.mark.parametrize(
    ("target", "gpus", "cpus"),
    [("trainer=2.3", 4 * 8, {2}), ("trainer=2.2", 4 * 8, {None})],  # merged with the runtime's resources, or in their place
)
def test_a_trainjob_has_the_pods_of_its_runtime_with_its_own_resources(target: str, gpus: int, cpus: set[object]) -> None:
    found = _capacity(TRAINJOB + OURS, target)
    assert (found.number, found.gpus, found.deadline) == (4, gpus, 60)
    assert {each.resources.get("cpu") for each in found.pods} == cpus


def test_resources_of_a_trainjob_reach_no_pod_without_a_policy() -> None:
    assert _numbers(TRAINJOB + OURS.replace("  mlPolicy: {numNodes: 2}\n", "")) == (4, 4)
    assert _numbers(TRAINJOB + OURS.replace("step: trainer", "step: other")) == (1, 1)


def test_other_jobs_of_a_runtime_are_counted_too() -> None:
    assert _numbers(TRAINJOB.replace("{name: ours, kind: TrainingRuntime}", "{name: torchtune-llama3.2-1b}")) == (1 + 1 + 4, 4 * 8)
    pod = "{spec: {containers: [{name: load, image: x}]}}"
    more = f"      - {{name: load, replicas: 2, template: {{spec: {{parallelism: 3, template: {pod}}}}}}}\n"
    assert _numbers(TRAINJOB + OURS + more) == (4 + 6, 32)


@pytest.mark.parametrize(("as_node", "pods"), [("true", 3 + 1), ("false", 4 + 1)])
def test_a_launcher_of_mpi_is_a_node_or_beside_them(as_node: str, pods: int) -> None:
    assert _numbers(TRAINJOB + MPI.replace("AS_NODE", as_node))[0] == pods


def test_a_runtime_that_nobody_has_leaves_the_nodes_of_the_job() -> None:
    found = _capacity(TRAINJOB)
    assert (found.number, found.gpus, found.notes) == (
        4,
        32,
        ["its runtime is not in the files: only the job's own requests are counted"],
    )


def test_patches_of_a_trainjob_choose_its_nodes() -> None:
    pod = {"template": {"spec": {"template": {"spec": {"nodeSelector": {"pool": "big"}}}}}}
    patch = {"manager": "a.example/b", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{"name": "node", **pod}]}}}}
    job = quick_yaml.load(TRAINJOB.removesuffix("---\n"))
    job["spec"]["runtimePatches"] = [patch]
    assert [each.selector for each in _capacity(f"{quick_yaml.dump(job)}---\n{OURS}").pods] == [{"pool": "big"}]


@pytest.mark.parametrize(
    ("policy", "release", "is_noted"),
    [("None", "1.9.4", True), (None, "1.9.4", True), ("None", "1.9.0", False), ("All", "1.9.4", False), ("Running", "1.9.4", False)],
)
def test_pods_that_outlive_the_deadline_are_noted(policy: str | None, release: str, is_noted: bool) -> None:
    said = f", cleanPodPolicy: {policy}" if policy else ""
    found = _capacity(PODS.replace(", cleanPodPolicy: Running", said), f"training-operator={release}")
    assert bool(found.notes) == is_noted


@pytest.mark.parametrize(("name", "counted"), [("nvidia.com/gpu", 4), ("cambricon.com/mlu", 4), ("nvidia.com/gpumem", 0), ("cpu", 0)])
def test_memory_of_shared_gpus_is_not_counted_in_gpus(name: str, counted: int) -> None:
    assert accelerators({name: Decimal(4)}) == counted


def _cost(text: str) -> Decimal | str:
    (document,), _ = read(quick_yaml.dump(quick_yaml.load(PRICES)), file="prices.yaml")
    found = cost_of(_capacity(text), PriceList(document))
    return found.why if found.amount is None else found.amount


def test_a_cost_is_pods_times_prices_times_hours() -> None:
    assert _cost(PODS) == Decimal("10.00") + 3 * 4 * Decimal("2.50")
    assert _cost(PODS.replace("activeDeadlineSeconds: 3600", "activeDeadlineSeconds: 1")) == Decimal("0.02")  # rounded up
    assert _cost(PODS.replace("pool: big, ", "")) == Decimal("31.00")
    assert _cost(PODS.replace("activeDeadlineSeconds: 3600", "activeDeadlineSeconds: -5")) == 0


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("activeDeadlineSeconds: 3600, ", "", "no cost without a deadline"),
        ("amd.com/gpu", "nvidia.com/gpu", "no price of `nvidia.com/gpu`"),
        ("amd.com/gpu", "example.com/fpga", "no price of its pods"),
    ],
)
def test_where_a_price_or_the_deadline_is_missing_there_is_no_cost(before: str, after: str, why: str) -> None:
    assert _cost(PODS.replace(before, after)) == why


@pytest.mark.parametrize(
    ("seconds", "said"), [(None, "none"), (0, "0s"), (90, "1m 30s"), (7200, "2h"), (93784, "1d 2h 3m 4s"), (-1, "-1s")]
)
def test_a_duration_as_people_say_it(seconds: int | None, said: str) -> None:
    assert duration(seconds) == said
