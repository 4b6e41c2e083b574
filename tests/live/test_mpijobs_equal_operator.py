"""What a real mpi-operator creates of MPIJobs is what we expand, and of those that we say it refuses it creates nothing."""

import json
import time
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from jobspec.apis.releases import Target
from jobspec.documents.manifest import document_of
from jobspec.operators.api_defaults import with_api_defaults
from jobspec.operators.expansion import expand
from jobspec.operators.made import RANDOM
from tests.agreement.created import as_recorded, by_name, differing
from tests.support import server as servers
from tests.support.job_growth import grown_job
from tests.support.seeds import seed
from tests.support.server import JOBS, Server

_GROWN = 24
_PATIENCE = 60.0  # seconds
_PAUSE = 1.0
_LISTS = {
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "Pod": "/api/v1/namespaces/{}/pods",
    "Secret": "/api/v1/namespaces/{}/secrets",
    "Service": "/api/v1/namespaces/{}/services",
}
_MADE_BY_SERVER = ("uid", "creationTimestamp", "generation", "managedFields", "resourceVersion", "deletionTimestamp")
_MORE_OF_SERVER = ("deletionGracePeriodSeconds",)
_SCRIPT = "discover_hosts.sh"

Objects = dict[tuple[str, str], dict[str, Any]]

_SIDECAR = {"name": "side", "image": "s:1"}
_LAUNCHER = {"name": "l", "image": "i:1", "command": ["mpirun", "-np", "2", "hostname"]}


