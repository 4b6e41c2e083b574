"""What is made of an MPIJob: names, hosts, variables, and what differs by implementation and release."""

from typing import Any

import pytest

from jobspec.api import expand
from jobspec.apis.releases import choose
from jobspec.documents.manifest import document_of
from jobspec.operators.expansion import expand as expansion
from jobspec.world.world import Cluster
from tests.support import quick_yaml

POD = "{spec: {containers: [{name: mpi, image: 'mpi:1'}, {name: side, image: 'side:1'}]}}"


def _objects(spec: str = "", *, workers: int = 2, targets: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    roles = f"Launcher: {{template: {POD}}}" + (f", Worker: {{replicas: {workers}, template: {POD}}}" if workers else "")
    metadata = "{name: pi, namespace: hpc}"
    text = f"{{apiVersion: kubeflow.org/v2beta1, kind: MPIJob, metadata: {metadata}, spec: {{mpiReplicaSpecs: {{{roles}}}, {spec}}}}}"
    return list(expand(quick_yaml.load(text), cluster=Cluster(choose(targets))).objects)


def _data(spec: str = "", **more: Any) -> dict[str, str]:
    return next(each["data"] for each in _objects(spec, **more) if each["kind"] == "ConfigMap")


def _env(pod: dict[str, Any]) -> dict[str, Any]:
    first, second = pod["spec"]["containers"]
    assert second.keys() == {"name", "image"}
    return {each["name"]: each.get("value") for each in first["env"]}


def test_the_objects_come_in_this_order() -> None:
    assert [(each["kind"], each["metadata"]["name"]) for each in _objects()] == [
        ("Service", "pi"),
        ("ConfigMap", "pi-config"),
        ("Secret", "pi-ssh"),
        ("Pod", "pi-worker-0"),
        ("Pod", "pi-worker-1"),
        ("Job", "pi-launcher"),
        ("Pod", "pi-launcher-<random>"),
    ]
    suspended = [each["kind"] for each in _objects("runPolicy: {suspend: true}")]
    assert suspended == ["Service", "ConfigMap", "Secret", "Job"]


@pytest.mark.parametrize(
    ("spec", "lines"),
    [
        ("", ["pi-worker-0.pi.hpc.svc slots=1", "pi-worker-1.pi.hpc.svc slots=1"]),
        ("slotsPerWorker: 8, mpiImplementation: Intel", ["pi-worker-0.pi.hpc.svc:8", "pi-worker-1.pi.hpc.svc:8"]),
        (
            "runLauncherAsWorker: true, mpiImplementation: MPICH",
            ["pi-launcher.pi.hpc.svc:1", "pi-worker-0.pi.hpc.svc:1", "pi-worker-1.pi.hpc.svc:1"],
        ),
    ],
)
def test_the_list_of_the_hosts(spec: str, lines: list[str]) -> None:
    assert _data(spec)["hostfile"].splitlines() == lines


def test_the_script_lists_workers_by_name_and_the_launcher_first() -> None:
    script = _data("runLauncherAsWorker: true", workers=11)["discover_hosts.sh"].splitlines()
    names = ["pi-launcher", "pi-worker-0", "pi-worker-1", "pi-worker-10", *(f"pi-worker-{index}" for index in range(2, 10))]
    assert script == ["#!/bin/sh", *(f"echo {name}.pi.hpc.svc" for name in names)]
    assert _data("runPolicy: {suspend: true}")["discover_hosts.sh"] == "#!/bin/sh\n"


def test_a_launcher_that_only_launches_sees_no_gpus() -> None:
    *_, job, pod = _objects("mpiImplementation: Intel, slotsPerWorker: 4")
    assert job["spec"]["template"]["spec"]["containers"][0]["env"] == pod["spec"]["containers"][0]["env"]
    assert _env(pod) == {
        "K_MPI_JOB_ROLE": "launcher",
        "I_MPI_HYDRA_HOST_FILE": "/etc/mpi/hostfile",
        "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": "-o ConnectionAttempts=10",
        "I_MPI_PERHOST": "4",
        "NVIDIA_VISIBLE_DEVICES": None,
        "NVIDIA_DRIVER_CAPABILITIES": None,
    }
    assert "NVIDIA_VISIBLE_DEVICES" not in _env(_objects("runLauncherAsWorker: true")[-1])


@pytest.mark.parametrize(("release", "numbers", "early"), [("0.6", ["0", "1"], None), ("0.7", ["1", "2"], True), ("0.8", ["1", "2"], True)])
def test_a_launcher_that_works_is_the_first_host_since_0_7(release: str, numbers: list[str], *, early: bool | None) -> None:
    service, _, _, *workers, _, launcher = _objects("runLauncherAsWorker: true", targets=(f"mpi-operator={release}",))
    label = "training.kubeflow.org/replica-index"
    assert [each["metadata"]["labels"][label] for each in workers] == numbers
    assert launcher["metadata"]["labels"].get(label) == ("0" if early else None)
    assert service["spec"].get("publishNotReadyAddresses") is early


def test_keys_of_root_are_for_root_alone() -> None:
    for folder, mode in (("/root/.ssh", 0o600), ("/home/mpiuser/.ssh", None)):
        for pod in (each for each in _objects(f"sshAuthMountPath: {folder}") if each["kind"] == "Pod"):
            assert pod["spec"]["volumes"][0]["secret"].get("defaultMode") == mode
            assert pod["spec"]["containers"][0]["volumeMounts"][0] == {"name": "ssh-auth", "mountPath": folder}


_GANG = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: pi, annotations: {scheduling.volcano.sh/queue-name: slow}}
spec:
  runPolicy: {schedulingPolicy: POLICY}
  mpiReplicaSpecs:
    Launcher: {template: {spec: {priorityClassName: low, containers: [{name: l, image: "i:1", resources: {limits: {cpu: 1}}}]}}}
    Worker:
      replicas: 3
      template:
        metadata: {annotations: {a: b}, labels: {c: d}}
        spec:
          schedulerName: other
          containers: [{name: w, image: "i:1", resources: {requests: {cpu: 500m, memory: 1Gi}, limits: {cpu: 2, nvidia.com/gpu: 2}}}]
