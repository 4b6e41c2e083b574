"""`expand` makes of TrainJobs that were never recorded what a live trainer, JobSet and Kubernetes make of them."""

import json
import re
import time
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import pytest

from jobspec.diagnostics.places import Mark, marks_at
from jobspec.documents.document import Document
from jobspec.operators.api_defaults import with_api_defaults
from jobspec.operators.trainer.objects import expand_trainjob
from tests.agreement.created import differing
from tests.support import server as servers
from tests.support.seeds import examples, seed
from tests.support.server import PLURALS, WITH_OPERATORS, Server
from tests.support.trainjob_growth import renewed, trainjob

_JOBS = examples(settled=24, fresh=40)
_SECONDS = 60
_LISTS = {
    "Pod": "/api/v1/namespaces/{}/pods",
    "Service": "/api/v1/namespaces/{}/services",
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "Secret": "/api/v1/namespaces/{}/secrets",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "JobSet": PLURALS["JobSet"],
}
_OF_CLUSTER = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
_GONE = "finalizers"  # the controller takes its own away once a pod has ended

Data = dict[str, Any]


@pytest.fixture(scope="module", params=WITH_OPERATORS, ids=["old", "newest"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    yield from servers.find(at=request.param)


def test_jobs_that_grow(server: Server) -> None:
    random = Random(seed())
    prefix = f"grown-{int(time.time())}"
    taken: dict[str, tuple[Data, Data]] = {}
    for number in range(_JOBS):
        namespace = f"{prefix}-{number}"
        assert server.has_namespace(namespace)
        runtime, job = trainjob(random, "job", namespace)
        runtime["spec"], job["spec"] = renewed(runtime["spec"], job["spec"], server.target)
        if _create(server, namespace, runtime) and _create(server, namespace, job):
            taken[namespace] = runtime, job
    assert len(taken) > _JOBS * 0.6
    wrong = {namespace: found for namespace, pair in taken.items() if (found := list(_differences(server, namespace, *pair)))}
    assert {namespace: (found, taken[namespace]) for namespace, found in wrong.items()} == {}


def _create(server: Server, namespace: str, made: Data) -> bool:
    """Whether the server takes an object; the trainer's webhook may learn of a new runtime late."""
    for _ in range(20):
        answer = server.call("POST", PLURALS[made["kind"]].format(namespace) + "?fieldValidation=Strict", json.dumps(made))
        if answer.accepted or "not found" not in answer.message:
            break
        time.sleep(0.5)
    return answer.accepted


def _differences(server: Server, namespace: str, runtime: Data, job: Data) -> Iterator[str]:
    expansion = expand_trainjob(_document(job), _document(runtime), server.target)
    ours = _named([each.data() for each in with_api_defaults(expansion.objects, (), server.target)])
    theirs = _settled(server, namespace, len(ours))
    yield from (f"reported, although it runs: {each.message}" for each in expansion.diagnostics)
    for name in theirs.keys() | ours.keys():
        yield from differing(theirs.get(name), ours.get(name), name)


def _document(data: Data) -> Document:
    return Document(data, marks_at(data, Mark("<grown>")), file="<grown>")


def _settled(server: Server, namespace: str, count: int) -> Mapping[str, Data]:
    """The objects of a namespace once there are as many as expected, and after some seconds whatever there is."""
    until = time.monotonic() + _SECONDS
    found = _objects(server, namespace)
    while len(found) < count and time.monotonic() < until:
        time.sleep(1)
        found = _objects(server, namespace)
    return found


def _objects(server: Server, namespace: str) -> Mapping[str, Data]:
    listed = []
    for kind, path in _LISTS.items():
        reply = server.get(path.format(namespace))
        listed += [{"apiVersion": reply["apiVersion"], "kind": kind, **each} for each in reply["items"]]
    return _named([each for each in listed if each["metadata"].get("ownerReferences")])


def _named(objects: list[Data]) -> dict[str, Data]:
    bare = [_bare(each) for each in objects]
    return {f"{each['kind']} {each['metadata']['name']}": each for each in bare}


def _bare(made: Data) -> Data:
    """An object without what a cluster makes up, in the words that stand for that in ours."""
    metadata = {name: each for name, each in made["metadata"].items() if name not in (*_OF_CLUSTER, _GONE)}
    metadata["ownerReferences"] = [{name: each[name] for name in ("kind", "name")} for each in metadata["ownerReferences"]]
    if "generateName" in metadata:
        metadata["name"] = f"{metadata['generateName']}<random>"
    found = {name: each for name, each in made.items() if name not in ("status", "metadata")}
    if made["kind"] == "Secret" or metadata["name"].endswith("-runtime-snapshot"):  # which holds the runtime as the server stores it
        found["data"] = dict.fromkeys(made["data"], "<random>")
    text = json.dumps({**found, "metadata": metadata})
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uid>", text)
    text = re.sub(r'(jobset.sigs.k8s.io/job-key": ")[0-9a-f]{40}', r"\1<sha1>", text)
    text = re.sub(r'"kube-api-access-[\w<>]+"', '"kube-api-access-<random>"', text)
    bare: Data = json.loads(text)
    bare.get("spec", {}).pop("nodeName", None)
    return bare
