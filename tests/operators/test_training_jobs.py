"""What training-operator makes of jobs of its kinds beside PyTorchJob, release by release."""

import json
from typing import Any

import pytest

from jobspec.apis.releases import choose
from jobspec.documents.manifest import document_of
from jobspec.operators.expansion import ExpandedJob, expand
from jobspec.operators.life import Effect
from jobspec.operators.made import Expansion
from jobspec.operators.training_operator.changes import effect_on_training_job
from tests.support import quick_yaml

_FIELDS = {"TFJob": "tf", "XGBoostJob": "xgb", "PaddleJob": "paddle", "JAXJob": "jax", "MXJob": "mx", "MPIJob": "mpi"}
_CONTAINERS = {"TFJob": "tensorflow", "XGBoostJob": "xgboost", "PaddleJob": "paddle", "JAXJob": "jax", "MXJob": "mxnet", "MPIJob": "main"}


def _job(kind: str, replicas: str, more: str = "") -> Any:
    pod = f'{{spec: {{containers: [{{name: {_CONTAINERS[kind]}, image: "a:1"}}]}}}}'
    spec = quick_yaml.load(f"{{{_FIELDS[kind]}ReplicaSpecs: {replicas.replace('POD', pod)}{more}}}")
    return document_of({"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": "j"}, "spec": spec}, "job.yaml")


def _expanded(kind: str, replicas: str, more: str = "", *, release: str = "1.9.4", **how: Any) -> Expansion:
    return expand(_job(kind, replicas, more), (), choose([f"training-operator={release}"]), **how)


def _objects(kind: str, replicas: str, more: str = "", *, release: str = "1.9.4", **how: Any) -> dict[str, Any]:
    found = [each.data() for each in _expanded(kind, replicas, more, release=release, **how).objects]
    return {f"{each['kind']} {each['metadata']['name']}": each for each in found}


def _variables(pod: Any, at: int = 0) -> dict[str, Any]:
    return {each["name"]: each.get("value", each.get("valueFrom", "")) for each in pod["spec"]["containers"][at].get("env", ())}


@pytest.mark.parametrize("replicas", ["{Worker: {template: POD}}", "{Chief: {replicas: 1, template: POD}}", "{PS: {template: POD}}"])
def test_a_tfjob_of_one_pod_has_no_tf_config(replicas: str) -> None:
    (pod,) = (each for name, each in _objects("TFJob", replicas).items() if name.startswith("Pod"))
    assert "env" not in pod["spec"]["containers"][0]


def test_tf_config_names_all_replicas_whatever_the_case_of_their_type() -> None:
    found = _objects("TFJob", "{worker: {replicas: 2, template: POD}, Evaluator: {template: POD}, Odd: {template: POD}}")
    assert [name for name in found if name.startswith("Pod")] == ["Pod j-worker-0", "Pod j-worker-1", "Pod j-evaluator-0", "Pod j-odd-0"]
    written = _variables(found["Pod j-worker-1"])["TF_CONFIG"]
    cluster = {
        name: [f"j-{name}-{at}.default.svc:2222" for at in range(count)] for name, count in (("evaluator", 1), ("odd", 1), ("worker", 2))
    }
    expected = {"cluster": cluster, "task": {"type": "worker", "index": 1}, "environment": "cloud"}
    assert written == json.dumps(expected, separators=(",", ":"))


@pytest.mark.parametrize(
    ("pod", "cluster"),
    [
        ("worker-1", '{"worker":{"1":"j-worker-1.default.svc:2222"},"ps":["j-ps-0.default.svc:2222"]}'),
        ("ps-0", '{"worker":{},"ps":["j-ps-0.default.svc:2222"]}'),
        ("chief-0", '{"worker":{},"ps":[]}'),
    ],
)
def test_a_worker_of_a_dynamic_job_knows_itself_and_the_servers(pod: str, cluster: str) -> None:
    replicas = "{Worker: {replicas: 2, template: POD}, PS: {template: POD}, Chief: {template: POD}}"
    found = _objects("TFJob", replicas, ", enableDynamicWorker: true")
    assert _variables(found[f"Pod j-{pod}"])["TF_CONFIG"].startswith(f'{{"cluster":{cluster},"task":')


