"""Kueue accepts and refuses Ray objects at random where `validate` says so, and counts the pods of each as we do."""

import json
import time
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from jobspec.apis.releases import choose
from jobspec.diagnostics.diagnostic import has_error
from jobspec.documents.manifest import document_of
from jobspec.journey import checking
from jobspec.journey.steps import Source
from jobspec.kubernetes.index import Index
from jobspec.kubernetes.pods.amounts import pod_requests
from jobspec.operators.kueue.workload import workload_of
from jobspec.operators.kueue.world import queues_in
from jobspec.operators.workloads import QUEUE
from jobspec.world.world import Cluster
from tests.support import server as servers
from tests.support.ray_growth import grown_ray
from tests.support.seeds import seed
from tests.support.server import KUEUE, PLURALS, Server

_OBJECTS = 40
_PATIENCE = 60.0  # seconds
_PAUSE = 2.0
_WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/{}/workloads"
_TARGET = choose(["kueue=0.19.2"])


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    yield from servers.find("RayCluster", "RayJob", at=KUEUE)


@pytest.fixture
def namespace(server: Server) -> Iterator[str]:
    name = f"ray-{seed()}-{time.time_ns()}"
    assert server.has_namespace(name)
    yield name
    server.call("DELETE", f"/api/v1/namespaces/{name}")


def _queued(name: str, random: Random) -> dict[str, Any]:
    """A Ray object, mostly with a queue name, with what Kueue's webhooks look at."""
    data = grown_ray(name, random)
    while data["kind"] == "RayService":
        data = grown_ray(name, random)
    spec, metadata = data["spec"], data["metadata"]
    cluster = spec.get("rayClusterSpec", spec)
    if random.random() < 0.85:
        metadata["labels"][QUEUE] = "training"
    if random.random() < 0.2:
        spec.pop("shutdownAfterJobFinishes", None)
    if random.random() < 0.1:
        metadata.setdefault("annotations", {})["kueue.x-k8s.io/elastic-job"] = "true"
    if random.random() < 0.7:
        for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
            group.setdefault("rayStartParams", {})
    if random.random() < 0.05 and cluster["workerGroupSpecs"]:
        cluster["workerGroupSpecs"][0]["groupName"] = "head"
    if random.random() < 0.15:
        head = cluster["headGroupSpec"]["template"].setdefault("metadata", {})
        head.setdefault("annotations", {})["kueue.x-k8s.io/podset-required-topology"] = random.choice(["rack", "a b"])
    return data


def _pods(pod_sets: list[tuple[str, int, dict[str, Any]]]) -> list[tuple[str, int, dict[str, str]]]:
    """The name, the number of pods, and the requests of a pod of each pod set."""
    return [(name, count, {key: str(each) for key, each in pod_requests(spec).items()}) for name, count, spec in pod_sets]


def test_verdicts_and_pod_sets(server: Server, namespace: str) -> None:
    random, ours, wrong = Random(seed()), dict[tuple[str, str], Any](), []
    for number in range(_OBJECTS):
        data = _queued(f"r{number}", random)
        data["metadata"]["namespace"] = namespace
        text = json.dumps(data)
        answer = server.call("POST", PLURALS[data["kind"]].format(namespace) + "?fieldValidation=Strict", text)
        said = checking.checked(Source("ray.json", text.encode()), (), Cluster(_TARGET)).result.diagnostics
        if answer.accepted == has_error(said):
            wrong.append((str(answer), [each.message for each in said], data))
        workload = workload_of(document_of(data, "ray.json"), (), _TARGET, queues_in(Index()))
        if answer.accepted and workload.queue and not workload.refusal:
            sets = [(each.name, each.count, dict(each.written)) for each in workload.pod_sets]
            ours[data["kind"], data["metadata"]["name"]] = _pods(sets)
    assert wrong == []
    end, theirs = time.monotonic() + _PATIENCE, dict[tuple[str, str], Any]()
    while theirs.keys() != ours.keys() and time.monotonic() < end:
        time.sleep(_PAUSE)
        for each in server.get(_WORKLOADS.format(namespace))["items"]:
            owner = each["metadata"]["ownerReferences"][0]
            sets = [(one["name"], one.get("count", 1), one["template"]["spec"]) for one in each["spec"]["podSets"]]
            theirs[owner["kind"], owner["name"]] = _pods(sets)
    assert theirs == ours
