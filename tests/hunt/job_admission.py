"""PyTorchJobs and TrainJobs behind admission policies at random: what `validate` says of their pods is what becomes of them.

Each job has a namespace of its own, and its policies are in force there alone.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from jobspec.journey.checking import check
from jobspec.journey.outcomes import foresee
from jobspec.journey.reading import read
from jobspec.journey.steps import Source
from jobspec.world.world import Cluster
from tests.hunt import admission_policies, mutating_policies
from tests.hunt.admission_policies import Data, World
from tests.hunt.finds import Find
from tests.support import quick_yaml
from tests.support.server import Server

_GROUP = "/apis/admissionregistration.k8s.io/v1"
_PLURALS = {"ValidatingAdmissionPolicy": "validatingadmissionpolicies", "MutatingAdmissionPolicy": "mutatingadmissionpolicies"}
_PATHS = {
    "PyTorchJob": "/apis/kubeflow.org/v1/namespaces/{}/pytorchjobs",
    "TrainJob": "/apis/trainer.kubeflow.org/v1alpha1/namespaces/{}/trainjobs",
    "TrainingRuntime": "/apis/trainer.kubeflow.org/v1alpha1/namespaces/{}/trainingruntimes",
}
_REFUSED = ("pods-refused", "job-refused", "jobset-refused", "service-refused")
_LOST = "pods-lost"
_SETTLED, _PATIENCE, _PAUSE = 7.0, 75.0, 1.5  # seconds


@dataclass
class _Sent:
    """A job that a server has accepted, what is in its namespace, and what we say of its pods."""

    job: Data
    objects: list[Data]
    pods: int
    said: list[str] = field(default_factory=list)
    is_lost: bool = False
    """Whether we say that the pods come, and that their job does not know them."""

    @property
    def namespace(self) -> str:
        return str(self.job["metadata"]["namespace"])


def finds(server: Server, random: Random, tally: Counter[str], *, jobs: int = 60) -> Iterator[Find]:
    """The jobs of which the server and the operators make something else than we say."""
    prefix = f"behind-{random.randrange(1 << 32):08x}-{time.time_ns() % 10**9:09d}"
    worlds = [_prepared(server, f"{prefix}-{number}", random) for number in range(jobs)]
    try:
        time.sleep(_SETTLED)
        sent = [each for each in (_sent(server, objects, random, tally) for objects in worlds) if each]
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end and not all(_is_settled(server, each) for each in sent):
            time.sleep(_PAUSE)
        for each in sent:
            came, events = len(_items(server, each, "pods")), _refusals(server, each)
            lost = _are_lost(server, each)
            tally[f"{each.job['kind']} {'lost' if lost else 'came' if came == each.pods else 'refused'}"] += 1
            if lost is not each.is_lost or (not lost and (came == each.pods) is bool(each.said)):
                text = quick_yaml.dump_all([each.job, *each.objects])
                yield Find(
                    text, "; ".join(each.said), f"{came} of {each.pods} pods; {events}", "operators", came == each.pods, outcome=True
                )
    finally:
        for objects in worlds:
            for one in objects:
                kind, name = one["kind"], one["metadata"]["name"]
                if "AdmissionPolicy" in kind:
                    server.call("DELETE", f"{_GROUP}/{_plural(kind)}/{name}")
            server.call("DELETE", f"/api/v1/namespaces/{objects[0]['metadata']['name']}")


def _plural(kind: str) -> str:
    return f"{kind.lower()}s" if kind.endswith("Binding") else _PLURALS[kind]


def _prepared(server: Server, name: str, random: Random) -> list[Data]:
    """A namespace with policies for the pods in it, as a server has stored them."""
    namespace: Data = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"team": "vision"}}}
    server.call("POST", "/api/v1/namespaces", json.dumps(namespace))
    objects = [namespace]
    for number in range(random.choice((1, 1, 2))):
        policy = _above_pods(f"{name}-{number}", name, random) if random.random() < 0.3 else _policy(f"{name}-{number}", name, random)
        is_mutating = policy["kind"] == "MutatingAdmissionPolicy"
        spec: Data = {"policyName": policy["metadata"]["name"], **({} if is_mutating else {"validationActions": ["Deny"]})}
        binding = {**policy, "kind": f"{policy['kind']}Binding", "metadata": {"name": policy["metadata"]["name"]}, "spec": spec}
        made = (policy, binding)
        objects += [each for each in made if server.call("POST", f"{_GROUP}/{_plural(each['kind'])}", json.dumps(each)).accepted]
    return objects


def _policy(name: str, namespace: str, random: Random) -> Data:
    """A policy for the pods of a namespace, of which most hold."""
    while True:
        policy = (admission_policies.policy_for if random.random() < 0.7 else mutating_policies.policy_for)(name, random)
        text = json.dumps(policy)
        if policy["metadata"]["annotations"]["kind"] == "Pod" and "params" not in text and "'c'" not in text and "oldObject" not in text:
            break
    constraints = policy["spec"]["matchConstraints"]
    policy["spec"]["matchConstraints"] = {
        "resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        **{each: constraints[each] for each in ("matchPolicy",) if each in constraints},
    }
    policy["spec"].pop("paramKind", None)
    if "mutations" in policy["spec"] and random.random() < 0.1:
        policy["spec"]["mutations"] = [{"patchType": "JSONPatch", "jsonPatch": {"expression": _WITHOUT_LABELS}}]
    del policy["metadata"]["annotations"]
    return policy


_WITHOUT_LABELS = "[JSONPatch{op: 'replace', path: '/metadata/labels', value: {'a': 'b'}}]"
#: What policies change of a JobSet or a Job, by the path of a pod's template in it.
_OF_TEMPLATES = (
    "[JSONPatch{op: 'add', path: 'AT/spec/hostNetwork', value: true}]",
    "[JSONPatch{op: 'add', path: 'AT/spec/containers/0/image', value: 'docker.io/b:1'}]",
    "[JSONPatch{op: 'add', path: 'AT/spec/terminationGracePeriodSeconds', value: 7}]",
    "[JSONPatch{op: 'add', path: 'AT/spec/nodeSelector', value: {'gpu': 'a'}}]",
    "[JSONPatch{op: 'add', path: 'AT/spec/dnsPolicy', value: 'Sometimes'}]",
    "[JSONPatch{op: 'add', path: 'AT/spec/containers/0/name', value: ''}]",
    "has(object.spec.network) ? [] : [JSONPatch{op: 'add', path: 'AT/spec/hostIPC', value: true}]",
)
_TEMPLATES = {
    ("jobset.x-k8s.io", "v1alpha2", "jobsets"): "/spec/replicatedJobs/0/template/spec/template",
    ("batch", "v1", "jobs"): "/spec/template",
}


def _above_pods(name: str, namespace: str, random: Random) -> Data:
    """A policy that changes the JobSets or the Jobs of a namespace."""
    (group, version, resource), place = random.choice(list(_TEMPLATES.items()))
    text = random.choice(_OF_TEMPLATES).replace("AT", place)
    rule = {"apiGroups": [group], "apiVersions": [version], "operations": ["CREATE"], "resources": [resource]}
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    spec = {
        "failurePolicy": random.choice(("Fail", "Ignore")),
        "matchConstraints": {"resourceRules": [rule], "namespaceSelector": selector},
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": text}}],
        "reinvocationPolicy": "Never",
    }
    version = "admissionregistration.k8s.io/v1"
    return {"apiVersion": version, "kind": "MutatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec}


def _sent(server: Server, objects: list[Data], random: Random, tally: Counter[str]) -> _Sent | None:
    world = World(server, objects[0]["metadata"]["name"], objects)
    kind = random.choice(("PyTorchJob", "TrainJob"))
    job = admission_policies.object_for(kind, "none", world, random)
    job["metadata"] |= {"namespace": objects[0]["metadata"]["name"], "name": "a"}
    others = list(objects)
    if kind == "TrainJob":
        job["spec"].pop("suspend", None)
        job["spec"]["runtimeRef"] = {"name": "r", "kind": "TrainingRuntime"}
        runtime = _runtime(job["metadata"]["namespace"], random)
        if not server.call("POST", _PATHS["TrainingRuntime"].format(job["metadata"]["namespace"]), json.dumps(runtime)).accepted:
            return None
        others.append(runtime)
    text = quick_yaml.dump_all([job, *others])
    cluster = Cluster(server.target, closed=True)
    checked = check(read(Source("job.yaml", text), cluster.target), cluster)
    found = foresee(checked, cluster).result.diagnostics
    if any(each.rule == "policy-not-evaluated" for each in found):
        tally["not evaluated"] += 1
        return None
    if not server.call("POST", _PATHS[kind].format(job["metadata"]["namespace"]), json.dumps(job)).accepted:
        tally["job refused"] += 1
        return None
    roles = job["spec"].get("pytorchReplicaSpecs", {})
    pods = sum(each["replicas"] for each in roles.values()) if roles else job["spec"]["trainer"].get("numNodes", 1)
    said = [each.message for each in found if each.rule in _REFUSED and each.severity == "error"]
    return _Sent(job, others, pods, said, any(each.rule == _LOST for each in found))


def _runtime(namespace: str, random: Random) -> Data:
    pod: Data = {"containers": [{"name": "node", "image": random.choice(("registry/a", "docker.io/b:1"))}]}
    if random.random() < 0.2:
        pod["hostNetwork"] = True
    template = {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}, "spec": {"template": {"spec": pod}}}
    spec = {"mlPolicy": {"numNodes": 1, "torch": {}}, "template": {"spec": {"replicatedJobs": [{"name": "node", "template": template}]}}}
    metadata = {"name": "r", "namespace": namespace}
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime", "metadata": metadata, "spec": spec}


def _items(server: Server, sent: _Sent, resource: str) -> list[Any]:
    return list(server.get(f"/api/v1/namespaces/{sent.namespace}/{resource}").get("items") or ())


def _refusals(server: Server, sent: _Sent) -> list[str]:
    """What the operators say of pods that they cannot make."""
    return [each["message"] for each in _items(server, sent, "events") if "FailedCreate" in each["reason"] or "denied" in each["message"]]


def _are_lost(server: Server, sent: _Sent) -> bool:
    """Whether a Job deletes its own pods or makes more than it has, or a PyTorchJob makes its own again."""
    events = _items(server, sent, "events")
    return len(_items(server, sent, "pods")) > sent.pods or any(
        each["reason"] == "SuccessfulDelete" or each["message"].endswith("already exists") for each in events
    )


def _is_settled(server: Server, sent: _Sent) -> bool:
    if sent.is_lost:
        return _are_lost(server, sent)
    return len(_items(server, sent, "pods")) == sent.pods or bool(_refusals(server, sent))