"""
_LOW = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "low"}, "value": -5}


def _gang(policy: str, scheduler: str, *, context: tuple[dict[str, Any], ...] = ()) -> list[dict[str, Any]]:
    job = document_of(quick_yaml.load(_GANG.replace("POLICY", policy)), "job.yaml")
    others = [document_of(each, "class.yaml") for each in context]
    return [each.data() for each in expansion(job, others, choose(()), gang_scheduler=scheduler).objects]


@pytest.mark.parametrize(
    ("policy", "context", "spec"),
    [
        ("{}", (), {"minMember": 4, "minResources": {"cpu": "2500m", "nvidia.com/gpu": "6", "memory": "3Gi"}}),
        ("{minAvailable: 2}", (), {"minMember": 2, "minResources": {"cpu": "1500m", "nvidia.com/gpu": "2", "memory": "1Gi"}}),
        ("{minAvailable: 2}", (_LOW,), {"minMember": 2, "minResources": {"cpu": "2500m", "nvidia.com/gpu": "6", "memory": "3Gi"}}),
        ("{minAvailable: 0}", (), {}),
        ("{minResources: {cpu: 9}, scheduleTimeoutSeconds: 5}", (), {"minMember": 4, "minResources": {"cpu": "9"}}),
    ],
)
def test_a_gang(policy: str, context: tuple[dict[str, Any], ...], spec: dict[str, Any]) -> None:
    _, _, _, volcano, worker, *_, launcher, pod = _gang(policy, "volcano", context=context)
    assert volcano["apiVersion"] == "scheduling.volcano.sh/v1beta1"
    assert volcano["spec"] == {**spec, "queue": "slow", "priorityClassName": "low"}
    assert worker["metadata"]["annotations"] == {"a": "b", "scheduling.k8s.io/group-name": "pi"}
    assert {each["spec"]["schedulerName"] for each in (worker, launcher["spec"]["template"], pod)} == {"volcano"}
    _, _, _, plugins, worker, *_ = _gang(policy, "coscheduling", context=context)
    assert plugins["apiVersion"] == "scheduling.x-k8s.io/v1alpha1"
    assert plugins["spec"] == {**spec, "scheduleTimeoutSeconds": 5 if "Timeout" in policy else 0}
    assert (worker["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"], worker["spec"]["schedulerName"]) == ("pi", "coscheduling")


def test_the_queue_and_the_priority_class_of_a_gang() -> None:
    volcano = _gang("{queue: quick, priorityClass: high}", "volcano")[3]
    assert (volcano["spec"]["queue"], volcano["spec"]["priorityClassName"]) == ("quick", "high")


def test_a_suspended_job_has_no_gang() -> None:
    assert [each["kind"] for each in _gang("{}, suspend: true", "volcano")] == ["Service", "ConfigMap", "Secret", "Job"]
