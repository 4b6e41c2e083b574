"""Compare what live operators create of examples of jobs with what `expand` says.

It is called as `python -m tests.hunt.examples FOLDER...`.

The folders are checkouts of operators' repositories. It needs the server of `JOBSPEC_TEST_JOBS_KUBECONFIG`, with a simulated node. What the
pods of an example need is created before: nodes with the labels that they select, claims, accounts and priority classes.
"""

import json
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from jobspec.diagnostics.errors import JobspecError
from jobspec.documents.manifest import document_of
from jobspec.operators.api_defaults import with_api_defaults
from jobspec.operators.expansion import expand
from jobspec.operators.made import MINUTES, RANDOM, REVISION, SHA1, TIME, UID
from tests.agreement.created import differing, without_token
from tests.support.server import JOBS, OF_V1, PLURALS, WORKLOADS, Server, server_at

Data = dict[str, Any]
Key = tuple[str, ...]

#: The kinds of examples: kind and apiVersion -> where the server has their objects.
KINDS: dict[tuple[str, str], str] = {
    ("Job", "batch/v1"): WORKLOADS["Job"],
    ("CronJob", "batch/v1"): WORKLOADS["CronJob"],
    ("JobSet", "jobset.x-k8s.io/v1alpha2"): PLURALS["JobSet"],
    ("MPIJob", "kubeflow.org/v2beta1"): PLURALS["MPIJob"],
    ("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1"): PLURALS["LeaderWorkerSet"],
    ("PyTorchJob", "kubeflow.org/v1"): PLURALS["PyTorchJob"],
    **{(kind, "ray.io/v1"): PLURALS[kind] for kind in ("RayCluster", "RayJob", "RayService", "RayCronJob")},
    **{(kind, "kubeflow.org/v1"): OF_V1[f"{kind} of v1"] for kind in ("TFJob", "XGBoostJob", "PaddleJob", "JAXJob")},
}
_RIGHTS = "/apis/rbac.authorization.k8s.io/v1/{}"
#: The kinds of objects that operators and Kubernetes' controllers create, and where all of them are.
_MADE = {
    "ConfigMap": "/api/v1/configmaps",
    "HorizontalPodAutoscaler": "/apis/autoscaling/v2/horizontalpodautoscalers",
    "Ingress": "/apis/networking.k8s.io/v1/ingresses",
    "Job": "/apis/batch/v1/jobs",
    "JobSet": "/apis/jobset.x-k8s.io/v1alpha2/jobsets",
    "PersistentVolumeClaim": "/api/v1/persistentvolumeclaims",
    "Pod": "/api/v1/pods",
    "RayCluster": "/apis/ray.io/v1/rayclusters",
    "RayJob": "/apis/ray.io/v1/rayjobs",
    "Role": _RIGHTS.format("roles"),
    "RoleBinding": _RIGHTS.format("rolebindings"),
    "Secret": "/api/v1/secrets",
    "Service": "/api/v1/services",
    "ServiceAccount": "/api/v1/serviceaccounts",
    "StatefulSet": "/apis/apps/v1/statefulsets",
}
_AT_ONCE = 24
_AT_ONCE_OF_RAY = 4
"""KubeRay handles one object at a time, and waits for a dashboard, which does not run here."""
_PATIENCE = 90.0  # seconds
_PAUSE = 1.0
_SPARE = 3  # volumes for the claims that a JobSet makes
_LONGEST = 3600  # seconds that a watch lasts
_OURS = "tests/example"
"""The label of what is created for the pods of an example."""
_QUEUE = "kueue.x-k8s.io/queue-name"
_PLENTY = {"cpu": "100k", "memory": "1Pi", "ephemeral-storage": "1Pi", "pods": "10k"}
_SOON = 70  # seconds until the one run of what has a schedule
_KEPT = ("name", "labels", "annotations", "ownerReferences", "finalizers")
#: What the server chooses of a Service.
_CHOSEN = ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
#: What stands in our objects for what only a cluster knows.
_STAND_IN = re.compile("|".join(map(re.escape, (MINUTES, RANDOM, REVISION, SHA1, TIME, UID))))
_NUMBERS = ("ray.io/worker-group-replica-index", "ray.io/replica-host-index")
_HASHES = r'("ray\.io/(?:upgrade-strategy-recreate-hash|hash-without-replicas-and-workers-to-delete)": )"[^"]*"'


