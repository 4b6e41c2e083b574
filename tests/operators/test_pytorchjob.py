"""What training-operator makes of PyTorchJobs that are out of the ordinary, release by release."""

from typing import Any

import pytest

from jobspec.apis.releases import choose
from jobspec.documents.manifest import document_of
from jobspec.operators.expansion import expand
from jobspec.operators.made import Expansion
from tests.support import quick_yaml

POD = '{spec: {containers: [{name: pytorch, image: "a:1"}]}}'


def _expanded(spec: str, release: str = "1.9.4") -> Expansion:
    data = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "j"},
        "spec": quick_yaml.load(spec.replace("POD", POD)),
    }
    return expand(document_of(data, "job.yaml"), (), choose([f"training-operator={release}"]))


def _objects(spec: str, release: str = "1.9.4") -> dict[str, Any]:
    """The objects by kind and name."""
    found = [each.data() for each in _expanded(spec, release).objects]
    return {f"{each['kind']} {each['metadata']['name']}": each for each in found}


def _variables(pod: Any) -> list[str]:
    return [f"{each['name']}={each['value']}" if "value" in each else each["name"] for each in pod["spec"]["containers"][0]["env"]]


@pytest.mark.parametrize(
    ("release", "variables"),
    [
        ("1.7.0", ["WORLD_SIZE=6", "RANK=2", "PET_NPROC_PER_NODE=2", "PET_NODE_RANK=2", "PET_NNODES=3"]),
        ("1.8.1", ["WORLD_SIZE=6", "RANK=2", "PET_NODE_RANK=2", "PET_NPROC_PER_NODE=2", "PET_NNODES=3"]),
        ("1.9.4", ["WORLD_SIZE=6", "RANK=2", "PET_NODE_RANK=2", "PET_NPROC_PER_NODE=2", "PET_NNODES=3"]),
    ],
)
def test_variables_of_a_worker(release: str, variables: list[str]) -> None:
    spec = '{nprocPerNode: "2", pytorchReplicaSpecs: {Worker: {replicas: 2, template: POD}, Master: {replicas: 1, template: POD}}}'
    made = _variables(_objects(spec, release)["Pod j-worker-1"])
    assert made[0] == "PYTHONUNBUFFERED=1"
    addresses = [f"{prefix}MASTER_{name}" for name in ("PORT=23456", "ADDR=j-master-0") for prefix in ("", "PET_")]
    assert made[1:] == [*addresses, *variables]


def test_variables_of_an_elastic_job() -> None:
    policy = "minReplicas: 1, maxReplicas: 3, rdzvId: '', rdzvConf: [{key: a, value: '1'}, {key: b}], standalone: true"
    policy = f"{{{policy}, maxRestarts: 0, nProcPerNode: 2}}"
    found = _objects(f"{{elasticPolicy: {policy}, pytorchReplicaSpecs: {{Worker: {{replicas: 2, template: POD}}}}}}")
    made = _variables(found["Pod j-worker-0"])
    assert made == [
        "PYTHONUNBUFFERED=1",
        "PET_RDZV_ENDPOINT=j-worker-0:23456",
        "PET_RDZV_BACKEND=c10d",
        "PET_NNODES=1:3",
        "PET_MAX_RESTARTS=0",
        "PET_NPROC_PER_NODE=2",
        "PET_RDZV_ID",
        "PET_RDZV_CONF=a=1,b=",
        "PET_STANDALONE",
    ]


@pytest.mark.parametrize(("processes", "size"), [("auto", 2), ("+3", 6), ("-1", -2), ("x", 2), ("0", 0)])
def test_world_sizes(processes: str, size: int) -> None:
    spec = f'{{nprocPerNode: "{processes}", pytorchReplicaSpecs: {{Master: {{replicas: 1, template: POD}}, Worker: {{template: POD}}}}}}'
    assert f"WORLD_SIZE={size}" in _variables(_objects(spec)["Pod j-master-0"])


def test_a_type_without_replicas_has_a_pod_all_the_same() -> None:
    spec = "{pytorchReplicaSpecs: {Master: {replicas: 1, template: POD}, Worker: {replicas: 0, template: POD}}}"
    found = _objects(spec, "1.8.1")
    assert list(found) == ["Pod j-master-0", "Service j-master-0", "Pod j-worker-0", "Service j-worker-0"]
    assert "WORLD_SIZE=1" in _variables(found["Pod j-worker-0"])


@pytest.mark.parametrize(("release", "leads"), [("1.7.0", False), ("1.8.1", True), ("1.9.4", True)])
def test_the_first_worker_leads_where_there_is_no_master(release: str, *, leads: bool) -> None:
    found = _objects("{pytorchReplicaSpecs: {Worker: {replicas: 2, template: POD}}}", release)
    roles = [found[f"Pod j-worker-{index}"]["metadata"]["labels"].get("training.kubeflow.org/job-role") for index in (0, 1)]
    assert roles == ["master" if leads else None, None]


