"""ValidatingAdmissionPolicies at random, and objects for them: we and a server refuse and warn by the same ones, in the same words.

Each object has a label of its own policy, so that no other refuses it first.
"""

import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Any

from jobspec.documents.manifest import documents_of
from jobspec.journey.checking import check
from jobspec.journey.steps import Manifests
from jobspec.world.world import Cluster, StoredObjects
from tests.hunt.finds import Find
from tests.support import quick_yaml
from tests.support.server import PLURALS, PODS, STRICT, WORKLOADS, Answer, Server

Data = dict[str, Any]

_GROUP = "/apis/admissionregistration.k8s.io/v1"
_POLICIES, _BINDINGS = f"{_GROUP}/validatingadmissionpolicies", f"{_GROUP}/validatingadmissionpolicybindings"
_NAMESPACES = "/api/v1/namespaces"
_SETTLED = 4.0  # seconds after which policies are compiled and in force
_PATHS = {**PLURALS, **WORKLOADS, "Pod": PODS}
_LABEL = "policy"


@dataclass
class World:
    """Two namespaces on a server, and the policies for objects in them."""

    server: Server
    prefix: str
    objects: list[Data] = field(default_factory=list)
    """Namespaces, parameters, policies and bindings."""
    policies: list[Data] = field(default_factory=list)

    @property
    def namespaces(self) -> list[str]:
        return [f"{self.prefix}-a", f"{self.prefix}-b"]

    @cached_property
    def cluster(self) -> Cluster:
        """What all objects meet, as those of a folder do, so that policies are evaluated with each other."""
        return Cluster(objects=self.objects, webhooks=False, closed=True)


#: A policy for nothing, which is left on the server: with the last policy whose parameters are ConfigMaps a server stops watching
#: ConfigMaps for good, and finds no new one for the policies that come later (`policySource`, pkg/admission/plugin/policy/generic, 1.36).
KEPT: Data = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "keeps-config-maps-watched"},
    "spec": {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConstraints": {
            "resourceRules": [{"apiGroups": ["none"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["none"]}]
        },
        "validations": [{"expression": "true"}],
    },
}
KEPT_BINDING: Data = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicyBinding",
    "metadata": {"name": "keeps-config-maps-watched"},
    "spec": {
        "policyName": "keeps-config-maps-watched",
        "validationActions": ["Deny"],
        "paramRef": {"name": "none", "namespace": "default", "parameterNotFoundAction": "Deny"},
    },
}


def keep_config_maps_watched(server: Server) -> None:
    """Store the policy for nothing, before any whose parameters are ConfigMaps is deleted."""
    for path, kept in ((_POLICIES, KEPT), (_BINDINGS, KEPT_BINDING)):
        server.call("POST", path, json.dumps(kept))


@contextmanager
def world(server: Server, random: Random, count: int) -> Iterator[World]:
    """Policies on a server, as long as they are needed."""
    keep_config_maps_watched(server)
    made = World(server, f"rules-{random.randrange(1 << 32):08x}-{time.time_ns() % 10**9:09d}")
    try:
        surroundings(made, random)
        for number in range(count):
            policy = policy_for(f"{made.prefix}-{number}", random)
            if store(made, _POLICIES, policy):
                made.policies.append(policy)
                for which in range(random.choice((1, 1, 1, 2))):
                    store(made, _BINDINGS, binding_for(f"{made.prefix}-{number}-{which}", policy, made, random))
        time.sleep(_SETTLED)
        yield made
    finally:
        for each in made.objects:
            name = each["metadata"]["name"]
            if each["kind"].startswith("Validating"):
                server.call("DELETE", f"{_BINDINGS if each['kind'].endswith('Binding') else _POLICIES}/{name}")
        for name in made.namespaces:
            server.call("DELETE", f"{_NAMESPACES}/{name}")