@dataclass(frozen=True)
class Example:
    """An object of an example's file."""

    where: str
    data: Data

    @property
    def kind(self) -> str:
        return str(self.data["kind"])

    def in_namespace(self, namespace: str) -> Data:
        """The object as it is created there."""
        return {**self.data, "metadata": {**self.data["metadata"], "namespace": namespace}}


def examples_in(folders: Iterable[Path]) -> Iterator[Example]:
    """Yield the jobs in the files of folders, each once."""
    seen = set()
    for path in (each for folder in folders for each in sorted(folder.rglob("*.y*ml"))):
        for number, data in enumerate(_documents(path)):
            metadata = data.get("metadata")
            if (data.get("kind"), data.get("apiVersion")) in KINDS and isinstance(metadata, dict) and isinstance(metadata.get("name"), str):
                plain = _ready(json.loads(json.dumps(data, default=str)))
                text = json.dumps(plain, sort_keys=True)
                if text not in seen:
                    seen.add(text)
                    yield Example(f"{path}[{number}]", plain)


def _documents(path: Path) -> list[Data]:
    try:
        return [each for each in yaml.load_all(path.read_text(), yaml.CSafeLoader) if isinstance(each, dict)]
    except (yaml.YAMLError, ValueError, OSError):
        return []  # a template


def _ready(data: Data) -> Data:
    """An object in no queue, which starts as soon as it can, on nodes for examples alone."""
    labels = {name: each for name, each in (data["metadata"].get("labels") or {}).items() if name != _QUEUE}
    data["metadata"] = {**data["metadata"], **({"labels": labels} if data["metadata"].get("labels") else {})}
    data["metadata"].pop("namespace", None)
    for pod in _pods(data):
        pod["tolerations"] = [*(pod.get("tolerations") or ()), {"key": _TAINT, "operator": "Exists"}]
    return data


#: What keeps the pods of others from nodes for examples: a Job's pods complete there.
_TAINT = "jobspec.dev/example"


# What operators make.


@dataclass
class Watched:
    """All objects that a server has got since the watch began, by namespace.

    Each is in its last state.
    """

    server: Server
    by_namespace: dict[str, dict[Key, Data]] = field(default_factory=dict)

    def begin(self) -> None:
        """Watch each kind in a thread of its own, which ends with the program."""
        for kind, place in _MADE.items():
            threading.Thread(target=self._watch, args=(kind, place), daemon=True).start()

    def _watch(self, kind: str, place: str) -> None:
        for event in self.server.events(f"{place}?watch=true&timeoutSeconds={_LONGEST}"):
            made = event["object"]
            metadata = made.get("metadata", {})
            if event["type"] in ("ADDED", "MODIFIED") and not metadata.get("deletionTimestamp"):
                self.by_namespace.setdefault(metadata.get("namespace", ""), {})[kind, metadata["uid"]] = {**made, "kind": kind}

    def objects(self, namespace: str) -> list[Data]:
        """Return the objects of a namespace that have an owner, and claims of StatefulSets."""
        found = list(self.by_namespace.get(namespace, {}).values())
        return [each for each in found if each["metadata"].get("ownerReferences") or _is_claim_of_set(each)]


def _is_claim_of_set(made: Data) -> bool:
    return made["kind"] == "PersistentVolumeClaim" and _OURS not in made["metadata"].get("labels", {})


def differences(theirs: list[Data], ours: list[Data]) -> list[str]:
    """The places in which the objects that were made differ from those that we expect."""
    there, expected = _by_key(_settled(theirs)), _by_key(json.loads(json.dumps(ours)))
    keys = sorted(there.keys() | expected.keys())
    return [each for key in keys for each in differing(_likened(there.get(key), expected.get(key)), expected.get(key), "/".join(key))]