def test_of_a_tfjob_only_the_container_of_the_operators_name_gets_the_variable() -> None:
    template = "{spec: {containers: [{name: side, image: a}, {name: tensorflow, image: a, ports: [{name: tfjob-port, containerPort: 5}]}]}}"
    found = _objects("TFJob", f"{{Worker: {{replicas: 2, template: {template}}}}}")
    pod = found["Pod j-worker-0"]
    assert _variables(pod, 0) == {}
    assert "j-worker-1.default.svc:5" in _variables(pod, 1)["TF_CONFIG"]
    assert found["Service j-worker-0"]["spec"]["ports"] == [{"name": "tfjob-port", "port": 5}]


@pytest.mark.parametrize(
    ("kind", "replicas", "leads"),
    [
        ("TFJob", "{Worker: {replicas: 2, template: POD}}", ["j-worker-0"]),
        ("TFJob", "{Worker: {replicas: 2, template: POD}, Chief: {template: POD}}", ["j-chief-0"]),
        ("TFJob", "{PS: {template: POD}}", []),
        ("XGBoostJob", "{Worker: {template: POD}, Master: {replicas: 1, template: POD}}", ["j-master-0"]),
        ("PaddleJob", "{Worker: {template: POD}}", []),
        ("JAXJob", "{Worker: {replicas: 2, template: POD}}", ["j-worker-0"]),
        ("MPIJob", "{Launcher: {template: POD}, Worker: {replicas: 1, template: POD}}", ["j-launcher"]),
    ],
)
def test_the_pods_with_the_label_of_the_leader(kind: str, replicas: str, leads: list[str]) -> None:
    pods = [each for name, each in _objects(kind, replicas).items() if name.startswith("Pod")]
    found = [each["metadata"]["name"] for each in pods if each["metadata"]["labels"].get("training.kubeflow.org/job-role") == "master"]
    assert found == leads


def test_variables_of_an_xgboostjob() -> None:
    found = _objects("XGBoostJob", "{Worker: {replicas: 2, template: POD}, Master: {replicas: 1, template: POD}}")
    common = {"MASTER_PORT": "9999", "MASTER_ADDR": "j-master-0", "WORLD_SIZE": "3"}
    workers = {"PYTHONUNBUFFERED": "1", "WORKER_PORT": "9999", "WORKER_ADDRS": "j-worker-0,j-worker-1"}
    assert _variables(found["Pod j-master-0"]) == {**common, "RANK": "0", **workers}
    assert _variables(found["Pod j-worker-1"]) == {**common, "RANK": "2", **workers}
    assert "WORKER_ADDRS" not in _variables(_objects("XGBoostJob", "{Master: {replicas: 1, template: POD}}")["Pod j-master-0"])


_OWN_ADDRESS = {"POD_IP_DUMMY": {"fieldRef": {"fieldPath": "status.podIP"}}, "PADDLE_MASTER": "$(POD_IP_DUMMY):36543"}


def test_variables_of_a_paddlejob_with_a_master_and_without() -> None:
    found = _objects("PaddleJob", "{Master: {template: POD}, Worker: {replicas: 2, template: POD}}")
    common = {"PYTHONUNBUFFERED": "1", "PADDLE_JOB_ID": "j", "PADDLE_NNODES": "3"}
    assert _variables(found["Pod j-master-0"]) == {**common, **_OWN_ADDRESS, "PADDLE_SERVER_NUM": "1"}
    assert _variables(found["Pod j-worker-0"]) == {**common, "PADDLE_MASTER": "j-master-0:36543", "PADDLE_TRAINER_NUM": "1"}
    alone = _objects("PaddleJob", "{Worker: {replicas: 2, template: POD}}", ", elasticPolicy: {minReplicas: 1, metrics: []}")
    common["PADDLE_NNODES"] = "2"
    assert _variables(alone["Pod j-worker-0"]) == {**common, **_OWN_ADDRESS}
    assert _variables(alone["Pod j-worker-1"]) == {**common, "PADDLE_MASTER": "j-worker-0:36543"}
    assert not any(name.startswith("HorizontalPodAutoscaler") for name in alone)  # the operator makes none of Paddle's policy
    assert alone["Pod j-worker-0"]["spec"]["restartPolicy"] == "OnFailure"


