"""Policies that `jobspec policy` writes: they find in an object, and in what comes of it, what the rule of lint finds in the object.

The other side is `lint`; the policies are judged by our own evaluator, and by a server, which warns. What a policy says otherwise than its
rule stands in `DIFFERS`, for each sentence of the policy's `differs` a condition under which both may disagree.

Jobs are drawn until each policy has judged a number of them. The tally counts, for each policy, how many it has judged, and how many of
them break its rule for both sides.
"""

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from random import Random
from typing import Any, NamedTuple

from jobspec.apis import kinds
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.journey.checking import check
from jobspec.journey.outcomes import foresee
from jobspec.journey.reading import read
from jobspec.journey.references import resolve
from jobspec.journey.steps import Checked, Source
from jobspec.kubernetes.admission.policies import Request, decisions
from jobspec.kubernetes.index import Index
from jobspec.lint.documents import Documents
from jobspec.lint.linted import LintedDocument, LintedJob
from jobspec.lint.linting import can_find, linted_in, looks_at, seen
from jobspec.lint.topics import every_rule
from jobspec.operators.admitted import as_admitted
from jobspec.operators.made import with_generated_names
from jobspec.policies.catalogue import POLICIES
from jobspec.policies.objects import Choices, written
from jobspec.policies.rule import PolicyRule
from jobspec.policies.templates import TEMPLATES
from jobspec.world.world import Cluster
from tests.hunt.finds import Find
from tests.support import quick_yaml
from tests.support.server import PLURALS, PODS, SIBLINGS, STRICT, WORKLOADS, Server

Data = dict[str, Any]

_GROUP = "/apis/admissionregistration.k8s.io/v1"
_PATHS = {
    "ValidatingAdmissionPolicy": f"{_GROUP}/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": f"{_GROUP}/validatingadmissionpolicybindings",
}
_OBJECTS = {**SIBLINGS, **PLURALS, **WORKLOADS, "Pod": PODS, "RayCronJob": "/apis/ray.io/v1/namespaces/{}/raycronjobs"}
_NAMESPACE = "said-policies"
_QUEUE = "team-a"
_SETTLED = 6.0  # seconds after which the policies are compiled and in force
_RULES = {rule.name: rule for rule in every_rule()}
#: The rules of lint that policies say.
COMPARED = tuple(name for name in POLICIES if name in _RULES)
#: The rules of outcome that policies say: a name is too long. Only jobs at random are compared by them.
OF_NAMES = tuple(name for name in POLICIES if name not in _RULES)
#: What a cluster tells the policies of jobs at random.
_SET = {"queues": [_QUEUE], "gpu-taints": ["nvidia.com/gpu"]}


class Seen(NamedTuple):
    """A document as rules see it, with the objects that come of it."""

    linted: Sequence[LintedDocument]
    objects: Sequence[tuple[Data, str]]
    """The document first, each with the account that sends it."""
    outcomes: Sequence[Diagnostic] = ()
    """What becomes of it because of its name."""
    in_cluster: bool = False
    """Whether it is in the cluster of which the policies' parameters tell."""

    @property
    def document(self) -> LintedDocument:
        return self.linted[-1]

    @property
    def has_pods(self) -> bool:
        """Whether rules see its pods."""
        return isinstance(self.document, LintedJob) and bool(self.document.roles)

    @property
    def findings(self) -> dict[str, list[str]]:
        """What the rules find, by name."""
        found: dict[str, list[str]] = {}
        for each in self.linted:
            for name in COMPARED:
                rule = _RULES[name]
                if looks_at(rule, each) and can_find(rule, each):
                    found.setdefault(name, []).extend(one.message for one in rule.check(each))
        for outcome in self.outcomes:
            found.setdefault(outcome.rule, []).append(outcome.message)
        return found


def policies(parameters: str = "none", *, action: str = "Deny", of: Sequence[PolicyRule] = tuple(POLICIES.values())) -> Index:
    """Policies, all by default, as an evaluator looks them up."""
    return Cluster(objects=written(of, Choices(action=action, parameters=parameters)), closed=True).index


