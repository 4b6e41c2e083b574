"""What KubeRay creates of Ray objects made at random, field by field, is what `expand` says, with all that the API server filled in."""

import json
import re
import time
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from jobspec.documents.manifest import document_of
from jobspec.operators.api_defaults import with_api_defaults
from jobspec.operators.expansion import expand
from jobspec.operators.made import RANDOM, SHA1, UID
from tests.agreement.created import differing, without_token
from tests.support import server as servers
from tests.support.ray_growth import grown_ray
from tests.support.seeds import seed
from tests.support.server import JOBS, PLURALS, Server

_OBJECTS = 20
_PATIENCE = 180.0  # seconds: KubeRay handles one object at a time, and waits for dashboards that nobody runs
_PAUSE = 3.0
_LISTS = {
    "Ingress": "/apis/networking.k8s.io/v1/namespaces/{}/ingresses",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "Pod": "/api/v1/namespaces/{}/pods",
    "RayCluster": PLURALS["RayCluster"],
    "RayJob": PLURALS["RayJob"],
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
    "Secret": "/api/v1/namespaces/{}/secrets",
    "Service": "/api/v1/namespaces/{}/services",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
}
_KEPT = ("name", "generateName", "labels", "annotations", "ownerReferences")
#: Of a Service: what the server chooses.
_CHOSEN = ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
_NUMBERS = ("ray.io/worker-group-replica-index", "ray.io/replica-host-index")
_HASHES = r'("ray\.io/(?:upgrade-strategy-recreate-hash|hash-without-replicas-and-workers-to-delete)": )"[^"]*"'

Object = dict[str, Any]
Key = tuple[str, ...]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    yield from servers.find("RayCluster", "RayJob", "RayService", at=JOBS)


def _live(server: Server, namespace: str) -> list[Object]:
    """All objects of a namespace that have an owner, with what is made up replaced."""
    every = [{**item, "kind": kind} for kind, place in _LISTS.items() for item in server.get(place.format(namespace)).get("items", ())]
    drawn = sorted({name for each in every for name in _drawn(each)}, key=len, reverse=True)
    return [_recorded(json.loads(_settled(json.dumps(each), drawn))) for each in every if each["metadata"].get("ownerReferences")]


def _drawn(found: Object) -> Iterator[str]:
    """The names that end with characters that KubeRay or the server has made up."""
    metadata, kind = found["metadata"], found["kind"]
    if kind == "RayCluster" and metadata.get("ownerReferences"):
        yield metadata["name"]
    if kind == "RayJob" and (submitted := found.get("status", {}).get("jobId")) and not found["spec"].get("jobId"):
        yield submitted
    if kind == "Pod":
        yield from [metadata["name"]] * bool(metadata.get("generateName"))
        yield from filter(None, [metadata.get("labels", {}).get("ray.io/worker-group-replica-name")])