def test_variables_of_a_jaxjob() -> None:
    pod = _objects("JAXJob", "{Worker: {replicas: 2, template: POD}}")["Pod j-worker-1"]
    assert _variables(pod) == {
        "PYTHONUNBUFFERED": "1",
        "COORDINATOR_PORT": "6666",
        "COORDINATOR_ADDRESS": "j-worker-0",
        "NUM_PROCESSES": "2",
        "PROCESS_ID": "1",
    }
    assert pod["spec"]["restartPolicy"] == "Never"


def test_variables_of_an_mxjob() -> None:
    replicas = "{Worker: {replicas: 2, template: POD}, Server: {template: POD}, Scheduler: {template: POD}}"
    found = _variables(_objects("MXJob", replicas, ", jobMode: MXTrain", release="1.8.1")["Pod j-worker-1"])
    config = json.loads(found.pop("MX_CONFIG"))
    assert list(config["cluster"]) == ["scheduler", "server", "worker"]
    assert config["cluster"]["worker"][1] == {"url": "j-worker-1", "port": 9091}
    assert (config["labels"], config["task"]) == ({"scheduler": "", "server": "", "worker": ""}, {"type": "worker", "index": 1})
    assert found == {
        "DMLC_PS_ROOT_PORT": "9091",
        "DMLC_PS_ROOT_URI": "j-scheduler-0",
        "DMLC_NUM_SERVER": "1",
        "DMLC_NUM_WORKER": "2",
        "DMLC_ROLE": "worker",
        "DMLC_USE_KUBERNETES": "1",
        "DMLC_WORKER_ID": "1",
    }


_WITH_OTHER_NAME = "{Worker: {template: {spec: {containers: [{name: a, image: a}]}}}}"
_MPI = "{Launcher: {template: POD}, Worker: {replicas: 2, template: POD}}"


