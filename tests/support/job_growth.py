"""Random jobs of training-operator that are likely to be accepted: replicas, ports, elastic policies, sidecars, variables, metadata."""

from copy import deepcopy
from random import Random
from typing import Any

_PORT = {"name": "pytorchjob-port", "containerPort": 4000}
#: A kind beside PyTorchJob -> the field of its replicas, sets of replica types, the training container, and the operator's port.
SIBLINGS: dict[str, tuple[str, tuple[list[str], ...], str, str]] = {
    "TFJob": (
        "tfReplicaSpecs",
        (["Worker"], ["PS", "Worker"], ["Chief", "Worker"], ["worker", "Master", "evaluator"], ["Worker", "Evaluator"], ["Odd", "Worker"]),
        "tensorflow",
        "tfjob-port",
    ),
    "XGBoostJob": ("xgbReplicaSpecs", (["Master"], ["Worker", "Master"]), "xgboost", "xgboostjob-port"),
    "PaddleJob": ("paddleReplicaSpecs", (["Worker"], ["Master", "Worker"], ["Master"]), "paddle", "master"),
    "JAXJob": ("jaxReplicaSpecs", (["Worker"],), "jax", "jaxjob-port"),
    "MXJob": ("mxReplicaSpecs", (["Worker"], ["Scheduler", "Server", "Worker"], ["server", "Worker"]), "mxnet", "mxjob-port"),
    "MPIJob": ("mpiReplicaSpecs", (["Launcher", "Worker"], ["Launcher", "Worker"], ["Launcher"]), "mpi", "mpi-port"),
}
#: The fields of the spec of these kinds beside the replicas.
_OWN: dict[str, dict[str, tuple[Any, ...]]] = {
    "TFJob": {"enableDynamicWorker": (True, False), "successPolicy": ("AllWorkers", "")},
    "PaddleJob": {"elasticPolicy": ({"minReplicas": 1, "maxReplicas": 3}, {"maxReplicas": 2, "maxRestarts": 1})},
    "MPIJob": {"slotsPerWorker": (1, 2, 8), "mainContainer": ("mpi", ""), "cleanPodPolicy": ("None", "All")},
}
_CONTAINER: dict[str, tuple[Any, ...]] = {
    "args": (["--rank=$(RANK)"], ["a b", "", "$(date)"]),
    "command": (["python", "train.py"], ["sh", "-c", "set -e\necho $RANK\n"], []),
    "env": (
        [{"name": "RANK", "value": "7"}],
        [{"name": "A", "value": ""}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        [],
    ),
    "imagePullPolicy": ("Always", "Never", ""),
    "livenessProbe": ({"exec": {"command": ["true"]}}, {"httpGet": {"port": 80}, "initialDelaySeconds": 0}),
    "ports": ([_PORT], [{"name": "metrics", "containerPort": 9000}], [_PORT, {"name": "udp", "containerPort": 1, "protocol": "UDP"}], []),
    "resources": ({"limits": {"cpu": "1000m", "memory": "0.5Gi"}}, {"requests": {"cpu": 0.5}}, {"limits": {}}, {}),
    "securityContext": ({}, {"runAsUser": 0, "capabilities": {"add": ["SYS_PTRACE"]}}),
    "stdin": (True, False),
    "volumeMounts": ([{"name": "v", "mountPath": "/v", "readOnly": False}],),
    "workingDir": ("/w", ""),
}
_POD: dict[str, tuple[Any, ...]] = {
    "affinity": ({}, {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}),
    "automountServiceAccountToken": (False, True),
    "dnsPolicy": ("Default",),
    "hostIPC": (True, False),
    "initContainers": ([{"name": "first", "image": "b:1"}], []),
    "nodeSelector": ({}, {"kubernetes.io/os": "linux"}),
    "priority": (0,),
    "restartPolicy": ("Always", "Never"),
    "securityContext": ({"fsGroup": 0}, {}),
    "terminationGracePeriodSeconds": (0, 5),
    "tolerations": ([{"operator": "Exists"}], [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}], []),
}
_METADATA: dict[str, tuple[Any, ...]] = {
    "annotations": ({"a": "", "b/c": "d"}, {}),
    "labels": ({"app": "a", "training.kubeflow.org/job-name": "mine"}, {}),
    "name": ("ignored",),
    "finalizers": ([],),
}
_ELASTIC: dict[str, tuple[Any, ...]] = {
    "minReplicas": (1,),
    "maxReplicas": (2, 4),
    "rdzvBackend": ("c10d", "etcd"),
    "rdzvHost": ("etcd",),
    "rdzvId": ("a b", ""),
    "rdzvPort": (29400, 0),
    "rdzvConf": ([{"key": "a", "value": "1"}, {"key": "b", "value": ""}], [{}]),
    "maxRestarts": (0, 3),
    "nProcPerNode": (2,),
    "standalone": (True, False),
    "metrics": (
        [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}],
        [],
    ),
}
_POLICY: dict[str, tuple[Any, ...]] = {
    "backoffLimit": (0, 3),
    "cleanPodPolicy": ("None", "All"),
    "schedulingPolicy": ({"minAvailable": 1, "queue": "q"},),
    "suspend": (False, False, True),
    "ttlSecondsAfterFinished": (0, 60),
}


