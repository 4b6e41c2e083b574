"""Updates of pods at random: `validate --from` and a server that has the pod say the same to its new state, where it is applied."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import yaml

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.documents.reader import read
from jobspec.kubernetes.verdict import verdict
from jobspec.schemas import shapes
from tests.agreement import known
from tests.hunt import pod_fields, pod_surroundings
from tests.hunt.finds import Find
from tests.hunt.updates import namespace
from tests.support import pod_mutants, quick_yaml
from tests.support.server import Answer, Server, target

_APPLY = "fieldManager=jobspec&force=true&fieldValidation=Strict"
#: What cannot be applied, whatever the pod was: two items of a list with one key.
_NOT_APPLICABLE = "failed to create typed patch object"
#: Features of which the server keeps in the pod what it made of them: it adds conditions to selectors. And a port without a protocol, which
#: the server fills in, so that the same port is another one when it is applied again (it stands in known.yaml).
_REWRITTEN = ("matchLabelKeys", "mismatchLabelKeys", '"protocol": ""')
_DEADLINE = "spec.activeDeadlineSeconds"
#: What the server says of a deadline that no update can have: it looks at no other change then.
_STOPS = ("must be between 0 and 2147483647", "must be less than or equal to previous value")

_IDENTITY = ("namespace", "resourceVersion", "uid", "managedFields")

_BASES: tuple[dict[str, Any], ...] = (
    pod_mutants.SMALL["spec"],  # type: ignore[assignment]
    pod_mutants.LARGER["spec"],
    {**pod_mutants.LARGER["spec"], "activeDeadlineSeconds": 600, "tolerations": [{"key": "a", "operator": "Exists"}]},
    {
        **pod_mutants.SMALL["spec"],  # type: ignore[dict-item]
        "schedulingGates": [{"name": "a"}, {"name": "b"}],
        "nodeSelector": {"a": "b"},
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {}]
                }
            }
        },
    },
)


def finds(server: Server, random: Random, *, count: int = 300, each: int = 10) -> Iterator[Find]:
    """The updates on which the server and we disagree: some of each stored pod."""
    with namespace(server) as place, ThreadPoolExecutor(4) as pool:
        path = f"/api/v1/namespaces/{place}/pods"
        try:
            stored = [made for made in pool.map(lambda pod: _stored(server, path, pod), _pods(random, count // each)) if made]
            updates = [(old, _changed(old, random)) for old in stored for _ in range(each)]
            for (old, new), answer in zip(updates, pool.map(lambda pair: _answer(server, path, pair[1]), updates), strict=True):
                if found := _disagreement(old, new, answer):
                    yield Find(_json(new), found, str(answer), "control-plane", answer.accepted, stored=_json(old))
        finally:
            server.call("DELETE", f"{path}?gracePeriodSeconds=0")


def applied(server: Server, place: str, old: dict[str, Any], new: dict[str, Any]) -> Answer:
    """The server's answer to a new state that is applied over a pod, which is applied first."""
    path = f"/api/v1/namespaces/{place}/pods"
    stored = server.apply(f"{path}/{old['metadata']['name']}?{_APPLY}", _json(old))
    assert stored.accepted, stored.message
    return _answer(server, path, new)


def difference(server: Server, place: str, old: dict[str, Any], new: dict[str, Any]) -> str:
    """How what we say to an update differs from what the server says where it is applied; empty where it does not."""
    return _disagreement(old, new, applied(server, place, old, new))


def _pods(random: Random, count: int) -> Iterator[dict[str, Any]]:
    """Pods of all sorts, with names of their own, which the server may refuse."""
    for number in range(count):
        if random.random() < 0.5:
            made = {**pod_mutants.SMALL, "spec": random.choice(_BASES)}
        elif random.random() < 0.5:
            made = _grown(random)
        else:
            made = pod_mutants.changed(pod_mutants.LARGER, _shape(), random, times=2)
        yield _called(made, f"p{number}")


def _grown(random: Random) -> dict[str, Any]:
    """A pod with fields of all sorts; its text may be no YAML."""
    while True:
        try:
            return dict(quick_yaml.load(pod_surroundings.pod(random)))
        except yaml.YAMLError:
            continue


def _stored(server: Server, path: str, pod: dict[str, Any]) -> dict[str, Any] | None:
    """The pod, where the server stores it as it is; a status and the like would be no part of a manifest."""
    if any(word in json.dumps(pod) for word in _REWRITTEN) or pod.keys() - {"apiVersion", "kind", "metadata", "spec"}:
        return None
    return pod if server.apply(f"{path}/{pod['metadata']['name']}?{_APPLY}", _json(pod)).accepted else None


def _changed(old: dict[str, Any], random: Random) -> dict[str, Any]:
    """The pod with some other fields, or another value for what can change."""
    if random.random() < 0.4:
        spec = {**old["spec"], **_FREE[random.choice(sorted(_FREE))](old["spec"], random)}
        made: dict[str, Any] = {**old, "spec": spec}
    elif random.random() < 0.5:
        other = _grown(random)
        fields = [field for field in other["spec"] if field != "containers"]
        field = random.choice(fields or ["containers"])
        made = {**old, "spec": {**old["spec"], field: other["spec"][field]}}
    else:
        made = pod_mutants.changed(old, _shape(), random, times=random.choice((1, 1, 2)))
    return _called(made, old["metadata"]["name"])