def test_the_objects_of_an_mpijob() -> None:
    found = _objects("MPIJob", _MPI, ", slotsPerWorker: 4, mainContainer: main")
    names = ["ServiceAccount j-launcher", "ConfigMap j-config", "Role j-launcher", "RoleBinding j-launcher"]
    assert list(found) == [*names, "Pod j-worker-0", "Pod j-worker-1", "Pod j-launcher"]
    data = found["ConfigMap j-config"]["data"]
    assert data["hostfile"] == "j-worker-0 slots=4\nj-worker-1 slots=4\n"
    assert data["kubexec.sh"].endswith('/opt/kube/kubectl exec ${POD_NAME} --container main -- /bin/sh -c "$*"')
    assert found["Role j-launcher"]["rules"][1]["resourceNames"] == ["j-worker-0", "j-worker-1"]
    worker, launcher = found["Pod j-worker-1"]["spec"], found["Pod j-launcher"]["spec"]
    assert (worker["containers"][0]["command"], worker["containers"][0]["args"]) == (["sleep"], ["365d"])
    assert launcher["serviceAccountName"] == "j-launcher"
    assert [each["name"] for each in launcher["initContainers"]] == ["kubectl-delivery"]
    assert list(_variables(found["Pod j-launcher"])) == [
        *("OMPI_MCA_plm_rsh_agent", "OMPI_MCA_orte_default_hostfile"),
        *("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "I_MPI_HYDRA_BOOTSTRAP", "I_MPI_HYDRA_BOOTSTRAP_EXEC"),
    ]


@pytest.mark.parametrize(
    ("release", "image"),
    [
        ("1.7.0", "mpioperator/kubectl-delivery:latest"),
        ("1.9.0", "kubeflow/kubectl-delivery:latest"),
        ("1.9.4", "ghcr.io/kubeflow/training-v1/kubectl-delivery:latest"),
    ],
)
def test_the_image_that_brings_kubectl(release: str, image: str) -> None:
    assert _objects("MPIJob", _MPI, release=release)["Pod j-launcher"]["spec"]["initContainers"][0]["image"] == image


@pytest.mark.parametrize(("release", "account"), [("1.7.0", "j-launcher"), ("1.8.1", "mine")])
def test_a_launcher_with_an_account_of_its_own(release: str, account: str) -> None:
    template = "{spec: {serviceAccountName: mine, containers: [{name: main, image: a}]}}"
    found = _objects("MPIJob", f"{{Launcher: {{template: {template}}}}}", release=release)
    assert f"ServiceAccount {account}" in found
    assert found["Pod j-launcher"]["spec"]["serviceAccountName"] == account
    assert found["RoleBinding j-launcher"]["subjects"][0]["name"] == account


def test_a_launcher_without_workers_may_run_commands_in_all_pods_of_the_namespace() -> None:
    rules = _objects("MPIJob", "{Launcher: {template: POD}}")["Role j-launcher"]["rules"]
    assert rules[1] == {"verbs": ["create"], "apiGroups": [""], "resources": ["pods/exec"]}


def test_a_launcher_with_gpus_is_a_host() -> None:
    template = "{spec: {containers: [{name: main, image: a, resources: {limits: {nvidia.com/gpu: 1}}}]}}"
    found = _objects("MPIJob", f"{{Launcher: {{template: {template}}}, Worker: {{replicas: 1, template: POD}}}}")
    assert found["ConfigMap j-config"]["data"]["hostfile"] == "j-launcher slots=1\nj-worker-0 slots=1\n"
    assert found["ConfigMap j-config"]["data"]["discover_hosts.sh"] == "#!/bin/sh\necho j-launcher:1\n"
    assert "NVIDIA_VISIBLE_DEVICES" not in _variables(found["Pod j-launcher"])


@pytest.mark.parametrize(
    ("kind", "replicas", "more", "release", "rule"),
    [
        ("MPIJob", "{Worker: {template: POD}}", "", "1.9.4", "refused-by-operator"),
        ("MPIJob", "{launcher: {template: POD}}", "", "1.9.4", "refused-by-operator"),
        ("MPIJob", "{Launcher: {replicas: 2, template: POD}}", "", "1.9.4", "refused-by-operator"),
        ("MPIJob", "{Launcher: {template: {spec: {containers: []}}}}", "", "1.9.4", "refused-by-operator"),
        ("XGBoostJob", "{Worker: {template: POD}}", "", "1.7.0", "refused-by-operator"),
        ("TFJob", "{Chief: {template: POD}, Master: {template: POD}}", "", "1.7.0", "refused-by-operator"),
        (
            "MXJob",
            "{Worker: {template: {spec: {containers: [{name: a, image: a}]}}}}",
            ", jobMode: MXTrain",
            "1.8.1",
            "refused-by-operator",
        ),
        ("PaddleJob", "{Master: {template: POD}}", ", elasticPolicy: {maxRestarts: 1}", "1.9.4", "operator-crash"),
        ("TFJob", "{Worker: {replicas: -1, template: POD}}", "", "1.9.4", "operator-crash"),
        ("TFJob", "{Worker: {replicas: 2, template: POD}}", ", runPolicy: {suspend: true}", "1.9.4", "no-pods-created"),
        ("TFJob", "{Worker: {template: POD}}", ", runPolicy: {managedBy: kueue.x-k8s.io/multikueue}", "1.9.4", "no-pods-created"),
    ],
)
def test_jobs_of_which_the_operator_makes_no_pods(kind: str, replicas: str, more: str, release: str, rule: str) -> None:
    expansion = _expanded(kind, replicas, more, release=release)
    assert list(expansion.objects) == []
    assert rule in [each.rule for each in expansion.diagnostics]


def test_a_jaxjob_has_its_pods_whatever_manages_it() -> None:
    more = ", runPolicy: {managedBy: kueue.x-k8s.io/multikueue}"
    assert list(_objects("JAXJob", "{Worker: {template: POD}}", more)) == ["Pod j-worker-0", "Service j-worker-0"]


@pytest.mark.parametrize(("kind", "replicas"), [("TFJob", "{Worker: {replicas: 2, template: POD}, PS: {template: POD}}"), ("MPIJob", _MPI)])
def test_a_group_of_pods(kind: str, replicas: str) -> None:
    found = _objects(kind, replicas, gang_scheduler="volcano")
    assert next(iter(found)) == "PodGroup j"
    assert found["PodGroup j"]["spec"]["minMember"] == 3
    pods = [each for name, each in found.items() if name.startswith("Pod ")]
    assert {each["spec"]["schedulerName"] for each in pods} == {"volcano"}
    assert pods[0]["metadata"]["annotations"]["volcano.sh/task-spec"] == ("ps" if kind == "TFJob" else "worker")


def test_roles_have_the_names_that_people_write() -> None:
    job, target = _job("TFJob", "{ps: {template: POD}, Worker: {replicas: 2, template: POD}}"), choose(())
    expansion = expand(job, (), target)
    roles = ExpandedJob(job, expansion.objects, target, expansion.counts).roles
    assert [(each.name, each.count, each.training) for each in roles] == [("PS", 1, "tensorflow"), ("Worker", 2, "tensorflow")]


def test_containers_of_an_mpijob_that_train() -> None:
    job, target = _job("MPIJob", _MPI), choose(())
    roles = ExpandedJob(job, expand(job, (), target).objects, target, {}).roles
    assert [(each.name, each.training, each.together) for each in roles] == [("Worker", "main", True), ("Launcher", "main", True)]


_STAY = Effect("running pods stay as they are; only new pods get the new spec", heeded=False)
_KEEP = Effect("running pods keep the old number of nodes")
_HOSTS = Effect("the list of the hosts changes; a running mpirun keeps those that it has read")


@pytest.mark.parametrize(
    ("kind", "path", "effect"),
    [
        ("TFJob", "successPolicy", Effect()),
        ("TFJob", "runPolicy.ttlSecondsAfterFinished", Effect()),
        ("TFJob", "tfReplicaSpecs.Worker.replicas", _KEEP),
        ("TFJob", "tfReplicaSpecs.Worker.template.spec.containers", _STAY),
        ("TFJob", "enableDynamicWorker", _STAY),
        ("PaddleJob", "elasticPolicy.maxReplicas", _STAY),
        ("MPIJob", "slotsPerWorker", _HOSTS),
        ("MPIJob", "mpiReplicaSpecs.Worker.replicas", _HOSTS),
        ("MPIJob", "mpiReplicaSpecs.Launcher.template.spec.containers", _STAY),
        ("MPIJob", "cleanPodPolicy", Effect()),
        ("JAXJob", "runPolicy.managedBy", Effect("the training-operator makes the pods of a JAXJob whatever it says", heeded=False)),
        ("XGBoostJob", "runPolicy.managedBy", Effect("the training-operator leaves the job and its pods to another controller")),
    ],
)
def test_what_a_changed_field_does(kind: str, path: str, effect: Effect) -> None:
    job = _job(kind, "{Launcher: {template: POD}, Worker: {replicas: 2, template: POD}}")
    assert effect_on_training_job(("spec", *path.split(".")), job, job) == effect
