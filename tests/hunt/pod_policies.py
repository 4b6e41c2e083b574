"""Pods at random in namespaces with policies at random: our plugins and a server say the same to them, and for the same reason."""

import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

from jobspec.apis.kinds import CompleteKinds
from jobspec.diagnostics.places import spell
from jobspec.go.formats import is_parsed_quantity
from jobspec.kubernetes.admission.pod_security import breaches, levels_of
from jobspec.kubernetes.admission.review import PodReview, review_pod
from jobspec.kubernetes.builtin import builtin_problems
from jobspec.kubernetes.index import Index
from jobspec.kubernetes.pods.amounts import amounts
from tests.hunt.finds import Find
from tests.support import policy_growth, quick_yaml
from tests.support.server import STRICT, Answer, Server, target

Data = dict[str, Any]

_NAMESPACES = "/api/v1/namespaces"
_PATHS = {
    "LimitRange": "/api/v1/namespaces/{}/limitranges",
    "ResourceQuota": "/api/v1/namespaces/{}/resourcequotas",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "RuntimeClass": "/apis/node.k8s.io/v1/runtimeclasses",
}
_SETTLED = 1.0  # seconds after which the server's plugins have seen what was created
_ACCOUNTS: tuple[Data, ...] = (
    {"metadata": {"name": "lenient"}, "imagePullSecrets": [{"name": "registry"}]},
    {
        "metadata": {"name": "strict", "annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}},
        "secrets": [{"name": "listed"}],
        "imagePullSecrets": [{"name": "registry"}],
    },
)


@dataclass(frozen=True)
class World:
    """A namespace on a server, with the objects in it that decide on pods."""

    server: Server
    namespace: str
    objects: list[Data]
    is_whole: bool
    """Whether the server has its controllers, which make accounts and count what quotas count; else it looks at no accounts."""

    @property
    def prefix(self) -> str:
        """What the names of all classes begin with."""
        return self.namespace.rpartition("-")[0]

    def policies(self) -> Index:
        """What our plugins are given."""
        return Index(self.objects, complete=CompleteKinds(every=True))

    def stored(self, pod: Data) -> Data:
        """The pod as the server would store it."""
        return self.server.post(f"{_NAMESPACES}/{self.namespace}/pods{STRICT}", json.dumps(pod))

    def judge(self, pod: Data) -> Answer:
        """The server's answer."""
        return self.server.call("POST", f"{_NAMESPACES}/{self.namespace}/pods{STRICT}", json.dumps(pod))


@contextmanager
def worlds(server: Server, random: Random, count: int) -> Iterator[list[World]]:
    """Namespaces with policies, as long as they are needed."""
    prefix = f"policies-{random.randrange(1 << 32):08x}-{time.time_ns() % 10**9:09d}"
    with _classes(server, prefix) as classes:
        made = [_world(server, f"{prefix}-{number}", classes, random) for number in range(count)]
        time.sleep(_SETTLED)
        try:
            yield made
        finally:
            for world in made:
                server.call("DELETE", f"{_NAMESPACES}/{world.namespace}")


def finds(server: Server, random: Random, tally: Counter[str], *, count: int = 6, pods: int = 60) -> Iterator[Find]:
    """The pods on which a server and our plugins disagree, in that many namespaces."""
    with worlds(server, random, count) as made, ThreadPoolExecutor(6) as pool:
        for world in made:
            grown = [with_names(policy_growth.pod(random), world.prefix) for _ in range(pods)]
            for pod, answer in zip(grown, pool.map(world.judge, grown), strict=True):
                yield from _find(world, pod, answer, tally)


def _find(world: World, pod: Data, answer: Answer, tally: Counter[str]) -> Iterator[Find]:
    known, served = _without_accounts(pod, world), target()
    review = review_pod(known, world.namespace, world.policies(), served)
    review = PodReview(review.pod, [*builtin_problems(known, "v1", "Pod", served), *review.refusals], review.warnings)
    difference = _difference(world, pod, review, answer, tally)
    if difference:
        ours = "; ".join(f"{spell(each.path)}: {each.message}" for each in (*review.refusals, *review.warnings))
        here = {**pod, "metadata": {**pod["metadata"], "namespace": world.namespace}}
        text = quick_yaml.dump_all([here, *world.objects])
        yield Find(text, f"{difference}: {ours}", f"{answer} {answer.warnings}", "operators", answer.accepted)


def _without_accounts(pod: Data, world: World) -> Data:
    """A pod for a server that does not look at ServiceAccounts."""
    return pod if world.is_whole else {**pod, "spec": {k: v for k, v in pod["spec"].items() if k != "serviceAccountName"}}


def _difference(world: World, pod: Data, review: PodReview, answer: Answer, tally: Counter[str]) -> str:
    """In what we and the server differ; empty where in nothing. What the server refuses as a pod is not the plugins'."""
    if answer.code == 422:
        tally["no valid pod"] += 1
        return ""
    if answer.accepted:
        tally["accepted"] += 1
        theirs = [_reasons(each) for each in answer.warnings if "PodSecurity" in each]
        ours = list(
            dict.fromkeys(
                reason
                for reason, _ in breaches(review.pod, levels_of(world.policies().labels(world.namespace)).warn, target()["kubernetes"])
            )
        )
        if review.refusals or (theirs or [[]])[0] != ours:
            return "refused" if review.refusals else "warnings"
        return _filled_otherwise(review.pod, world.stored(pod), is_whole=world.is_whole)
    for kind, (pattern, same) in _KINDS.items():
        match = re.search(pattern, answer.message)
        if match:
            tally[kind] += 1
            return "" if same(world, review, match) else kind
    return f"of no known kind ({answer.code})"


_FILLED = (
    "nodeSelector",
    "overhead",
    "preemptionPolicy",
    "priority",
    "priorityClassName",
    "serviceAccountName",
    "imagePullSecrets",
)


def _filled_otherwise(ours: Data, theirs: Data, *, is_whole: bool) -> str:
    """What the plugins fill into a pod in another way than we do; *is_whole*: the server looks at accounts."""
    one, other = _comparable(ours["spec"]), _comparable(theirs["spec"])
    fields = [field for field in one.keys() | other.keys() if is_whole or field not in ("serviceAccountName", "imagePullSecrets")]
    return ", ".join(f"{field}: {one.get(field)} and {other.get(field)}" for field in sorted(fields) if one.get(field) != other.get(field))


def _comparable(spec: Data) -> Data:
    """What the plugins fill into a pod's spec, without what each pod gets."""
    found = {field: _canonical(spec[field]) for field in _FILLED if spec.get(field)}
    own = [each for each in spec.get("tolerations") or () if each.get("tolerationSeconds") != _EVERYWHERE]
    resources = [_canonical(each.get("resources")) for field in ("initContainers", "containers") for each in spec.get(field) or ()]
    return {**found, "tolerations": own, "of containers": resources}


_EVERYWHERE = 300
"""The seconds of the tolerations that each pod gets."""


def _canonical(value: Any) -> Any:
    """A value with its quantities as numbers, however they are written, and without what is empty."""
    if isinstance(value, dict):
        return {name: _canonical(each) for name, each in value.items() if each or each == 0} if value else None
    if isinstance(value, list):
        return list(map(_canonical, value))
    return amounts({"": value})[""].nanos if is_parsed_quantity(str(value)) else value


def _reasons(text: str) -> list[str]:
    """The names of the checks in a message of Pod Security, which explains each in parentheses."""
    bare = text.partition("PodSecurity ")[2].partition(": ")[2].replace('\\"', '"').removesuffix('"')
    while (shorter := re.sub(r" \([^()]*\)", "", bare)) != bare:
        bare = shorter
    return [each.replace("profiles", "profile") for each in bare.split(", ")]


def _same_breaches(world: World, review: PodReview, match: re.Match[str]) -> bool:
    labels = world.policies().labels(world.namespace)
    ours = list(dict.fromkeys(reason for reason, _ in breaches(review.pod, levels_of(labels).enforce, target()["kubernetes"])))
    return _reasons(match[0]) == ours and any(each.rule == "pod-security" for each in review.refusals)


def _same_limits(_: World, review: PodReview, match: re.Match[str]) -> bool:
    """Whether we name the same resources; the server stops after the first LimitRange."""
    theirs = set(re.findall(r"(?:minimum|maximum) (\S+) usage", match[0])) | set(re.findall(r"(\S+) max limit", match[0].replace("[", " ")))
    ours: dict[str, set[str]] = {}
    for each in review.refusals:
        if each.rule == "outside-limit-range":
            ours.setdefault(each.message.split("`")[1], set()).add(str(each.path[-1]))
    return theirs in ours.values()


def _same_excess(_: World, review: PodReview, match: re.Match[str]) -> bool:
    theirs = {each.partition("=")[0] for each in match[2].split(",")}
    exceeded = f"exceeds ResourceQuota `{match[1]}`"
    ours = {each.message.split("`")[3] for each in review.refusals if each.rule == "over-quota" and each.message.startswith(exceeded)}
    return theirs == ours


def _same_demands(_: World, review: PodReview, match: re.Match[str]) -> bool:
    theirs = {(name, each) for part in match[2].split("; ") for name, _, names in [part.partition(" for: ")] for each in names.split(",")}
    ours = set()
    for each in review.refusals:
        if each.rule == "over-quota" and f"ResourceQuota `{match[1]}`" in each.message:
            container, *names = each.message.split("`")[1:-2:2]
            ours |= {(name, container) for name in names}
    return theirs == ours


def _same_field(*fields: str) -> Any:
    return lambda _, review, __: any(spell(each.path).startswith(tuple(f"spec.{field}" for field in fields)) for each in review.refusals)


_KINDS: dict[str, tuple[str, Any]] = {
    "pod security": (r"violates PodSecurity .*", _same_breaches),
    "limits": (r"is forbidden: .*(?:usage per|limit to request ratio).*", _same_limits),
    "exceeded quota": (r"exceeded quota: (\S+), requested: (\S+), used:", _same_excess),
    "demands of quota": (r"failed quota: (\S+): must specify (.*)", _same_demands),
    "priority": (r"PriorityClass|integer value of priority|string value of PreemptionPolicy", _same_field("priority", "preemptionPolicy")),
    "runtime class": (r"RuntimeClass|Overhead|runtimeClass", _same_field("runtimeClassName", "overhead", "nodeSelector")),
    "missing account": (r"error looking up service account", _same_field("serviceAccount")),
    "secrets of account": (r"because service account", _same_field("volumes", "containers", "initContainers", "imagePullSecrets")),
}


@contextmanager
def _classes(server: Server, prefix: str) -> Iterator[list[Data]]:
    """Priority and runtime classes of a prefix, as long as they are needed; none is the default, since others use the server, too."""
    made: list[Data] = [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": f"{prefix}-low"}, "value": 5},
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": f"{prefix}-high"},
            "value": 1000,
            "preemptionPolicy": "Never",
        },
        {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": f"{prefix}-bare"}, "handler": "h"},
        {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": f"{prefix}-sealed"},
            "handler": "h",
            "overhead": {"podFixed": {"cpu": "250m"}},
            "scheduling": {
                "nodeSelector": {"a": "b"},
                "tolerations": [
                    {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 90},
                    {"key": "d", "operator": "Exists"},
                ],
            },
        },
    ]
    for each in made:
        answer = server.call("POST", _PATHS[each["kind"]], json.dumps(each))
        assert answer.accepted, answer.message
    try:
        yield made
    finally:
        for each in made:
            server.call("DELETE", f"{_PATHS[each['kind']]}/{each['metadata']['name']}")


def with_names(value: Any, prefix: str) -> Any:
    """Data with the names of classes in place of `<low>` and the like."""
    if isinstance(value, dict):
        return {key: with_names(each, prefix) for key, each in value.items()}
    if isinstance(value, list):
        return [with_names(each, prefix) for each in value]
    return f"{prefix}-{value[1:-1]}" if isinstance(value, str) and value.startswith("<") else value


def _world(server: Server, name: str, classes: list[Data], random: Random) -> World:
    """A new namespace with policies that the server takes."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": policy_growth.labels(random)}}
    answer = server.call("POST", _NAMESPACES, json.dumps(namespace))
    assert answer.accepted, answer.message
    wished = [policy_growth.limit_range("range", random)] if random.random() < 0.5 else []  # of two, the server takes defaults of any
    wished += [policy_growth.quota(f"quota-{each}", random) for each in range(random.choice((0, 0, 0, 1, 1, 2)))]
    wished += [{"apiVersion": "v1", "kind": "ServiceAccount", **each} for each in _ACCOUNTS]
    prefix = name.rpartition("-")[0]
    is_whole = server.call("GET", f"{_NAMESPACES}/kube-system/serviceaccounts/default").accepted
    if is_whole:
        wished = [{field: value for field, value in each.items() if field != "status"} for each in wished]
    made = [each for each in (_made(server, name, with_names(each, prefix)) for each in wished) if each]
    return World(server, name, [namespace, *classes, *made], is_whole)


def _made(server: Server, namespace: str, wished: Data) -> Data | None:
    """An object that was created, with its status; None where the server refuses it."""
    path = _PATHS[wished["kind"]].format(namespace)
    found = server.post(path, json.dumps(wished))
    if found.get("kind") != wished["kind"]:
        return None
    data = {**wished, "metadata": {**wished["metadata"], "namespace": namespace}}
    if "status" in wished:
        answer = server.patch(f"{path}/{wished['metadata']['name']}/status", json.dumps({"status": wished["status"]}))
        assert answer.accepted, answer.message
    return data
