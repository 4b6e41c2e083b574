"""What real operators create of jobs that nobody recorded is what we expand."""

import json
import re
import time
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

import pytest

from jobspec.apis import sibling_kinds
from jobspec.apis.releases import Target
from jobspec.diagnostics.places import Mark
from jobspec.documents.manifest import document_of
from jobspec.documents.marked_tree import set_by
from jobspec.operators.api_defaults import with_api_defaults
from jobspec.operators.expansion import expand
from jobspec.operators.made import RANDOM
from tests.agreement.created import as_recorded, by_name, differing
from tests.support import server as servers
from tests.support.job_growth import grown_job, grown_sibling
from tests.support.seeds import seed
from tests.support.server import PLURALS, SIBLINGS, WITH_OPERATORS, Server

_JOBS = 24
_PATIENCE = 60.0  # seconds
_PAUSE = 1.0
_RIGHTS = "/apis/rbac.authorization.k8s.io/v1/namespaces/{}"
_LISTS = {
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "HorizontalPodAutoscaler": "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers",
    "Pod": "/api/v1/namespaces/{}/pods",
    "Role": f"{_RIGHTS}/roles",
    "RoleBinding": f"{_RIGHTS}/rolebindings",
    "Service": "/api/v1/namespaces/{}/services",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
}
_MADE_BY_SERVER = (
    *("uid", "creationTimestamp", "generation", "managedFields", "resourceVersion"),
    *("deletionTimestamp", "deletionGracePeriodSeconds"),  # of a pod that the operator deletes just then
)

_OF_ALL = ("HorizontalPodAutoscaler", "Pod", "Service")

Objects = dict[tuple[str, str], dict[str, Any]]


@pytest.fixture(scope="module", params=WITH_OPERATORS, ids=["old", "newest"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    yield from servers.find("PyTorchJob", at=request.param)


@pytest.fixture
def namespace(server: Server) -> Iterator[str]:
    yield from servers.namespace_with_account(server, "expand")


def _live(server: Server, namespace: str) -> Objects:
    """All objects that the operator has made in a namespace so far, as records have them."""
    found = []
    for kind, place in _LISTS.items():
        listed = json.dumps(server.get(place.format(namespace))["items"])
        for item in json.loads(listed.replace(namespace, "default")):
            metadata = {name: each for name, each in item["metadata"].items() if name not in _MADE_BY_SERVER}
            if kind not in _OF_ALL and not metadata.get("ownerReferences"):
                continue  # of the namespace itself
            metadata.setdefault("ownerReferences", [])
            fields = {name: each for name, each in item.items() if name not in ("apiVersion", "status")}
            if "spec" in fields:
                fields["spec"] = {name: each for name, each in fields["spec"].items() if name != "nodeName"}
            found.append(as_recorded({**fields, "apiVersion": "", "kind": kind, "metadata": metadata}, {"metadata": {}}))
    return by_name(map(_in_order, found))


def _in_order(made: dict[str, Any]) -> dict[str, Any]:
    """An object with a service's ports by name: the operator walks them in no fixed order."""
    if made["kind"] == "Service":
        made["spec"]["ports"].sort(key=lambda port: port.get("name", ""))
    return made


def _ours(data: dict[str, Any], target: Target) -> Objects:
    job = document_of(data, "job.yaml")
    expansion = expand(job, (), target)
    if any(each.rule == "autoscaler-refused" for each in expansion.diagnostics):
        return {}
    return by_name(_in_order(as_recorded(each.data(), {"metadata": {}})) for each in with_api_defaults(expansion.objects, (), target))


def _agrees(server: Server, namespace: str, grown: Iterable[dict[str, Any]]) -> None:
    """Check that what the operator makes of accepted jobs is what we expand."""
    jobs, refused = {}, list[str]()
    for data in grown:
        path = {**PLURALS, **SIBLINGS}[data["kind"]].format(namespace)
        answer = server.call("POST", f"{path}?fieldValidation=Strict", json.dumps(data))
        if answer.accepted:
            jobs[data["metadata"]["name"]] = data
        else:
            refused.append(f"{data['kind']}: {answer}")
    assert len(jobs) > len(refused), refused
    ours = {name: made for data in jobs.values() for name, made in _ours(data, server.target).items()}
    end = time.monotonic() + _PATIENCE
    theirs: Objects = {}
    while ours.keys() - theirs.keys() and time.monotonic() < end:
        time.sleep(_PAUSE)
        theirs |= {name: made for name, made in _live(server, namespace).items() if name not in theirs}
    for made in (*ours.values(), *theirs.values()):
        (made.get("data") or {}).pop("discover_hosts.sh", None)  # lists the workers that run by now
    wrong = {}
    for name in ours.keys() | theirs.keys():
        job = jobs.get(str(name[1].split("-")[0]))
        for difference in differing(theirs.get(name), ours.get(name), "/".join(name)):
            wrong[difference] = job
    assert wrong == {}


def test_fresh_jobs(server: Server, namespace: str) -> None:
    random = Random(seed())
    _agrees(server, namespace, (grown_job(f"j{number}", random) for number in range(_JOBS)))


def test_fresh_jobs_of_other_kinds(server: Server, namespace: str) -> None:
    random, release = Random(seed()), server.target["training-operator"]
    served = [kind for kind in SIBLINGS if sibling_kinds.SIBLINGS[kind].is_in(release)]
    _agrees(server, namespace, (grown_sibling(kind, f"{kind.lower()}{at}", random) for kind in served for at in range(_JOBS // 2)))


_MOUNT = [{"name": "v", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}]


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": [{"name": "a", "image": "a"}], "initContainers": [{"name": "b", "image": "b:1"}]},
        {"containers": [{"name": "a", "image": "a", "volumeMounts": _MOUNT}, {"name": "b", "image": "b"}], "volumes": [{"name": "v"}]},
        {"containers": [{"name": "a", "image": "a", "volumeMounts": _MOUNT}], "volumes": [{"name": "v"}]},
        {"containers": [{"name": "a", "image": "a"}], "automountServiceAccountToken": False},
    ],
)
def test_the_token_of_a_service_account(server: Server, namespace: str, spec: dict[str, Any]) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}
    stored = server.post(f"{_LISTS['Pod'].format(namespace)}?dryRun=All", json.dumps(pod))["spec"]
    theirs = re.sub(r"kube-api-access-[a-z0-9]{5}", f"kube-api-access-{RANDOM}", json.dumps(stored))
    ours = with_api_defaults([set_by(Mark("pod"), pod)], (), server.target)[0].data()["spec"]
    assert list(differing(json.loads(theirs), ours, "spec")) == []