def of_cluster() -> list[PolicyRule]:
    """All policies with the parameters of the cluster of jobs at random."""
    return [
        each.changed(parameters=[one.changed(default=_SET.get(one.name, one.default)) for one in each.parameters])
        for each in POLICIES.values()
    ]


def cluster_of_jobs() -> Cluster:
    """A cluster with a queue for the jobs, and nodes that differ in their GPUs and taints alone."""
    metadata = {"name": _QUEUE, "namespace": _NAMESPACE}
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "a", "resources": [{"name": "cpu", "nominalQuota": "1k"}]}]}
    plain = {"cpu": "1k", "memory": "100Ti", "pods": "1k", "ephemeral-storage": "100Ti", **dict.fromkeys(_NO_GPUS, "1k")}
    taint = {"key": _SET["gpu-taints"][0], "effect": "NoSchedule"}
    objects: list[Data] = [
        {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": metadata, "spec": {"clusterQueue": "all"}},
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "ClusterQueue",
            "metadata": {"name": "all"},
            "spec": {"namespaceSelector": {}, "resourceGroups": [group]},
        },
        {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "a"}, "spec": {}},
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "plain"}, "status": {"allocatable": plain}},
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "gpus"},
            "spec": {"taints": [taint]},
            "status": {"allocatable": {**plain, **dict.fromkeys(_GPUS, "1k")}},
        },
    ]
    return Cluster(objects=objects)


def seen_in(files: Sequence[Checked], cluster: Cluster, *, refused: bool = False) -> Iterator[Seen]:
    """Return the jobs, pods and runtimes of some files.

    *refused*: jobs that an operator ignores are among them.
    """
    resolved = resolve(files, cluster)
    documents = Documents([each for file in resolved for each in seen(file)], cluster)
    for file in resolved:
        by_document: dict[int, list[LintedDocument]] = {}
        for each in (one for document in seen(file) for one in linted_in(document, documents)):
            if each.given.group_kind in TEMPLATES and not _has_none(each.given.data):
                by_document.setdefault(id(each.given), []).append(each)
        for several in by_document.values():
            if isinstance(several[-1], LintedJob) and (several[-1].roles or refused):  # of no other rules see the pods
                yield Seen(several, _objects(several[-1]))


def _has_none(data: Any) -> bool:
    """Whether a role of a job has no pods: policies judge its template, too."""
    if isinstance(data, dict):
        return any(data.get(name) == 0 for name in ("replicas", "parallelism", "completions", "size")) or any(map(_has_none, data.values()))
    return isinstance(data, list) and any(map(_has_none, data))


def _objects(linted: LintedDocument) -> list[tuple[Data, str]]:
    target = linted.documents.target
    made: list[tuple[Data, str]] = [(as_admitted(linted.given, target), "")]
    if isinstance(linted, LintedJob) and linted.given.group_kind not in kinds.RUNTIMES:
        trees = [*linted.expanded.of_kind("JobSet"), *(each.pod_tree for each in linted.roles)]
        made += [(with_generated_names(each), linted.expanded.creator_of(each)) for each in trees]
    return made


#: The start of the key of a policy whose expressions may cost more than a server spends, so that our evaluator leaves them.
_NOT_EVALUATED = "not evaluated: "


def said_by_evaluator(each: Seen, index: Index) -> dict[str, list[str]]:
    """What our own evaluator says, by rule."""
    found: dict[str, list[str]] = {}
    for data, user in each.objects:
        request = Request(data, namespace=each.document.given.namespace or "default", user=user)
        for decision in decisions(request, index):
            start = "" if decision.is_evaluated else _NOT_EVALUATED
            found.setdefault(start + decision.policy.partition(".")[0], []).append(f"{data['kind']}: {decision.message}")
    return found


# Where a policy may say something else than its rule: each of these is said in its `differs`.


