"""Random TrainJobs, each with a runtime of its own, as trainer 2.0 takes them, and later ones once they are `renewed`."""

from random import Random
from typing import Any

from jobspec.apis.releases import Target
from jobspec.operators.trainer.runtimes import has_runtime_patches

Data = dict[str, Any]

_ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
_VARIABLES: list[Data] = [
    {"name": "A", "value": "1"},
    {"name": "B", "value": ""},
    {"name": "C"},
    {"name": "PATHS", "value": "$(A):/x"},
    {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
    {"name": "CPUS", "valueFrom": {"resourceFieldRef": {"resource": "requests.cpu"}}},
    {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "k", "optional": True}}},
    {"name": "JOB_COMPLETION_INDEX", "value": "mine"},
]
_AMOUNTS: list[Data] = [{"cpu": 2}, {"cpu": "500m", "memory": "1024Mi"}, {"nvidia.com/gpu": 2}, {"cpu": "1", "nvidia.com/gpu": "1"}, {}]
_PORTS: list[list[Data]] = [
    [],
    [{"containerPort": 8080}],
    [{"containerPort": 29500, "name": "rendezvous"}],
    [{"containerPort": 8080, "name": "metrics"}, {"containerPort": 9090, "protocol": "UDP", "name": "events"}],
]
_VOLUMES: list[Data] = [
    {"name": "cache", "emptyDir": {"sizeLimit": "1Gi"}},
    {"name": "home", "hostPath": {"path": "/tmp"}},
    {"name": "settings", "configMap": {"name": "settings", "optional": True}},
]


