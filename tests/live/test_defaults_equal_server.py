"""Objects as Go's types write them, with our defaults, are what a real API server makes of them."""

import json
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from jobspec.diagnostics.places import Mark
from jobspec.documents.marked_tree import set_by
from jobspec.documents.reader import read
from jobspec.operators.api_defaults import with_api_defaults
from jobspec.operators.expansion import expand
from jobspec.operators.made import as_go_writes
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape
from tests.agreement.created import differing, without_token
from tests.agreement.parts import parts
from tests.support.pod_growth import grown
from tests.support.seeds import seed
from tests.support.server import Server, kubeconfig, target

TARGET = target()
_DRY = "?dryRun=All&fieldValidation=Strict"
_PLACES = {
    "HorizontalPodAutoscaler": f"/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers{_DRY}",
    "Pod": f"/api/v1/namespaces/default/pods{_DRY}",
    "Service": f"/api/v1/namespaces/default/services{_DRY}",
}
_ACCOUNT = [("serviceAccount", "default"), ("serviceAccountName", "default")]
_STEPS = 150
_STARTS = 12


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server(kubeconfig())
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    server.post("/api/v1/namespaces/default/serviceaccounts", json.dumps(account))
    yield server
    server.close()


def _shape() -> Shape:
    whole = shapes.load("kubeflow.org/v1", "PyTorchJob", TARGET)
    found = whole.at(("spec", "pytorchReplicaSpecs", "Worker", "template", "spec")) if whole else None
    assert found
    return found


def _stored(server: Server, data: Any) -> Any:
    """The spec of the object that the server makes of one; None where it refuses it."""
    reply = server.post(_PLACES[data["kind"]], json.dumps(data))
    return reply["spec"] if reply["kind"] == data["kind"] else None


def _ours(spec: Any, shape: Shape) -> Any:
    written = as_go_writes(set_by(Mark("pod"), spec), shape)
    return with_api_defaults([set_by(Mark("pod"), _pod(written))], (), TARGET)[0].data()["spec"]


def _pod(spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}


def _bare(spec: Any) -> Any:
    """A pod's spec without what the ServiceAccount plugin adds, which control planes of tests leave out."""
    made = {name: value for name, value in without_token(spec).items() if (name, value) not in _ACCOUNT and value != []}
    for field in ("containers", "initContainers"):
        if field in made:
            made[field] = [{name: value for name, value in each.items() if (name, value) != ("volumeMounts", [])} for each in made[field]]
    return made


@pytest.mark.parametrize("start", range(_STARTS))
def test_pods_that_grow(server: Server, start: int) -> None:
    random = Random(seed() + start)
    shape = _shape()
    spec: Any = {"containers": [{"name": "a", "image": "a:1"}], "volumes": [{"name": "a"}]}
    counts: Counter[str] = Counter()
    wrong: dict[str, Any] = {}
    for _ in range(_STEPS):
        wish = grown(spec, shape, random)
        stored = _stored(server, _pod(wish))
        counts["accepted" if stored else "refused"] += 1
        if stored:
            spec = wish
            theirs, ours = _bare(stored), _bare(_ours(wish, shape))
            for difference in differing(theirs, ours, "spec"):
                wrong.setdefault(difference, wish)
    assert counts["accepted"] > _STEPS / 5
    assert wrong == {}


_JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: a}
spec:
  elasticPolicy: {maxReplicas: 3, metrics: METRICS}
  pytorchReplicaSpecs:
    Worker: {replicas: 1, template: {spec: {containers: [{name: pytorch, image: "a:1"}]}}}
"""
_METRICS = [
    "[]",
    "[{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: 1000m}}}]",
    "[{type: ContainerResource, containerResource: {name: cpu, container: pytorch, target: {type: Utilization, averageUtilization: 5}}}]",
    "[{type: Pods, pods: {metric: {name: a, selector: {matchLabels: {a: b}}}, target: {type: AverageValue, averageValue: 2.5}}}]",
    "[{type: External, external: {metric: {name: a, selector: {}}, target: {type: Value, value: 1500Mi}}}]",
    "[{type: Object, object: {describedObject: {kind: a, name: b}, metric: {name: c}, target: {type: Value, value: 1e3}}}]",
]


def _compared(server: Server, text: str) -> Iterator[tuple[str, list[str] | None]]:
    """The kind of each object that becomes of a job, and where ours differs from the server's; None where the server refuses it."""
    (job,), _ = read(text, file="job.yaml")
    made = expand(job, (), TARGET).objects
    for one, whole in zip(made, with_api_defaults(made, (), TARGET), strict=True):
        data = {**one.data(), "metadata": {"name": one.data()["metadata"]["name"]}}
        stored = _stored(server, data)
        yield data["kind"], list(differing(_bare(stored), _bare(whole.data()["spec"]), "spec")) if stored else None


@pytest.mark.parametrize("metrics", _METRICS)
def test_autoscalers(server: Server, metrics: str) -> None:
    assert list(_compared(server, _JOB.replace("METRICS", metrics))) == [("HorizontalPodAutoscaler", []), ("Pod", []), ("Service", [])]


def test_what_jobs_become_with_each_part_that_they_can_have(server: Server) -> None:
    found = [(case.name, *one) for case in parts("PyTorchJob", TARGET) for one in _compared(server, case.text)]
    assert [one for one in found if one[2]] == []
    accepted = Counter(kind for _, kind, differences in found if differences == [])
    assert accepted["Pod"] > 40  # none where the server refuses the autoscaler
    assert accepted["Service"] > 50