def surroundings(made: World, random: Random) -> None:
    """Namespaces, with ConfigMaps for parameters in them."""
    for name in made.namespaces:
        labels = {"team": random.choice(("vision", "text")), **random.choice(({}, {"tier": "1"}))}
        store(made, _NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
        for own in ("limits", "others"):
            if random.random() < 0.7:
                metadata = {"name": own, "namespace": name, "labels": {"use": random.choice(("limits", "none"))}}
                data = {"most": str(random.randrange(4)), "registry": random.choice(_IMAGES)}
                kind = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
                store(made, f"{_NAMESPACES}/{name}/configmaps", kind)


def store(made: World, path: str, data: Data) -> bool:
    """Whether a server stores an object, as one of its world."""
    accepted = made.server.call("POST", path, json.dumps(data)).accepted
    if accepted:
        made.objects.append(data)
    return accepted


def finds(server: Server, random: Random, tally: Counter[str], *, policies: int = 40, objects: int = 300) -> Iterator[Find]:
    """The objects on which a server and we disagree."""
    with world(server, random, policies) as made, ThreadPoolExecutor(6) as pool:
        asked = [request for _ in range(objects) for request in _requests(made, random)]
        for request, answer in zip(asked, pool.map(lambda each: _ask(made, each), asked), strict=True):
            yield from _find(made, request, answer, tally)


@dataclass(frozen=True)
class Request:
    """An object to be created, or to be the new state of a stored one."""

    data: Data
    stored: Data | None = None


def _requests(made: World, random: Random) -> Iterator[Request]:
    policy = random.choice(made.policies)
    data = object_for(policy["metadata"]["annotations"]["kind"], policy["metadata"]["name"], made, random)
    if random.random() < 0.75:
        yield Request(data)
        return
    before = {**data, "metadata": {**data["metadata"], "labels": {"app": "a"}}}  # no policy is for it
    path = _PATHS[data["kind"]].format(data["metadata"]["namespace"])
    if made.server.call("POST", path, json.dumps(before)).accepted:
        yield Request(_changed(data, random), before)


def _ask(made: World, request: Request) -> Answer:
    path = _PATHS[request.data["kind"]].format(request.data["metadata"]["namespace"])
    if request.stored is None:
        return made.server.call("POST", f"{path}{STRICT}", json.dumps(request.data))
    name = f"{path}/{request.data['metadata']['name']}"
    there = made.server.get(name)
    metadata = {**request.data["metadata"], "resourceVersion": there["metadata"]["resourceVersion"]}
    return made.server.call("PUT", f"{name}{STRICT}", json.dumps({**request.data, "metadata": metadata}))


_REFUSED = re.compile(r"ValidatingAdmissionPolicy '([^']+)' with binding '([^']+)' denied request: (.*)", re.DOTALL)
_WARNED = re.compile(r"Validation failed for ValidatingAdmissionPolicy '([^']+)' with binding '([^']+)': (.*)", re.DOTALL)
_OURS = re.compile(r"policy `([^`]+)` \(binding `([^`]+)`\)(?: warns| records)?: (.*)", re.DOTALL)

Said = tuple[str, ...]


def _find(made: World, request: Request, answer: Answer, tally: Counter[str]) -> Iterator[Find]:
    denied = _REFUSED.search(answer.message)
    if not answer.accepted and not denied:
        tally["refused for another reason"] += 1
        return
    cluster = made.cluster.updating(StoredObjects(documents_of([request.stored], ""))) if request.stored else made.cluster
    found = check(Manifests("", documents_of([request.data], "object")), cluster).result.diagnostics
    if any(each.rule == "policy-not-evaluated" for each in found):
        tally["not evaluated"] += 1
        return
    ours: dict[str, set[Said]] = {"error": set(), "warning": set(), "info": set()}
    for each in found:
        said = _OURS.search(each.message) if each.rule == "refused-by-policy" else None
        if said:
            ours[each.severity].add(said.groups())
    theirs = {"error": {denied.groups()} if denied else set()}
    theirs["warning"] = {match.groups() for each in answer.warnings if (match := _WARNED.search(each))}
    difference = _difference(ours, theirs, tally)
    if difference:
        text = quick_yaml.dump_all([request.data, *concerned(made, request.data)])
        stored = quick_yaml.dump_all([request.stored]) if request.stored else ""
        reply = f"{answer} {answer.warnings}"
        yield Find(text, f"{difference}: {[each.message for each in found]}", reply, "control-plane", answer.accepted, stored=stored)


def _difference(ours: dict[str, set[Said]], theirs: dict[str, set[Said]], tally: Counter[str]) -> str:
    """In what we and the server differ. It names one of all that refuse, and its warnings are kept short."""
    tally["update or create"] += 1
    if theirs["error"]:
        tally["refused"] += 1
        if theirs["error"] <= ours["error"]:
            return ""
        if {_without_field(each) for each in theirs["error"]} <= {_without_field(each) for each in ours["error"]}:
            tally["another field of a null"] += 1
            return ""
        named = {each[:2] for each in ours["error"]}
        return "message" if {each[:2] for each in theirs["error"]} <= named else "not refused"
    if ours["error"]:
        return "refused"
    tally["warned of" if theirs["warning"] else "accepted"] += 1
    return "" if {each[:2] for each in theirs["warning"]} == {each[:2] for each in ours["warning"]} else "warnings"


def _without_field(said: Said) -> Said:
    """A refusal without the name of a missing field: of an expression that reads several fields of a null, we name the first."""
    return (*said[:2], re.sub(r"no such key: (spec|metadata|data)\b", "no such key", said[2]))


def concerned(made: World, data: Data) -> list[Data]:
    """The objects of a world without the policies that are for others."""
    policy = data["metadata"]["labels"][_LABEL]
    others = {each["metadata"]["name"] for each in made.policies} - {policy}
    return [
        each for each in made.objects if each["metadata"]["name"] not in others and each.get("spec", {}).get("policyName", policy) == policy
    ]


# Objects.


_IMAGES = ("registry/a", "docker.io/b:1", "registry/c:latest")
_LABELS: tuple[Data, ...] = ({}, {"owner": "x"}, {"owner": "", "app": "a"})


def _container(random: Random, name: str = "c") -> Data:
    made: Data = {"name": name, "image": random.choice(_IMAGES)}
    if random.random() < 0.5:
        made["resources"] = {"limits": {"cpu": random.choice(("1", "500m", 2)), "memory": random.choice(("1Gi", "512Mi"))}}
    if random.random() < 0.3:
        made["args"] = random.choice((["a"], ["--x", "--y=1"]))
    if random.random() < 0.3:
        made["env"] = [{"name": "A", "value": random.choice(("1", "x", ""))}]
    if random.random() < 0.2:
        made["securityContext"] = {"runAsNonRoot": random.random() < 0.5}
    return made


def _pod_spec(random: Random, name: str = "c") -> Data:
    made: Data = {"containers": [_container(random, name), *([_container(random, "d")] if random.random() < 0.3 else [])]}
    if random.random() < 0.2:
        made["hostNetwork"] = random.random() < 0.5
    if random.random() < 0.3:
        made["nodeSelector"] = {"gpu": random.choice(("a", "b"))}
    return made


def _spec(kind: str, random: Random) -> Data:
    if kind == "Pod":
        return _pod_spec(random)
    if kind == "PyTorchJob":
        roles: Data = {"Master": {"replicas": 1, "template": {"spec": _pod_spec(random, "pytorch")}}}
        if random.random() < 0.7:
            roles["Worker"] = {"replicas": random.randrange(1, 5), "template": {"spec": _pod_spec(random, "pytorch")}}
        policy: Data = random.choice(({}, {"backoffLimit": random.randrange(4)}, {"cleanPodPolicy": "None"}))
        return {"pytorchReplicaSpecs": roles, **({"runPolicy": policy} if random.random() < 0.6 else {})}
    if kind == "TrainJob":
        trainer: Data = {"image": random.choice(_IMAGES), **({"numNodes": random.randrange(1, 5)} if random.random() < 0.7 else {})}
        return {"runtimeRef": {"name": "torch-distributed"}, "trainer": trainer, **random.choice(({}, {"suspend": True}))}
    template = {"metadata": {"labels": {"app": "a"}}, "spec": _pod_spec(random)}
    if kind == "Job":
        template["spec"]["restartPolicy"] = random.choice(("Never", "OnFailure"))
        return {"template": template, **random.choice(({}, {"backoffLimit": random.randrange(4)}, {"parallelism": 2, "completions": 2}))}
    return {"selector": {"matchLabels": {"app": "a"}}, "template": template, **random.choice(({}, {"replicas": random.randrange(5)}))}


VERSIONS = {
    "Pod": ("", "v1", "pods"),
    "PyTorchJob": ("kubeflow.org", "v1", "pytorchjobs"),
    "TrainJob": ("trainer.kubeflow.org", "v1alpha1", "trainjobs"),
    "Job": ("batch", "v1", "jobs"),
    "Deployment": ("apps", "v1", "deployments"),
}


def object_for(kind: str, policy: str, made: World, random: Random) -> Data:
    """An object of a kind, for a policy."""
    group, version, _ = VERSIONS[kind]
    name = random.choice(("train", "a", "b")) + f"-{random.randrange(1 << 24):x}"
    metadata = {"name": name, "namespace": random.choice(made.namespaces), "labels": {**random.choice(_LABELS), _LABEL: policy}}
    if random.random() < 0.3:
        metadata["annotations"] = {"note": random.choice(("", "x"))}
    return {"apiVersion": f"{group}/{version}".lstrip("/"), "kind": kind, "metadata": metadata, "spec": _spec(kind, random)}


def _changed(data: Data, random: Random) -> Data:
    """The object with changes that its kind allows, where one is made."""
    spec = dict(data["spec"])
    if data["kind"] == "Deployment" and random.random() < 0.7:
        spec["replicas"] = random.randrange(6)
    if data["kind"] == "PyTorchJob" and random.random() < 0.7:
        spec = _spec("PyTorchJob", random)
    if data["kind"] == "Job":
        spec["suspend"] = random.random() < 0.5
    return {**data, "spec": spec}


# Policies.


_NUMBERS = {
    "Pod": (
        "object.spec.terminationGracePeriodSeconds",
        "object.spec.priority",
        "size(object.spec.containers)",
        "object.spec.tolerations.size()",
    ),
    "PyTorchJob": (
        "object.spec.pytorchReplicaSpecs.Worker.replicas",
        "object.spec.pytorchReplicaSpecs['Master'].replicas",
        "object.spec.runPolicy.backoffLimit",
        "object.spec.pytorchReplicaSpecs.size()",
    ),
    "TrainJob": ("object.spec.trainer.numNodes", "size(object.spec)"),
    "Job": ("object.spec.backoffLimit", "object.spec.parallelism", "object.spec.completions"),
    "Deployment": ("object.spec.replicas", "object.spec.revisionHistoryLimit", "object.spec.progressDeadlineSeconds"),
}
_CONTAINERS = {
    "Pod": "object.spec.containers",
    "PyTorchJob": "object.spec.pytorchReplicaSpecs.Master.template.spec.containers",
    "TrainJob": "[object.spec.trainer]",
    "Job": "object.spec.template.spec.containers",
    "Deployment": "object.spec.template.spec.containers",
}
_TEXTS = {
    "Pod": ("object.spec.restartPolicy", "object.spec.dnsPolicy", "object.spec.schedulerName"),
    "PyTorchJob": ("object.spec.runPolicy.cleanPodPolicy", "object.spec.pytorchReplicaSpecs.Master.restartPolicy"),
    "TrainJob": ("object.spec.runtimeRef.name", "object.spec.runtimeRef.kind", "object.spec.trainer.image"),
    "Job": ("object.spec.template.spec.restartPolicy", "object.spec.completionMode", "object.spec.podReplacementPolicy"),
    "Deployment": ("object.spec.strategy.type", "object.spec.template.spec.restartPolicy"),
}
_OF_ANY = ("object.metadata.name", "object.metadata.labels.owner", "object.metadata.labels['owner']", "object.metadata.namespace")
_OF_REQUEST = (
    "request.operation",
    "request.kind.kind",
    "request.resource.resource",
    "request.namespace",
    "request.name",
    "request.kind.group",
)
_OF_NAMESPACE = ("namespaceObject.metadata.name", "namespaceObject.metadata.labels.team", "namespaceObject.metadata.labels['tier']")
_VALUES = ("'train'", "'Never'", "'CREATE'", "'vision'", "'x'", "''", "'None'", "'1'", "'pods'", "'default'")
_OF_CONTAINERS = (
    "c.image.startsWith('registry/')",
    "!c.image.endsWith(':latest')",
    "has(c.resources.limits)",
    "quantity(c.resources.limits.cpu).isLessThan(quantity('1500m'))",
    "c.resources.limits.memory == '1Gi'",
    "c.imagePullPolicy != 'Always'",
    "c.?securityContext.?runAsNonRoot.orValue(false)",
    "has(c.args) && c.args.all(a, a.matches('^--'))",
    "c.env.exists(e, e.name == 'A' && e.value == '1')",
    "c.name in ['c', 'pytorch']",
)


class Grammar:
    """Expressions about objects of a kind."""

    def __init__(self, kind: str, random: Random, variables: dict[str, str], *, has_params: bool) -> None:
        self._kind = kind
        self._random = random
        self._variables = variables
        """Names -> types."""
        self._has_params = has_params

    def holds(self, depth: int = 2) -> str:
        """An expression of type bool."""
        chance = self._random.random()
        if depth and chance < 0.3:
            return f"{self._part(depth)} {self._random.choice(('&&', '||'))} {self._part(depth)}"
        if depth and chance < 0.36:
            return f"{self._part(depth)} ? {self._part(depth)} : {self._part(depth)}"
        if depth and chance < 0.4:
            return f"!{self._part(depth)}"
        return self._random.choice((self._compared, self._equal, self._contained, self._present, self._updated, self._of_containers))()

    def number(self) -> str:
        own = [name for name, kind in self._variables.items() if kind == "int"]
        choices = [*_NUMBERS[self._kind], *(f"variables.{name}" for name in own), *(["int(params.data.most)"] if self._has_params else [])]
        return self._random.choice(choices)

    def text(self) -> str:
        own = [f"variables.{name}" for name, kind in self._variables.items() if kind == "string"]
        named = [*_TEXTS[self._kind], *_OF_ANY, *_OF_REQUEST, *_OF_NAMESPACE, *own, *(["params.data.registry"] if self._has_params else [])]
        return self._random.choice(named)

    def _part(self, depth: int) -> str:
        own = [f"variables.{name}" for name, kind in self._variables.items() if kind == "bool"]
        return self._random.choice(own) if own and self._random.random() < 0.3 else f"({self.holds(depth - 1)})"

    def _compared(self) -> str:
        other = self._random.choice((self.number(), str(self._random.randrange(5))))
        return f"{self.number()} {self._random.choice(('<', '<=', '>', '==', '!='))} {other}"

    def _equal(self) -> str:
        return f"{self.text()} {self._random.choice(('==', '!='))} {self._random.choice((self.text(), *_VALUES))}"

    def _contained(self) -> str:
        inside = ", ".join(self._random.sample(_VALUES, 3))
        return self._random.choice(
            (
                f"{self.text()} in [{inside}]",
                f"{self.text()}.startsWith('t')",
                f"{self.text()}.matches('^[a-z]+$')",
                f"size({self.text()}) > 3",
            )
        )

    def _present(self) -> str:
        path = self._random.choice((*_NUMBERS[self._kind], *_TEXTS[self._kind], *_OF_ANY, *_OF_NAMESPACE))
        return f"has({path})" if re.fullmatch(r"[\w.]+", path) else f"{path} != null"

    def _updated(self) -> str:
        path = self._random.choice(
            (*_TEXTS[self._kind], *(each for each in _NUMBERS[self._kind] if re.fullmatch(r"[\w.]+", each)), *_OF_ANY)
        )
        old = path.replace("object.", "oldObject.", 1)
        return self._random.choice(
            (f"oldObject == null || {path} == {old}", f"request.operation == 'CREATE' || {path} != {old}", f"{old} == {path}")
        )

    def _of_containers(self) -> str:
        macro = self._random.choice(("all", "all", "exists", "exists_one"))
        return f"{_CONTAINERS[self._kind]}.{macro}(c, {self._random.choice(_OF_CONTAINERS)})"


def policy_for(name: str, random: Random) -> Data:
    """A policy at random."""
    kind = random.choice(list(VERSIONS))
    has_params = random.random() < 0.3
    variables: dict[str, str] = {}
    grammar = Grammar(kind, random, variables, has_params=has_params)
    made = []
    for number in range(random.choice((0, 0, 1, 2, 3))):
        kinds = {"bool": grammar.holds, "int": grammar.number, "string": grammar.text}
        own = random.choice(list(kinds))
        made.append({"name": f"v{number}", "expression": kinds[own]()})
        variables[f"v{number}"] = own
    spec: Data = {
        "failurePolicy": random.choice(("Fail", "Fail", "Ignore")),
        "matchConstraints": constraints(kind, name, random),
        "variables": made,
        "validations": [_validation(grammar, random) for _ in range(random.choice((1, 1, 2, 3)))],
    }
    if has_params:
        spec["paramKind"] = {"apiVersion": "v1", "kind": "ConfigMap"}
    if random.random() < 0.25:
        spec["matchConditions"] = [{"name": f"m{number}", "expression": grammar.holds(1)} for number in range(random.choice((1, 2)))]
    metadata = {"name": name, "annotations": {"kind": kind}}
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": metadata, "spec": spec}


def _validation(grammar: Grammar, random: Random) -> Data:
    made: Data = {"expression": grammar.holds()}
    if random.random() < 0.4:
        made["message"] = random.choice(("no", " twice  no "))
    if random.random() < 0.3:
        made["messageExpression"] = random.choice((f"'it is ' + string({grammar.number()})", grammar.text(), "''", "'two\\nlines'"))
    return made


def constraints(kind: str, name: str, random: Random) -> Data:
    """Which requests a policy is for: most of those for objects with its label."""
    made: Data = {"resourceRules": [_rule(kind, random)], "objectSelector": {"matchLabels": {_LABEL: name}}}
    if random.random() < 0.2:
        made["excludeResourceRules"] = [{**_rule(kind, random), "resourceNames": ["a", "train"]}]
    if random.random() < 0.3:
        made["namespaceSelector"] = _selector(random)
    if random.random() < 0.2:
        made["matchPolicy"] = "Exact"
    return made


def _rule(kind: str, random: Random) -> Data:
    group, version, plural = VERSIONS[kind]
    made: Data = {
        "apiGroups": random.choice(([group], ["*"], [group, "other"])),
        "apiVersions": random.choice(([version], ["*"])),
        "operations": random.choice((["*"], ["CREATE", "UPDATE"], ["CREATE", "UPDATE"], ["CREATE"], ["UPDATE"])),
        "resources": random.choice(([plural], ["*"], [f"{plural}/*", "others"], [plural, f"{plural}/status"])),
    }
    if random.random() < 0.2:
        made["scope"] = random.choice(("*", "Namespaced", "Cluster"))
    return made


def _selector(random: Random) -> Data:
    return random.choice(
        (
            {"matchLabels": {"team": "vision"}},
            {"matchExpressions": [{"key": "tier", "operator": random.choice(("Exists", "DoesNotExist"))}]},
            {"matchExpressions": [{"key": "team", "operator": random.choice(("In", "NotIn")), "values": ["text", "other"]}]},
        )
    )


#: Selects no ConfigMap that controllers make in every namespace.
_ANY_USE = {"matchExpressions": [{"key": "use", "operator": "Exists"}]}


def binding_for(name: str, policy: Data, made: World, random: Random) -> Data:
    actions = random.choice((["Deny"], ["Deny"], ["Deny"], ["Warn"], ["Audit"], ["Deny", "Audit"], ["Warn", "Audit"]))
    spec: Data = {"policyName": policy["metadata"]["name"], "validationActions": actions}
    if "paramKind" in policy["spec"] and random.random() < 0.9:
        found: Data = random.choice(
            ({"name": "limits"}, {"name": "others"}, {"selector": {"matchLabels": {"use": "limits"}}}, {"selector": _ANY_USE})
        )
        spec["paramRef"] = {**found, "parameterNotFoundAction": random.choice(("Allow", "Deny"))}
        if random.random() < 0.4:
            spec["paramRef"]["namespace"] = random.choice(made.namespaces)
    if random.random() < 0.3:
        spec["matchResources"] = {"namespaceSelector": _selector(random)}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": spec,
    }