def _containers(each: Seen) -> list[Any]:
    return each.document.containers if isinstance(each.document, LintedJob) else []


def _training(each: Seen) -> list[Any]:
    return each.document.training_containers if isinstance(each.document, LintedJob) else []


def _trains_otherwise(each: Seen) -> bool:
    """Whether the containers with GPUs are others than those that train, or only show something."""
    with_gpus = [one for one in _containers(each) if one.gpus]
    return [one for one in with_gpus if not one.is_init and not one.only_shows] != [one for one in _training(each) if one.gpus]


def _tolerates_a_value(each: Seen) -> bool:
    return any(one.get("value") for data, _ in each.objects for one in data.get("spec", {}).get("tolerations") or ())


def _trains(each: Seen) -> bool:
    return isinstance(each.document, LintedJob) and each.document.trains


def _is_image_unwritten(each: Seen) -> bool:
    return any(one.image and not one.image.mark.line for one in _containers(each))


def _is_outside_env(found: list[str]) -> bool:
    return all(any(each in message for each in ("a token is in the manifest", "the command sets", "a ConfigMap has")) for message in found)


DIFFERS: dict[str, Callable[[Seen, list[str], list[str]], bool]] = {
    "small-shared-memory": lambda each, lint, _: _trains_otherwise(each) or all("DataLoader" in message for message in lint),
    "unsized-container": lambda each, lint, _: (
        _trains_otherwise(each)
        or not all(one.gpus for one in _training(each))
        or (not lint and each.document.given.kind == "RayCluster")  # of which lint does not know that it trains
    ),
    "pod-without-node": lambda each, lint, _: (
        not each.in_cluster or (each.document.given.kind == "Pod" if not lint else _tolerates_a_value(each))
    ),
    "image-without-digest": lambda each, *_: _is_image_unwritten(each),
    "unpinned-image": lambda each, *_: _is_image_unwritten(each),
    "invalid-image": lambda _, lint, said: (
        not lint and bool(said) and any("$" in one or "<" in one or "{" in one or "ko://" in one for one in said)
    ),
    "no-deadline": lambda each, lint, said: each.document.given.kind == "TrainJob" and bool(lint) and not said,
    "no-queue-name": lambda each, lint, _: not each.in_cluster or (not lint and not _trains(each)),
    "misplaced-queue-name": lambda each, lint, said: each.document.given.kind == "TrainJob" and bool(lint) and not said,
    "unknown-queue": lambda each, *_: not each.in_cluster,
    "secret-in-manifest": lambda _, lint, said: not said and _is_outside_env(lint),
    "unlimited-memory-volume": lambda each, lint, _: not lint and each.document.is_used_runtime,
    "lost-logs": lambda _, lint, said: not said and all("before 1.9.4" in message for message in lint),
}


class Difference(NamedTuple):
    """A rule that one side finds broken, and the other does not."""

    rule: str
    kind: str
    name: str
    by_lint: list[str]
    by_policy: list[str]


def differences(each: Seen, said: dict[str, list[str]], tally: Counter[str], of: Iterable[str] = POLICIES) -> Iterator[Difference]:
    """Return the rules, *of* some, of which lint and policy say something else.

    No sentence of the policy says so.
    """
    found = each.findings
    for name in of:
        if each.document.given.group_kind not in POLICIES[name].kinds or (name in OF_NAMES and not each.in_cluster):
            continue
        if _NOT_EVALUATED + name in said:
            tally[_NOT_EVALUATED + name] += 1
            continue
        tally[JUDGED + name] += 1
        lint, policy = found.get(name, []), said.get(name, [])
        if lint and policy:
            tally[BROKEN + name] += 1
        if bool(lint) != bool(policy) and not (name in DIFFERS and DIFFERS[name](each, lint, policy)):
            yield Difference(name, each.document.given.kind, each.document.given.name, lint, policy)