def _settled(text: str, drawn: list[str]) -> str:
    for name in drawn:
        text = text.replace(name, f"{name[:-5]}{RANDOM}")
    text = re.sub(r"kube-api-access-[a-z0-9]{5}", f"kube-api-access-{RANDOM}", text)
    text = re.sub(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", UID, text)
    return re.sub(_HASHES, rf'\1"{SHA1}"', text)


def _recorded(made: Object) -> Object:
    """An object without what differs from run to run, and with ports in order."""
    metadata = {name: made["metadata"][name] for name in _KEPT if made["metadata"].get(name)}
    metadata["ownerReferences"] = [{"kind": each["kind"], "name": each["name"]} for each in metadata["ownerReferences"]]
    found = {name: each for name, each in made.items() if name in ("kind", "spec", "rules", "subjects", "roleRef")} | {"metadata": metadata}
    spec = found.get("spec", {})
    if made["kind"] == "Pod":
        found["spec"] = without_token({name: each for name, each in spec.items() if name != "nodeName"})
    if made["kind"] == "RayCluster":
        spec["workerGroupSpecs"] = spec.get("workerGroupSpecs") or []  # a later update by KubeRay adds what is empty
        for group in (spec["headGroupSpec"], *spec["workerGroupSpecs"]):
            group["rayStartParams"] = group.get("rayStartParams") or {}
    if made["kind"] == "Service":
        ports = [{name: each for name, each in port.items() if name != "nodePort"} for port in spec.get("ports", ())]
        kept = {name: each for name, each in spec.items() if name not in _CHOSEN and (name != "clusterIP" or each == "None")}
        found["spec"] = {**kept, "ports": sorted(ports, key=lambda port: str(port.get("name")))}
    return found


def _by_key(objects: list[Object]) -> dict[Key, Object]:
    """Objects by kind and name, and pods by their number."""
    return {
        (each["kind"], each["metadata"]["name"], *(each["metadata"].get("labels", {}).get(name, "") for name in _NUMBERS)): each
        for each in objects
    }


def _ours(data: Object, server: Server) -> dict[Key, Object]:
    expansion = expand(document_of(data, "ray.yaml"), (), server.target)
    made = [json.loads(json.dumps(each.data())) for each in with_api_defaults(expansion.objects, (), server.target)]
    late = [each for each in made if data["kind"] == "RayService" and each["metadata"]["ownerReferences"][0]["kind"] == "RayService"]
    return _by_key([_recorded(each) for each in made if each not in late or each["kind"] == "RayCluster"])  # Services wait for programs


def _that_runs(data: Object) -> Object:
    """An object whose groups do not take each other's pods, and a RayJob whose pods get a node, since KubeRay waits for them to submit."""
    for pod in _pods(data) if data["kind"] == "RayJob" else ():
        pod.pop("nodeSelector", None)
        for each in pod["containers"]:
            limits = each.get("resources", {}).get("limits", {})
            each.get("resources", {})["limits"] = {name: amount for name, amount in limits.items() if "/" not in name}
    for groups in _values(data, "workerGroupSpecs"):
        for number, group in enumerate(groups):
            taken = {"headgroup", *(each["groupName"] for each in groups[:number])}
            if group["groupName"] in taken:
                group["groupName"] = f"other-{number}"
    return data


def _pods(data: Object) -> Iterator[Object]:
    yield from (each["spec"] for name in ("template", "submitterPodTemplate") for each in _values(data, name) if each.get("spec"))


def _values(data: Any, name: str) -> Iterator[Any]:
    """All values of a name at any depth."""
    for key, each in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        if key == name:
            yield each
        yield from _values(each, name)


def test_fresh_ray_objects(server: Server) -> None:
    random, waiting = Random(seed()), dict[str, dict[Key, Object]]()
    for number in range(_OBJECTS):
        namespace = f"ray-{seed()}-{number}-{time.time_ns()}"
        assert server.has_namespace(namespace)
        data = _that_runs(grown_ray(f"r{number}", random))
        data["metadata"]["namespace"] = namespace
        answer = server.call("POST", PLURALS[data["kind"]].format(namespace) + "?fieldValidation=Strict", json.dumps(data))
        assert answer.accepted, answer
        waiting[namespace] = _ours(data, server)
    end, wrong = time.monotonic() + _PATIENCE, list[str]()
    every = list(waiting)
    while waiting and time.monotonic() < end:
        time.sleep(_PAUSE)
        wrong = []
        for namespace, made in list(waiting.items()):
            theirs = _by_key(_live(server, namespace))
            differences = [each for key in theirs.keys() | made.keys() for each in differing(theirs.get(key), made.get(key), "/".join(key))]
            wrong += differences
            if not differences:  # later, jobs end, and their clusters go
                del waiting[namespace]
    for namespace in every:
        server.call("DELETE", f"/api/v1/namespaces/{namespace}")
    assert wrong == []
