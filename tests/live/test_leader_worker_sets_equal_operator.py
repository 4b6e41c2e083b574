"""LeaderWorkerSets at random: the server takes those that we take, and the operator makes of them what we expand."""

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from jobspec.apis.releases import Target
from jobspec.documents.manifest import document_of
from jobspec.operators.api_defaults import with_api_defaults
from jobspec.operators.expansion import expand
from jobspec.world.world import Cluster
from tests.agreement.created import differing, without_token
from tests.support import server as servers
from tests.support.checking import result
from tests.support.seeds import seed
from tests.support.server import JOBS, PLURALS, Server

_SETS, _PATIENCE, _PAUSE = 16, 90.0, 1.0
_PREFIX = "leaderworkerset.sigs.k8s.io"
_LISTS = {
    "PersistentVolumeClaim": "/api/v1/namespaces/{}/persistentvolumeclaims",
    "Pod": "/api/v1/namespaces/{}/pods",
    "Service": "/api/v1/namespaces/{}/services",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets",
}
#: Labels and annotations that the operator writes into StatefulSets, too.
_OVER_THE_OPERATORS_OWN = {
    "labels": {f"{_PREFIX}/name": "other", f"{_PREFIX}/worker-index": "7"},
    "annotations": {f"{_PREFIX}/replicas": "9", f"{_PREFIX}/leader-requests-tpus": "true"},
}
_MADE_BY_SERVER = ("uid", "creationTimestamp", "generation", "managedFields", "resourceVersion", "finalizers")

Objects = dict[str, Any]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    yield from servers.find("LeaderWorkerSet", at=JOBS)


@pytest.fixture
def namespace(server: Server) -> Iterator[str]:
    yield from servers.namespace_with_account(server, "lws")


def _pod(random: Random, claims: list[str]) -> dict[str, Any]:
    """A pod template."""
    asked = random.choice(
        [{}, {"limits": {"cpu": "0.5", "memory": "1024Mi"}}, {"requests": {"google.com/tpu": 4}, "limits": {"google.com/tpu": 4}}]
    )
    variables = random.sample(
        [{"name": "LWS_GROUP_SIZE", "value": "9"}, {"name": "A", "value": "<&>"}, {"name": "TPU_PROCESS_PORT", "value": "1"}], 2
    )
    mounts = [{"name": each, "mountPath": f"/{each}"} for each in claims]
    container = {"name": "a", "image": "a:1", "resources": asked, "env": variables, **({"volumeMounts": mounts} if mounts else {})}
    more = [{"name": "b", "image": "b", "resources": asked}] if random.random() < 0.4 else []
    first = {"initContainers": [{"name": "i", "image": "i"}]} if random.random() < 0.3 else {}
    volumes = {"volumes": [{"name": "data", "emptyDir": {}}]} if random.random() < 0.4 or claims else {}
    metadata = random.choice([{}, {"metadata": {"labels": {"app": "a"}, "annotations": {"b": "c"}}}])
    return {**metadata, "spec": {"containers": [container, *more], **first, **volumes}}


def _spec(random: Random) -> dict[str, Any]:
    """A spec that the server takes."""
    size = random.choice([1, 2, 3, 4, 5])
    claims = ["data"] if random.random() < 0.25 else []
    template: dict[str, Any] = {"size": size, "workerTemplate": _pod(random, claims)}
    if random.random() < 0.5:
        template["leaderTemplate"] = _pod(random, claims)
    if claims:
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}
        template["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim}]
        template |= random.choice([{}, {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}}])
    parts = [each for each in range(1, size + 1) if size % each == 0 or (size - 1) % each == 0]
    if random.random() < 0.5:
        template["subGroupPolicy"] = {"subGroupSize": random.choice(parts)}
        if (size - 1) % template["subGroupPolicy"]["subGroupSize"] == 0 and random.random() < 0.4:
            template["subGroupPolicy"]["subGroupPolicyType"] = "LeaderExcluded"
    template |= random.choice([{}, {"restartPolicy": "None"}, {"restartPolicy": "Default"}])
    rolling = {"maxUnavailable": random.choice([1, "100%"]), "maxSurge": random.choice([0, 1, "50%"])}
    return {
        "replicas": random.choice([1, 2]),
        "leaderWorkerTemplate": template,
        **random.choice([{}, {"rolloutStrategy": {"rollingUpdateConfiguration": rolling}}]),
        **random.choice([{}, {"networkConfig": {"subdomainPolicy": "UniquePerReplica"}}, {"networkConfig": {}}]),
    }