def test_what_a_template_says_and_the_operator_overrides() -> None:
    template = (
        "{metadata: {name: mine, annotations: {a: b}, labels: {app: x, training.kubeflow.org/replica-type: y}},"
        ' spec: {restartPolicy: Always, containers: [{name: side, image: s}, {name: pytorch, image: "a:1", ports: [{containerPort: 1}]}]}}'
    )
    found = _objects(f"{{pytorchReplicaSpecs: {{Worker: {{restartPolicy: ExitCode, template: {template}}}}}}}")
    pod = found["Pod j-worker-0"]
    assert pod["metadata"]["annotations"] == {"a": "b"}
    assert pod["metadata"]["labels"]["app"] == "x"
    assert pod["metadata"]["labels"]["training.kubeflow.org/replica-type"] == "worker"
    assert pod["spec"]["restartPolicy"] == "Never"
    assert [each.get("ports") for each in pod["spec"]["containers"]] == [
        None,
        [{"containerPort": 1, "protocol": "TCP"}, {"name": "pytorchjob-port", "containerPort": 23456}],
    ]
    assert found["Service j-worker-0"]["spec"]["ports"] == [{"port": 1}, {"name": "pytorchjob-port", "port": 23456}]
    assert pod["spec"]["containers"][0]["env"] == pod["spec"]["containers"][1]["env"]


def test_an_empty_text_stays_where_go_has_a_pointer_for_it() -> None:
    template = POD.replace("spec: {", 'spec: {hostname: "", schedulingGroup: {podGroupName: ""}, runtimeClassName: "", ')
    spec = _objects(f"{{pytorchReplicaSpecs: {{Worker: {{replicas: 1, template: {template}}}}}}}")["Pod j-worker-0"]["spec"]
    assert {field: spec.get(field) for field in ("hostname", "schedulingGroup", "runtimeClassName")} == {
        "hostname": None,
        "schedulingGroup": {"podGroupName": ""},
        "runtimeClassName": "",
    }


def test_an_init_container_waits_for_the_master_behind_the_workers_own() -> None:
    template = '{spec: {initContainers: [{name: first, image: b}], containers: [{name: pytorch, image: "a:1"}]}}'
    spec = f"{{pytorchReplicaSpecs: {{Master: {{replicas: 1, template: {template}}}, Worker: {{template: {template}}}}}}}"
    found = _objects(spec)
    names = [[each["name"] for each in found[f"Pod j-{role}-0"]["spec"]["initContainers"]] for role in ("master", "worker")]
    assert names == [["first"], ["first", "init-pytorch"]]


_METRICS = "metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]"


@pytest.mark.parametrize(
    ("spec", "release", "rule"),
    [
        ("{elasticPolicy: {rdzvConf: []}, pytorchReplicaSpecs: {Worker: {template: POD}}}", "1.9.4", "operator-crash"),
        ("{elasticPolicy: {}, pytorchReplicaSpecs: {Master: {replicas: 1, template: POD}}}", "1.8.1", "operator-crash"),
        ("{pytorchReplicaSpecs: {Worker: {template: {spec: {containers: []}}}}}", "1.7.0", "operator-crash"),
        (
            "{elasticPolicy: {nProcPerNode: 2}, pytorchReplicaSpecs: {Master: {template: POD}, Worker: {template: POD}}}",
            "1.7.0",
            "operator-crash",
        ),
        ("{pytorchReplicaSpecs: {Chief: {template: POD}}}", "1.7.0", "refused-by-operator"),
        ("{pytorchReplicaSpecs: {Worker: {template: {spec: {containers: [{name: a, image: b}]}}}}}", "1.9.4", "refused-by-operator"),
        ("{runPolicy: {suspend: true}, pytorchReplicaSpecs: {Worker: {template: POD}}}", "1.9.4", "no-pods-created"),
        ("{runPolicy: {managedBy: kueue.x-k8s.io/multikueue}, pytorchReplicaSpecs: {Worker: {template: POD}}}", "1.9.4", "no-pods-created"),
    ],
)
def test_jobs_of_which_the_operator_makes_nothing(spec: str, release: str, rule: str) -> None:
    expansion = _expanded(spec, release)
    assert list(expansion.objects) == []
    assert rule in [each.rule for each in expansion.diagnostics]


