"""MutatingAdmissionPolicies at random, and objects for them: we and a server make the same of them, or refuse them in the same words.

What a policy changes is the difference between two dry creates: of the object, and of the same one that no policy is for.
"""

import http.client
import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

from jobspec.diagnostics.places import Mark
from jobspec.documents.manifest import documents_of
from jobspec.documents.marked_tree import changed_tree, set_by
from jobspec.journey.checking import check
from jobspec.journey.steps import Manifests
from jobspec.kubernetes.admission.policies import Request
from jobspec.kubernetes.index import Index
from jobspec.operators.admitted import as_admitted
from jobspec.operators.policies import changed_manifest
from jobspec.world.world import Cluster
from tests.hunt import admission_policies
from tests.hunt.admission_policies import VERSIONS, Data, Grammar, World
from tests.hunt.finds import Find
from tests.support import quick_yaml
from tests.support.server import PLURALS, PODS, STRICT, WORKLOADS, Server

_GROUP = "/apis/admissionregistration.k8s.io/v1"
_POLICIES, _BINDINGS = f"{_GROUP}/mutatingadmissionpolicies", f"{_GROUP}/mutatingadmissionpolicybindings"
_SETTLED = 6.0  # seconds after which policies are compiled and in force
_PATHS = {**PLURALS, **WORKLOADS, "Pod": PODS}
_NONE = "none"


def finds(server: Server, random: Random, tally: Counter[str], *, policies: int = 40, objects: int = 300) -> Iterator[Find]:
    """The objects of which a server and we make something else."""
    made = World(server, f"changes-{random.randrange(1 << 32):08x}-{time.time_ns() % 10**9:09d}")
    try:
        _prepare(made, random, policies)
        with ThreadPoolExecutor(6) as pool:
            asked = [_object(made, random) for _ in range(objects)]
            for data, answers in zip(asked, pool.map(lambda each: _ask(made, each), asked), strict=True):
                yield from _find(made, data, *answers, tally)
    finally:
        for each in made.objects:
            name = each["metadata"]["name"]
            if each["kind"].startswith("Mutating"):
                server.call("DELETE", f"{_BINDINGS if each['kind'].endswith('Binding') else _POLICIES}/{name}")
        for name in made.namespaces:
            server.call("DELETE", f"/api/v1/namespaces/{name}")


def _prepare(made: World, random: Random, count: int) -> None:
    kept = {**admission_policies.KEPT, "kind": "MutatingAdmissionPolicy"}
    spec = {name: each for name, each in kept["spec"].items() if name != "validations"}
    mutations = [{"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 'test', path: '/kind'}]"}}]
    kept["spec"] = {**spec, "mutations": mutations, "reinvocationPolicy": "Never"}
    binding = {**admission_policies.KEPT_BINDING, "kind": "MutatingAdmissionPolicyBinding"}
    binding["spec"] = {name: each for name, each in binding["spec"].items() if name != "validationActions"}
    for path, each in ((_POLICIES, kept), (_BINDINGS, binding)):
        made.server.call("POST", path, json.dumps(each))
    admission_policies.surroundings(made, random)
    for number in range(count):
        policy = policy_for(f"{made.prefix}-{number}", random)
        if admission_policies.store(made, _POLICIES, policy):
            made.policies.append(policy)
            binding = admission_policies.binding_for(f"{made.prefix}-{number}", policy, made, random)
            del binding["spec"]["validationActions"]
            admission_policies.store(made, _BINDINGS, {**binding, "kind": "MutatingAdmissionPolicyBinding"})
    time.sleep(_SETTLED)


def _object(made: World, random: Random) -> Data:
    policy = random.choice(made.policies)
    data = admission_policies.object_for(policy["metadata"]["annotations"]["kind"], policy["metadata"]["name"], made, random)
    return _broken(data, random) if random.random() < 0.15 else data