def _called(pod: dict[str, Any], name: str) -> dict[str, Any]:
    """The pod under a name, without what else says which object is meant."""
    kept = {field: each for field, each in (pod.get("metadata") or {}).items() if field not in _IDENTITY}
    return {**pod, "metadata": {**kept, "name": name}}


def _images(spec: dict[str, Any], random: Random) -> dict[str, Any]:
    return {"containers": [{**each, "image": random.choice(("a:2", "b", "a:latest", "", " a"))} for each in spec["containers"]]}


def _policies(spec: dict[str, Any], random: Random) -> dict[str, Any]:
    policy = random.choice(("Always", "IfNotPresent"))
    return {"containers": [{**each, "imagePullPolicy": policy} for each in spec["containers"]]}


def _tolerations(spec: dict[str, Any], random: Random) -> dict[str, Any]:
    more = random.choice(({"key": "b"}, {"operator": "Exists"}, {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}))
    kept = random.choice((spec.get("tolerations") or [], [], [{"key": "a", "operator": "Exists", "value": ""}]))
    return {"tolerations": [*kept, more]}


def _terms(_: dict[str, Any], random: Random) -> dict[str, Any]:
    condition = {"key": "c", "operator": "Exists"}
    terms = random.choice(
        (
            [{"matchExpressions": [{"key": "a", "operator": "Exists"}, condition]}, {}],
            [{"matchExpressions": [condition, {"key": "a", "operator": "Exists"}]}, {}],
            [{"matchExpressions": [{"key": "a", "operator": "Exists", "values": []}]}, {"matchExpressions": [condition]}],
            [{"matchExpressions": [condition]}],
            [],
        )
    )
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    return {"affinity": random.choice((affinity, {**affinity, "podAffinity": {}}, {"nodeAffinity": {}}, {}, None))}


#: Other values for the fields that can change, if only in some ways.
_FREE = {
    "images": _images,
    "policies": _policies,
    "tolerations": _tolerations,
    "terms": _terms,
    "deadline": lambda _, random: {"activeDeadlineSeconds": random.choice((1, 600, 601, None, 0))},
    "grace": lambda _, random: {"terminationGracePeriodSeconds": random.choice((1, 30, None))},
    "gates": lambda _, random: {"schedulingGates": random.choice(([], [{"name": "a"}], [{"name": "b"}, {"name": "c"}], None))},
    "labels": lambda _, random: {"nodeSelector": random.choice(({"a": "b", "c": "d"}, {"a": "c"}, {}, {"c": "d"}))},
    "zeros": lambda _, random: random.choice(_ZEROS),
}
_ZEROS: tuple[dict[str, Any], ...] = (
    {"hostNetwork": False},
    {"shareProcessNamespace": False},
    {"nodeSelector": {}},
    {"dnsPolicy": "ClusterFirst", "enableServiceLinks": True},
    {"enableServiceLinks": False},
    {"securityContext": {}},
    {"affinity": {}},
    {"overhead": {}},
    {"resources": {}},
    {"priority": 0},
    {"preemptionPolicy": "PreemptLowerPriority"},
    {"initContainers": []},
    {"hostname": ""},
    {"hostnameOverride": "a"},
    {"runtimeClassName": None},
    {"automountServiceAccountToken": True},
)


def _answer(server: Server, path: str, pod: dict[str, Any]) -> Answer:
    return server.apply(f"{path}/{pod['metadata']['name']}?{_APPLY}&dryRun=All", _json(pod))


def _disagreement(old: dict[str, Any], new: dict[str, Any], answer: Answer) -> str:
    """How what we say differs from the server's answer; empty where it does not.

    Where something changes that cannot, the server names the spec as a whole, and may complain of what applying left half of beside it: the
    defaults inside of a field that is removed belong to nobody, and stay.
    """
    if _NOT_APPLICABLE in answer.message:
        return ""
    found = _errors(old, new)
    if not found and any(each.applied and each.says in answer.message for each in known.pods()):
        return ""
    if answer.accepted or not found or answer.code != 422:
        return "" if answer.accepted == (not found) else f"{[(each.field, each.message) for each in found]}"
    if "spec" in answer.fields:
        return "" if any(each.rule == "immutable-field" for each in found) else f"nothing changes that cannot: {found}"
    if any(each in answer.message for each in _STOPS):
        found = [each for each in found if each.field == _DEADLINE or each.rule != "immutable-field"]
    unnamed = {each.field for each in known.unnamed()} - set(answer.fields)
    return pod_fields.difference([each for each in found if each.field not in unnamed], answer.fields)


def _errors(old: dict[str, Any], new: dict[str, Any]) -> list[Diagnostic]:
    ((before,), _), ((after,), _) = (read(_json(each), file="pod.yaml") for each in (old, new))
    return [each for each in verdict(after, target(), old=before).diagnostics if each.severity == "error"]


def _json(pod: dict[str, Any]) -> str:
    return json.dumps(pod, ensure_ascii=False)


def _shape() -> shapes.Shape:
    shape = shapes.load("v1", "Pod", target())
    assert shape
    return shape