#: The starts of the keys of the tally, before the name of a policy.
JUDGED, BROKEN = "judged by ", "broken for both: "


# Jobs at random.


def job(random: Random, kind: str, name: str) -> Data:
    """A job of a kind, in which each rule may be broken."""
    metadata: Data = {**_name(random, name), "namespace": _NAMESPACE, **_some(random, {"labels": _LABELS, "annotations": _LABELS})}
    if kind == "ClusterTrainingRuntime":
        del metadata["namespace"]
    return {**_JOBS[kind](random), "kind": kind, "metadata": metadata}


def _name(random: Random, name: str) -> Data:
    """Return a name: now and then as long as it may be, or longer, or made by the server."""
    chosen = name.ljust(random.randrange(38, 57), "x") if random.random() < 0.25 else name
    return {"generateName": f"{chosen[:-6]}-"} if len(chosen) > len(name) and random.random() < 0.15 else {"name": chosen}


_QUEUE_NAME = "kueue.x-k8s.io/queue-name"
_LABELS = ({_QUEUE_NAME: _QUEUE}, {_QUEUE_NAME: "team-b"}, {_QUEUE_NAME: ""}, {"kueue.x-k8s.io/max-exec-time-seconds": "60"}, {"a": "b"})
_AMOUNTS = ("1Gi", "512m", "0", "4Gi", "16", "2Mi", "64Gi", "1e3")
_RUN_POLICY = {
    "activeDeadlineSeconds": (60, 0, 3600),
    "cleanPodPolicy": ("All", "None", "Running", "none"),
    "backoffLimit": (3,),
    "ttlSecondsAfterFinished": (60,),
    "suspend": (False, True),
}
_RESTARTS = ("Never", "OnFailure", "ExitCode", "Always")


def _some(random: Random, choices: dict[str, Sequence[Any]], odds: float = 0.35) -> Data:
    return {name: random.choice(values) for name, values in choices.items() if random.random() < odds}


def _pytorchjob(random: Random) -> Data:
    made = _replicated(random, "pytorchReplicaSpecs", "pytorch", random.choice((["Worker"], ["Master"], ["Master", "Worker"])))
    elastic = {"elasticPolicy": ({"rdzvBackend": "c10d"}, {"rdzvBackend": "C10D"}, {"minReplicas": 1})}
    made["spec"] |= _some(random, elastic, 0.4)
    return made


def _replicated(random: Random, field: str, container: str, roles: Sequence[str]) -> Data:
    """A job of training-operator."""
    specs = {
        role: {"replicas": 1, "template": _template(random, container), **_some(random, {"restartPolicy": _RESTARTS}, 0.7)}
        for role in roles
    }
    return {"apiVersion": "kubeflow.org/v1", "spec": {field: specs, "runPolicy": _some(random, _RUN_POLICY)}}


def _mpijob(random: Random) -> Data:
    made = _replicated(random, "mpiReplicaSpecs", "mpi", ("Launcher", "Worker"))
    run_policy = _some(random, {**_RUN_POLICY, "cleanPodPolicy": ("All", "None", "Running")})
    for each in made["spec"]["mpiReplicaSpecs"].values():
        each |= {"restartPolicy": random.choice(("Never", "OnFailure"))}
    made["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] = random.choice((1, 2, 10, 11))
    return {"apiVersion": "kubeflow.org/v2beta1", "spec": {**made["spec"], "runPolicy": run_policy}}


def _runtime(random: Random) -> Data:
    step = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    spec = _job_spec(random)
    spec["template"]["spec"]["containers"][0]["name"] = "node"
    spec.pop("suspend", None)
    jobs = [{"name": "node", "template": {"metadata": {"labels": step}, "spec": spec}}]
    policy = {"numNodes": 1, "torch": {}}
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "spec": {"mlPolicy": policy, "template": {"spec": {"replicatedJobs": jobs}}}}