def trainjob(random: Random, name: str, namespace: str) -> tuple[Data, Data]:
    """A TrainingRuntime and a TrainJob that names it."""
    policy = random.choice(["torch", "torch", "mpi", "plain", "none"])
    jobs = _jobs(random, policy)
    spec: Data = {"template": {"spec": {"replicatedJobs": jobs, **_jobset(random, jobs)}}}
    if random.random() < 0.4:
        spec["template"]["metadata"] = {"labels": {"team": "a"}, "annotations": {"note": "of the runtime", **_placement(random)}}
    if policy != "none":
        spec["mlPolicy"] = _policy(random, policy)
    metadata = {"name": "own", "namespace": namespace}
    runtime = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime", "metadata": metadata, "spec": spec}
    own = {"runtimeRef": {"kind": "TrainingRuntime", "name": "own"}, **_own(random, jobs)}
    metadata = {"name": name, "namespace": namespace}
    return runtime, {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": metadata, "spec": own}


def renewed(runtime: Data, job: Data, target: Target) -> tuple[Data, Data]:
    """The specs of a runtime and a job in the words of the target's trainer: since 2.2, a job's changes of its runtime are patches."""
    if not has_runtime_patches(target["trainer"]):
        return runtime, job
    if "torch" in (policy := runtime.get("mlPolicy", {})):
        runtime = {**runtime, "mlPolicy": {**policy, "torch": {}}}
    rest = {field: each for field, each in job.items() if field not in ("podSpecOverrides", "labels", "annotations")}
    changes = [_patched(each) for each in job.get("podSpecOverrides") or ()]
    if metadata := {field: job[field] for field in ("labels", "annotations") if field in job}:
        changes.append({"template": {"metadata": metadata}})
    patches = [{"manager": f"example.com/m{number}", "trainingRuntimeSpec": each} for number, each in enumerate(changes)]
    return runtime, {**rest, "runtimePatches": patches} if patches else rest


def _patched(override: Data) -> Data:
    pod = {field: each for field, each in override.items() if field != "targetJobs"}
    jobs = [{"name": each["name"], "template": {"spec": {"template": {"spec": pod}}}} for each in override["targetJobs"]]
    return {"template": {"spec": {"replicatedJobs": jobs}}}


def _placement(random: Random) -> Data:
    """Annotations by which each Job gets nodes that a user has labelled for it; no pod is ever put on one here."""
    prefix = "alpha.jobset.sigs.k8s.io"
    return {f"{prefix}/exclusive-topology": "rack", f"{prefix}/node-selector": "true"} if random.random() < 0.3 else {}


def _policy(random: Random, policy: str) -> Data:
    common = _some(random, {"numNodes": random.choice([1, 2, 3])})
    if policy == "torch":
        return {**common, "torch": _some(random, {"numProcPerNode": random.choice(["auto", "cpu", "gpu", 2])})}
    if policy == "mpi":
        fields = {"numProcPerNode": random.choice([1, 2]), "runLauncherAsNode": random.random() < 0.5, "sshAuthMountPath": "/keys"}
        return {**common, "mpi": _some(random, fields)}
    return {**common, "numNodes": 2}


def _jobs(random: Random, policy: str) -> list[Data]:
    """The replicated jobs: one that trains, with MPI its nodes, and others beside."""
    if policy == "mpi":
        jobs = [_job(random, "node", part=""), _job(random, "launcher", part="trainer")]
    else:
        jobs = [_job(random, random.choice(["node", "node", "trainer-node"]), part=random.choice(["trainer"] * 9 + [""]))]
    if random.random() < 0.3:
        context = _job(random, "logger", part="")
        context |= _some(random, {"replicas": 2})
        context["template"]["spec"] |= _some(random, {"parallelism": 2})
        jobs.insert(random.choice([0, len(jobs)]), context)
    if random.random() < 0.25:
        jobs.insert(0, _job(random, "dataset-initializer", part="dataset-initializer"))
        jobs[0]["template"]["spec"]["template"]["spec"]["containers"][0]["name"] = "dataset-initializer"
    return jobs


def _job(random: Random, name: str, *, part: str) -> Data:
    metadata: Data = {"metadata": {"labels": {_ANCESTOR: part}}} if part else {}
    template = {"spec": _pod(random), **_some(random, {"metadata": {"labels": {"part": name}, "annotations": {"note": ""}}})}
    fields: Data = {
        "backoffLimit": random.choice([0, 3]),
        "activeDeadlineSeconds": 1000,
        "podReplacementPolicy": "Failed",
        "completionMode": random.choice(["Indexed", "NonIndexed"]),
        "manualSelector": False,
    }
    if random.random() < 0.15:
        template["spec"]["restartPolicy"] = "Never"
        rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
        return {"name": name, "template": {**metadata, "spec": {"template": template, "podFailurePolicy": {"rules": [rule]}}}}
    return {"name": name, "template": {**metadata, "spec": {"template": template, **_some(random, fields, share=0.2)}}}


def _pod(random: Random) -> Data:
    containers = [_container(random, "node")]
    if random.random() < 0.3:
        containers.append(_container(random, "sidecar"))
    fields: Data = {
        "initContainers": [_without_probe(_container(random, "prepare"))],
        "volumes": random.sample(_VOLUMES, random.choice([1, 2])),
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "restartPolicy": random.choice(["Never", "OnFailure"]),
        "terminationGracePeriodSeconds": 0,
        "hostNetwork": False,
        "securityContext": {"fsGroup": 0},
        "priorityClassName": "system-node-critical",
        "subdomain": "elsewhere",
        "enableServiceLinks": False,
    }
    return {"containers": containers, **_some(random, fields, share=0.2)}


def _container(random: Random, name: str) -> Data:
    fields: Data = {
        "command": ["sleep", "1"],
        "args": ["--x", ""],
        "env": _variables(random),
        "ports": random.choice(_PORTS),
        "resources": _resources(random),
        "workingDir": "",
        "tty": False,
        "readinessProbe": {"tcpSocket": {"port": 2222}, "initialDelaySeconds": 0},
        "securityContext": {"runAsUser": 0, "privileged": False},
        "imagePullPolicy": "Always",
    }
    return {"name": name, "image": random.choice(["example.com/a:1", "example.com/b"]), **_some(random, fields, share=0.35)}


def _without_probe(container: Data) -> Data:
    return {name: each for name, each in container.items() if name != "readinessProbe"}


def _variables(random: Random) -> list[Data]:
    return random.sample(_VARIABLES, random.choice([1, 2, 3]))


def _resources(random: Random) -> Data:
    both = {"limits": {"cpu": 4}, "requests": {"cpu": 3}}
    return random.choice([{"limits": random.choice(_AMOUNTS)}, {"requests": {"cpu": "250m", "memory": "0.5Gi"}}, both])


def _jobset(random: Random, jobs: list[Data]) -> Data:
    names = [each["name"] for each in jobs]
    numbered = [each["name"] for each in jobs if each["template"]["spec"].get("completionMode") != "NonIndexed"]
    fields: Data = {
        "network": random.choice([{"subdomain": "ring"}, {"publishNotReadyAddresses": False}, {"enableDNSHostnames": False}, {}]),
        "successPolicy": {"operator": "All", "targetReplicatedJobs": names},
        "failurePolicy": random.choice([{"maxRestarts": 2}, {"maxRestarts": 0, "rules": [{"name": "first", "action": "FailJobSet"}]}]),
        "startupPolicy": {"startupPolicyOrder": "AnyOrder"},
    }
    coordinator = {"coordinator": {"replicatedJob": numbered[0], "podIndex": 0}} if numbered else {}
    return _some(random, {**fields, **coordinator}, share=0.25)


def _own(random: Random, jobs: list[Data]) -> Data:
    trainer: Data = {
        "image": "example.com/own:2",
        "command": random.choice([["torchrun"], []]),
        "args": random.choice([["train.py", "--epochs", "1"], []]),
        "env": _variables(random),
        "numNodes": random.choice([1, 2, 4]),
        "numProcPerNode": random.choice([1, 3]),
        "resourcesPerNode": _resources(random),
    }
    fields: Data = {
        "trainer": _some(random, trainer),
        "labels": {"team": "b", "job": "x"},
        "annotations": {"note": "of the job"},
        "suspend": random.random() < 0.2,
        "podSpecOverrides": [_override(random, jobs)],
    }
    found = {**_some(random, fields, share=0.35), "trainer": _some(random, trainer)}
    if jobs[0]["name"] == "dataset-initializer":
        dataset = {"storageUri": "hf://a/b", "env": _variables(random), "secretRef": {"name": "token"}}
        found["initializer"] = {"dataset": _some(random, dataset)}
    return found


def _override(random: Random, jobs: list[Data]) -> Data:
    chosen = random.choice(jobs)
    containers = [each["name"] for each in chosen["template"]["spec"]["template"]["spec"]["containers"]]
    mounts = [{"name": "more", "mountPath": "/more", "readOnly": random.random() < 0.5}]
    fields: Data = {
        "nodeSelector": {"kubernetes.io/arch": "amd64"},
        "tolerations": [{"key": "other", "operator": "Exists"}],
        "serviceAccountName": "default",
        "schedulingGates": [{"name": "example.com/gate"}],
    }
    volumes = {"volumes": [{"name": "more", "emptyDir": {}}], "containers": [{"name": random.choice(containers), "volumeMounts": mounts}]}
    return {"targetJobs": [{"name": chosen["name"]}], **_some(random, fields), **random.choice([volumes, {}])}


def _some(random: Random, fields: Data, *, share: float = 0.5) -> Data:
    return {name: value for name, value in fields.items() if random.random() < share}