def _spec(*, launcher: dict[str, Any] | None = None, worker: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """The spec of an MPIJob whose launcher never gets a node, so that it does not end, and the operator lists all hosts that run."""
    pod = {"containers": [_LAUNCHER], "nodeSelector": {"example.com/none": "here"}, **(launcher or {})}
    roles: dict[str, Any] = {"Launcher": {"template": {"spec": pod}}}
    if worker is not None:
        own = {"containers": [{"name": "w", "image": "i:1"}], **worker}
        roles["Worker"] = {"replicas": fields.pop("workers", 2), "template": {"spec": own}}
    return {"mpiReplicaSpecs": roles, **fields}


_SPECS = {
    "plain": _spec(worker={}),
    "alone": _spec(),
    "works": _spec(worker={}, runLauncherAsWorker=True, slotsPerWorker=3),
    "intel": _spec(worker={}, mpiImplementation="Intel", runLauncherAsWorker=True),
    "mpich": _spec(worker={}, mpiImplementation="MPICH", slotsPerWorker=0),
    "many": _spec(worker={}, workers=12),
    "home": _spec(worker={"securityContext": {"runAsUser": 1000}}, sshAuthMountPath="/home/mpiuser/.ssh"),
    "empty-path": _spec(worker={}, sshAuthMountPath=""),
    "waits": _spec(worker={}, launcherCreationPolicy="WaitForWorkersReady"),
    "typo": _spec(worker={}, launcherCreationPolicy="AtStart"),
    "suspended": _spec(worker={}, runPolicy={"suspend": True}, runLauncherAsWorker=True),
    "limits": _spec(worker={}, runPolicy={"backoffLimit": 2, "activeDeadlineSeconds": 600, "ttlSecondsAfterFinished": 5}),
    "managed": _spec(worker={}, runPolicy={"managedBy": "kubeflow.org/mpi-operator"}),
    "host": _spec(worker={"hostNetwork": True, "dnsConfig": {"searches": ["a.example"]}}, launcher={"hostNetwork": True}),
    "args": _spec(worker={"containers": [{"name": "w", "image": "i:1", "args": ["-De"]}, _SIDECAR]}),
    "policies": _spec(worker={"restartPolicy": "Always"}, launcher={"restartPolicy": "Never"}),
    "gang": _spec(worker={}, runPolicy={"schedulingPolicy": {"minAvailable": 1, "queue": "q", "priorityClass": "p"}}),
}
_ALONE = _spec()["mpiReplicaSpecs"]["Launcher"]
_REFUSED = {
    "worker-0": {
        **_spec(worker={}),
        "mpiReplicaSpecs": {**_spec()["mpiReplicaSpecs"], "Worker": {"template": {"spec": {"containers": []}}}},
    },
    "no-launcher": {"mpiReplicaSpecs": {"Worker": _spec(worker={})["mpiReplicaSpecs"]["Worker"]}},
    "lower": {"mpiReplicaSpecs": {"launcher": _spec()["mpiReplicaSpecs"]["Launcher"]}},
    "nothing": {"mpiReplicaSpecs": {}},
    "two": {"mpiReplicaSpecs": {"Launcher": {**_spec()["mpiReplicaSpecs"]["Launcher"], "replicas": 2}}},
    "always": {"mpiReplicaSpecs": {"Launcher": {**_spec()["mpiReplicaSpecs"]["Launcher"], "restartPolicy": "Always"}}},
    "exit-code": {"mpiReplicaSpecs": {"Launcher": {**_spec()["mpiReplicaSpecs"]["Launcher"], "restartPolicy": "ExitCode"}}},
    "slots": _spec(worker={}, slotsPerWorker=-1),
    "cleaning": _spec(worker={}, runPolicy={"cleanPodPolicy": "none"}),
    "limit": _spec(worker={}, runPolicy={"backoffLimit": -1}),
    "manager": _spec(worker={}, runPolicy={"managedBy": "example.com/other"}),
    "a" * 55: _spec(worker={}),
    "a.b": _spec(worker={}),
    "1st": _spec(worker={}),
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    yield from servers.find("MPIJob", at=JOBS)


@pytest.fixture
def namespace(server: Server) -> Iterator[str]:
    yield from servers.namespace_with_account(server, "mpi")


def _create(server: Server, namespace: str, specs: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The manifests of jobs that the server takes."""
    taken = {}
    for name, spec in specs.items():
        data = {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": {"name": name, "namespace": namespace}, "spec": spec}
        answer = server.call("POST", servers.PLURALS["MPIJob"].format(namespace) + "?fieldValidation=Strict", json.dumps(data))
        if answer.accepted:
            taken[name] = data
    return taken


_TRACKED = "batch.kubernetes.io/job-tracking"


def _live(server: Server, namespace: str) -> Objects:
    """All objects that are there of jobs, as our expansion names them: without what a server makes up."""
    found = {kind: server.get(place.format(namespace))["items"] for kind, place in _LISTS.items()}
    jobs = server.get(servers.PLURALS["MPIJob"].format(namespace))["items"]
    uids = [each["metadata"]["uid"] for each in (*jobs, *found["Job"])]
    objects = []
    for kind, items in found.items():
        for item in items:
            if item["metadata"].get("ownerReferences"):
                if kind == "Pod" and item["status"].get("phase") == "Succeeded" and item["metadata"].get("generateName"):
                    item["metadata"]["finalizers"] = [_TRACKED]  # which the controller of Jobs has removed
                text = json.dumps(item)
                for uid in uids:
                    text = text.replace(uid, "<uid>")
                objects.append(_named(kind, json.loads(text)))
    return by_name(as_recorded(each, {"metadata": {}}) for each in objects)


def _named(kind: str, item: dict[str, Any]) -> dict[str, Any]:
    metadata = {name: each for name, each in item["metadata"].items() if name not in (*_MADE_BY_SERVER, *_MORE_OF_SERVER)}
    if "generateName" in metadata:
        metadata["name"] = f"{metadata['generateName']}{RANDOM}"
    found = {name: each for name, each in item.items() if name in ("spec", "data", "type")}
    found.get("spec", {}).pop("nodeName", None)
    if kind == "Secret":
        found["data"] = dict.fromkeys(found["data"], RANDOM)
    return {"apiVersion": "", "kind": kind, "metadata": metadata, **found}


def _ours(jobs: dict[str, dict[str, Any]], target: Target) -> Objects:
    expansions = [expand(document_of(data, "job.yaml"), (), target) for data in jobs.values()]
    objects = [each for expansion in expansions for each in with_api_defaults(expansion.objects, (), target)]
    return by_name(as_recorded(each.data(), {"metadata": {}}) for each in objects)


def _when_all_are_there(server: Server, namespace: str, ours: Objects) -> Objects:
    end = time.monotonic() + _PATIENCE
    while (theirs := _live(server, namespace)) != ours and time.monotonic() < end:
        if not ours.keys() - theirs.keys() and time.monotonic() > end - _PATIENCE / 2:
            break  # what differs now will not change
        time.sleep(_PAUSE)
    return theirs


def _differences(theirs: Objects, ours: Objects) -> list[str]:
    return [each for name in sorted(theirs.keys() | ours.keys()) for each in differing(theirs.get(name), ours.get(name), "/".join(name))]


def test_every_field(server: Server, namespace: str) -> None:
    jobs = _create(server, namespace, _SPECS)
    assert jobs.keys() == _SPECS.keys()
    ours = _ours(jobs, server.target)
    assert _differences(_when_all_are_there(server, namespace, ours), ours) == []


def test_grown_pods(server: Server, namespace: str) -> None:
    random = Random(seed())
    jobs = _create(server, namespace, {f"j{number}": _grown(random) for number in range(_GROWN)})
    assert len(jobs) > _GROWN / 2
    ours = _ours(jobs, server.target)
    theirs = _when_all_are_there(server, namespace, ours)
    for name in theirs.keys() & ours.keys():  # those of workers that get no node are missing
        if name[0] == "ConfigMap":
            there, said = (each[name]["data"].pop(_SCRIPT).splitlines() for each in (theirs, ours))
            assert [line for line in said if line in there] == there
    refused = {str(name[1]).split("-")[0] for name in ours if name not in theirs}
    different = _differences(theirs, {name: each for name, each in ours.items() if name[1].split("-")[0] not in refused or name in theirs})
    assert different == []
    assert len(refused) < len(jobs) / 3, refused


def _grown(random: Random) -> dict[str, Any]:
    """The spec of an MPIJob with the pod templates of a random PyTorchJob."""
    templates = [each["template"] for each in grown_job("a", random)["spec"]["pytorchReplicaSpecs"].values()]
    launcher, worker = templates[0], templates[-1]
    spec = _spec(launcher=launcher["spec"], worker=worker["spec"], workers=random.choice((1, 2, 3)))
    roles = spec["mpiReplicaSpecs"]
    roles["Launcher"]["template"] |= {"metadata": launcher.get("metadata", {})}
    roles["Launcher"]["template"]["spec"] = {**launcher["spec"], "nodeSelector": {"example.com/none": "here"}}
    roles["Worker"]["template"] |= {"metadata": worker.get("metadata", {})}
    if random.random() < 0.5:
        roles["Worker"]["restartPolicy"] = random.choice(("Never", "OnFailure"))
    return spec


def test_refused_jobs(server: Server, namespace: str) -> None:
    jobs = _create(server, namespace, _REFUSED)
    assert jobs.keys() == _REFUSED.keys()
    assert _ours(jobs, server.target) == {}
    witness = _create(server, namespace, {"last": _spec(worker={})})
    ours = _ours(witness, server.target)
    assert _differences(_when_all_are_there(server, namespace, ours), ours) == []