@pytest.mark.parametrize(
    ("limits", "refused"), [("minReplicas: 3, maxReplicas: 2", True), ("maxReplicas: 2", False), ("minReplicas: 0", True)]
)
def test_an_autoscaler_that_the_server_refuses_is_all_that_comes(limits: str, *, refused: bool) -> None:
    expansion = _expanded(f"{{elasticPolicy: {{{limits}, {_METRICS}}}, pytorchReplicaSpecs: {{Worker: {{template: POD}}}}}}")
    kinds = [each.data()["kind"] for each in expansion.objects]
    assert kinds == (["HorizontalPodAutoscaler"] if refused else ["HorizontalPodAutoscaler", "Pod", "Service"])
    assert {each.rule for each in expansion.diagnostics} == ({"autoscaler-refused"} if refused else set())


def test_an_autoscaler_comes_before_a_crash() -> None:
    expansion = _expanded(f"{{elasticPolicy: {{rdzvConf: [], {_METRICS}}}, pytorchReplicaSpecs: {{Worker: {{template: POD}}}}}}")
    assert [each.data()["kind"] for each in expansion.objects] == ["HorizontalPodAutoscaler"]
    assert [each.rule for each in expansion.diagnostics] == ["operator-crash"]


def test_the_operators_own_name_manages_too() -> None:
    policy = "{managedBy: kubeflow.org/training-operator, suspend: false}"
    assert len(_objects(f"{{runPolicy: {policy}, pytorchReplicaSpecs: {{Worker: {{template: POD}}}}}}")) == 2


_GANG = """\
runPolicy: {schedulingPolicy: {POLICY}}
pytorchReplicaSpecs:
  Master: {replicas: 1, template: {spec: {priorityClassName: low, containers: [{name: pytorch, image: a, resources: {limits: {cpu: 1}}}]}}}
  Worker:
    replicas: 3
    template:
      metadata: {annotations: {a: b}}
      spec:
        priorityClassName: system-node-critical
        containers: [{name: pytorch, image: a, resources: {requests: {cpu: 500m, memory: 1Gi}}}]
"""


def _gang(policy: str, scheduler: str, release: str = "1.9.4") -> dict[str, Any]:
    job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "j", "annotations": {"of": "job"}}}
    data = {**job, "spec": quick_yaml.load(_GANG.replace("{POLICY}", policy))}
    target = choose([f"training-operator={release}"])
    found = [each.data() for each in expand(document_of(data, "job.yaml"), (), target, gang_scheduler=scheduler).objects]
    return {f"{each['kind']} {each['metadata']['name']}": each for each in found}


@pytest.mark.parametrize(
    ("policy", "release", "spec"),
    [
        ("{}", "1.9.4", {"minMember": 4, "queue": "default", "minResources": {"cpu": "2500m", "memory": "3Gi"}}),
        ("{}", "1.7.0", {"minMember": 4, "minResources": {"cpu": "2500m", "memory": "3Gi"}}),
        ("{minAvailable: 2}", "1.9.4", {"minMember": 2, "queue": "default", "minResources": {"cpu": "1", "memory": "2Gi"}}),
        (
            "{minResources: {cpu: 9}, queue: q, priorityClass: p, scheduleTimeoutSeconds: 5}",
            "1.9.4",
            {"minMember": 4, "minResources": {"cpu": "9"}, "queue": "q", "priorityClassName": "p"},
        ),
    ],
)
def test_a_group_of_volcano(policy: str, release: str, spec: dict[str, Any]) -> None:
    found = _gang(policy, "Volcano", release)
    group = found["PodGroup j"]
    assert next(iter(found)) == "PodGroup j"
    assert (group["apiVersion"], group["metadata"]["annotations"]) == ("scheduling.volcano.sh/v1beta1", {"of": "job"})
    assert group["spec"] == spec
    pod = found["Pod j-worker-2"]
    assert pod["spec"]["schedulerName"] == "volcano"
    assert pod["metadata"]["annotations"] == {"a": "b", "scheduling.k8s.io/group-name": "j", "volcano.sh/task-spec": "worker"}


def test_a_group_of_scheduler_plugins() -> None:
    found = _gang("{scheduleTimeoutSeconds: 5}", "mine")
    group = found["PodGroup j"]
    assert group["apiVersion"] == "scheduling.x-k8s.io/v1alpha1"
    assert group["spec"] == {"minMember": 4, "minResources": {"cpu": "2500m", "memory": "3Gi"}, "scheduleTimeoutSeconds": 5}
    pod = found["Pod j-master-0"]
    assert (pod["spec"]["schedulerName"], pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"]) == ("mine", "j")
    assert "annotations" not in pod["metadata"]


def test_without_gang_scheduling_a_policy_changes_nothing() -> None:
    assert "PodGroup j" not in _gang("{minAvailable: 2}", "")
