"""RayClusters, RayJobs and RayServices made at random, of parts that each change what KubeRay makes of them."""

from random import Random
from typing import Any

Data = dict[str, Any]

_VOLUME = {"name": "v", "emptyDir": {}}
#: Changes of the container in which Ray runs.
_CONTAINERS: list[Data] = [
    {"resources": {"limits": {"cpu": "1500m", "memory": "1Gi"}, "requests": {"cpu": "500m"}}},
    {"resources": {"requests": {"cpu": "250m", "memory": "512Mi"}}},
    {"resources": {"limits": {"nvidia.com/gpu": 2, "cpu": 1}}},
    {"resources": {"limits": {"google.com/tpu": 4, "example.com/gpu": 1}}},
    {"command": ["echo", "a b"], "args": ["and 'more'"]},
    {"args": ["sleep 1"]},
    {"command": ["bash", "-c"], "args": ["ray start --head --block"]},
    {"env": [{"name": "RAY_ADDRESS", "value": "elsewhere:1"}, {"name": "RAY_PORT", "value": "1"}, {"name": "EMPTY", "value": ""}]},
    {"ports": [{"name": "dashboard", "containerPort": 8266}, {"containerPort": 9000}, {"name": "serve-grpc", "containerPort": 9001}]},
    {"ports": [{"name": "metrics", "containerPort": 8081}, {"name": "dashboard", "containerPort": 8265}]},
    {"volumeMounts": [{"name": "v", "mountPath": "/dev/shm"}], "_volumes": [_VOLUME]},
    {"volumeMounts": [{"name": "v", "mountPath": "/tmp/ray"}], "_volumes": [_VOLUME]},
    {"imagePullPolicy": "Always", "securityContext": {"runAsNonRoot": True, "runAsUser": 1000}},
    {"livenessProbe": {"tcpSocket": {"port": 1}}},
    {"readinessProbe": {"exec": {"command": ["true"]}}},
    {"restartPolicy": "OnFailure", "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}]},
]
#: Changes of a group: its parameters, its template.
_GROUPS: list[Data] = [
    {"rayStartParams": {"num-cpus": "0", "block": "false", "log-color": "true", "include-dashboard": "false", "verbose": "True"}},
    {"rayStartParams": {"metrics-export-port": "9", "dashboard-agent-listen-port": "10", "dashboard-port": "11", "port": "6380"}},
    {"rayStartParams": {"resources": '\'{"a": 1, "b": 0.5}\'', "plasma-directory": "/data"}},
    {"resources": {"cpu": "1500m", "memory": "2Gi", "nvidia.com/gpu": "1", "a": "2", "b": "500m"}},
    {"labels": {"zone": "a", "app.kubernetes.io/name": "own"}},
    {"template": {"metadata": {"labels": {"app.kubernetes.io/name": "mine", "ray.io/group": "no", "x": "y"}, "annotations": {"a": "b"}}}},
    {"template": {"metadata": {"annotations": {"ray.io/overwrite-container-cmd": "true"}}}},
    {"template": {"spec": {"initContainers": [{"name": "first", "image": "a:1", "env": [{"name": "A", "value": "b"}]}]}}},
    {"template": {"spec": {"restartPolicy": "Never", "tolerations": [{"operator": "Exists"}]}}},
    {"template": {"spec": {"serviceAccountName": "default"}}},
]
#: Changes of the head alone.
_HEADS: list[Data] = [
    {"serviceType": "NodePort"},
    {"serviceType": "LoadBalancer"},
    {"serviceType": "ClusterIP", "enableIngress": True},
    {"headService": {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}, "spec": {"ports": [{"name": "own", "port": 1}]}}},
]
#: Changes of a group of workers alone.
_WORKERS: list[Data] = [
    {"replicas": 2},
    {"replicas": 0, "minReplicas": 1},
    {"replicas": 3, "maxReplicas": 2},
    {"replicas": 2, "numOfHosts": 2},
    {"minReplicas": 0},
    {"groupName": "A-Group-With-A-Name-That-Is-Too-Long-For-Its-Pods"},
]
#: Changes of a cluster.
_CLUSTERS: list[Data] = [
    {"enableInTreeAutoscaling": True},
    {
        "enableInTreeAutoscaling": True,
        "autoscalerOptions": {"version": "v2", "env": [{"name": "X", "value": "y"}], "resources": {"limits": {"cpu": 1}}},
    },
    {"authOptions": {"mode": "token"}, "rayVersion": "2.52.0"},
    {"authOptions": {"mode": "token", "secretName": "mine"}, "rayVersion": "2.53.0"},
    {"rayVersion": "2.53"},
    {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379", "redisPassword": {"value": "p"}, "redisUsername": {"value": "u"}}},
    {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379", "externalStorageNamespace": "n"}},
    {"headServiceAnnotations": {"e": "f"}},
    {"suspend": True},
]
_ANNOTATIONS: list[Data] = [
    {"ray.io/ft-enabled": "true"},
    {"ray.io/overwrite-container-cmd": "True"},
    {"ray.io/enable-serve-service": "true"},
    {"kubernetes.io/ingress.class": "nginx", "other": "x"},
]
#: Changes of a RayJob.
_JOBS: list[Data] = [
    {"submissionMode": "SidecarMode"},
    {"submissionMode": "HTTPMode"},
    {"submissionMode": "InteractiveMode"},
    {"jobId": "own-id-of-it", "submitterConfig": {"backoffLimit": 5}},
    {"metadata": {"b": "<é\n>", "a": "1"}},
    {"runtimeEnvYAML": "pip: [a, 'b>=1.0']\nenv_vars: {A: \"1\", N: 2, F: 1.0, Z: null}\n"},
    {"entrypointNumCpus": 1, "entrypointNumGpus": 0.1, "entrypointResources": '{"a": 1}'},
    {
        "submitterPodTemplate": {
            "spec": {"restartPolicy": "Never", "containers": [{"name": "s", "image": "s:1"}, {"name": "t", "image": "t"}]}
        }
    },
    {"submitterPodTemplate": {"spec": {"restartPolicy": "OnFailure", "containers": [{"name": "s", "image": "s:1", "command": ["true"]}]}}},
]


def grown_ray(name: str, random: Random) -> Data:
    """A Ray object of a name."""
    cluster = _cluster(random)
    kind = random.choice(["RayCluster", "RayCluster", "RayJob", "RayJob", "RayService"])
    annotations = {key: value for each in _some(_ANNOTATIONS, random) for key, value in each.items()}
    metadata = {"name": name, **({"annotations": annotations} if annotations else {}), "labels": {"own": "label"}}
    if kind == "RayJob":
        cluster.pop("suspend", None)
        spec: Data = {"entrypoint": "  python train.py\n", "rayClusterSpec": cluster, "shutdownAfterJobFinishes": True}
        for each in _some(_JOBS, random):
            spec |= each
    else:
        spec = cluster if kind == "RayCluster" else {"rayClusterConfig": cluster}
    return {"apiVersion": "ray.io/v1", "kind": kind, "metadata": metadata, "spec": spec}


def _cluster(random: Random) -> Data:
    made: Data = {"rayVersion": "2.46.0", "headGroupSpec": _group(random, _HEADS), "workerGroupSpecs": []}
    for number in range(random.choice([0, 1, 1, 2])):
        group = {"groupName": f"group-{number}", "replicas": 1, "minReplicas": 0, "maxReplicas": 4}
        made["workerGroupSpecs"].append({**group, **_group(random, _WORKERS)})
    for each in _some(_CLUSTERS, random):
        made |= each
    return made


def _group(random: Random, further: list[Data]) -> Data:
    container: Data = {"name": "ray", "image": "rayproject/ray:2.46.0"}
    for each in _some(_CONTAINERS, random):
        container |= each
    volumes = container.pop("_volumes", None)
    group: Data = {"template": {"spec": {"containers": [container], **({"volumes": volumes} if volumes else {})}}}
    for each in (*_some(_GROUPS, random), *_some(further, random)):
        group = _merged(group, each)
    if "resources" in group:
        group.pop("rayStartParams", None)
    return group


def _merged(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        return {**one, **{name: _merged(one[name], each) if name in one else each for name, each in other.items()}}
    return other


def _some(parts: list[Data], random: Random) -> list[Data]:
    """A few of the parts, often none."""
    return random.sample(parts, random.choice([0, 1, 1, 2, 3]))