def _lws(name: str, spec: dict[str, Any], *, apart: bool = False, own: dict[str, Any] | None = None) -> dict[str, Any]:
    """A LeaderWorkerSet; *own*: further metadata."""
    annotations = {**({f"{_PREFIX}/subgroup-exclusive-topology": "rack"} if apart else {}), **(own or {}).get("annotations", {})}
    metadata = {"name": name, **(own or {}), **({"annotations": annotations} if annotations else {})}
    return {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": metadata, "spec": spec}


def _plain(made: Objects) -> Objects:
    """An object without what a server makes up, and where a pod runs."""
    metadata = {name: each for name, each in made["metadata"].items() if name not in _MADE_BY_SERVER}
    metadata["ownerReferences"] = [
        {name: each for name, each in one.items() if name != "uid"} for one in metadata.get("ownerReferences", ())
    ]
    spec = {name: each for name, each in made["spec"].items() if name not in ("nodeName", "volumeName")}
    return {"metadata": metadata, "spec": without_token(spec) if "containers" in spec else spec}


def _live(server: Server, namespace: str) -> dict[str, Objects]:
    lists = ((kind, server.get(place.format(namespace)).get("items", ())) for kind, place in _LISTS.items())
    return {f"{kind}/{each['metadata']['name']}": _plain(each) for kind, found in lists for each in found}


def _ours(data: dict[str, Any], namespace: str, target: Target) -> dict[str, Objects]:
    job = document_of({**data, "metadata": {**data["metadata"], "namespace": namespace}}, "lws.yaml")
    made = [each.data() for each in with_api_defaults(expand(job, (), target).objects, (), target)]
    return {f"{each['kind']}/{each['metadata']['name']}": _plain(each) for each in made}


def test_what_the_operator_makes(server: Server, namespace: str) -> None:
    random, sets = Random(seed()), dict[str, dict[str, Any]]()
    for number in range(_SETS):
        spec = _spec(random)
        own = random.choice([{}, {"labels": {"app": "serve"}}, {"annotations": {"example.com/owner": "team"}}, _OVER_THE_OPERATORS_OWN])
        data = _lws(f"l{number}", spec, apart="subGroupPolicy" in spec["leaderWorkerTemplate"] and random.random() < 0.5, own=own)
        assert server.call("POST", PLURALS["LeaderWorkerSet"].format(namespace) + "?fieldValidation=Strict", json.dumps(data)).accepted
        sets[data["metadata"]["name"]] = data
    ours = {name: made for data in sets.values() for name, made in _ours(data, namespace, server.target).items()}
    end = time.monotonic() + _PATIENCE
    while (wrong := _wrong(ours, _live(server, namespace), sets)) and time.monotonic() < end:
        time.sleep(_PAUSE)  # controllers make some objects later, and write owners into claims that are there
    assert wrong == {}


def _wrong(ours: Mapping[str, Any], theirs: Mapping[str, Any], sets: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return each difference between expected and real objects, with the set that it is of."""
    return {
        difference: sets[name.partition("/")[2].removeprefix("data-").partition("-")[0]]
        for name in ours.keys() | theirs.keys()
        for difference in differing(theirs.get(name), ours.get(name), name)
    }


def _odd(random: Random) -> dict[str, Any]:
    """A spec that the server may refuse for a number or for a part that is missing."""
    spec = _spec(random)
    template = spec["leaderWorkerTemplate"]
    numbers = (-1, 0, 1, 2, 3, 1500000000)
    amounts = (-1, 0, 1, "0%", "1%", "100%", "101%", "x%", "5", "")
    for _ in range(random.choice([1, 1, 2])):
        match random.randrange(8):
            case 0:
                spec["replicas"] = random.choice(numbers)
            case 1:
                template["size"] = random.choice(numbers)
            case 2:
                rolling = {
                    "maxUnavailable": random.choice(amounts),
                    "maxSurge": random.choice(amounts),
                    "partition": random.choice((0, 1, -1)),
                }
                spec["rolloutStrategy"] = {"rollingUpdateConfiguration": rolling}
            case 3:
                template["subGroupPolicy"] = random.choice([{}, {"subGroupSize": random.choice(numbers)}])
            case 4:
                template["subGroupPolicy"] = {"subGroupSize": random.choice((1, 2, 3)), "subGroupPolicyType": "LeaderExcluded"}
            case 5:
                template[random.choice(("leaderTemplate", "workerTemplate"))] = random.choice(
                    [{}, {"spec": {}}, {"spec": {"containers": []}}]
                )
            case 6:
                template["workerTemplate"]["spec"]["containers"] = [
                    random.choice([{"image": "a"}, {"name": "a", "resources": {"limits": {"cpu": 0.5}}}])
                ]
            case 7:
                template["restartPolicy"] = random.choice(("", "Always", "RecreateGroupAfterStart"))
    return spec


def test_what_the_server_takes(server: Server, tmp_path: Path) -> None:
    random, wrong = Random(seed()), []
    for number in range(150):
        name = random.choice((f"l{number}", f"l{number}", "1st", "a.b", "a" * 60, "a" * 64))
        data = _lws(name, _odd(random), apart=random.random() < 0.1)
        file = tmp_path / f"{number}.yaml"
        file.write_text(json.dumps(data))
        answer = server.judge("LeaderWorkerSet", file.read_text())
        found = [each for each in result(file, Cluster(server.target)).diagnostics if each.severity == "error" and each.stage != "outcome"]
        if answer.accepted == bool(found):
            wrong.append((data, str(answer), [f"{each.field}: {each.message}" for each in found]))
    assert wrong == []


def _disaggregated(random: Random, name: str) -> dict[str, Any]:
    """A DisaggregatedSet that the server may refuse."""
    amounts = (0, 0, 1, -1, "0%", "10%", "100%", "101%", "x%", "5")
    annotations = [{}, {}, {}, {f"{_PREFIX}/exclusive-topology": "rack"}, {f"{_PREFIX}/subgroup-exclusive-topology": ""}]

    def role(name: str) -> dict[str, Any]:
        pod = {"spec": {"containers": [{"name": "a", "image": "a"}]}}
        template = {each: {**pod, "metadata": {"annotations": random.choice(annotations)}} for each in ("leaderTemplate", "workerTemplate")}
        rolling = {each: random.choice(amounts) for each in random.sample(("maxUnavailable", "maxSurge"), random.choice((0, 1, 2)))}
        rolling |= random.choice([{}, {}, {"partition": 0}, {"partition": 1}])
        spec = {"leaderWorkerTemplate": template, **random.choice([{}, {"replicas": random.choice((0, 1, 4))}])}
        spec |= random.choice([{}, {"rolloutStrategy": {"rollingUpdateConfiguration": rolling}}])
        scaling = random.choice([{}, {}, {}, {"scaling": {"mode": random.choice(("Static", "External"))}}])
        return {"name": name, **scaling, **random.choice([{}, {"metadata": {"annotations": random.choice(annotations)}}]), "spec": spec}

    policy = {"type": random.choice(("None", "ExclusiveSlice")), **random.choice([{}, {"topology": "rack"}])}
    spec = {"roles": [role(each) for each in ("decode", "prefill" * random.choice((1, 1, 8)))]}
    spec |= random.choice([{}, {}, {"placementPolicy": policy}])
    spec |= random.choice([{}, {}, {"slices": random.choice((1, 2))}])
    return {"apiVersion": "disaggregatedset.x-k8s.io/v1", "kind": "DisaggregatedSet", "metadata": {"name": name}, "spec": spec}


def test_which_disaggregated_sets_the_server_takes(server: Server, tmp_path: Path) -> None:
    random, wrong = Random(seed()), []
    for number in range(200):
        data = _disaggregated(random, random.choice((f"d{number}", f"d{number}", "a" * 63 + ".a" * 80)))
        file = tmp_path / f"{number}.yaml"
        file.write_text(json.dumps(data))
        answer = server.judge("DisaggregatedSet", file.read_text())
        found = [each for each in result(file, Cluster(server.target)).diagnostics if each.severity == "error" and each.stage != "outcome"]
        if answer.accepted == bool(found):
            wrong.append((data, str(answer), [f"{each.field}: {each.message}" for each in found]))
    assert wrong == []