def grown_job(name: str, random: Random) -> dict[str, Any]:
    """A job."""
    spec: dict[str, Any] = {"pytorchReplicaSpecs": {}}
    roles = random.choice((["Master"], ["Worker"], ["Master", "Worker"], ["Worker", "Master"]))
    for role in roles:
        spec["pytorchReplicaSpecs"][role] = _role(role, random, least=0 if "Master" in roles else 1)
    if random.random() < 0.5:
        spec["runPolicy"] = _some(_POLICY, random, 0.3)
    if "Worker" in roles and random.random() < 0.5:
        spec["elasticPolicy"] = _some(_ELASTIC, random, 0.35)
    if "nProcPerNode" not in spec.get("elasticPolicy", {}) and random.random() < 0.5:
        spec["nprocPerNode"] = random.choice(("1", "2", "auto", "gpu", "+3", "-1", "x"))
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name}, "spec": spec}


def grown_sibling(kind: str, name: str, random: Random) -> dict[str, Any]:
    """A job of a kind beside PyTorchJob."""
    field, sets, container, port = SIBLINGS[kind]
    roles = random.choice(sets)
    spec: dict[str, Any] = {field: {role: _role(role, random, least=1, container=container, port=port) for role in roles}}
    if random.random() < 0.5:
        spec["runPolicy"] = _some(_POLICY, random, 0.3)
    own = _some(_OWN.get(kind, {}), random, 0.4)
    if "elasticPolicy" in own and "Worker" not in roles:
        del own["elasticPolicy"]
    if kind == "MXJob":
        own["jobMode"] = "MXTrain"
    return {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": name}, "spec": {**spec, **own}}


_SINGLE = ("Master", "Launcher")


def _role(role: str, random: Random, *, least: int, container: str = "pytorch", port: str = "") -> dict[str, Any]:
    """A replica type; a job of Workers alone that has none of them is complete at once, and its pods may be gone before anybody looks."""
    made: dict[str, Any] = {"template": _template(random, container, port)}
    if role in _SINGLE or random.random() < 0.8:
        made["replicas"] = 1 if role in _SINGLE else random.choice((least, 1, 2, 3))
    if random.random() < 0.6:
        made["restartPolicy"] = random.choice(("Always", "OnFailure", "Never", "ExitCode"))
    return made


def _template(random: Random, container: str, port: str) -> dict[str, Any]:
    training: dict[str, Any] = {
        "name": container,
        "image": random.choice(("a:1", "a", "b.example/c@sha256:" + "0" * 64, "<a>")),
        **_some(_CONTAINER, random, 0.3),
    }
    for each in training.get("ports", ()):
        if port and each.get("name") == _PORT["name"]:
            each["name"] = port
    sidecar = {"name": "side", "image": "s:1", **_some({**_CONTAINER, "ports": ([{"containerPort": 5}],)}, random, 0.2)}
    containers = random.choice(([training], [training], [training, sidecar], [sidecar, training]))
    template: dict[str, Any] = {"spec": {"containers": containers, "volumes": [{"name": "v"}], **_some(_POD, random, 0.2)}}
    if random.random() < 0.4:
        template["metadata"] = _some(_METADATA, random, 0.5)
    return template


def _some(choices: dict[str, tuple[Any, ...]], random: Random, odds: float) -> dict[str, Any]:
    """Some of the fields, each with a value that its receiver may change."""
    return {name: deepcopy(random.choice(values)) for name, values in choices.items() if random.random() < odds}
