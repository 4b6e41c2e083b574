"""Admission policies and bindings with mistakes at random: `validate` says what a server says, at the same fields, in the same words."""

import copy
import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

from jobspec.apis.releases import choose
from jobspec.diagnostics.places import spell
from jobspec.kubernetes.builtin import builtin_problems
from jobspec.kubernetes.policy_kinds import type_warnings
from tests.hunt import admission_policies
from tests.hunt.finds import Find
from tests.support.server import STRICT, Answer, Server

Data = dict[str, Any]

_TARGET = choose([])
_VERSION = "admissionregistration.k8s.io/v1"
_PLURALS = {
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
    "MutatingAdmissionPolicy": "mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": "mutatingadmissionpolicybindings",
}


def finds(server: Server, random: Random, tally: Counter[str], *, count: int = 300) -> Iterator[Find]:
    """The objects about which a server and we disagree."""
    made = [_mistaken(_made(random), random) for _ in range(count)]
    with ThreadPoolExecutor(4) as pool:
        for data, answer in zip(made, pool.map(lambda data: _ask(server, data), made), strict=True):
            tally["accepted" if answer.accepted else "refused"] += 1
            if found := _disagreement(data, answer, tally):
                yield Find(json.dumps(data), found, str(answer), "control-plane", answer.accepted)


def _ask(server: Server, data: Data) -> Answer:
    return server.call("POST", f"/apis/{_VERSION}/{_PLURALS[data['kind']]}{STRICT}", json.dumps(data))


def _disagreement(data: Data, answer: Answer, tally: Counter[str]) -> str:
    ours = builtin_problems(data, _VERSION, data["kind"], _TARGET)
    reported = str([(each.rule, spell(each.path), each.message) for each in ours])
    if any(each.rule == "rule-not-evaluated" for each in ours):
        tally["not evaluated"] += 1
        return ""
    if answer.accepted == bool(ours):
        return f"another verdict: {reported}"
    if answer.code != 422:
        return ""
    mine, theirs = {_plain(spell(each.path)) for each in ours}, {_plain(field) for field in answer.fields}
    lacking = [each for each in theirs if not any(each == my or each.startswith(my) or my.startswith(each) for my in mine)]
    if set(lacking) - _BESIDES:
        return f"nothing of {lacking}: {reported}"
    for each in ours:
        found = re.search(r"does not compile: (\d+:\d+): (.*)|(must evaluate to .*)", each.message, re.DOTALL)
        if found and "Syntax error" not in each.message:
            words = found[3] or found[2]
            tally["expression in the same words" if words in answer.message else f"words: {words}"] += 1
            if words not in answer.message and not re.search("argument|format|%", words):
                return f"other words: {each.message}"
    return ""


#: Fields that the server names beside another one for the same mistake.
_BESIDES = {"spec.auditAnnotations", "spec.paramRef.selector"}


def _plain(field: str) -> str:
    return re.sub(r"\[\d+\]|\['?[^\]]*\]", "", field)


def type_finds(server: Server, random: Random, tally: Counter[str], *, count: int = 60) -> Iterator[Find]:
    """The policies about whose types a server's controllers and we disagree: what they say in the status."""
    path, made = f"/apis/{_VERSION}/{_PLURALS['ValidatingAdmissionPolicy']}", []
    try:
        for _ in range(count):
            policy = _typed(random)
            if server.call("POST", path, json.dumps(policy)).accepted:
                made.append(policy)
        time.sleep(_SETTLED)
        for policy in made:
            status = server.get(f"{path}/{policy['metadata']['name']}").get("status", {})
            if not status.get("observedGeneration"):
                tally["without a status"] += 1
                continue
            theirs = {each["fieldRef"]: each["warning"] for each in status.get("typeChecking", {}).get("expressionWarnings", ())}
            ours = {spell(path): why for path, why, _ in type_warnings(policy, _TARGET)}
            tally["expressions that do not fit"] += len(theirs)
            same_words = all(ours[each].partition(": ")[2][:40] in theirs[each] for each in theirs.keys() & ours.keys())
            if ours.keys() != theirs.keys():
                yield Find(json.dumps(policy), f"types: {ours}", json.dumps(theirs), "control-plane", accepted=True)
            elif not same_words:
                tally["other words"] += 1
    finally:
        for policy in made:
            server.call("DELETE", f"{path}/{policy['metadata']['name']}")