def _broken(data: Data, random: Random) -> Data:
    """An object with a mistake that a policy might repair."""
    made: Data = json.loads(json.dumps(data))
    pods = [made, *(each["template"] for each in made["spec"].get("pytorchReplicaSpecs", {}).values()), made["spec"].get("template", {})]
    spec = random.choice([each["spec"] for each in pods if "containers" in each.get("spec", {})] or [made["spec"]])
    containers = spec.get("containers", [{}])
    random.choice(
        (
            lambda: spec.pop("restartPolicy", None),
            lambda: containers[0].pop("image", None),
            lambda: containers[0].pop("name", None),
            lambda: spec.update(terminationGracePeriodSeconds=-1),
            lambda: spec.update(dnsPolicy="Sometimes"),
            lambda: made["metadata"].update(labels={**made["metadata"]["labels"], "x": "not a value!"}),
        )
    )()
    return made


def _ask(made: World, data: Data) -> tuple[Data, Data]:
    """The answers to an object, and to the same that no policy is for."""
    path = _PATHS[data["kind"]].format(data["metadata"]["namespace"]) + STRICT
    labels = {**data["metadata"]["labels"], "policy": _NONE}
    plain = {**data, "metadata": {**data["metadata"], "labels": labels}}
    try:
        answer = made.server.post(path, json.dumps(data))
    except http.client.RemoteDisconnected:  # the server crashes on what our message says
        answer = {"kind": "Status", "message": "crash"}
    return answer, made.server.post(path, json.dumps(plain))


def _find(made: World, data: Data, answer: Data, plain: Data, tally: Counter[str]) -> Iterator[Find]:
    is_broken = plain.get("kind") == "Status"  # without policies, which may repair it
    if "admission webhook" in (answer.get("message") or ""):
        tally["refused for another reason"] += 1
        return
    cluster = Cluster(objects=made.objects, webhooks=False, closed=True)
    document = documents_of([data], "object")[0]
    policies = cluster.policies
    request = Request(as_admitted(document, cluster.target), namespace=data["metadata"]["namespace"])
    ours = changed_manifest(document, request, policies, cluster.target)
    if any(not each.is_evaluated for each in ours.decisions):
        tally["not evaluated"] += 1
        return
    found = check(Manifests("", [document]), cluster).result
    if any("kube-api-access" in each.message for each in found.diagnostics):
        tally["a copied mount of the pod's token"] += 1  # the server's plugin adds it before policies, and we only where they look
        return
    refused, difference = answer.get("kind") == "Status", ""
    if refused is found.valid:
        difference = f"another verdict: {[each.message for each in found.diagnostics]} {ours.policies}"
    elif is_broken:
        tally["broken, and refused" if refused else "repaired"] += 1
    elif refused:
        tally["refused"] += 1
        difference = _other_words(answer["message"], [each.message for each in ours.decisions], tally)
    else:
        tally["changed" if ours.policies else "unchanged"] += 1
        predicted, theirs = _expected(plain, data, request, cluster, policies), _comparable(answer)
        difference = f"another object: {_different(predicted, theirs)}" if predicted != theirs else ""
    if difference:
        text = quick_yaml.dump_all([data, *admission_policies.concerned(made, data)])
        yield Find(text, difference, answer.get("message") or "accepted", "control-plane", not refused)


def _other_words(theirs: str, ours: list[str], tally: Counter[str]) -> str:
    """In what the messages of a refusal differ."""
    said = re.match(r"(?:.* is forbidden: )?policy '[^']+' with binding '[^']+' denied request: (.*)", theirs, re.DOTALL)
    if said and said[1] not in ours:
        tally["other words"] += 1
        return f"other words: {ours}" if not _is_like(said[1], ours) else ""
    if theirs == "crash" and not any("crashes" in each for each in ours):
        return f"no crash: {ours}"
    return f"refused by policy: {ours}" if not said and ours and not re.match("crash|Internal error", theirs) else ""


def _expected(plain: Data, data: Data, request: Request, cluster: Cluster, policies: Index) -> Data:
    """What a server makes of an object: the plain one with our changes."""
    from jobspec.kubernetes.admission.mutating import mutated
    from jobspec.schemas import shapes

    document = documents_of([data], "object")[0]
    shape = shapes.load(document.api_version, document.kind, cluster.target)

    def settle(each: Data) -> Data:
        return as_admitted(document.changed(each), cluster.target)

    after = mutated(request, policies, shape, settle, cluster.target["kubernetes"]).object
    here = Mark("policy")
    label = {**plain["metadata"]["labels"], "policy": data["metadata"]["labels"]["policy"]}
    tree = set_by(here, {**plain, "metadata": {**plain["metadata"], "labels": label}})
    return _comparable(changed_tree(tree, request.object, after, here).data())


