"""Random jobs to migrate, in texts of every form: with comments, as JSON, as items of a List, beside other objects."""

import copy
import json
from random import Random
from typing import Any

from jobspec.documents.writer import write
from tests.support.job_growth import grown_job
from tests.support.trainjob_growth import trainjob

Data = dict[str, Any]

_TERM = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"training.kubeflow.org/job-name": "job"}}}
_COMMANDS: list[Data] = [
    {"command": ["torchrun", "train.py"]},
    {"command": ["torchrun", "--nnodes=2", "--nproc_per_node=$(PET_NPROC_PER_NODE)", "--rdzv_backend=c10d", "train.py"]},
    {"command": ["torchrun"], "args": ["--nnodes=$(WORLD_SIZE)", "--node_rank=$(RANK)", "--master_addr=$(MASTER_ADDR)", "train.py"]},
    {"command": ["python", "-m", "torch.distributed.run", "train.py"]},
    {"command": ["python", "-u", "train.py", "--init=tcp://$(MASTER_ADDR):$(MASTER_PORT)"]},
    {"command": ["bash", "-c", "torchrun --node_rank=$RANK --master_addr=$MASTER_ADDR train.py"]},
    {"command": ["python", "train.py"], "args": ["--peer=job-worker-0", "--first=job-master-0.ml.svc"]},
    {"args": ["--epochs=1"]},
]
_CONTAINER: Data = {
    "env": [{"name": "NCCL_DEBUG", "value": "INFO"}, {"name": "HOME_OF", "value": "$(NCCL_DEBUG)-$(MASTER_ADDR)"}],
    "envFrom": [{"secretRef": {"name": "s"}}],
    "resources": {"limits": {"nvidia.com/gpu": 2, "cpu": "4"}, "requests": {"cpu": "1"}},
    "workingDir": "/w",
    "volumeMounts": [{"name": "v", "mountPath": "/data", "subPath": "a"}],
    "lifecycle": {"preStop": {"exec": {"command": ["sleep", "1"]}}},
    "startupProbe": {"exec": {"command": ["true"]}, "periodSeconds": 3},
    "terminationMessagePolicy": "FallbackToLogsOnError",
    "ports": [{"containerPort": 8080, "name": "metrics"}],
    "tty": True,
}
_POD: Data = {
    "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_TERM]}},
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"team": "a"}}}
    ],
    "schedulerName": "other",
    "serviceAccountName": "trainer",
    "imagePullSecrets": [{"name": "registry"}],
    "hostNetwork": True,
    "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a"]}],
    "activeDeadlineSeconds": 300,
    "runtimeClassName": "gvisor",
    "priorityClassName": "system-node-critical",
    "shareProcessNamespace": True,
    "hostname": "own",
    "subdomain": "own",
    "overhead": None,
    "schedulingGates": [{"name": "example.com/gate"}],
}
_METADATA: Data = {
    "labels": {"kueue.x-k8s.io/queue-name": "q", "team": "a"},
    "annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false", "sidecar.istio.io/inject": "false"},
}
_POLICY: Data = {
    "activeDeadlineSeconds": 600,
    "backoffLimit": 2,
    "cleanPodPolicy": "Running",
    "managedBy": "kueue.x-k8s.io/multikueue",
    "schedulingPolicy": {
        "minAvailable": 1,
        "queue": "q",
        "priorityClass": "high",
        "minResources": {"cpu": "1"},
        "scheduleTimeoutSeconds": 9,
    },
    "ttlSecondsAfterFinished": 60,
}
_OTHER = "apiVersion: v1\nkind: ConfigMap\nmetadata:   {name: x}   # stays"
_LIST = {"apiVersion": "v1", "kind": "List"}
_FORMS = ("yaml", "yaml", "json", "list", "json list")


def pytorchjob(random: Random) -> Data:
    """A PyTorchJob, with a richer pod than `grown_job` makes; half of those with Workers have the Master's pods there, too."""
    job = grown_job("job", random)
    job["metadata"] |= _some({**copy.deepcopy(_METADATA), "namespace": "ml"}, random, 0.3)
    roles = job["spec"]["pytorchReplicaSpecs"]
    for each in roles.values():
        template = each["template"]
        template["spec"] |= {name: value for name, value in _some(_POD, random, 0.1).items() if value is not None}
        for container in template["spec"]["containers"]:
            container |= _some(_CONTAINER, random, 0.15)
            if container["name"] == "pytorch" and random.random() < 0.7:
                container |= random.choice(_COMMANDS)
        if random.random() < 0.2:
            template["metadata"] = copy.deepcopy(_METADATA)
    if random.random() < 0.5:
        first = next(iter(roles.values()))
        for each in roles.values():
            each["template"] = copy.deepcopy(first["template"])
            each.pop("restartPolicy", None)
    if random.random() < 0.5:
        job["spec"]["runPolicy"] = {**job["spec"].get("runPolicy", {}), **_some(_POLICY, random, 0.25)}
    return job


def pytorchjobs_text(random: Random) -> str:
    """The text of a file with a PyTorchJob."""
    return text_of(random, pytorchjob(random))


def trainjobs_text(random: Random) -> str:
    """The text of a file with a TrainJob of trainer 2.0 and its runtime."""
    return text_of(random, *trainjob(random, "job", "ml"))


def text_of(random: Random, *objects: Data) -> str:
    """The text of a file with some objects, in a form at random, and perhaps a ConfigMap beside them."""
    form = random.choice(_FORMS)
    is_beside = random.random() < 0.5
    if form == "json" and len(objects) == 1:
        return json.dumps(objects[0], indent=random.choice((None, 1, 2, 4, "\t")))
    if form == "json list":
        context = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}] if is_beside else []
        return json.dumps({**_LIST, "items": [*context, *objects]}, indent=random.choice((None, 2, 4)))
    texts = [_commented(write([each]).rstrip(), random) for each in objects]
    texts = random.choice(([_OTHER, *texts], [*texts, _OTHER])) if is_beside else texts
    if form != "list":
        return "\n---\n".join(texts) + "\n"
    margin = random.choice(("", "  "))
    items = "".join(f"{margin}- {each.replace(chr(10), chr(10) + margin + '  ')}\n" for each in texts)
    return f"# a list\n{write([_LIST])}items:\n{items}"


def _commented(text: str, random: Random) -> str:
    """YAML with comments above and behind some lines, each another one; what is in a block of text has none."""
    found = []
    block: int | None = None
    for number, line in enumerate(text.split("\n")):
        indent = len(line) - len(line.lstrip())
        if block is not None and (indent > block or not line):
            found.append(line)
            continue
        block = len(line) - len(line.lstrip(" -")) - 2 * line.lstrip().startswith("- ") if line.endswith(("|", "|-", "|+")) else None
        if random.random() < 0.1:
            found.append(f"{' ' * indent}# above {number}")
        found.append(f"{line}  # behind {number}" if block is None and random.random() < 0.2 else line)
    return "\n".join(found)


def _some(choices: Data, random: Random, odds: float) -> Data:
    return {name: copy.deepcopy(value) for name, value in choices.items() if random.random() < odds}