def _typed(random: Random) -> Data:
    """A policy for one kind or several, with expressions about one of them."""
    policy = admission_policies.policy_for(f"t-{random.randrange(1 << 40):x}", random)
    kind = policy["metadata"].pop("annotations")["kind"]
    others = random.sample(list(admission_policies.VERSIONS), random.choice((0, 0, 1, 2)))
    rules = []
    for each in {kind, *others}:
        group, version, plural = admission_policies.VERSIONS[each]
        rules.append({"apiGroups": [group], "apiVersions": [version], "operations": ["UPDATE"], "resources": [plural, f"{plural}/status"]})
    policy["spec"]["matchConstraints"]["resourceRules"] = rules
    for each in policy["spec"]["validations"]:
        if random.random() < 0.4:
            each["expression"] = random.choice((*_BY_TYPE, *_BROKEN))
    return policy


_SETTLED = 6.0  # seconds after which the controllers have looked at all
_BY_TYPE = (
    *("object.spec.replicas == 'a'", "object.spec.template.spec.containers.all(c, c.image == 1)", "object.metadata.labels.a == 1"),
    *(
        "object.spec.containers.all(c, c.resources.limits['cpu'] == 1)",
        "object.status.phase == 1",
        "object.metadata.creationTimestamp > 'a'",
    ),
    *("object.spec.pytorchReplicaSpecs.all(r, r == 1)", "object.spec.trainer.numNodes == 'a'", "object.spec.nothing == 1"),
    *("object.spec.template.spec.volumes[0].emptyDir.medium == 1", "oldObject.spec.replicas == object.spec.paused", "object.kind == 1"),
    *("object.spec.template.spec.containers[0].ports[0].protocol == 1", "object.spec.suspend == 1", "params.data == 1", "object.spec == 1"),
    *("object.spec.strategy.rollingUpdate.maxSurge == 1", "object.spec.tolerations.exists(t, t.tolerationSeconds == 'a')", "object == 1"),
    *(
        "object.spec.pytorchReplicaSpecs['Master'].template.spec.containers[0].resources.requests['cpu'] == 1",
        "has(object.spec.backoffLimits)",
    ),
    *("object.spec.trainer.resourcesPerNode.limits['cpu'] == 1", "object.spec.runtimePatches[0].manager == 1", "object.spec.runPolicy.a"),
)


# Policies, and mistakes in them.


def _made(random: Random) -> Data:
    policy = admission_policies.policy_for(f"p-{random.randrange(1 << 30)}", random)
    policy["metadata"].pop("annotations")
    chance = random.random()
    if chance < 0.25:
        policy["spec"]["auditAnnotations"] = [
            {"key": f"k{at}", "valueExpression": random.choice(_TEXTS)} for at in range(random.choice((1, 1, 2)))
        ]
    if chance < 0.5:
        return policy
    if chance < 0.8:
        return mutating(policy, random)
    binding = admission_policies.binding_for("b", policy, admission_policies.World(None, "w"), random)  # type: ignore[arg-type]
    if random.random() < 0.4:
        binding["kind"] = "MutatingAdmissionPolicyBinding"
        del binding["spec"]["validationActions"]
    return binding