_OF_SERVER = ("uid", "creationTimestamp", "managedFields", "generation")


def _comparable(data: Data) -> Data:
    metadata = {name: each for name, each in data["metadata"].items() if name not in _OF_SERVER}
    metadata = {name: each for name, each in metadata.items() if each not in ([], {})}
    made = json.loads(json.dumps({name: each for name, each in data.items() if name != "status"} | {"metadata": metadata}))
    if made.get("spec", {}).get("paused") is False:  # which Go leaves out
        del made["spec"]["paused"]
    text = json.dumps(made, sort_keys=True)
    text = re.sub(r"kube-api-access-\w{5}", "kube-api-access", text)
    text = re.sub(r"\"(batch\.kubernetes\.io/)?controller-uid\": \"[0-9a-f-]+\"", '"controller-uid": ""', text)
    found: Data = json.loads(text)
    return found


def _different(one: Any, other: Any, path: str = "") -> list[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        return [
            found
            for name in sorted({*one, *other})
            if one.get(name) != other.get(name)
            for found in _different(one.get(name), other.get(name), f"{path}.{name}")
        ]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [found for at, (a, b) in enumerate(zip(one, other, strict=True)) if a != b for found in _different(a, b, f"{path}[{at}]")]
    return [f"{path}: ours {json.dumps(one)[:200]}, theirs {json.dumps(other)[:200]}"]


def _is_like(theirs: str, ours: list[str]) -> bool:
    """Whether a message is one of ours but for how Go writes values in it, and for which of several unknown fields it names."""

    def plain(text: str) -> str:
        return re.sub(r"\.\w+(?=: field not declared)", "", text)

    beginning = plain(re.split(r"expected \w+|, got|cannot convert float64", theirs)[0])
    return any(plain(each).startswith(beginning) for each in ours)


# Policies.


def policy_for(name: str, random: Random) -> Data:
    """A policy at random."""
    policy = admission_policies.policy_for(name, random)
    kind = policy["metadata"]["annotations"]["kind"]
    spec = {field: each for field, each in policy["spec"].items() if field not in ("validations", "matchConditions")}
    for rule in spec["matchConstraints"]["resourceRules"]:
        rule["operations"] = random.choice((["*"], ["CREATE"], ["CREATE", "UPDATE"]))
        rule["resources"] = random.choice(([VERSIONS[kind][2]], ["*"]))
    variables = {each["name"]: "string" for each in spec["variables"] if "==" not in each["expression"]}
    grammar = Grammar(kind, random, {}, has_params="paramKind" in spec)
    if random.random() < 0.2:
        spec["matchConditions"] = [{"name": "m", "expression": grammar.holds(1)}]
    spec["mutations"] = [_mutation(kind, grammar, random, list(variables)) for _ in range(random.choice((1, 1, 1, 2, 3)))]
    spec["reinvocationPolicy"] = random.choice(("Never", "IfNeeded"))
    return {**policy, "kind": "MutatingAdmissionPolicy", "spec": spec}


_POD_AT = {
    "Pod": "Object.spec",
    "PyTorchJob": "Object.spec.pytorchReplicaSpecs.template.spec",
    "TrainJob": "Object.spec.trainer",
    "Job": "Object.spec.template.spec",
    "Deployment": "Object.spec.template.spec",
}
_OF_PODS = (
    *("hostNetwork: true", "terminationGracePeriodSeconds: 5", "terminationGracePeriodSeconds: 'a'", "nothing: 1", "priority: 2.5"),
    *("nodeSelector: {'gpu': 'x'}", "tolerations: [P.tolerations{key: 'a', operator: 'Exists'}]", "dnsPolicy: TEXT"),
    *("containers: [P.containers{name: 'c', image: 'registry/x'}]", "containers: [P.containers{name: 'c', args: ['a']}]"),
    *("containers: [P.containers{name: 'new', image: TEXT}]", "containers: [P.containers{image: 'x'}]", "containers: [P.wrong{name: 'c'}]"),
    "containers: [P.containers{name: 'c', env: [P.containers.env{name: 'A', value: 'z'}, P.containers.env{name: 'B', value: TEXT}]}]",
    "containers: [P.containers{name: 'c', resources: P.containers.resources{limits: {'cpu': '2'}, requests: {'memory': '1Gi'}}}]",
    "containers: [P.containers{name: 'c', ports: [P.containers.ports{containerPort: 80}]}]",
    "containers: [P.containers{name: 'd', image: 'x'}, P.containers{name: 'c', imagePullPolicy: 'Never'}]",
    "containers: [P.containers{name: 'c', securityContext: P.containers.securityContext{runAsNonRoot: true}}]",
    "containers: [P.containers{name: 'c', ?command: optional.none(), ?workingDir: optional.of('/x')}]",
    "volumes: [P.volumes{name: 'v', emptyDir: P.volumes.emptyDir{}}]",
    "volumes: [P.volumes{name: 'v', secret: P.volumes.secret{secretName: 's'}}, P.volumes{name: 'w', emptyDir: P.volumes.emptyDir{}}]",
    "initContainers: [P.initContainers{name: 'i', image: 'registry/i'}]",
    "securityContext: P.securityContext{runAsNonRoot: HOLDS}",
    "imagePullSecrets: [P.imagePullSecrets{name: 'a'}]",
    "affinity: P.affinity{nodeAffinity: P.affinity.nodeAffinity{}}",
    "topologySpreadConstraints: [P.topologySpreadConstraints{topologyKey: 'z', whenUnsatisfiable: 'ScheduleAnyway', maxSkew: 1}]",
)
_OF_TRAINER = ("numNodes: 3", "image: TEXT", "args: ['a']", "env: [P.env{name: 'A', value: 'b'}]", "numNodes: 'a'", "nothing: true")
_OF_METADATA = (
    *("labels: {'x': 'y'}", "labels: {'x': TEXT}", "annotations: {'note': 'z'}", "finalizers: ['a.b/c']", "labels: {'x': 1}"),
    *("annotations: {'a': 'b', 'c': string(HOLDS)}", "ownerReferences: []"),
)
_OF_SPEC = {
    "Pod": ("priorityClassName: ''", "activeDeadlineSeconds: 5"),
    "PyTorchJob": ("runPolicy: Object.spec.runPolicy{backoffLimit: 3}", "nprocPerNode: '2'", "runPolicy: Object.spec.runPolicy{a: 1}"),
    "TrainJob": ("suspend: true", "runtimeRef: Object.spec.runtimeRef{kind: 'TrainingRuntime'}", "labels: {'a': 'b'}"),
    "Job": ("parallelism: 3", "suspend: HOLDS", "ttlSecondsAfterFinished: 5", "backoffLimit: 'a'"),
    "Deployment": ("replicas: 7", "paused: HOLDS", "selector: Object.spec.selector{matchLabels: {'app': 'a'}}", "replicas: NUMBER"),
}
_OPERATIONS = (
    *("op: 'add', path: '/metadata/labels/x', value: TEXT", "op: 'remove', path: '/metadata/labels/owner'", "op: 'wrong', path: '/a'"),
    *("op: 'add', path: '/metadata/annotations', value: {'a': 'b'}", "op: 'add', path: '/metadata/annotations/a', value: 'b'"),
    *("op: 'replace', path: 'SPEC/hostNetwork', value: true", "op: 'add', path: 'SPEC/nodeSelector', value: {'a': 'b'}"),
    *(
        "op: 'add', path: 'SPEC/nodeSelector/' + jsonpatch.escapeKey('a/b'), value: 'c'",
        "op: 'test', path: 'SPEC/nodeSelector', value: null",
    ),
    *("op: 'add', path: 'SPEC/containers/-', value: {'name': 'e', 'image': 'x'}", "op: 'remove', path: 'SPEC/containers/0/resources'"),
    *(
        "op: 'replace', path: 'SPEC/containers/0/image', value: TEXT",
        "op: 'add', path: 'SPEC/containers/5', value: {}",
        "op: 'add', path: ''",
    ),
    *("op: 'add', path: 'SPEC/containers/0/env', value: [{'name': 'E', 'value': 'f'}]", "op: 'add', path: 'SPEC/containers/x', value: 1"),
    *(
        "op: 'copy', from: 'SPEC/containers/0', path: 'SPEC/containers/-'",
        "op: 'move', from: '/metadata/labels/app', path: '/metadata/labels/b'",
    ),
    *(
        "op: 'test', path: '/metadata/labels/app', value: 'a'",
        "op: 'test', path: '/metadata/name', value: 'x'",
        "op: 'remove', path: '/spec/no'",
    ),
    *("op: 'replace', path: 'SPEC/containers/0/args', value: ['x', 'y']", "op: 'copy', from: '/metadata/name', path: '/metadata/labels/n'"),
    *(
        "op: 'add', path: 'SPEC/volumes', value: [Object.v{name: 'v', emptyDir: Object.v.emptyDir{}}]",
        "op: 'replace', path: '/spec/replicas', value: 2",
    ),
    *(
        "op: 'add', path: '/spec/nothing', value: 1",
        "op: 'move', from: '/spec/x', path: '/spec/y'",
        "op: 'test', path: '/spec/x/y', value: 1",
    ),
    *(
        "op: 'add', path: 'SPEC/terminationGracePeriodSeconds', value: 7",
        "op: 'add', path: 'SPEC/containers/-1', value: {'name': 'z', 'image': 'z'}",
    ),
)
_SPEC_AT = {
    "Pod": "/spec",
    "PyTorchJob": "/spec/pytorchReplicaSpecs/Master/template/spec",
    "TrainJob": "/spec/trainer",
    "Job": "/spec/template/spec",
    "Deployment": "/spec/template/spec",
}


def _mutation(kind: str, grammar: Grammar, random: Random, variables: list[str]) -> Data:
    def filled(text: str) -> str:
        texts = [
            "'t'",
            "object.metadata.name",
            "request.operation",
            "namespaceObject.metadata.name",
            *(f"variables.{each}" for each in variables),
        ]
        text = re.sub("TEXT", lambda _: random.choice(texts), text)
        text = re.sub("HOLDS", lambda _: f"({grammar.holds(1)})" if random.random() < 0.5 else "true", text)
        return re.sub("NUMBER", lambda _: grammar.number(), text)

    if random.random() < 0.5:
        operations = [
            f"JSONPatch{{{filled(random.choice(_OPERATIONS).replace('SPEC', _SPEC_AT[kind]))}}}" for _ in range(random.choice((1, 1, 2, 3)))
        ]
        text = f"[{', '.join(operations)}]"
        if random.random() < 0.15:
            text = f"{grammar.holds(1)} ? {text} : []"
        return {"patchType": "JSONPatch", "jsonPatch": {"expression": text}}
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": filled(_configuration(kind, random))}}


def _configuration(kind: str, random: Random) -> str:
    chance = random.random()
    if chance < 0.3:
        return f"Object{{metadata: Object.metadata{{{random.choice(_OF_METADATA)}}}}}"
    if chance < 0.5:
        return f"Object{{spec: Object.spec{{{random.choice(_OF_SPEC[kind])}}}}}"
    place = _POD_AT[kind]
    container = "pytorch" if kind == "PyTorchJob" else "c"
    inner = random.choice(_OF_TRAINER if kind == "TrainJob" else _OF_PODS).replace("P.", f"{place}.").replace("'c'", f"'{container}'")
    if kind == "Pod":
        return f"Object{{spec: Object.spec{{{inner}}}}}"
    if kind == "TrainJob":
        return f"Object{{spec: Object.spec{{trainer: Object.spec.trainer{{{inner}}}}}}}"
    if kind == "PyTorchJob":
        template = f"Object.spec.pytorchReplicaSpecs{{template: Object.spec.pytorchReplicaSpecs.template{{spec: {place}{{{inner}}}}}}}"
        return f"Object{{spec: Object.spec{{pytorchReplicaSpecs: {{'Master': {template}}}}}}}"
    return f"Object{{spec: Object.spec{{template: Object.spec.template{{spec: Object.spec.template.spec{{{inner}}}}}}}}}"