def _ray_cluster(random: Random) -> Data:
    workers = [
        {
            "groupName": f"g{at}",
            "replicas": 1,
            "minReplicas": 1,
            "maxReplicas": 1,
            "rayStartParams": {},
            "template": _template(random, "ray"),
        }
        for at in range(random.choice((0, 1, 2)))
    ]
    return {"headGroupSpec": {"rayStartParams": {}, "template": _template(random, "ray")}, "workerGroupSpecs": workers}


def _ray_job(random: Random) -> Data:
    made = {"entrypoint": "python a.py", "rayClusterSpec": _ray_cluster(random)}
    if random.random() < 0.1:
        made = {"entrypoint": "python a.py", "clusterSelector": {"ray.io/cluster": "a"}}
    further = {"shutdownAfterJobFinishes": (True, False), "activeDeadlineSeconds": (60,), "suspend": (False,)}
    further["deletionStrategy"] = (_DELETES, {"deletionRules": [{"policy": "DeleteCluster", "condition": {"jobStatus": "FAILED"}}]})
    if random.random() < 0.3:
        template = _template(random, "submitter")
        template["spec"]["restartPolicy"] = "Never"
        made["submitterPodTemplate"] = template
    return {**made, **_some(random, further)}


def _leader_worker_set(random: Random) -> Data:
    template = {"size": 2, "workerTemplate": _template(random, "main")}
    if random.random() < 0.4:
        template["leaderTemplate"] = _template(random, "main")
    return {"replicas": 1, "leaderWorkerTemplate": template}


def _job_spec(random: Random) -> Data:
    template = _template(random, random.choice(("node", "main")), _some(random, {"activeDeadlineSeconds": (60,)}, 0.2))
    template["spec"]["restartPolicy"] = "Never"
    return {"template": template, **_some(random, {"activeDeadlineSeconds": (60,), "suspend": (False, True)}, 0.3)}


def _jobset(random: Random) -> Data:
    jobs = [{"name": name, "template": {"spec": _job_spec(random)}} for name in random.choice((["node"], ["a", "b"]))]
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "spec": {"replicatedJobs": jobs, **_some(random, {"suspend": (False, True)})}}


def _trainjob(random: Random) -> Data:
    trainer = _some(random, {"image": _IMAGES, "numNodes": (1, 2)}, 0.6)
    if random.random() < 0.5:
        trainer["resourcesPerNode"] = _resources(random)
    if random.random() < 0.3:
        trainer["env"] = _variables(random)
    spec = {"runtimeRef": {"name": "torch-distributed"}, "trainer": trainer, **_some(random, {"activeDeadlineSeconds": (60,)})}
    if random.random() < 0.4:
        spec["runtimePatches"] = [_patch(random, f"team.example.com/{at}") for at in range(random.choice((1, 1, 2)))]
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "spec": spec}


def _patch(random: Random, manager: str) -> Data:
    """An entry of `runtimePatches`: what it may change of pods."""
    whole = _template(random, "node")
    kept = {name: each for name, each in whole["spec"].items() if name in ("volumes", "tolerations")}
    one = {name: each for name, each in whole["spec"]["containers"][0].items() if name in ("name", "volumeMounts", "securityContext")}
    template = {**whole, "spec": {**kept, "containers": [one]}}
    return {
        "manager": manager,
        "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": template}}}]}}},
    }