def mutating(policy: Data, random: Random) -> Data:
    """A mutating policy in place of a validating one."""
    spec = {name: each for name, each in policy["spec"].items() if name not in ("validations", "auditAnnotations")}
    mutations: list[Data] = []
    for _ in range(random.choice((1, 1, 2))):
        if random.random() < 0.5:
            mutations.append({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": random.choice(_APPLIED)}})
        else:
            mutations.append({"patchType": "JSONPatch", "jsonPatch": {"expression": random.choice(_PATCHES)}})
    spec |= {"mutations": mutations, "reinvocationPolicy": random.choice(("Never", "IfNeeded"))}
    return {**policy, "kind": "MutatingAdmissionPolicy", "spec": spec}


_TEXTS = ("'a'", "object.metadata.name", "null", "'x' + request.name", "string(1)")
_APPLIED = (
    "Object{metadata: Object.metadata{labels: {'a': 'b'}}}",
    "Object{spec: Object.spec{replicas: 3}}",
    "has(object.spec) ? Object{} : Object{spec: Object.spec{a: [1, 2]}}",
    "Object{spec: Object.spec{?a: optional.of('x')}}",
)
_PATCHES = (
    "[JSONPatch{op: 'add', path: '/metadata/labels/a', value: 'b'}]",
    "[JSONPatch{op: 'remove', path: '/spec/' + jsonpatch.escapeKey('a/b')}]",
    "has(object.spec) ? [] : [JSONPatch{op: 'test', path: '/spec', value: {'a': 1}}]",
    "object.spec.containers.map(c, JSONPatch{op: 'add', path: '/x', value: Object.x{a: c.name}})",
)
_ODD: dict[str, tuple[Any, ...]] = {
    "failurePolicy": ("fail", "", "Ignore"),
    "matchPolicy": ("exact", "", "Equivalent"),
    "operations": ([], ["*", "CREATE"], ["create"], ["DELETE"], ["CONNECT"], [""]),
    "apiGroups": ([], ["*", "apps"], [""]),
    "apiVersions": ([], ["*", "v1"], [""], ["v1", ""]),
    "resources": (
        *([], [""], ["*", "pods"], ["pods", "*"], ["*/*", "pods"], ["pods/*", "pods/status"], ["*/status", "pods/status"], ["*/*"]),
        *(["*", "pods/status"], ["pods/status", "pods/*"]),
    ),
    "scope": ("*", "Namespaced", "all", ""),
    "resourceNames": (["a", "a"], ["a/b"], [".."], ["a%"]),
    "validationActions": ([], ["Deny", "Warn"], ["deny"], ["Deny", "Deny"], ["Audit", "Warn"]),
    "policyName": ("", "A", "a b", "a.b"),
    "name": ("", "a", "a b", "1a", "in", "_x", "a-b", "a/b", "x" * 64, "package", "object"),
    "parameterNotFoundAction": ("", "deny", "Allow"),
    "reinvocationPolicy": ("", "Always", "Never"),
    "patchType": ("", "JSON", "ApplyConfiguration", "JSONPatch"),
    "reason": ("Invalid", "Unauthorized", "invalid", ""),
    "message": ("", " ", "a\nb", "a\n", "a"),
    "messageExpression": ("", " ", "1", "'a' + 1", "authorizer == null", "'a'\n+ 'b'"),
    "key": ("", "a", "a b", "a/b", "x" * 64),
    "paramKind": (
        *({"apiVersion": "v1", "kind": "ConfigMap"}, {"kind": "ConfigMap"}, {"apiVersion": "v1"}, {"apiVersion": "a/b/c", "kind": "A"}),
        *({"apiVersion": "A b/v1", "kind": "A"}, {"apiVersion": "apps/", "kind": "A"}, {"apiVersion": "apps/V1", "kind": "a b"}, {}),
        {"apiVersion": "/v1", "kind": "Ab"},
    ),
    "paramRef": (
        *({"name": "a"}, {"name": "a", "selector": {}, "parameterNotFoundAction": "Deny"}, {"parameterNotFoundAction": "Deny"}, {}),
        *(
            {"name": "a/b", "parameterNotFoundAction": "Deny"},
            {"selector": {"matchLabels": {"a b": "c"}}, "parameterNotFoundAction": "Allow"},
        ),
    ),
    "matchConstraints": ({}, {"resourceRules": []}),
    "matchResources": ({}, {"matchPolicy": "x"}, {"resourceRules": [{"operations": ["DELETE"]}]}),
    "objectSelector": ({"matchLabels": {"": "a"}}, {"matchExpressions": [{"key": "a", "operator": "In"}]}, {}),
    "namespaceSelector": ({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}, {"matchLabels": {"a": "b c"}}),
    "matchConditions": ([{"name": "a", "expression": "true"}, {"name": "a", "expression": "true"}], [{}], [{"name": "a"}]),
    "validations": ([], [{}]),
    "auditAnnotations": ([], [{"key": "a", "valueExpression": "'a'"}, {"key": "a", "valueExpression": "1"}], [{"key": "a"}]),
    "mutations": ([], [{}]),
    "variables": (
        [{"name": "a", "expression": ""}],
        [{"expression": "1"}],
        [{"name": "a", "expression": "1"}, {"name": "b", "expression": "variables.a + 's'"}],
    ),
}
#: Expressions with mistakes, and odd ones without.
_BROKEN = (
    *("", " ", "object.", "1 +", "nothing", "request.nothing", "request.kind.kind == 1", "namespaceObject.metadata.labels.x == 1"),
    *("namespaceObject.spec.finalizers.all(f, f == 1)", "object.spec", "1", "'a'", "object", "[1]", "null", "[1, 'a'] == []"),
    *("object.a.all(x, x)", "1.all(x, true)", "object.foo('a')", "foo(object)", "'a'.matches('(')", "duration('1x') == duration('1s')"),
    *("authorizer.group('apps').resource('pods').check('get').allowed()", "authorizer.requestResource.check('x').allowed()"),
    *("authorizer.check('x')", "authorizer.path('/x').check('get')", "authorizer.group(1)", "params.data.x == 'a'", "variables.v0 == 1"),
    *("variables.none", "quantity('1') < quantity('2')", "quantity('1').isLessThan(1)", "object.a ? true : 1", "object.a && 'x'"),
    *("has(object)", "has(request.name)", "!request.name", "-request.name == ''", "request.userInfo.groups.exists(g, g == 1)"),
    *("request.userInfo.extra['a'].all(x, x == 1)", "timestamp(object.x) > 1", "size(1) == 2", "request.options.x", "{'a': 1, 2: 3} == {}"),
    *("Object{}", "JSONPatch{}", "Object{spec: Object.spec{a: 1}}", "[JSONPatch{op: 1}]", "[Object{}]", "Object.spec{}", "[]", "Foo{}"),
    *("[JSONPatch{op: 'add', path: request.name, value: 1}, JSONPatch{op: 'add'}]", "object.x.map(c, 1)", "Object{a: Object.a{}}.a.b"),
    *("JSONPatch{op: 'a'}.op + 1", "ip(request.name).family() == 's'", "request.name.split(',').join(1)", "object.?a.orValue(1) == 's'"),
    *(
        "optional.of(1).orValue('a') == 's'",
        "cel.bind(x, 1, x == 'a')",
        "request.dryRun",
        "type(object) == int",
        "[?optional.of(1)]",
        "[?1]",
    ),
    *(
        "'%d'.format(['a']) == ''",
        "jsonpatch.escapeKey(1)",
        "string(true) == 1",
        "sets.contains([1], ['a'])",
        "object.metadata.name == params",
    ),
    *("semver('1.0.0').major() == '1'", "url('a').getHost() == 1", "cidr('10.0.0.0/8').containsIP(1)", "format.dns1123Label().validate(1)"),
    *("request.name in [1]", "1 in request.userInfo.groups", "request.name[0] == 'a'", "request['name'] == 'a'", "oldObject == object"),
    *("[1, 2].map(x, x + 'a') == []", "object.spec.x.exists_one(x, 1)", "[1].sortBy(x, x) == ['a']", "request.name.lowerAscii() < 1"),
)


def _mistaken(data: Data, random: Random) -> Data:
    """The object with up to two changes that may be mistakes."""
    made = copy.deepcopy(data)
    for _ in range(random.choice((0, 1, 1, 1, 2))):
        missing = [(made["spec"], name) for name in _ODD if name in _OF_SPEC[made["kind"]] and random.random() < 0.15]
        places = [*_places(made["spec"]), *missing]
        if not places:
            break
        around, name = random.choice(places)
        if name in ("expression", "valueExpression", "messageExpression") and random.random() < 0.9:
            around[name] = random.choice(_BROKEN)
        elif random.random() < 0.15:
            around.pop(name, None)
        elif name in _ODD:
            around[name] = copy.deepcopy(random.choice(_ODD[name]))
    return made


_POLICY = ("failurePolicy", "paramKind", "matchConstraints", "matchConditions", "variables")
_BINDING = ("policyName", "paramRef", "matchResources")
_OF_SPEC = {
    "ValidatingAdmissionPolicy": (*_POLICY, "validations", "auditAnnotations"),
    "MutatingAdmissionPolicy": (*_POLICY, "mutations", "reinvocationPolicy"),
    "ValidatingAdmissionPolicyBinding": (*_BINDING, "validationActions"),
    "MutatingAdmissionPolicyBinding": _BINDING,
}


def _places(data: Any) -> Iterator[tuple[Data, str]]:
    """Every field of an object and of those inside it."""
    for each in data if isinstance(data, list) else ():
        yield from _places(each)
    if isinstance(data, dict):
        for name, inner in data.items():
            yield data, name
            yield from _places(inner)
