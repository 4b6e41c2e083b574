"""Kueue makes of MPIJobs the pod sets that we say, admits those that fit, and its webhook refuses what we say it refuses."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from jobspec.api import check
from jobspec.documents.manifest import document_of
from jobspec.operators.kueue.workload import workload_of
from jobspec.operators.kueue.world import world_of
from jobspec.world.world import Cluster
from tests.hunt import queues
from tests.hunt.finds import report
from tests.support import server as servers
from tests.support.seeds import seed
from tests.support.server import KUEUE, PLURALS, Server, target

_PATIENCE = 30.0  # seconds
_QUEUES = "/apis/kueue.x-k8s.io/v1beta2"
_PODS = {"spec": {"containers": [{"name": "mpi", "image": "mpi:1"}]}}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    yield from servers.find("MPIJob", at=KUEUE)


def _job(name: str, namespace: str, *, launcher: Any = None, worker: Any = None, metadata: Any = None, **spec: Any) -> dict[str, Any]:
    roles = {"Worker": {"replicas": 3, "template": worker or _PODS}, "Launcher": {"template": launcher or _PODS}}
    about = {"name": name, "namespace": namespace, "labels": {"kueue.x-k8s.io/queue-name": "none"}, **(metadata or {})}
    return {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": about, "spec": {"mpiReplicaSpecs": roles, **spec}}


def _placed(**annotations: str) -> dict[str, Any]:
    return {
        **_PODS,
        "metadata": {"annotations": {f"kueue.x-k8s.io/podset-{name.replace('_', '-')}": each for name, each in annotations.items()}},
    }


_GROUP = {"group_name": "all", "required_topology": "rack"}


def test_workloads(server: Server) -> None:
    namespace = f"mpi-{time.time_ns()}"
    assert server.has_namespace(namespace)
    classes = {f"{namespace}-{name}": value for name, value in (("low", 1), ("high", 9))}
    objects = []
    for name, value in classes.items():
        objects.append({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value})
        assert server.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", json.dumps(objects[-1])).accepted
    low, high = ({"spec": {**_PODS["spec"], "priorityClassName": name}} for name in classes)
    jobs = [
        _job("plain", namespace),
        _job("by-policy", namespace, launcher=low, runPolicy={"schedulingPolicy": {"priorityClass": list(classes)[1]}}),
        _job("by-launcher", namespace, launcher=low, worker=high),
        _job("by-worker", namespace, worker=high),
        _job("placed", namespace, worker=_placed(required_topology="rack"), launcher=_placed(preferred_topology="rack")),
        _job("sliced", namespace, worker=_placed(slice_required_topology="rack", slice_size="3"), runLauncherAsWorker=True),
        _job("grouped", namespace, worker=_placed(**_GROUP), launcher=_placed(**_GROUP), runLauncherAsWorker=True),
    ]
    ours, theirs = {}, {}
    for job in jobs:
        assert server.call("POST", PLURALS["MPIJob"].format(namespace), json.dumps(job)).accepted
        made = workload_of(document_of(job, "job.yaml"), (), target(at=KUEUE), world_of(objects)).as_object()
        ours[job["metadata"]["name"]] = _essence(made)
    end = time.monotonic() + _PATIENCE
    while theirs.keys() != ours.keys() and time.monotonic() < end:
        found = server.get(f"{_QUEUES}/namespaces/{namespace}/workloads")["items"]
        theirs = {each["metadata"]["ownerReferences"][0]["name"]: _essence(each) for each in found}
        time.sleep(0.5)
    assert theirs == ours
    for each in objects:
        server.call("DELETE", f"/apis/scheduling.k8s.io/v1/priorityclasses/{each['metadata']['name']}")
    server.call("DELETE", f"/api/v1/namespaces/{namespace}")


def _essence(workload: dict[str, Any]) -> Any:
    """What a Workload says of its pod sets and its priority."""
    spec = workload["spec"]
    sets = [(each["name"], each["count"], each.get("topologyRequest", {})) for each in spec["podSets"]]
    return sets, spec.get("priority", 0), spec.get("priorityClassRef", {}).get("name")


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "Bad_name"}}},
        {"metadata": {"labels": {"kueue.x-k8s.io/max-exec-time-seconds": "0"}}},
        {"worker": _placed(required_topology="a b")},
        {"worker": _placed(required_topology="rack", preferred_topology="rack")},
        {"worker": _placed(slice_required_topology="rack", slice_size="4")},
        {"worker": _placed(slice_required_topology="rack", slice_size="2")},
        {"worker": _placed(slice_size="2")},
        {"worker": _placed(**_GROUP), "launcher": _placed(**_GROUP)},
        {"worker": _placed(**_GROUP)},
        {"worker": _placed(**_GROUP), "launcher": _placed(group_name="all", preferred_topology="rack")},
    ],
    ids=str,
)
def test_refusals(server: Server, change: dict[str, Any]) -> None:
    job = _job("any", "default", **change)
    cluster = Cluster(target("kueue=0.19", at=KUEUE))
    assert server.judge("MPIJob", json.dumps(job)).accepted is check(job, cluster=cluster, outcome=False).valid


def test_random_jobs_in_random_queues(server: Server) -> None:
    tally: Counter[str] = Counter()
    assert report(queues.finds(server, Random(seed()), tally, worlds=12, jobs=3, kinds=["MPIJob"])) == ""
    assert min(tally[each] for each in ("never", "fits")) > 1, tally