_JOBS: dict[str, Callable[[Random], Data]] = {
    "PyTorchJob": _pytorchjob,
    "JobSet": _jobset,
    "Job": lambda random: {"apiVersion": "batch/v1", "spec": _job_spec(random)},
    "CronJob": lambda random: {
        "apiVersion": "batch/v1",
        "spec": {
            "schedule": "0 3 * * *",
            "jobTemplate": {**_some(random, {"metadata": ({"labels": _LABELS[0]},)}), "spec": _job_spec(random)},
        },
    },
    "TrainJob": _trainjob,
    "Pod": lambda random: {"apiVersion": "v1", "spec": _template(random, "main")["spec"]},
    "TFJob": lambda random: _replicated(random, "tfReplicaSpecs", "tensorflow", random.choice((["Worker"], ["Chief", "Worker"]))),
    "XGBoostJob": lambda random: _replicated(random, "xgbReplicaSpecs", "xgboost", ("Master", "Worker")),
    "PaddleJob": lambda random: _replicated(random, "paddleReplicaSpecs", "paddle", ("Master", "Worker")),
    "JAXJob": lambda random: _replicated(random, "jaxReplicaSpecs", "jax", ("Worker",)),
    "TrainingRuntime": _runtime,
    "ClusterTrainingRuntime": _runtime,
    "MPIJob": _mpijob,
    "RayCluster": lambda random: {"apiVersion": "ray.io/v1", "spec": _ray_cluster(random)},
    "RayJob": lambda random: {"apiVersion": "ray.io/v1", "spec": _ray_job(random)},
    "RayService": lambda random: {"apiVersion": "ray.io/v1", "spec": {"serveConfigV2": "a: b", "rayClusterConfig": _ray_cluster(random)}},
    "RayCronJob": lambda random: {"apiVersion": "ray.io/v1", "spec": {"schedule": "0 3 * * *", "jobTemplate": _ray_job(random)}},
    "LeaderWorkerSet": lambda random: {"apiVersion": "leaderworkerset.x-k8s.io/v1", "spec": _leader_worker_set(random)},
}
KINDS = tuple(_JOBS)
_DELETES = {"onSuccess": {"policy": "DeleteCluster"}, "onFailure": {"policy": "DeleteCluster"}}
_IMAGES = (
    *("train", "train:latest", "train:1.4", "ghcr.io/acme/train", "ghcr.io:5000/acme/train", "ghcr.io/acme/Train:1", "train:1.4-cpu", "-"),
    *(f"ghcr.io/acme/train@sha256:{'a' * 64}", f"train:latest@sha256:{'b' * 64}", "replaced-by-kustomize", "acme/replaced-by-me"),
    *("placeholder", "a/cpu_x:2.0", "cuda-cpu:1", "train:Latest", "x" * 200, "a b", "docker.io/a/b:latest", "pytorch-gpu.cpu:2"),
)
_VOLUMES = (
    {"emptyDir": {"medium": "Memory"}},
    {"emptyDir": {"medium": "Memory", "sizeLimit": "2Gi"}},
    {"emptyDir": {"medium": "Memory", "sizeLimit": "16"}},
    {"emptyDir": {}},
    {"hostPath": {"path": "/data"}},
    {"hostPath": {"path": "/dev"}},
    {"hostPath": {"path": "/sys/class"}},
    {"hostPath": {"path": "/device"}},
)
_NO_GPUS = ("example.com/gpu-memory", "nvidia.com/mig-1g.5gb")
_GPUS = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", *_NO_GPUS)
_TOLERATIONS = (
    *([{"operator": "Exists"}], [{"key": "nvidia.com/gpu", "operator": "Exists"}], [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]),
    *([{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"}], [{"key": "pool", "operator": "Exists"}]),
    [{"key": "nvidia.com/gpu", "operator": "Equal", "value": "present"}],
)


def _template(random: Random, container: str, further: Data | None = None) -> Data:
    volumes = [{"name": f"v{number}", **random.choice(_VOLUMES)} for number in range(random.choice((0, 0, 1, 2)))]
    several = [_container(random, each, volumes) for each in random.choice(([container], [container], [container, "side"]))]
    spec = {"containers": several, "volumes": volumes, **(further or {})}
    if random.random() < 0.2:
        spec["initContainers"] = [_container(random, "first", volumes)]
    spec |= _some(random, {"hostIPC": (True, False), "hostPID": (True, False)}, 0.15)
    spec |= _some(random, {"tolerations": _TOLERATIONS})
    labels = {"metadata": {"labels": {_QUEUE_NAME: _QUEUE}}} if random.random() < 0.1 else {}
    return {**labels, "spec": spec}


def _container(random: Random, name: str, volumes: Sequence[Data]) -> Data:
    mounts = [{"name": each["name"], "mountPath": f"/{each['name']}"} for each in volumes if random.random() < 0.6]
    if mounts and random.random() < 0.4:
        mounts[0]["mountPath"] = random.choice(("/dev/shm", "/dev/shm/"))
    made: Data = {"name": name, "image": random.choice(_IMAGES), "resources": _resources(random), "volumeMounts": mounts}
    if random.random() < 0.3:
        made["env"] = _variables(random)
    if random.random() < 0.15:
        made["securityContext"] = {"privileged": random.choice((True, False))}
    return made


def _resources(random: Random) -> Data:
    limits = _some(random, {"memory": _AMOUNTS, "cpu": (1, "500m")}, 0.5)
    if random.random() < 0.5:
        limits[random.choice(_GPUS)] = random.choice((0, 1, 2, 8, 32, "4"))
    return {"limits": limits} if random.random() < 0.9 else {}


def _variables(random: Random) -> list[Data]:
    names = random.sample(("HF_TOKEN", "hf_token", "DB_PASSWORD", "LR", "API_KEY", "TOKENS", "MY_SECRET_KEY"), 2)
    values = ("abcdefghij", "short", "<token>", "your-token", "${TOKEN}", f"hf_{'a' * 32}", f"ghp_{'b' * 36}", "AKIA0123456789ABCDEF", "")
    return [{"name": each, "value": random.choice(values)} for each in names]


class Drawn(NamedTuple):
    """A job at random, and the policies that are to judge it."""

    data: Data
    seen: Seen
    by: tuple[str, ...]


def random_jobs(random: Random, count: int, of: Sequence[str] = KINDS) -> Iterator[Drawn]:
    """Yield jobs that a server accepts, until each policy for their kinds has *count*.

    Each is drawn for one of the policies that lack some, and judged by all that do.
    """
    cluster, made = cluster_of_jobs(), 0
    left = {name: count for name, each in POLICIES.items() if _kinds_of(each, of)}
    while left:
        kind = random.choice(_kinds_of(POLICIES[random.choice([*left])], of))
        made += 1
        data = job(random, kind, f"a{made:06}")
        for each in seen_in_text(quick_yaml.dump(data), cluster):
            kind = each.document.given.group_kind
            by = tuple(name for name in left if kind in POLICIES[name].kinds and (each.has_pods or name in OF_NAMES))
            yield Drawn(data, each, by)
            left = {name: number - (name in by) for name, number in left.items() if number > (name in by)}


def seen_in_text(text: str, cluster: Cluster) -> Iterator[Seen]:
    """Return the accepted job of a text, with what becomes of it because of its name."""
    checked = check(read(Source("job.yaml", text), cluster.target), cluster)
    if checked.result.valid:
        for each in seen_in([checked], cluster, refused=True):
            yield each._replace(outcomes=_outcomes(checked, cluster), in_cluster=True)


def _kinds_of(policy: PolicyRule, of: Sequence[str]) -> list[str]:
    """The kinds, *of* some, that a policy is for."""
    return [kind for kind in of if any(name == kind for _, name in policy.kinds)]


def _outcomes(checked: Checked, cluster: Cluster) -> list[Diagnostic]:
    """What becomes of a job because its name is too long."""
    found = foresee(resolve([checked], cluster)[0], cluster).result.diagnostics
    return [each for each in found if each.rule in OF_NAMES and re.search(r"\d characters", each.message)]


def evaluator_finds(random: Random, tally: Counter[str], *, count: int = 100) -> Iterator[Find]:
    """Yield the jobs of which lint and our own evaluator disagree.

    Each policy judges *count*.
    """
    indexes = {each.name: policies(of=[each]) for each in of_cluster()}
    for drawn in random_jobs(random, count):
        said = {rule: why for name in drawn.by for rule, why in said_by_evaluator(drawn.seen, indexes[name]).items()}
        for one in differences(drawn.seen, said, tally, drawn.by):
            yield Find(quick_yaml.dump(drawn.data), str(one.by_lint), f"{one.rule}: {one.by_policy}")


def difference(text: str) -> str:
    """What lint and our own evaluator say otherwise of a job that was found."""
    cluster, index = cluster_of_jobs(), policies(of=of_cluster())
    found = (
        differences(each, said_by_evaluator(each, index), Counter(), POLICIES if each.has_pods else OF_NAMES)
        for each in seen_in_text(text, cluster)
    )
    return "".join(str(one) for several in found for one in several)


# A server.


@contextmanager
def stored(server: Server, parameters: str = "none") -> Iterator[None]:
    """All policies on a server, where they warn."""
    objects = written(of_cluster(), Choices(parameters=parameters, namespaces=[_NAMESPACE]))
    server.has_namespace(_NAMESPACE)
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    server.call("POST", f"/api/v1/namespaces/{_NAMESPACE}/serviceaccounts", json.dumps(account))
    try:
        for each in objects:
            if not (answer := server.call("POST", _PATHS[each["kind"]], json.dumps(each))).accepted:
                raise AssertionError(f"{each['metadata']['name']}: {answer}")
        time.sleep(_SETTLED)
        yield
    finally:
        for each in reversed(objects):
            server.call("DELETE", f"{_PATHS[each['kind']]}/{each['metadata']['name']}")


def said_by_server(each: Seen, server: Server) -> dict[str, list[str]] | None:
    """What a server warns of, by rule; None if it refuses the job for another reason."""
    found: dict[str, list[str]] = {}
    for data in (each.document.given.data, *(made for made, _ in each.objects[1:])):  # the server fills in what it admits
        kind = data["kind"]
        sent = {**data, "metadata": {**data["metadata"], **({} if kind == "ClusterTrainingRuntime" else {"namespace": _NAMESPACE})}}
        answer = server.call("POST", _OBJECTS[kind].format(_NAMESPACE) + STRICT, json.dumps(sent))
        if not answer.accepted and data is each.document.given.data:
            return None
        if not answer.accepted:  # what comes of it is not judged, but its name is
            found.update({_NOT_EVALUATED + name: [str(answer)] for name in COMPARED})
        for warning in answer.warnings:
            if " ValidatingAdmissionPolicy '" in warning:
                name = warning.partition(" ValidatingAdmissionPolicy '")[2].partition(".")[0]
                found.setdefault(name, []).append(f"{kind}: {warning}")
    return found


def served(server: Server) -> tuple[str, ...]:
    """The kinds of jobs that a server has in the version in which we make them."""
    return tuple(kind for kind in KINDS if server.call("GET", _OBJECTS[kind].format(_NAMESPACE) + "?limit=1").accepted)


def judged_on(server: Server) -> list[str]:
    """The policies for the kinds of jobs that a server has."""
    kinds_served = served(server)
    return [name for name, each in POLICIES.items() if _kinds_of(each, kinds_served)]


def server_finds(server: Server, random: Random, tally: Counter[str], *, count: int = 50) -> Iterator[Find]:
    """Yield the jobs of which lint and the policies on a server disagree.

    Each policy judges *count* of the kinds that the server has.
    """
    with stored(server), ThreadPoolExecutor(_CONNECTIONS) as pool:
        jobs = random_jobs(random, count, served(server))
        while several := list(islice(jobs, _AT_ONCE)):
            for drawn, said in zip(several, pool.map(lambda each: said_by_server(each.seen, server), several), strict=True):
                if said is None:
                    tally["refused by the server"] += 1
                    continue
                for one in differences(drawn.seen, said, tally, drawn.by):
                    yield Find(quick_yaml.dump(drawn.data), str(one.by_lint), f"{one.rule}: {one.by_policy}", "control-plane", True)


_CONNECTIONS, _AT_ONCE = 4, 40