def _likened(theirs: Any, ours: Any) -> Any:
    """Return a made value, with our stand-ins such as `<random>` for what they stand for."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        return {name: _likened(each, ours.get(name)) for name, each in theirs.items()}
    if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        return [_likened(*each) for each in zip(theirs, ours, strict=True)]
    if isinstance(theirs, str) and isinstance(ours, str) and _STAND_IN.search(ours):
        parts = map(re.escape, _STAND_IN.split(ours))
        return ours if re.fullmatch(r"[\w.<>:-]+".join(parts), theirs) else theirs
    return theirs


def expected(data: Data, server: Server) -> list[Data]:
    """The objects that we expect; of a RayService, only those that come before its programs run."""
    context = [document_of({"apiVersion": "scheduling.k8s.io/v1", **each}, "class.yaml") for each in _classes(data)]
    expansion = expand(document_of(data, "example.yaml"), context, server.target)
    made = with_api_defaults(expansion.objects, context, server.target, is_stored=True)
    objects: list[Data] = [each.data() for each in made]
    if data["kind"] != "RayService":
        return objects
    return [each for each in objects if each["kind"] == "RayCluster" or each["metadata"]["ownerReferences"][0]["kind"] != "RayService"]


def _settled(objects: list[Data]) -> list[Data]:
    """Objects with what is made up replaced: names, uids, hashes of KubeRay's."""
    text = json.dumps(objects)
    for name in sorted({name for each in objects for name in _drawn(each)}, key=len, reverse=True):
        text = text.replace(name, f"{name[:-5]}{RANDOM}")
    for each in objects:
        if each["kind"] == "Job" and each["metadata"].get("ownerReferences", [{}])[0].get("kind") == "CronJob":
            text = text.replace(each["metadata"]["name"], f"{each['metadata']['ownerReferences'][0]['name']}-{MINUTES}")
    text = re.sub(r"kube-api-access-[a-z0-9]{5}", f"kube-api-access-{RANDOM}", text)
    text = re.sub(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", UID, text)
    found: list[Data] = json.loads(re.sub(_HASHES, rf'\1"{SHA1}"', text))
    return found


def _drawn(found: Data) -> Iterator[str]:
    """The names that end with characters that an operator or the server has made up."""
    metadata, kind = found["metadata"], found["kind"]
    owner = metadata["ownerReferences"][0]["kind"] if metadata.get("ownerReferences") else ""
    if (metadata.get("generateName") and owner != "StatefulSet") or kind == "RayCluster":
        yield metadata["name"]
    if kind == "RayJob" and (submitted := found.get("status", {}).get("jobId")) and not found["spec"].get("jobId"):
        yield submitted
    if kind == "Pod":
        yield from filter(None, [metadata.get("labels", {}).get("ray.io/worker-group-replica-name")])


def _by_key(objects: Iterable[Data]) -> dict[Key, Data]:
    """Objects by kind and name, those of one name by their numbers or in some order."""
    found: dict[Key, Data] = {}
    for each in sorted(map(_plain, objects), key=lambda made: json.dumps(made, sort_keys=True)):
        labels = each["metadata"].get("labels", {})
        key = (each["kind"], each["metadata"]["name"], *(labels.get(name, "") for name in _NUMBERS))
        while key in found:
            key = (*key, "again")
        found[key] = each
    return found


def _plain(made: Data) -> Data:
    """An object without what differs from run to run, with ports in order."""
    metadata = {name: made["metadata"][name] for name in _KEPT if made["metadata"].get(name)}
    owners = metadata.get("ownerReferences", ())
    metadata["ownerReferences"] = [{"kind": each["kind"], "name": each["name"]} for each in owners]
    notes = metadata.get("annotations", {})
    metadata["annotations"] = {name: each for name, each in notes.items() if not name.startswith(("pv.", "volume."))}  # of binding
    metadata["finalizers"] = [each for each in metadata.get("finalizers", ()) if "kubernetes.io/" not in each]  # Kubernetes' own
    dropped = ("apiVersion", "metadata", "status")
    found = {**{name: each for name, each in made.items() if name not in dropped}, "metadata": metadata}
    return {**found, **_PLAIN.get(made["kind"], dict)(found)}


def _plain_pod(pod: Data) -> Data:
    spec = {name: each for name, each in pod["spec"].items() if name != "nodeName"}
    return {"spec": without_token(spec)}


def _plain_service(service: Data) -> Data:
    spec = service["spec"]
    ports = [{name: each for name, each in port.items() if name != "nodePort"} for port in spec.get("ports", ())]
    kept = {name: each for name, each in spec.items() if name not in _CHOSEN and (name != "clusterIP" or each == "None")}
    return {"spec": {**kept, "ports": sorted(ports, key=lambda port: str(port.get("name")))}}


def _plain_cluster(cluster: Data) -> Data:
    """A RayCluster to which a later update by KubeRay has added nothing that is empty."""
    spec = {**cluster["spec"], "workerGroupSpecs": cluster["spec"].get("workerGroupSpecs") or []}
    for group in (spec["headGroupSpec"], *spec["workerGroupSpecs"]):
        group["rayStartParams"] = group.get("rayStartParams") or {}
    return {"spec": spec}


def _plain_secret(secret: Data) -> Data:
    return {"data": dict.fromkeys(secret.get("data", {}), RANDOM)}


def _plain_map(config: Data) -> Data:
    """A ConfigMap without the list of workers that run by now."""
    return {"data": {name: each for name, each in config.get("data", {}).items() if name != "discover_hosts.sh"}}


def _plain_claim(claim: Data) -> Data:
    return {"spec": {name: each for name, each in claim["spec"].items() if name != "volumeName"}}


_PLAIN: dict[str, Callable[[Data], Mapping[str, Any]]] = {
    "ConfigMap": _plain_map,
    "PersistentVolumeClaim": _plain_claim,
    "Pod": _plain_pod,
    "RayCluster": _plain_cluster,
    "Secret": _plain_secret,
    "Service": _plain_service,
}


# What pods need.


def _pods(value: Any) -> Iterator[Data]:
    """Yield all specs of pods in a value."""
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if isinstance(each, dict) and isinstance(each.get("containers"), list):
            yield each
        yield from _pods(each)


def prepare_nodes(server: Server, examples: list[Example]) -> None:
    """Create nodes for each set of labels that pods select, with plenty of all they request."""
    pods = [pod for each in examples for pod in _pods(each.data)]
    names = {name for pod in pods for one in (*pod["containers"], *(pod.get("initContainers") or ())) for name in _asked(one)}
    size = {**_PLENTY, **dict.fromkeys((each for each in names if "/" in each), "10k")}
    keys = [each for one in examples for name, each in (one.data["metadata"].get("annotations") or {}).items() if "topology" in name]
    selected = {json.dumps(pod.get("nodeSelector") or {}, sort_keys=True) for pod in pods}
    for number, text in enumerate(sorted(selected) * 4):
        name = f"example-{number}"
        labels = dict.fromkeys(keys, name) | json.loads(text) | {"kubernetes.io/hostname": name}
        server.call("DELETE", f"/api/v1/nodes/{name}")
        metadata = {"name": name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"capacity": size, "allocatable": size}}
        server.call("POST", "/api/v1/nodes", json.dumps({**node, "spec": {"taints": [{"key": _TAINT, "effect": "NoSchedule"}]}}))


def _asked(container: Data) -> set[str]:
    resources = container.get("resources") or {}
    return {name for part in ("limits", "requests") for name in resources.get(part) or {}}


def prepare_namespace(server: Server, namespace: str, data: Data) -> None:
    """Create the claims, accounts and priority classes that the pods of an example name."""
    place, pods = f"/api/v1/namespaces/{namespace}", list(_pods(data))
    has_own_claims = "volumeClaimPolicies" in (data.get("spec") or {})
    for account in {str(pod["serviceAccountName"]) for pod in pods if pod.get("serviceAccountName")}:
        server.call("POST", f"{place}/serviceaccounts", json.dumps({"metadata": {"name": account}}))
    for each in _classes(data):
        server.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", json.dumps(each))
    for number in range(_SPARE if has_own_claims else 0):
        volume = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Ti"}, "hostPath": {"path": "/a"}}
        server.call("POST", "/api/v1/persistentvolumes", json.dumps({"metadata": {"name": f"{namespace}-{number}"}, "spec": volume}))
    for claim in {claim for pod in pods for claim in _claims(pod)} if not has_own_claims else ():
        spec = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": ""}
        name = f"{namespace}-{claim}"
        volume = {"accessModes": ["ReadWriteMany"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/a"}}
        volume |= {"claimRef": {"namespace": namespace, "name": claim}}
        server.call("POST", "/api/v1/persistentvolumes", json.dumps({"metadata": {"name": name}, "spec": volume}))
        server.call(
            "POST",
            f"{place}/persistentvolumeclaims",
            json.dumps({"metadata": {"name": claim, "labels": {_OURS: ""}}, "spec": {**spec, "volumeName": name}}),
        )


def _classes(data: Data) -> list[Data]:
    """The priority classes that the pods of an example name."""
    names = sorted({str(pod["priorityClassName"]) for pod in _pods(data) if pod.get("priorityClassName")})
    return [{"kind": "PriorityClass", "metadata": {"name": name}, "value": 1} for name in names]


def _claims(pod: Data) -> Iterator[str]:
    for each in pod.get("volumes") or ():
        if claim := (each.get("persistentVolumeClaim") or {}).get("claimName"):
            yield str(claim)


# The whole.


@dataclass
class Outcome:
    """What was compared: by kind, and the differences of each example."""

    equal: Counter[str] = field(default_factory=Counter)
    refused: dict[str, str] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    different: dict[str, list[str]] = field(default_factory=dict)


def compare(server: Server, examples: list[Example]) -> Outcome:
    """Create examples in namespaces of their own, some at once, and compare what comes of each."""
    outcome, watched = Outcome(), Watched(server)
    prepare_nodes(server, examples)
    watched.begin()
    time.sleep(_PAUSE)
    for examples_at_once in _batches(examples):
        part = {f"example-{at}-{time.time_ns()}": each for at, each in enumerate(examples_at_once)}
        with ThreadPoolExecutor(6) as threads:
            made = list(threads.map(partial(_created, server, outcome), part.items()))
        waiting = {name: ours for name, ours in made if ours is not None}
        end = time.monotonic() + _PATIENCE
        while waiting and time.monotonic() < end:
            time.sleep(_PAUSE)
            for namespace, ours in list(waiting.items()):
                example = part[namespace]
                if found := differences(watched.objects(namespace), ours):
                    outcome.different[example.where] = found
                else:
                    outcome.different.pop(example.where, None)
                    outcome.equal[example.kind] += 1
                    del waiting[namespace]
        for namespace in part:
            server.call("DELETE", f"/api/v1/namespaces/{namespace}")
        sys.stdout.write(f"equal: {outcome.equal.total()}, different: {len(outcome.different)}\n")
        sys.stdout.flush()
    return outcome


def _batches(examples: list[Example]) -> Iterator[list[Example]]:
    of_ray = [each for each in examples if each.kind.startswith("Ray")]
    for found, size in (([each for each in examples if each not in of_ray], _AT_ONCE), (of_ray, _AT_ONCE_OF_RAY)):
        yield from (found[start : start + size] for start in range(0, len(found), size))


def _created(server: Server, outcome: Outcome, named: tuple[str, Example]) -> tuple[str, list[Data] | None]:
    """Create an example, and return what we expect of it.

    If the server refuses it, or if we do not expand it, return None.
    """
    namespace, example = named
    server.has_namespace(namespace)
    account = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
    while server.get(account).get("kind") != "ServiceAccount":
        time.sleep(0.1)
    data = example.in_namespace(namespace)
    if isinstance(data.get("spec"), dict) and "schedule" in data["spec"]:
        soon = time.strftime("%-M %-H * * *", time.gmtime(time.time() + _SOON))
        data["spec"] = {**data["spec"], "schedule": soon, **({"timeZone": "Etc/UTC"} if example.kind == "CronJob" else {})}
    prepare_namespace(server, namespace, data)
    place = KINDS[example.kind, data["apiVersion"]].format(namespace)
    answer = server.call("POST", f"{place}?fieldValidation=Strict", json.dumps(data))
    if not answer.accepted:
        outcome.refused[example.where] = str(answer)
        return namespace, None
    try:
        return namespace, expected(data, server)
    except JobspecError as problem:
        outcome.unknown[example.where] = str(problem)
        return namespace, None


def main(folders: list[str]) -> int:
    """Compare the examples of folders, and end with 1 where something differs."""
    examples = list(examples_in(map(Path, folders)))
    sys.stdout.write(f"{len(examples)} examples: {dict(Counter(each.kind for each in examples))}\n")
    outcome = compare(server_at(JOBS), examples)
    for title, found in (("refused", outcome.refused), ("not expanded", outcome.unknown)):
        for where, why in found.items():
            sys.stdout.write(f"{title}: {where}: {why[:300]}\n")
    for where, wrong in outcome.different.items():
        sys.stdout.write(f"different: {where}\n" + "".join(f"    {each[:400]}\n" for each in wrong[:6]))
    sys.stdout.write(f"equal: {dict(outcome.equal)}; refused: {len(outcome.refused)}; different: {len(outcome.different)}\n")
    return 1 if outcome.different or outcome.unknown else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
